"""`bylaw lint`, as people type it: what it prints, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bylaw.cli.main import main

CLEAN = """\
name: desk
constraints:
  - {name: verify-first, rule: G(refund -> O verify)}
"""
TRAPPED = """\
name: desk
tools: [verify, refund, lookup]
constraints:
  - {name: verify-first, rule: "Before(verify, refund)"}
  - {name: once, rule: "CalledN(verify, = 1)"}
  - {name: twice, rule: "CalledN(verify, = 2)"}
"""
NOTED = """\
name: desk
tools: [verify, refund, lookup]
constraints:
  - {name: verify-first, rule: G(refund -> O verify)}
"""
RUN = '{"tool_calls": [{"tool_name": "verify"}]}'


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with procedures and a trace."""
    for name, text in (("clean", CLEAN), ("trapped", TRAPPED), ("noted", NOTED)):
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "broken.yaml").write_text("constraints: [{name: a, rule: G(}]")
    (tmp_path / "run.json").write_text(RUN)
    (tmp_path / "damaged.json").write_text('{"tool_calls": [')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["clean.yaml"], 0),
        (["noted.yaml"], 0),
        (["trapped.yaml"], 1),
        (["clean.yaml", "--traces", "run.json"], 1),
        (["broken.yaml"], 2),
        (["missing.yaml"], 2),
        (["clean.yaml", "--traces", "damaged.json"], 2),
        (["clean.yaml", "--traces", "missing.json"], 2),
        (["clean.yaml", "--with", "no_such_module:words"], 2),
        ([], 2),
    ],
)
def test_exit_codes(arguments: list[str], code: int, desk: Path) -> None:
    assert main(["lint", *arguments]) == code
    assert main(["lint", *arguments, "--json"]) == code


def test_findings_stand_with_their_rules(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "trapped.yaml"])
    output = capsys.readouterr().out
    assert output.startswith(
        "verify-first\n"
        "  rule: Before(verify, refund)\n"
        "  warning[W508]\n"
        "    `Before(verify, refund)` is violated when refund is never called.\n"
        "    To accept traces without that call, write:\n"
        "        G(refund -> O verify)\n"
    )
    assert "once and twice\n  warning[W503]\n    No trace satisfies both rules" in output
    assert "the procedure\n  note[W507]\n    No rule names the tool lookup." in output
    assert "desk: 2 warnings, 1 note on 3 rules." in output
    assert max(map(len, output.splitlines())) <= 80


def test_a_clean_procedure_says_so(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "clean.yaml"])
    assert capsys.readouterr().out.startswith("desk: 0 warnings, 0 notes on 1 rule.\n")


def test_json(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "--json", "trapped.yaml", "--traces", "run.json"])
    output = json.loads(capsys.readouterr().out)
    assert (output["procedure"], output["warnings"], output["notes"]) == ("desk", 2, 1)
    first = output["findings"][0]
    assert (first["code"], first["constraints"]) == ("W508", ["verify-first"])
    assert first["rewrite"] == "G(refund -> O verify)"


def test_hostile_text_cannot_redraw_the_terminal(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = json.dumps(r'Before(a, "\u001b[2J")')
    (desk / "hostile.yaml").write_text(f"constraints: [{{name: c, rule: {rule}}}]")
    assert main(["lint", "hostile.yaml"]) == 1
    assert "\x1b" not in capsys.readouterr().out
