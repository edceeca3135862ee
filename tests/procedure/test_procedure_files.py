"""Procedure files: what they may say, and how their mistakes are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bylaw import Procedure, SpecError, Vocabulary, parse, to_json
from bylaw.procedure.yaml_document import read_yaml_document

FIVE_MISTAKES = """\
bylaw: 1
name: refund-desk
tools: [lookup, verify, refund]
order: steps
constraints:
  - name: verify-first
    rule: G(refnud -> O verify)
    weight: -3
  - name: looked-up
    rule: |
      G(refund ->
        O lookup
    severty: ASK
"""


def _load(tmp_path: Path, text: str, name: str = "p.yaml") -> Procedure:
    (tmp_path / name).write_text(text)
    return Procedure.load(tmp_path / name)


def _mistakes(tmp_path: Path, text: str, name: str = "p.yaml") -> list[tuple[Any, ...]]:
    with pytest.raises(SpecError) as caught:
        _load(tmp_path, text, name)
    return [(d.code, d.line, d.column) for d in caught.value.diagnostics]


def test_a_file_with_five_mistakes_reports_five(tmp_path: Path) -> None:
    assert _mistakes(tmp_path, FIVE_MISTAKES) == [
        ("E212", 4, 8),
        ("E104", 7, 13),
        ("E205", 8, 13),
        ("E101", 12, 17),
        ("E202", 13, 5),
    ]


UNQUOTED = """\
constraints:
  - name: a
    rule: G(refund -> let i = args.id: O call(verify, id = i))
  - name: b
    rule: Called(refund)
  - name: c
    rule: {refund, pay} -> O verify
"""


def test_every_rule_that_needs_quotes_is_reported(tmp_path: Path) -> None:
    assert _mistakes(tmp_path, UNQUOTED) == [("E201", 3, 38), ("E201", 7, 25)]


def test_a_diagnostic_shows_the_place_and_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        _load(tmp_path, FIVE_MISTAKES)
    assert str(caught.value.diagnostics[1].render()) == (
        f"{tmp_path}/p.yaml:7:13: error[E104]: unknown tool 'refnud'\n"
        "  7 |     rule: G(refnud -> O verify)\n"
        "    |             ^^^^^^\n"
        "help: did you mean 'refund'? The procedure's tools are: lookup, refund, verify.\n"
        "write: G(refund -> O verify)"
    )


@pytest.mark.parametrize(
    ("rule", "place"),
    [
        ("rule: G(nope)", (3, 13)),
        ('rule: "G(nope)"', (3, 14)),
        ("rule: 'G(nope)'", (3, 14)),
        ("rule: |\n      G(a ->\n        nope)", (5, 9)),
        ("rule: >\n      G(a ->\n      nope)", (5, 7)),
        ("rule: G(a ->\n      nope)", (4, 7)),
        ('rule: "call(\\"a\\", q = \\"x\\") -> nope"', (3, 38)),
    ],
)
def test_every_style_of_scalar_keeps_its_place(
    rule: str, place: tuple[int, int], tmp_path: Path
) -> None:
    text = f"tools: [a]\nconstraints:\n  - {rule}\n    name: x\n"
    assert _mistakes(tmp_path, text) == [("E104", *place)]


def test_json_files_keep_their_places(tmp_path: Path) -> None:
    text = '{"tools": ["a"],\n "constraints": [{"name": "x", "rule": "G(nope)"}]}'
    assert _mistakes(tmp_path, text, "p.json") == [("E104", 2, 43)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("constraints: []", "E208"),
        ("name: x", "E208"),
        ("constraints: 5", "E202"),
        ("[1]", "E201"),
        ("", "E201"),
        ("a: [", "E201"),
        ("bylaw: 2\nconstraints: [{name: a, rule: 'true'}]", "E203"),
        ("constraints: [{name: a, rule: 'true', weight: .nan}]", "E205"),
        ("constraints: [{name: a, rule: 'true', weight: 0}]", "E205"),
        ("constraints: [{name: a, rule: 'true', weight: .inf}]", "E205"),
        ("constraints: [{name: a, rule: 'true', weight: heavy}]", "E205"),
        ("constraints: [{name: a, rule: 'true', weight: true}]", "E205"),
        ("constraints: [{rule: 'true'}]", "E202"),
        ("constraints: [{name: a}]", "E202"),
        ("constraints: [{name: a, rule: 'true'}, {name: a, rule: 'true'}]", "E209"),
        ("constraints: [{name: a, name: b, rule: 'true'}]", "E207"),
        ("constraints: [{name: a, rule: 'true', severity: LOUD}]", "E212"),
        ("groups: {F: [a]}\nconstraints: [{name: a, rule: 'true'}]", "E211"),
        ("groups: {WRITE: []}\nconstraints: [{name: a, rule: 'true'}]", "E106"),
        ("tools: [a]\ngroups: {WRITE: [b]}\nconstraints: [{name: a, rule: WRITE}]", "E104"),
        ("a: &a [*a]", "E204"),
        ("constraints: [{name: a, rule: nope()}]", "E115"),
        ("constraints: !!python/object:os.system [x]", "E201"),
    ],
)
def test_mistake(text: str, code: str, tmp_path: Path) -> None:
    assert _mistakes(tmp_path, text)[0][0] == code


def test_yaml_words_stay_words(tmp_path: Path) -> None:
    """`no` and `on` are tools, not truth values."""
    procedure = _load(tmp_path, "tools: [no, on, yes]\nconstraints: [{name: a, rule: F no}]")
    assert procedure.tools == ("no", "on", "yes")


def test_defaults() -> None:
    procedure = Procedure.from_dict({"constraints": [{"name": "a", "rule": "Called(x)"}]})
    constraint = procedure["a"]
    assert (constraint.weight, constraint.severity) == (1.0, None)
    assert constraint.effective_severity == "SOFT_BLOCK"
    assert (procedure.order, procedure.events, procedure.tools) == ("position", "calls", None)


def test_a_procedure_survives_its_dictionary(examples: Path) -> None:
    found = sorted(examples.rglob("procedure.yaml"))
    assert len(found) >= 4
    for path in found:
        if path.parent.name != "figure-1":  # it needs its vocabulary
            procedure = Procedure.load(path)
            assert Procedure.from_dict(procedure.to_dict()) == procedure


def test_a_rule_may_be_written_as_json() -> None:
    rule = to_json(parse("G(search -> F cite)"))
    procedure = Procedure.from_dict({"constraints": [{"name": "a", "rule": rule}]})
    assert procedure["a"].rule == "G(search -> F cite)"


def test_final_answer_is_always_a_known_tool() -> None:
    spec = {"tools": ["a"], "constraints": [{"name": "x", "rule": "Before(a, final_answer)"}]}
    assert Procedure.from_dict(spec)["x"].formula == parse("Before(a, final_answer)")


def test_loading_a_file_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert _mistakes(tmp_path, "constraints: [{name: a, rule: trap()}]")[0][0] == "E115"


def test_registration_is_checked() -> None:
    words = Vocabulary()

    def too_few(trace: object) -> bool:
        return True

    def G(trace: object, at: int, metrics: object) -> bool:  # noqa: N802
        return True

    def fine(trace: object, at: int, metrics: object, *operands: object) -> bool:
        return True

    for wrong in (too_few, G):
        with pytest.raises(SpecError) as caught:
            words.predicate(wrong)
        assert caught.value.diagnostics[0].code == "E114"
    words.predicate(fine)
    with pytest.raises(SpecError):
        words.extractor(fine)


def test_a_line_is_corrected_once() -> None:
    """Quotes around quotes would double them with every further mistake."""
    text = "constraints:\n- name: a\n  rule: |0x10\n    Before(search, final_answer)\n"
    with pytest.raises(SpecError) as raised:
        read_yaml_document(text)
    assert len(raised.value.diagnostics) == 2
    assert len(str(raised.value)) < 1_000
