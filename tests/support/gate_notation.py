"""The notation of gate scenarios: rules, then turns with the expected decisions.

    == a soft block refuses, and the third of one rule stops
    @mode in-a-row
    once SOFT_BLOCK: CalledN(pay, <= 1)
    > pay get          | allow allow
    > pay              | block:once

`==` begins a scenario. `@option value` sets up the guard. `name SEVERITY [layer]: formula` is a
rule. `>` is a turn: calls as in truth tables, a final answer in quotes, or a message. After the bar
there is one word for each call: the action, then the rules that it breaks (`:`), those that were
overridden (`^`), and those that were tolerated (`~`); a question mark if it is not certain that the
rules can still be satisfied together. Results of calls that run are recorded after
the turn; `lost:name` means that a rule was lost through them. `block!` refuses a malformed call: no
rule was asked. `!approve` approves the calls that wait for a person, `!abandon` gives up the calls
of the turn before, and `= 0.5 PARTIAL` finishes and gives the score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from notation import trace

from bylaw import Call, Message, Procedure, verify_trace
from bylaw.enforcement.decision import Decision, Violation
from bylaw.enforcement.guard import Guard
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, Event

_RULE = re.compile(r"(?P<name>[\w-]+) (?P<severity>[A-Z_]+)(?: (?P<layer>L\d))?: (?P<rule>.+)")
_GUARD = ("setting", "hints", "mode", "limit", "ask", "outstanding", "unenforceable")
_PROCEDURE = ("finish", "order", "events", "failed", "tools", "unlisted")


@dataclass(eq=False)
class Scenario:
    """One scenario of a table."""

    title: str
    place: str
    options: dict[str, str] = field(default_factory=dict)
    rules: list[dict[str, Any]] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)

    @cached_property
    def procedure(self) -> Procedure:
        """The rules as a procedure; made once, as in a program with many runs."""
        stated: dict[str, Any] = {k: v for k, v in self.options.items() if k in _PROCEDURE}
        if tools := stated.get("tools"):
            stated["tools"] = json.loads(tools) if tools.startswith("{") else tools.split()
        return Procedure.from_dict({**stated, "constraints": self.rules})

    def guard(self, **more: Any) -> Guard:
        """A gate for them."""
        given: dict[str, Any] = more | {k: v for k, v in self.options.items() if k in _GUARD}
        if "mode" in given:
            given["soft_block"] = given.pop("mode")
        if "limit" in given:
            given["soft_block_limit"] = int(given.pop("limit"))
        if "ask" in given:
            wanted = given.pop("ask")
            given["ask"] = _first() if wanted == "first" else ANSWERS[wanted]
        return Guard(self.procedure, **given)

    def check(self) -> None:
        """Plays the scenario. At its end, the trace of what ran has the score of the guard."""
        guard = self.guard()
        decisions: list[Decision] = []
        for line in self.turns:
            if line.startswith("="):
                report = guard.finish()
                assert f"{report.score:g} {report.label}" == line[1:].strip(), self.place
            elif line == "!approve":
                for decision in decisions:
                    if decision.action == "ask":
                        guard.approve(decision)
            elif line == "!abandon":
                for decision in decisions:
                    guard.abandon(decision)
            else:
                shown, _, expected = line.removeprefix(">").rpartition("|")
                decisions, found = play(guard, shown)
                assert found == expected.split(), f"{self.place}: {shown.strip()}"
        report = guard.finish()
        scored = verify_trace(report.trace.to_record(), guard.procedure)
        live = [each.passed for each in report.constraints]
        assert [each.passed for each in scored.constraints] == live, self.place


def play(guard: Guard, shown: str) -> tuple[list[Decision], list[str]]:
    """Proposes a turn, records its results, and says what the gate did."""
    known = len(guard.events)
    events: list[Event] = list(trace(shown).seen("all", answer=True))
    for event in events:
        if isinstance(event, Message):
            guard.say(event.role, event.text)
    calls = [event for event in events if isinstance(event, Call)]
    decisions = guard.propose(calls) if calls or not events else []
    for call, decision in zip(calls, decisions, strict=True):
        happened = call.result is not MISSING or call.failed
        if decision.allowed and happened and call.tool != FINAL_ANSWER:
            result = None if call.result is MISSING else call.result
            guard.record(decision, result, error=call.error)
    lost = [f"lost:{e.constraint}" for e in guard.events[known:] if e.action == "lost"]
    return decisions, [*map(said, decisions), *lost]


def said(decision: Decision) -> str:
    """A decision in one word."""
    return words_of(
        decision.action,
        [violation.constraint.name for violation in decision.violations],
        decision.overridden,
        malformed=bool(decision.problem),
        decided=decision.decided,
    )


def words_of(
    action: str, broken: Sequence[str], overridden: Sequence[str], *, malformed: bool, decided: bool
) -> str:
    """The word for a decision: the action, the rules, and the marks."""
    names = ",".join(broken)
    mark = "~" if action == "allow" else ":"
    passed = "".join(f"^{name}" for name in overridden)
    doubt = "" if decided else "?"
    return f"{action}{'!' * malformed}{mark + names if names else ''}{passed}{doubt}"


def _yes(call: Call, violations: tuple[Violation, ...]) -> bool:
    return True


def _no(call: Call, violations: tuple[Violation, ...]) -> bool:
    return False


def _first() -> Any:
    """A person who approves once."""
    answers = iter([True])
    return lambda call, violations: next(answers, False)


def _raises(call: Call, violations: tuple[Violation, ...]) -> bool:
    raise RuntimeError("nobody there")


def _vague(call: Call, violations: tuple[Violation, ...]) -> Any:
    return "yes"


async def _yes_later(call: Call, violations: tuple[Violation, ...]) -> bool:
    return True


ANSWERS: dict[str, Any] = {
    "yes": _yes,
    "no": _no,
    "raises": _raises,
    "vague": _vague,
    "yes, async": _yes_later,
}


def scenarios(path: Path) -> Iterator[Scenario]:
    """The scenarios of a file."""
    current: Scenario | None = None
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        text = line.strip()
        if text.startswith("=="):
            if current is not None:
                yield current
            current = Scenario(text[2:].strip(), f"{path.name}:{number}")
        elif not text or text.startswith("#") or current is None:
            continue
        elif text.startswith("@"):
            option, _, value = text[1:].partition(" ")
            assert option in (*_GUARD, *_PROCEDURE), f"{path.name}:{number}: no option {option!r}"
            current.options[option] = value.strip()
        elif text[0] in ">=!":
            current.turns.append(text)
        else:
            found = _RULE.fullmatch(text)
            assert found, f"{path.name}:{number}: not a rule: {text}"
            current.rules.append({k: v for k, v in found.groupdict().items() if v is not None})
    if current is not None:
        yield current
