"""The rules of one run, together with the rules across runs that it shares with others.

A call is judged by the run's own rules and by the stream of each label. It is kept by all of them
or by none. The joint test asks rules of one run together, and rules across one label together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, Final

from bylaw.enforcement.judge import Judge, Trial
from bylaw.enforcement.report import AcrossStanding, ConstraintStanding
from bylaw.enforcement.severity import Setting
from bylaw.enforcement.shared.stream import AcrossStream, StreamTrial
from bylaw.frozen import replace
from bylaw.logic.formula import Truth
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.saved import Damaged, fields, listed, text, whole
from bylaw.trace.event import Call, Message
from bylaw.values import Json

if TYPE_CHECKING:
    from bylaw.enforcement.shared.table import StreamTable


class RuleParts:
    """A procedure cut by the label that rules are across; `true` stands for all other rules."""

    def __init__(self, procedure: Procedure) -> None:
        self.of: Final = {
            label: procedure.with_constraints(
                rule if rule.across == label else replace(rule, formula=Truth(True), across=None)
                for rule in procedure.constraints
            )
            for label in (None, *procedure.across)
        }
        """By label; None has the rules that judge each run by itself."""


class SharedTrial(Trial):
    """A call that was appended on trial to a run and to the streams that it shares."""

    __slots__ = ("_own", "_run_judge", "_streams")

    def __init__(self, judge: SharedJudge, own: Trial, streams: list[StreamTrial]) -> None:
        self._run_judge, self._own, self._streams = judge, own, streams
        self.violations = dict(own.violations)
        for each in streams:
            self.violations |= each.violations
        self.decided = own.decided and all(each.decided for each in streams)

    def take_back(self) -> None:
        """Removes the call again."""
        self._own.take_back()
        for each in self._streams:
            each.take_back()

    def keep(self, reasons: Mapping[int, str]) -> None:
        """Keeps the call, and excuses it from the rules that it breaks, for these reasons."""
        own = self._own.violations
        self._own.keep({i: reason for i, reason in reasons.items() if i in own})
        judge = self._run_judge
        judge.fully_decided = judge.fully_decided and self.decided
        places = [each.keep(reasons) for each in self._streams]
        if any(at is not None for at in places):
            judge.places[judge.monitors.length - 1] = places


class SharedJudge(Judge):
    """The state of the rules in one run that shares streams with others."""

    def __init__(
        self,
        shared: StreamTable,
        setting: Setting,
        labels: Mapping[str, Json],
        run_id: str,
        **rest: Any,
    ) -> None:
        procedure = shared.procedure
        part = procedure.derived(RuleParts).of[None]
        super().__init__(procedure, setting, labels, part=part, **rest)
        self._shared: Final = shared
        self._keys: Final = shared.keys(labels)
        self.run_id = run_id
        self.places: dict[int, list[int | None]] = {}
        """The positions of outstanding calls in the streams, by their positions in the run."""

    @property
    def _streams(self) -> list[AcrossStream]:
        return [self._shared.stream(*key) for key in self._keys]

    @property
    def interrupted(self) -> str | None:  # type: ignore[override]  # streams know it
        """The change of a stream that was interrupted, if one was."""
        return next((each.inside for each in self._streams if each.inside is not None), None)

    def next_time(self, now: float) -> float:
        """The time of an event at `now`: after everything that other runs did in the streams."""
        for stream in self._streams:
            if stream.latest is not None and stream.latest >= now:
                mine = stream.turn is not None and stream.turn[0] == self.run_id
                now = stream.latest if mine else nextafter(stream.latest, inf)
        return now

    def is_latest(self, turn: int) -> bool:
        """Does no stream have events of others after those of this turn of the run?"""
        return all(each.turn == (self.run_id, turn) for each in self._streams)

    # ── events ───────────────────────────────────────────────────────────────────────────

    def attempt(self, call: Call, step: int) -> Trial:
        """Appends a call on trial. The streams do not see an answer: it ends only the run."""
        own = super().attempt(call, step)
        if call.tool == FINAL_ANSWER:
            return own
        tried = [each.attempt(self.run_id, step, call) for each in self._streams]
        return SharedTrial(self, own, tried)

    def against(self, call: Call) -> list[int]:
        """The enforced rules that a call would break, each by itself. The call is not kept."""
        found = super().against(call)
        if call.tool != FINAL_ANSWER:
            for each in self._streams:
                found += each.against(self.run_id, call)
        return found

    def record(self, position: int, call: Call, *, again: bool = False) -> list[int]:
        """Takes in the result of a call; returns the enforced rules that are lost through it."""
        lost = super().record(position, call)
        places = None if again else self.places.pop(position, None)
        for stream, at in zip(self._streams, places or (), strict=False):
            if at is not None:
                lost += stream.record(at, call)
        return lost

    def disown(self, position: int) -> None:
        """An allowed call will not run, and nobody else can report it: it has failed."""
        for stream, at in zip(self._streams, self.places.pop(position, ()), strict=False):
            if at is not None and stream.inside is None:
                stream.give_up(at)

    def hear(self, message: Message, *, again: bool = False) -> list[int]:
        """Takes in a message; returns the enforced rules that are lost through it."""
        lost = super().hear(message)
        for each in () if again else self._streams:
            lost += each.hear(self.run_id, message.step or 0, message)
        return lost

    def excuse(self, rules: Iterable[int], reason: str) -> None:
        """An event was excused from these rules. Streams know of theirs."""
        constraints = self.procedure.constraints
        super().excuse([i for i in rules if constraints[i].across is None], reason)

    @property
    def exhausted(self) -> bool:
        """Did the latest event take more work than an enforced rule may take?"""
        return super().exhausted or any(each.judge.exhausted for each in self._streams)

    # ── time ─────────────────────────────────────────────────────────────────────────────

    @property
    def with_deadlines(self) -> bool:
        """Can the passing of time change anything?"""
        return True

    def tick(self, now: float) -> list[tuple[int, float]]:
        """The time has come to `now`; returns the rules that are lost, and their deadlines."""
        lost = super().tick(now)
        for each in self._streams:
            self._shared.give_up_old(each, now)
            lost += each.tick(now)
        return lost

    def next_deadline(self) -> float | None:
        """The time by which some rule needs something to happen, if one does."""
        due = [super().next_deadline(), *(each.judge.next_deadline() for each in self._streams)]
        return min((each for each in due if each is not None), default=None)

    # ── the end ──────────────────────────────────────────────────────────────────────────

    def outcomes(self) -> list[ConstraintStanding]:
        """The standing of each rule that judges the run by itself."""
        rules = self.procedure.constraints
        return [
            each
            for each, rule in zip(super().outcomes(), rules, strict=True)
            if rule.across is None
        ]

    def across_outcomes(self) -> list[AcrossStanding]:
        """The present standing of each rule across runs, on all that has happened so far."""
        return [standing for stream in self._streams for standing in stream.standings()]

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> Json:
        """The state of the run's rules as JSON. The streams are saved apart."""
        places: Json = [[at, list(places)] for at, places in self.places.items()]
        return {"own": super().save(), "run": self.run_id, "places": places}

    def restore(self, saved: Json) -> None:
        """Resumes a saved state."""
        own, run, places = fields(saved, "own", "run", "places")
        super().restore(own)
        self.run_id = text(run)
        streams, self.places = self._streams, {}
        for each in listed(places):
            position, known = listed(each, 2)
            found: list[int | None] = []
            for at, stream in zip(listed(known, len(streams)), streams, strict=True):
                length = stream.judge.monitors.length
                if at is not None and whole(at) >= length:
                    raise Damaged("the shared rules do not know its calls: restore them first")
                found.append(at)
            self.places[whole(position)] = found
