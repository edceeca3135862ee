"""A stream: the state of the rules across runs for one value of a label.

Its trace is everything that happened under the value, in the order of the decisions. Each turn of
each run is a step of its own, numbered in that order. Calls without a result are outstanding for
every run, whichever made them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from bylaw.enforcement.judge import LOST_BY_MESSAGE, LOST_BY_RESULT, LOST_BY_TIME, Judge, Trial
from bylaw.enforcement.report import AcrossStanding
from bylaw.enforcement.shared.entries import EntryKind, StreamEntry
from bylaw.enforcement.turn import at_step
from bylaw.frozen import frozen, replace
from bylaw.saved import Damaged, fields, listed, number, optional_text, text, whole
from bylaw.semantics.past.records import event_of, event_record
from bylaw.trace.event import Call, Event, Message
from bylaw.values import Json

EntrySink: TypeAlias = Callable[[StreamEntry], None]
"""Takes each new entry of a stream, in order, while the lock is held."""
GIVEN_UP: Final = "abandoned"
"""The error of a call that was given up."""
OTHER_RULES: Final = "ran under other rules"
"""The reason why a stored call is excused from a rule that did not refuse it then."""
_MIN_WAITING: Final = 64
"""With more outstanding calls than this, those that no longer matter are dropped."""
_OF_RESULTS: Final = ("result", "error", "end", "usage")


@frozen
class OutstandingCall:
    """A call of some run whose result rules across runs wait for."""

    label: str
    value: str
    at: int
    """Its position in the stream."""
    run: str
    call: Call


class AcrossStream:
    """The rules across one label, for one value. Not thread-safe: the caller holds the lock."""

    def __init__(
        self, label: str, value: str, judge: Judge, *, hears: bool, append: EntrySink | None
    ) -> None:
        self.label: Final = label
        self.value: Final = value
        self.judge: Final = judge
        self.rules: Final = [
            i for i, rule in enumerate(judge.procedure.constraints) if rule.across == label
        ]
        """The rules that it follows."""
        self._hears: Final = hears
        self.append = append
        """Stores each new entry."""
        self.inside: str | None = None
        """The change that is under way, or that was interrupted: nothing is allowed any more."""
        self.length = 0
        """The number of entries."""
        self.latest: float | None = None
        """The start of the latest event. It never goes back."""
        self.turn: tuple[str, int] | None = None
        """The run and the turn of the latest event."""
        self._step = -1
        self.waiting: dict[int, str] = {}
        """The runs of outstanding calls, by position."""
        self._waiting_limit = _MIN_WAITING
        self._asking = ""
        """The run whose call is being judged."""
        judge.outstanding_name = self._outstanding_name

    def _outstanding_name(self, call: Call) -> str:
        """The name of an outstanding call in a refusal; it may be another run's."""
        outstanding = self.judge.monitors.outstanding.items()
        at = next((at for at, (each, *_) in outstanding if each is call), None)
        mine = at is None or self.waiting.get(at) == self._asking
        return call.tool if mine else f"{call.tool} in another run"

    # ── events ───────────────────────────────────────────────────────────────────────────

    def attempt(self, run: str, turn: int, call: Call) -> StreamTrial:
        """Takes in a call on trial, and finds the rules that it breaks."""
        self.inside, self._asking = "propose", run
        step = self._step_of(run, turn)
        call = at_step(call, step, call.start)
        return StreamTrial(self, self.judge.attempt(call, step), (run, turn), call)

    def against(self, run: str, call: Call) -> list[int]:
        """The enforced rules that a call would break, each by itself. The call is not kept."""
        self.inside, self._asking = "propose", run
        found = self.judge.against(at_step(call, self._step + 1, call.start))
        self.inside = None
        return found

    def hear(self, run: str, turn: int, message: Message) -> list[int]:
        """Takes in a message, if a rule sees messages; returns the rules that are lost by it."""
        if not self._hears:
            return []
        self.inside = "say"
        message = replace(message, step=self._step_of(run, turn))
        lost = self.judge.hear(message)
        self.judge.excuse(lost, LOST_BY_MESSAGE)
        self._add_event("message", run, turn, message)
        return lost

    def record(self, at: int, call: Call) -> list[int]:
        """Takes in the result of a call, once; returns the rules that are lost by it."""
        if self.waiting.pop(at, None) is None:
            return []
        self.inside = "record"
        lost = self.judge.record(at, call)
        self.judge.excuse(lost, LOST_BY_RESULT)
        record = event_record(call)
        assert isinstance(record, dict), "an event is an object"
        self._add("result", at=at, event={n: record[n] for n in _OF_RESULTS if n in record})
        return lost

    def give_up(self, at: int) -> list[int]:
        """A call's result will not arrive: it has failed."""
        call = self._proposed(at)
        return [] if call is None else self.record(at, replace(call, error=GIVEN_UP))

    def _proposed(self, at: int) -> Call | None:
        """An outstanding call as it was proposed."""
        found = self.judge.monitors.outstanding.get(at)
        return None if found is None or at not in self.waiting else found[0]

    def tick(self, now: float) -> list[tuple[int, float]]:
        """The time has come to `now`; returns the rules that are lost, and their deadlines."""
        if not self.judge.with_deadlines:
            return []
        self.inside = "tick"
        lost = self.judge.tick(now)
        if lost:
            self.judge.excuse([i for i, _ in lost], LOST_BY_TIME)
            self._add("time", now=now)
        self.inside = None
        return lost

    def standings(self) -> list[AcrossStanding]:
        """The present standing of each rule, on all that has happened so far."""
        standings, broken = self.judge.outcomes(), self.inside is not None
        found = (replace(standings[i], passed=None) if broken else standings[i] for i in self.rules)
        return [AcrossStanding(each, self.label, self.value) for each in found]

    def outstanding(self) -> list[OutstandingCall]:
        """The calls of all runs whose results the rules wait for."""
        calls = self.judge.monitors.outstanding
        return [
            OutstandingCall(self.label, self.value, at, run, calls[at][0])
            for at, run in self.waiting.items()
            if at in calls
        ]

    def _drop_unawaited(self) -> None:
        """Runs may never report results: those that no rule waits for any more are dropped."""
        if len(self.waiting) > self._waiting_limit:
            self.judge.monitors.drop_unawaited()
            calls = self.judge.monitors.outstanding
            self.waiting = {at: run for at, run in self.waiting.items() if at in calls}
            self._waiting_limit = max(_MIN_WAITING, 2 * len(self.waiting))

    def _step_of(self, run: str, turn: int) -> int:
        return self._step + (self.turn != (run, turn))

    def _add_event(
        self, kind: EntryKind, run: str, turn: int, event: Event, excused: Mapping[str, str] = {}
    ) -> None:
        """The event has happened: the next one comes after it."""
        self._step, self.turn = event.step or 0, (run, turn)
        if event.start is not None and (self.latest is None or event.start > self.latest):
            self.latest = event.start
        record = event_record(replace(event, step=None))
        assert isinstance(record, dict), "an event is an object"
        del record["step"]
        more = {"excused": excused} if kind == "call" else {}
        self._add(kind, run=run, turn=turn, event=record, **more)

    def _add(self, kind: EntryKind, **rest: Any) -> None:
        """Counts an entry, and passes it on. Then the change is complete."""
        if self.append is not None:
            self.append(StreamEntry(self.label, self.value, self.length, kind, **rest))
        self.length += 1
        self.inside = None

    # ── replaying ────────────────────────────────────────────────────────────────────────

    def replay(self, entry: StreamEntry) -> None:
        """Takes in an entry that was stored. It must be the next one."""
        if entry.number != self.length:
            raise Damaged(f"expected entry {self.length}, found {entry.number}")
        append, self.append = self.append, None  # it is stored already
        self._take_in(entry)
        if self.length == entry.number:
            # A rule waited for the result only because it had been asked about refused calls.
            self._add(entry.kind)
        self.append = append

    def _take_in(self, entry: StreamEntry) -> None:
        match entry.kind:
            case "call" | "message":
                event = event_of(dict(entry.event))
                if isinstance(event, Message):
                    self.hear(entry.run, entry.turn, event)
                else:
                    trial = self.attempt(entry.run, entry.turn, event)
                    rules = self.judge.procedure.constraints
                    reasons = {i: entry.excused.get(rules[i].name) for i in trial.violations}
                    trial.keep({i: reason or OTHER_RULES for i, reason in reasons.items()})
            case "result":
                call = self._proposed(entry.at)
                told = {name: entry.event[name] for name in _OF_RESULTS if name in entry.event}
                if call is not None:
                    self.record(entry.at, replace(call, **told))
            case "time":
                self.tick(entry.now)

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> dict[str, Json]:
        """The state as JSON, for `restore`."""
        return {
            "label": self.label,
            "value": self.value,
            "inside": self.inside,
            "length": self.length,
            "latest": self.latest,
            "turn": None if self.turn is None else list(self.turn),
            "step": self._step,
            "waiting": [[at, run] for at, run in self.waiting.items()],
            "rules": self.judge.save(),
        }

    def restore(self, saved: Json) -> None:
        """Resumes a saved state. Each part is checked."""
        parts = fields(saved, *_SAVED)
        _, _, inside, length, latest, turn, step, waiting, rules = parts
        self.judge.restore(rules)
        self.length, self._step = whole(length), whole(step, -1)
        self.latest = None if latest is None else number(latest)
        if turn is not None:
            run, of_run = listed(turn, 2)
            self.turn = text(run), whole(of_run)
        pairs = [listed(each, 2) for each in listed(waiting)]
        self.waiting = {whole(at): text(run) for at, run in pairs}
        self.inside = optional_text(inside)


_SAVED: Final = (
    *("label", "value", "inside", "length", "latest", "turn", "step", "waiting", "rules"),
)


class StreamTrial:
    """A call that a stream took in on trial, and the rules that it breaks."""

    __slots__ = ("_call", "_stream", "_trial", "_turn", "decided", "violations")

    def __init__(
        self, stream: AcrossStream, trial: Trial, turn: tuple[str, int], call: Call
    ) -> None:
        self._stream, self._trial, self._turn, self._call = stream, trial, turn, call
        self.violations: Final = trial.violations
        self.decided: Final = trial.decided

    def take_back(self) -> None:
        """Removes the call again."""
        self._trial.take_back()
        self._stream.inside = None

    def keep(self, reasons: Mapping[int, str]) -> int | None:
        """Keeps the call; returns its position if rules wait for its result."""
        stream, (run, turn) = self._stream, self._turn
        self._trial.keep({i: reason for i, reason in reasons.items() if i in self.violations})
        at: int | None = stream.judge.monitors.length - 1
        if at in stream.judge.monitors.outstanding:
            stream.waiting[at] = run
        else:
            at = None
        rules = stream.judge.procedure.constraints
        excused = {rules[i].name: reason for i, reason in reasons.items() if i in self.violations}
        stream._add_event("call", run, turn, self._call, excused)
        stream._drop_unawaited()
        return at
