"""`bylaw verify --certificate` and `bylaw-check`, on files."""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jmespath
import pytest
from forging import NOTHING, case_of

import bylaw_check
import bylaw_rules
from bylaw import Call, Message, Procedure, Trace, Vocabulary, to_json
from bylaw.cli.main import main
from bylaw.procedure.document import read_document_file

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
DESK = EXAMPLES / "refund-desk" / "procedure.yaml"
PROGRAMS = [ROOT / "src" / name for name in ("bylaw_check.py", "bylaw_rules.py")]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with copies of the two programs, and nothing else."""
    folder = tmp_path / "auditor"
    folder.mkdir()
    for program in PROGRAMS:
        shutil.copy(program, folder)
    return folder


def checked(folder: Path, *paths: Path, options: tuple[str, ...] = ()) -> Any:
    """The answer of a copied checker, in a Python that can import nothing that is installed."""
    command = [
        sys.executable,
        "-S",
        "-E",
        str(folder / "bylaw_check.py"),
        *map(str, paths),
        *options,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def certified(folder: Path, trace: Path, procedure: Path) -> Path:
    written = folder / "c.json"
    main(["verify", "--certificate", str(written), "-p", str(procedure), str(trace), "--force"])
    return written


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_the_programs_import_only_the_standard_library(program: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(program.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported - {"bylaw_rules"} <= sys.stdlib_module_names


@pytest.mark.parametrize("trace", ["good.json", "bad.json"])
def test_a_certificate_is_accepted_by_a_copy_of_the_checker(
    trace: str, tmp_path: Path, programs: Path
) -> None:
    written = certified(tmp_path, DESK.with_name(trace), DESK)
    found = checked(programs, written, DESK.with_name(trace), DESK)
    assert (found.returncode, found.stdout, found.stderr) == (0, "accepted\n", "")


def test_without_the_reader_of_rules_the_formulas_are_named_as_not_checked(
    tmp_path: Path, programs: Path
) -> None:
    written = certified(tmp_path, DESK.with_name("bad.json"), DESK)
    (programs / "bylaw_rules.py").unlink()
    found = checked(programs, written, DESK.with_name("bad.json"), DESK, options=("--json",))
    said = json.loads(found.stdout)
    assert (said["exit_code"], said["verdict"], len(said["not_checked"])) == (3, "accepted", 1)
    assert found.returncode == 3


def test_another_trace_or_procedure_is_noticed(tmp_path: Path, programs: Path) -> None:
    bad = DESK.with_name("bad.json")
    written = certified(tmp_path, bad, DESK)
    softer = tmp_path / "procedure.yaml"
    softer.write_text(DESK.read_text() + "# softer\n")
    for trace, procedure, about in (
        (DESK.with_name("good.json"), DESK, "trace"),
        (bad, softer, "procedure"),
    ):
        found = checked(programs, written, trace, procedure)
        assert found.returncode == 1
        assert found.stdout == f"wrong: the certificate is about another {about}\n"


def test_a_rule_that_was_edited_is_noticed_also_with_its_hash_replaced(
    tmp_path: Path, programs: Path
) -> None:
    bad = DESK.with_name("bad.json")
    written = certified(tmp_path, bad, DESK)
    softer = tmp_path / "procedure.yaml"
    softer.write_text(DESK.read_text().replace("G(refund -> O verify)", "G(refund -> F verify)"))
    claims = json.loads(written.read_text())
    claims["procedure"]["sha256"] = hashlib.sha256(softer.read_bytes()).hexdigest()
    written.write_text(json.dumps(claims))
    found = checked(programs, written, bad, softer)
    assert (found.returncode, found.stdout) == (
        1,
        "wrong: verify-first: the formula is not that of the rule\n",
    )


def test_other_formats_are_exported_and_the_record_is_certified(
    tmp_path: Path, programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    retail = EXAMPLES / "retail" / "procedure.yaml"
    written = certified(tmp_path, EXAMPLES / "retail" / "chat.json", retail)
    exported = tmp_path / "c.trace.json"
    assert "it is about the record in" in capsys.readouterr().out
    assert "exported_from" in json.loads(written.read_text())["trace"]
    assert checked(programs, written, exported, retail).stdout == "accepted\n"


def test_an_exported_record_does_not_replace_another_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.trace.json").write_text("mine")
    retail = EXAMPLES / "retail"
    paths = ["-p", str(retail / "procedure.yaml"), str(retail / "chat.json")]
    assert main(["verify", "--certificate", str(tmp_path / "c.json"), *paths]) == 2
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / "c.trace.json").read_text() == "mine"


def test_a_certificate_is_about_one_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--summary"]):
        runs = [str(DESK.with_name("good.json")), str(DESK.with_name("bad.json"))]
        command = ["verify", "--certificate", str(tmp_path / "c.json"), "-p", str(DESK)]
        assert main([*command, *runs, *more]) == 2
        assert "--certificate is for one trace" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"certificate": 1}', "\udcff", "{"])
def test_what_is_no_certificate_is_no_traceback(
    content: str, tmp_path: Path, programs: Path
) -> None:
    written = tmp_path / "c.json"
    written.write_bytes(content.encode("utf-8", "surrogateescape"))
    found = checked(programs, written, DESK.with_name("bad.json"), DESK)
    assert (found.returncode, found.stderr) == (2, "")
    assert found.stdout.startswith("unusable: ")


def test_a_rule_without_tables_is_named_and_its_reason_cannot_write_lines(
    tmp_path: Path, programs: Path
) -> None:
    written = certified(tmp_path, DESK.with_name("bad.json"), DESK)
    claims = json.loads(written.read_text())
    del claims["rules"][0]["tables"]
    claims["rules"][0]["reason"] = "\x1b[2J\nall is well"
    written.write_text(json.dumps(claims))
    found = checked(programs, written, DESK.with_name("bad.json"), DESK)
    first, second = found.stdout.splitlines()
    assert (found.returncode, first) == (3, "accepted")
    assert second.startswith("not checked: verify-first: it has no tables")
    assert second.isprintable()


# ── what is proved, and what is not ───────────────────────────────────────────────────────


def unproved(rule: str, trace: Trace, **fields: Any) -> list[str]:
    """The claims of a true certificate that the checker names as not checked."""
    vocabulary = fields.pop("vocabulary", Vocabulary())
    rules = {"constraints": [{"name": "rule", "rule": rule}], **fields}
    case = case_of(Procedure.from_dict(rules, vocabulary=vocabulary), trace)
    return bylaw_check.check(case.certificate, case.record, case.rules)


def test_functions_registered_in_python_are_not_checked() -> None:
    vocabulary = Vocabulary()

    @vocabulary.predicate
    def lucky(trace: Trace, at: int, metrics: Any) -> bool:
        return True

    trace = Trace([Call("a")])
    (claim,) = unproved("G lucky()", trace, vocabulary=vocabulary)
    assert "it calls 'lucky', which is registered in Python" in claim
    assert unproved("G a", trace, vocabulary=vocabulary) == []


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ('forall x in args(a, "sort(@)"): x = 1', "the path 'sort(@)'"),
        ('forall x in args(a, "i || j"): x = 1', "the path 'i || j'"),
        ("G(text ~ /x\\B/)", "the regular expression"),
    ],
)
def test_what_is_beyond_the_checker_is_named(rule: str, reason: str) -> None:
    (claim,) = unproved(rule, Trace([Call("a", {"i": 1}, result="x")]))
    assert claim.startswith(f"rule: {reason}")


@pytest.mark.parametrize(
    "path", ["i", "i[]", "@", "i[0]", "i[-1].k", "i[].k", "i[].k[]", '"a b".k', "i.k.k", "i[][0]"]
)
@pytest.mark.parametrize(
    "arguments",
    [
        {"i": 1},
        {"i": [1, None, [2, [3]]]},
        {"i": [{"k": [1, None]}, {"k": 2}, {}, 5]},
        {"i": {"k": {"k": [1]}}, "a b": {"k": None}},
        {},
    ],
)
def test_paths_find_what_jmespath_finds(path: str, arguments: Any) -> None:
    assert bylaw_check.search(path, arguments) == jmespath.search(path, arguments)


def test_the_procedures_own_test_for_failures_is_checked_too() -> None:
    trace = Trace(
        [Call("a", result="Error: no"), Call("a", result="fine"), Message("user", "Error")]
    )
    assert unproved("G(a -> ok)", trace, failed="text ~ /^Error/", events="all") == []
    rules = {"constraints": [{"name": "rule", "rule": "G ok"}], "failed": "text ~ /^Error/"}
    case = case_of(Procedure.from_dict(rules), trace)
    assert case.certificate["rules"][0]["outcome"] == "violated"
    case.certificate["failed"]["tables"] = [[{"true": []}]]
    assert case.rejected() is not None
    del case.certificate["failed"]
    assert case.rejected() is not None


# ── procedures ────────────────────────────────────────────────────────────────────────────


def read_both(text: str) -> tuple[Any, Any]:
    """The formulas that Bylaw and the checker find in a procedure."""
    path = Path("procedure.yaml")
    path.write_text(text)
    found = Procedure.load(path).constraints
    own = [(each.name, each.weight, to_json(each.formula)["formula"]) for each in found]
    read = bylaw_rules.read_procedure(text, False)["constraints"]
    return own, [(each["name"], each["weight"], each["formula"]) for each in read]


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("*/procedure.yaml")), ids=lambda p: p.parent.name
)
def test_the_rules_of_the_examples_are_read(path: Path) -> None:
    read = bylaw_rules.read_procedure(path.read_text(), False)
    unread = [each["name"] for each in read["constraints"] if each["formula"] is None]
    assert unread == (["grounded"] if path.parent.name == "figure-1" else [])
    document = read_document_file(path)[1].plain()
    assert bylaw_rules.Yaml(path.read_text()).document() == document


HEAD = "bylaw: 1\nconstraints:\n"


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "- name: a\n  rule: G x\n",
        HEAD + "  - {name: a, rule: 'G(x -> y)', weight: 2}\n",
        HEAD + "  - name: 'it''s'\n    rule: \"G(\\\"x\\\" -> y)\"  # why\n",
        HEAD + "  - name: a\n    rule: |\n      G(x # a comment\n        -> y)\n    weight: 1.5\n",
        HEAD + "  - name: a\n    rule: >-\n      G(x\n      -> y)\n\n  - name: b\n    rule: true\n",
        HEAD + "  - name: a b\n    rule: G(x ->\n      F y)\n",
        'constraints: [{"name": "a", "rule": "G x"},\n  {"name": "b", "rule": "F x"}]\n',
        "groups: {WRITE: [a, 'b*', OTHER], OTHER: [c, a]}\n"
        "constants: {N: 3, M: {k: [1, 2.0]}}\n"
        + HEAD[9:]
        + "  - {name: a, rule: 'G(WRITE -> args.n in M.k | args.n = N)'}\n",
        "define:\n  f(x): 'exists i in args.items: i = x'\n  g: c\n"
        + HEAD[9:]
        + "  - {name: a, rule: 'G(a -> let i = args.i: f(i) & !g)'}\n",
        "define:\n  s(t, i): length(sofar(call(t, id = i))) = 1\n"
        "  p(q): F q within 10 min\n"
        + HEAD[9:]
        + "  - {name: a, rule: 'G({a, b} -> let i = args.id: s(a, i) & p(b & c))'}\n",
        HEAD
        + "  - {name: a, rule: 'G(call(a, x > last(b).result.y, z = 1, ok) -> -1 < args.a - 1)'}\n",
        HEAD + "  - {name: a, rule: 'a and not b until c implies d iff e or (f -> g)'}\n",
    ],
)
def test_procedures_are_read_as_bylaw_reads_them(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own, read = read_both(text)
    assert own == read


@pytest.mark.parametrize(
    "text",
    [
        *("a: &x 1\nb: *x\n", "a: !!str 1\n", "a: 1\na: 2\n", "a:\t1\n", "a: [1\n", "a: b: c\n"),
        *("# a comment?\u2028a: 1\n", "a: 1\r\n", "? a\n: 1\n", "---\na: 1\n", "a: |2\n    b\n"),
        *("a: 1\n b: 2\n", "a: 'b\n", "1: a\n", "a: b\n---\na: c\n", "%YAML 1.2\n---\na: 1\n"),
    ],
)
def test_other_yaml_is_refused(text: str) -> None:
    with pytest.raises(bylaw_rules.Unread):
        bylaw_rules.Yaml(text).document()


@pytest.mark.parametrize("key", ["literal", "read", "count", "object", "variable", "tool", "any"])
def test_a_key_of_an_object_is_not_taken_for_a_tag(key: str) -> None:
    trace = Trace([Call("a", {"i": 1}), Call("a", {"i": 2})])
    rule = f'G(a -> let x = {{"{key}": args.i}}: x."{key}" < 3 & x = {{"{key}": args.i}})'
    assert unproved(rule, trace) == []
    assert unproved(f'exists x in [{{"{key}": args.i}}]: x."{key}" = 1', trace) == []


def test_a_test_for_failures_that_cannot_be_checked_leaves_every_rule_open() -> None:
    trace = Trace([Call("a", result="Error: no")])
    (claim,) = unproved("G ok", trace, failed="text ~ /Error\\B/")
    assert claim.startswith("every rule, because of the test for failed calls")


def test_a_certificate_names_the_files_and_the_version(tmp_path: Path) -> None:
    claims = json.loads(certified(tmp_path, DESK.with_name("bad.json"), DESK).read_text())
    assert claims["trace"]["file"] == "bad.json"
    assert claims["procedure"] == claims["procedure"] | {"file": "procedure.yaml"}
    assert claims["command"].startswith("bylaw verify --certificate")
    assert claims["version"]
    assert NOTHING.to_dict()["file"] == "none"
