"""Every diagnostic code is explained, and every explanation is about a code in use."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import bylaw
from bylaw import BylawError, Procedure, Trace, parse
from bylaw.cli.main import main
from bylaw.codes import CODES

SOURCE = Path(bylaw.__file__).parent


def test_the_codes_in_use_are_the_codes_explained() -> None:
    used = set()
    for path in SOURCE.rglob("*.py"):
        if path.parent.name != "codes":
            used |= set(re.findall(r'"([EW]\d{3})"', path.read_text()))
    assert used == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_explain_code(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code]) == 0
    assert CODES[code].title in capsys.readouterr().out
    assert main(["explain", code, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["code"] == code


FORMULA_CODES = ["E101", "E102", "E103", "E105", "E106", "E107", "E108", "E109", "E110", "E111"]


@pytest.mark.parametrize("code", FORMULA_CODES)
def test_formula_examples_are_wrong_and_right(code: str) -> None:
    with pytest.raises(BylawError) as caught:
        parse(CODES[code].wrong)
    assert code in {d.code for d in caught.value.diagnostics}
    parse(CODES[code].right)


@pytest.mark.parametrize("code", ["E301", "E302", "E303", "E304", "E305", "E306", "E307"])
def test_record_examples_are_wrong_and_right(code: str) -> None:
    with pytest.raises(BylawError) as caught:
        Trace.from_record(json.loads(CODES[code].wrong))
    assert caught.value.diagnostics[0].code == code
    Trace.from_record(json.loads(CODES[code].right))


@pytest.mark.parametrize("code", ["E202", "E203", "E204", "E205", "E208", "E211", "E212"])
def test_procedure_examples_are_wrong_and_right(code: str, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    for text, fits in ((CODES[code].wrong, False), (CODES[code].right, True)):
        inside = code in ("E202", "E205")
        constraint = "constraints:\n  - name: n\n    rule: Called(a)\n"
        body = f"{constraint}    {text}" if inside else f"{text}\n{constraint}"
        path.write_text(text if "constraints" in text else body)
        try:
            Procedure.load(path)
            found = None
        except BylawError as error:
            found = error.diagnostics[0].code
        assert found == (None if fits else code)
