"""The record of a run: events rule by rule, the latest calls, and entries of the audit log."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, get_args

from bylaw.enforcement.decision import HINTS, Decision, Hints, Violation
from bylaw.enforcement.run_log import RunLog, decision_entry
from bylaw.errors import TraceError
from bylaw.frozen import field, record
from bylaw.saved import choice, fields, listed, number, optional_text, places, table, text, whole
from bylaw.trace.event import Call
from bylaw.values import Json, equal

Resolution: TypeAlias = Literal["insisted", "listened"]
NO_CHOICE: Final = ("approve", "early", "lost")
"""The actions that the agent has no part in: a person approved, evidence was outstanding, or a
result, a message or the passing of time broke a rule."""
SHOWN_CALLS: Final = 5
"""The number of earlier calls that a refusal names."""


@record
class EnforcementEvent:
    """A rule that a refused, tolerated or approved call would break, or that was lost."""

    turn: int
    call: Call
    constraint: str
    layer: str | None
    action: str
    """The action of a refusal, `tolerate` or `approve`; `early` if the call should have waited for
    the result of another; `lost` if a result, a message or the passing of time broke the rule."""
    hints: Hints
    resolution: Resolution | None = None
    """Did the next turn with calls repeat the call? None if there was no such turn."""
    time: float = field(default_factory=time.time)

    @classmethod
    def from_dict(cls, data: Mapping[str, Json]) -> EnforcementEvent:
        """The event that `to_dict` wrote."""
        time, turn, tool, arguments, constraint, layer, action, hints, resolution = fields(
            dict(data),
            *("time", "turn", "tool", "arguments", "constraint", "layer", "action", "hints"),
            "resolution",
        )
        stated = choice(resolution, (*get_args(Resolution), "unresolved"))
        return cls(
            whole(turn),
            Call(text(tool), table(arguments)),
            text(constraint),
            optional_text(layer),
            text(action),
            choice(hints, HINTS),
            None if stated == "unresolved" else stated,
            number(time),
        )

    def resolve(self, proposed: Sequence[Call]) -> None:
        """Compares the call with the next turn that has calls."""
        same = any(
            call.tool == self.call.tool and equal(dict(call.args), dict(self.call.args))
            for call in proposed
        )
        self.resolution = "insisted" if same else "listened"

    def to_dict(self) -> dict[str, Json]:
        """The event as JSON."""
        return {
            "time": self.time,
            "turn": self.turn,
            "tool": self.call.tool,
            "arguments": dict(self.call.args),
            "constraint": self.constraint,
            "layer": self.layer,
            "action": self.action,
            "hints": self.hints,
            "resolution": self.resolution or "unresolved",
        }


class RecentCalls:
    """Counts the calls of a run, and keeps the latest of each tool that a rule names."""

    def __init__(self, named: Collection[Collection[str]]) -> None:
        self._named: Final = frozenset[str]().union(*named)
        """The tools that rules name; refusals mention no others."""
        self._made = 0
        self._latest: dict[str, deque[int]] = {}

    def add(self, tool: str) -> None:
        """Counts a call."""
        self._made += 1
        latest = self._latest.get(tool)
        if latest is None:
            if tool not in self._named:
                return
            latest = self._latest[tool] = deque(maxlen=SHOWN_CALLS)
        latest.append(self._made)

    def of(self, tools: Iterable[str]) -> list[str]:
        """The latest calls of these tools, in order: `#3 issue_refund`."""
        made = sorted((number, tool) for tool in tools for number in self._latest.get(tool, ()))
        return [f"#{number} {tool}" for number, tool in made[-SHOWN_CALLS:]]

    def save(self) -> dict[str, Json]:
        """The counts as JSON."""
        return {
            "made": self._made,
            "latest": {tool: list(numbers) for tool, numbers in self._latest.items()},
        }

    def restore(self, saved: Json) -> None:
        """Resumes saved counts."""
        made, latest = fields(saved, "made", "latest")
        self._made = whole(made)
        self._latest = {
            tool: deque((whole(n, 1, self._made) for n in listed(numbers)), maxlen=SHOWN_CALLS)
            for tool, numbers in table(latest).items()
        }


class Journal:
    """The record of one run: its events and, if there is an audit log, entries in it."""

    def __init__(self, log: RunLog | None, hints: Hints) -> None:
        self._log: Final = log
        self.has_log: Final = log is not None
        self._hints: Final[Hints] = hints
        self.events: list[EnforcementEvent] = []
        self.unresolved: list[EnforcementEvent] = []
        """The events of the latest turn, which the next one resolves."""
        self.unlogged: str | None = None
        """The reason why the log is incomplete, if it is."""

    def note(
        self, turn: int, call: Call, violation: Violation, action: str, at: float | None = None
    ) -> None:
        """Adds an event for one rule, of this time or of now."""
        rule = violation.constraint
        event = EnforcementEvent(turn, call, rule.name, rule.layer, action, self._hints)
        event.time = event.time if at is None else at
        self.events.append(event)
        if action not in NO_CHOICE:
            self.unresolved.append(event)

    def resolve(self, proposed: Sequence[Call]) -> list[EnforcementEvent]:
        """Notes for each refusal of the turn before whether the agent insisted; returns them."""
        if not proposed:
            return []
        resolved, self.unresolved = self.unresolved, []
        for event in resolved:
            event.resolve(proposed)
        return resolved

    def reopen(self, resolved: Sequence[EnforcementEvent]) -> None:
        """Undoes `resolve`."""
        for event in resolved:
            event.resolution = None
        self.unresolved = [*resolved, *self.unresolved]

    def queue_decisions(
        self, decisions: Sequence[Decision], certificates: Sequence[list[Json]]
    ) -> int | None:
        """Queues decisions for the log; the number to `commit`. None if that failed."""
        assert self._log is not None, "there is a log"
        try:
            return self._log.queue(list(map(decision_entry, decisions, certificates)))
        except TraceError as error:
            self._fail(error)
            return None

    def commit(self, number: int) -> bool:
        """Waits until so many entries of the log are on disk. False if that failed."""
        assert self._log is not None, "there is a log"
        try:
            self._log.log.commit(number)
        except TraceError as error:
            self._fail(error)
            return False
        return True

    async def commit_async(self, number: int) -> bool:
        """As `commit`, without blocking the event loop."""
        assert self._log is not None, "there is a log"
        try:
            await self._log.log.commit_async(number)
        except TraceError as error:
            self._fail(error)
            return False
        return True

    def log(self, entry: dict[str, Json], *, sync: bool = True) -> bool:
        """Appends to the log, if there is one. False if that failed; `unlogged` has the reason.

        Without `sync`, the entry is on disk with the next decision.
        """
        if self._log is None:
            return True
        try:
            self._log.append([entry], sync=sync)
        except TraceError as error:
            self._fail(error)
            return False
        return True

    def _fail(self, error: TraceError) -> None:
        self.unlogged = error.diagnostics[0].message

    def resume_log(self, run: str, mark: Mapping[str, Json]) -> None:
        """The log continues the run of this id, from this extent of its record."""
        if self._log is not None:
            self._log.resume(run, mark)

    def save(self) -> dict[str, Json]:
        """The events as JSON. The log is a file of its own."""
        unresolved = {id(event) for event in self.unresolved}
        return {
            "unlogged": self.unlogged,
            "events": [event.to_dict() for event in self.events],
            "unresolved": [n for n, e in enumerate(self.events) if id(e) in unresolved],
        }

    def restore(self, saved: Json) -> None:
        """Resumes saved events."""
        unlogged, events, unresolved = fields(saved, "unlogged", "events", "unresolved")
        self.unlogged = optional_text(unlogged)
        self.events = [EnforcementEvent.from_dict(table(event)) for event in listed(events)]
        self.unresolved = [self.events[n] for n in places(unresolved, len(self.events))]
