"""Every mistake of a new user gets the sentence that helps, in 80 columns, word for word."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from mistakes import TABLES, Mistake, message_of, mistakes

import bylaw
from bylaw import BylawError, Guard, Procedure, parse
from bylaw.cli.main import main
from bylaw.codes import CODES
from bylaw.procedure.lint import lint
from bylaw.trace.files import read_trace

RULE = "constraints:\n  - name: verify-first\n    rule: G(refund -> O verify)\n"
RUN = '{"tool_calls": [{"tool_name": "refund", "arguments": {}}]}\n'


def _table(name: str) -> pytest.MarkDecorator:
    found = list(mistakes(name))
    return pytest.mark.parametrize("mistake", found, ids=[each.place for each in found])


def _tools(mistake: Mistake) -> list[str] | None:
    listed = mistake.directives.get("tools")
    return listed.split(", ") if listed else None


@_table("formulas.cases")
def test_in_a_formula(mistake: Mistake) -> None:
    assert message_of(lambda: parse(mistake.written, tools=_tools(mistake))) == mistake.said


@_table("formulas.cases")
def test_what_is_advised_can_be_read(mistake: Mistake) -> None:
    for line in mistake.said.split("\n"):
        if line.startswith("write: "):
            parse(line.removeprefix("write: "), tools=_tools(mistake))


@_table("procedures.cases")
def test_in_a_procedure(mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(mistake.directives.get("file", "p.yaml"))
    path.write_text(mistake.written.replace("→", "\t"), encoding="utf-8")
    assert message_of(lambda: Procedure.load(path)) == mistake.said


@_table("traces.cases")
def test_in_a_trace(mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.json").write_text(mistake.written, encoding="utf-8")
    assert message_of(lambda: read_trace("run.json")) == mistake.said


@_table("python.cases")
def test_in_python(mistake: Mistake) -> None:
    procedure = Procedure.from_dict(
        {"constraints": [{"name": "verify-first", "rule": "G(refund -> O verify)"}]}
    )
    known: dict[str, Any] = {name: getattr(bylaw, name) for name in bylaw.__all__}
    known |= {"procedure": procedure, "guard": Guard(procedure)}
    *before, last = mistake.written.split("\n")
    for line in before:
        exec(line, known)
    assert message_of(lambda: exec(last, known)) == mistake.said


@_table("commands.cases")
def test_in_a_command(
    mistake: Mistake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text(RULE, encoding="utf-8")
    Path("run.json").write_text(RUN, encoding="utf-8")
    Path("runs").mkdir()
    Path("runs", "notes.txt").write_text("nothing", encoding="utf-8")
    Path("calls.csv").write_text("step,tool\n0,verify\n", encoding="utf-8")
    assert main(shlex.split(mistake.written)[1:]) == 2
    assert capsys.readouterr().err.rstrip("\n") == mistake.said


@_table("lint.cases")
def test_in_a_rule_that_can_be_read(mistake: Mistake) -> None:
    fields = {"tools": _tools(mistake)} if _tools(mistake) else {}
    procedure = Procedure.from_dict(
        {**fields, "constraints": [{"name": "r", "rule": mistake.written}]}
    )
    found = [f"{each.code}: {each.message}\n{each.suggestion}" for each in lint(procedure)]
    assert mistake.said in found


@pytest.mark.parametrize("table", sorted(path.name for path in TABLES.iterdir()))
def test_messages_fit_a_terminal(table: str) -> None:
    for mistake in mistakes(table):
        for line in mistake.said.split("\n"):
            assert len(line) <= 80 or line.startswith("write: ") or table == "lint.cases", line


def test_the_tables_hold_what_they_are_for() -> None:
    """Enough mistakes, each once, and none without advice."""
    found = [each for path in TABLES.iterdir() for each in mistakes(path.name)]
    assert len(found) >= 100
    assert len({(each.place.split(":")[0], each.written, *each.directives) for each in found}) == (
        len(found)
    )
    for each in found:
        assert (
            "\nhelp: " in each.said
            or "\nwrite: " in each.said
            or each.said[1:4] in CODES
            or (each.said[:4] in CODES)
        ), each.place


def test_a_formula_without_mistakes_is_left_alone() -> None:
    parse("G(refund -> O verify)")
    with pytest.raises(BylawError) as caught:
        parse("G(" * 1500 + "a" + ")" * 1500 + " &&")
    assert caught.value.diagnostics[0].rewrite is None
