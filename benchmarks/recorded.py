"""Recorded runs behind a gate: a refused call is left out, and the rest is as recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from bylaw import Call, Guard, Message, Procedure, Trace
from bylaw.enforcement.decision import Decision
from bylaw.trace.files import read_traces

Execute = Callable[[Call], tuple[object, str | None]]
"""Runs a call and returns its result and its error, or None."""


@dataclass(slots=True)
class Replay:
    """A run behind a gate: the calls that ran, and the decisions that refused others."""

    ran: list[Call] = field(default_factory=list)
    refused: list[Decision] = field(default_factory=list)

    @property
    def rules(self) -> list[str]:
        """The names of the rules that refused something, each once."""
        names = (found.constraint.name for each in self.refused for found in each.violations)
        return list(dict.fromkeys(names))


def traces_in(path: Path) -> Iterator[Trace]:
    """The traces of a file. Raises if one cannot be read."""
    for entry in read_traces(path):
        if entry.trace is None:
            raise SystemExit(f"{path}: {entry.error}")
        yield entry.trace


def new_guard(procedure: Procedure) -> Guard:
    """A guard that never ends the run, so that the rest of the run is seen."""
    limit = 1_000_000
    return Guard(procedure, clock=None, soft_block_limit=limit, unenforceable="score")


def replayed(procedure: Procedure, trace: Trace, execute: Execute | None = None) -> Replay:
    """The run behind a gate, turn by turn. Calls have their recorded results, or are run."""
    return go_through(new_guard(procedure), trace, execute)


def go_through(guard: Guard, trace: Trace, execute: Execute | None = None) -> Replay:
    """Takes a guard through a run."""
    made = Replay()
    for _, events in groupby(trace.events, key=lambda event: event.step):
        _take_turn(guard, list(events), made, execute)
    return made


def _take_turn(
    guard: Guard, events: Iterable[Call | Message], made: Replay, execute: Execute | None
) -> None:
    calls = []
    for event in events:
        if isinstance(event, Message):
            guard.say(event.role, event.text)
        else:
            calls.append(event)
    if not calls:
        return
    for call, decision in zip(calls, guard.propose(calls), strict=True):
        if not decision.allowed:
            made.refused.append(decision)
            continue
        made.ran.append(call)
        result, error = (call.result, call.error) if execute is None else execute(call)
        guard.record(decision, result, error=error)
