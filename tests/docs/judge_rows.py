"""Judges rows of truth tables with every engine: `python judge_rows.py TABLE=COUNT …`.

Takes the last COUNT rows of each table. Their verdict must be the written one offline, live and
in a corpus; the formula must survive all three forms; nothing may raise.
"""

from __future__ import annotations

import json
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

from notation import Row, rows

from bylaw import (
    Constraint,
    Guard,
    Monitor,
    Procedure,
    Trace,
    explain,
    formulas,
    from_json,
    parse,
    to_json,
    to_python,
    to_text,
    verify_trace,
)
from bylaw.cli.main import main as bylaw
from bylaw.trace.event import MISSING

OUTCOMES = {"yes": "satisfied", "no": "violated", "vacuous": "vacuous"}


def judge(row: Row) -> None:
    """Offline and live, the verdict is the written one."""
    formula, subject = parse(row.formula), row.subject()
    forms = parse(to_text(formula)), from_json(to_json(formula)), _evaluated(to_python(formula))
    assert forms == (formula, formula, formula), row

    procedure = _procedure([row])
    (result,) = verify_trace(subject, procedure).constraints
    assert result.outcome.value == OUTCOMES[row.value], (row, result)
    assert result.detail, row
    assert explain(subject, procedure, result.name).result.outcome is result.outcome, row

    context: dict[str, Any] = {"order": row.order, "events": row.events}
    monitor = Monitor(formula, **context, metrics=subject.metrics, labels=subject.labels)
    for event in subject.seen(context["events"], answer=True):
        monitor.step(event)
    assert monitor.verdict.holds_now is (row.value != "no"), row

    assert _guarded(subject, procedure) is (row.value != "no"), row


def _guarded(subject: Trace, procedure: Procedure) -> bool | None:
    """The verdict of a gate that lets everything pass, at the end of the run."""
    guard = Guard(procedure, labels=subject.labels)
    for _, turn in groupby(subject.calls, lambda call: call.step):
        calls = list(turn)
        for decision, call in zip(guard.propose(calls), calls, strict=True):
            if call.error is not None:
                guard.record(decision, None, error=call.error)
            elif call.result is not MISSING:
                guard.record(decision, call.result)
    return guard.finish(answer=subject.answer).constraints[0].passed


def judge_corpus(table: list[Row]) -> None:
    """`bylaw verify` says of every rule and every trace what `verify_trace` says."""
    procedure, subjects = _procedure(table), [row.subject() for row in table]
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("p.json", "traces.jsonl", "scores.jsonl")]
        Path(files[0]).write_text(json.dumps(procedure.to_dict()))
        Path(files[1]).write_text(
            "".join(f"{json.dumps(subject.to_record())}\n" for subject in subjects)
        )
        code = bylaw(["verify", "-p", files[0], files[1], "--out", files[2], "--jobs", "1"])
        assert code in (0, 1), code
        found = [json.loads(line) for line in Path(files[2]).read_text().splitlines()]
        assert bylaw(["lint", files[0]]) in (0, 1)
    assert len(found) == len(subjects)
    for line in found:
        number = int(line["trace"].rpartition(":")[2]) - 1
        report = verify_trace(subjects[number], procedure)
        assert line["violated"] == [result.name for result in report.violated], table[number]
        vacuous = [each.name for each in report.constraints if each.outcome.value == "vacuous"]
        assert line["vacuous"] == vacuous, table[number]
        assert line["score"] == report.score, table[number]


def _procedure(table: list[Row]) -> Procedure:
    texts = dict.fromkeys(row.formula for row in table)
    constraints = [
        Constraint(f"rule {number}", parse(text), severity="TOLERATE")
        for number, text in enumerate(texts, start=1)
    ]
    order: Any = table[0].order
    events: Any = table[0].events
    return Procedure(constraints, order=order, events=events)


def _evaluated(python: str) -> object:
    return eval(python, {name: getattr(formulas, name) for name in formulas.__all__})


def main(arguments: list[str]) -> None:
    for argument in arguments:
        name, _, count = argument.partition("=")
        table = list(rows(name))[-int(count) :]
        for row in table:
            judge(row)
        judge_corpus(table)


if __name__ == "__main__":
    main(sys.argv[1:])
