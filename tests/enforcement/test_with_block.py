"""A guard in a `with` block: the run is finished at its end, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from bylaw import AuditLog, Call, Guard, Procedure
from bylaw.audit.reader import read_log

PROCEDURE = Procedure.from_dict({"constraints": [{"name": "look-first", "rule": "F look"}]})


def test_the_run_is_finished_without_an_answer() -> None:
    with Guard(PROCEDURE) as guard:
        guard.propose([Call("look")])
    assert guard.finished
    assert guard.report is not None
    assert guard.report.label == "FULL"


def test_an_answer_that_was_proposed_counts() -> None:
    procedure = Procedure.from_dict({"constraints": [{"name": "ends", "rule": "F final_answer"}]})
    with Guard(procedure) as guard:
        guard.propose([Call("final_answer", {"answer": "Done."})])
    assert guard.report is not None
    assert guard.report.label == "FULL"


def test_a_run_that_was_finished_is_not_finished_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    with AuditLog(path) as log, Guard(PROCEDURE, log=log) as guard:
        report = guard.finish(answer="Done.")
    assert guard.report is report
    assert [entry.kind for entry in read_log(path)].count("finish") == 1


def test_an_exception_ends_the_run_and_passes_through(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    with (
        pytest.raises(ZeroDivisionError),
        AuditLog(path) as log,
        Guard(PROCEDURE, log=log) as guard,
    ):
        raise ZeroDivisionError
    assert guard.report is not None
    assert guard.report.label == "NONE"
    assert [entry.kind for entry in read_log(path)][-2:] == ["finish", "close"]
