"""A scenario of the gate's table as the script of an agent that some framework runs.

The audit log is the witness: it says what the gate decided, whatever the framework made of it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from gate_notation import Scenario, words_of
from notation import trace

from bylaw.adapters.gated_run import GuardSource
from bylaw.audit.log import AuditLog
from bylaw.enforcement.guard import Guard
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, Call, Message
from bylaw.values import Json, equal

RESULT = "done"
"""The result of a tool if the table has none."""


class ScriptEnded(Exception):
    """There is no turn left: the framework is to give up."""


class ToolFailure(Exception):
    """A tool fails, as the table says."""


@dataclass(frozen=True)
class Step:
    """A turn of the table and what it expects, or what a person does between two turns."""

    calls: list[Call]
    words: list[str]
    act: str = ""


def steps_of(scenario: Scenario) -> list[Step]:
    """The turns of a scenario, and what happens between them."""
    found = []
    for line in scenario.turns:
        if line.startswith(">"):
            shown, _, expected = line.removeprefix(">").rpartition("|")
            events = trace(shown).seen("all", answer=True)
            calls = [event for event in events if isinstance(event, Call)]
            speaks = any(isinstance(event, Message) for event in events)
            found.append(Step(calls, expected.split(), "message" if speaks else ""))
        else:
            found.append(Step([], [], line))
    return found


class Script:
    """The turns that a scripted model makes, and the results of its calls."""

    def __init__(self, scenario: Scenario, log: AuditLog) -> None:
        self.steps = steps_of(scenario)
        self.guard = scenario.guard(log=log)
        self.names = sorted(
            {c.tool for step in self.steps for c in step.calls if c.tool != FINAL_ANSWER}
        )
        self._turns = self._made()
        self._open: list[Call] = []
        self._lock = threading.Lock()

    def _made(self) -> Iterator[list[Call]]:
        for step in self.steps:
            if step.act == "!approve":
                asked = self.guard.asked
                for decision in asked:
                    if decision.turn == asked[-1].turn:
                        self.guard.approve(decision)
            elif not step.act:
                self._open = list(step.calls)
                yield step.calls

    def next_turn(self) -> list[Call]:
        """The calls of the next turn."""
        turn = next(self._turns, None)
        if turn is None:
            raise ScriptEnded
        return turn

    def arguments_of(self, tool: str) -> list[str]:
        """The names of all arguments that calls of a tool have."""
        calls = [call for step in self.steps for call in step.calls if call.tool == tool]
        return list(dict.fromkeys(name for call in calls for name in call.args))

    def run(self, tool: str, args: Mapping[str, Json]) -> Json:
        """The result of a call of the current turn; raises ToolFailure if it fails."""
        with self._lock:
            place = next(
                i
                for i, call in enumerate(self._open)
                if call.tool == tool and equal(dict(call.args), dict(args))
            )
            call = self._open.pop(place)
        if call.error is not None:
            raise ToolFailure(call.error)
        return RESULT if call.result is MISSING else call.result

    def run_as_text(self, tool: str, args: Mapping[str, Json]) -> str:
        """The same, for frameworks whose tools return texts."""
        result = self.run(tool, args)
        return result if isinstance(result, str) else json.dumps(result)


class GivenGuard(GuardSource):
    """The guard of a script, for the only run: its log is read."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        super().__init__(guard.procedure, {})

    def new_guard(self) -> Guard:
        return self._guard


class CaseDriver(Protocol):
    """Lets an agent of some framework carry out a script behind the gate."""

    turns_are_decided_together: bool

    def why_not(self, scenario: Scenario) -> str | None:
        """The reason why this framework cannot express a scenario."""

    def __call__(self, script: Script) -> None:
        """Carries out the script, as far as the gate lets it."""


def decided(path: Path) -> tuple[list[list[str]], list[str]]:
    """The content of a log: the decisions of each turn with calls, and the rules that were lost."""
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    decisions = [entry for entry in entries if entry.get("kind") == "decision"]
    turns = [
        [_word(entry) for entry in sorted(turn, key=lambda entry: int(entry["index"]))]
        for _, turn in groupby(decisions, key=lambda entry: int(entry["turn"]))
    ]
    lost = [f"lost:{n}" for e in entries if e.get("kind") == "lost" for n in e["constraints"]]
    return turns, lost


def _word(entry: dict[str, Any]) -> str:
    return words_of(
        entry["action"],
        [violation["constraint"] for violation in entry["violations"]],
        [*entry["insisted"], *entry["approved"]],
        malformed="problem" in entry,
        decided=entry["decided"],
    )


def expected(scenario: Scenario) -> tuple[list[list[str]], list[str]]:
    """The content of the table, in the same form."""
    turns, lost = [], []
    for step in steps_of(scenario):
        turns.append([word for word in step.words if not word.startswith("lost:")])
        lost += [word for word in step.words if word.startswith("lost:")]
    return [turn for turn in turns if turn], lost


def with_results(scenario: Scenario, log: AuditLog) -> None:
    """Plays a scenario on the guard alone; every call that is allowed ends before the next turn."""
    script = Script(scenario, log)
    guard: Guard = script.guard
    while not guard.stopped and not guard.finished:
        try:
            calls = script.next_turn()
        except ScriptEnded:
            return
        for call, decision in zip(calls, guard.propose(calls), strict=True):
            if decision.allowed and call.tool != FINAL_ANSWER:
                try:
                    guard.record(decision, script.run(call.tool, call.args))
                except ToolFailure as error:
                    guard.record(decision, None, error=str(error))
