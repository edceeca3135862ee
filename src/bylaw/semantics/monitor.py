"""A formula followed call by call, by the engine that follows it most cheaply."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeAlias

from bylaw.logic import formula as f
from bylaw.logic.reach import is_past_but_for_functions
from bylaw.logic.walk import everything, sees_answer, with_labels
from bylaw.semantics.evaluation import check_closed
from bylaw.semantics.history import History
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.follower import Follower, may_get_result
from bylaw.semantics.machine.machine_cache import MachineCache
from bylaw.semantics.machine.slices import Slices
from bylaw.semantics.past.compiled import past_bodies
from bylaw.semantics.past.registers import Registers
from bylaw.semantics.steps import StepCounter
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Event, Message
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json, copied
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order

_CROWD: Final = 64
"""When so many calls wait for results, those whose result no longer matters are let go."""
Engine: TypeAlias = Follower | Slices | Registers | History
"""The ways to follow a formula: by its machine, by the machines of its instances, by what is
remembered of the past, or by keeping the whole trace."""


def engine_for(
    formula: f.Formula,
    order: Order,
    events: Events,
    vocabulary: Vocabulary,
    metrics: Mapping[str, Json],
    labels: Mapping[str, Json],
    warm: MachineCache | None = None,
) -> tuple[Engine, str | None]:
    """The cheapest way to follow a formula, and why its final verdicts may come late."""
    if warm is not None and not labels and (known := warm.known(formula, order, events)):
        return Follower(known), None
    check_closed(formula, vocabulary)
    original, formula = formula, with_labels(formula, labels)
    if warm is None or formula is not original:  # labels are those of one run
        warm = MachineCache(vocabulary)
    if _reads_data(formula):
        # A machine would follow most of these, too, but would have to hear of every event.
        with suppress(Unsupported):
            return Registers(formula, labels), None
    try:
        return Follower(warm.explorer(formula, order, events)), None
    except Unsupported as error:
        reason = str(error)
    if not sees_answer(formula):
        try:
            slices = Slices(formula, order, events, vocabulary)
            return slices, "values are still to come; it is final once one instance is"
        except Unsupported as error:
            reason = str(error)
    with suppress(Unsupported):
        return Registers(formula, labels), None
    past = past_bodies(formula, is_past_but_for_functions) is not None
    history = History(formula, order, events, vocabulary, metrics, labels, past=past)
    return history, None if past else reason


def _reads_data(formula: f.Formula) -> bool:
    return any(isinstance(part, f.Compare | f.Says | f.Found) for part in everything(formula))


class Monitor:
    """Follows a formula while an agent acts.

    `step` takes in a call (or message); a call without a result may get one later, through
    `record`. `verdict` is the verdict on what has happened so far; the two final ones never
    change. `metrics` and `labels` are what rules that read them see. `exact` says whether final
    verdicts are reported as soon as they are true.
    """

    def __init__(
        self,
        formula: f.Formula,
        *,
        order: Order = "position",
        events: Events = "calls",
        vocabulary: Vocabulary = EMPTY,
        metrics: Mapping[str, Json] | None = None,
        labels: Mapping[str, Json] | None = None,
    ) -> None:
        self.formula: Final = formula
        self.events: Final[Events] = events
        self.length = 0
        """How many events have been taken in."""
        self._steps = StepCounter()
        self._new_step = False
        """Has a message that is not looked at opened a step?"""
        self._verdict: Verdict | None = None
        self._waiting: dict[int, Call] = {}
        self._crowd = _CROWD
        self._engine: Engine
        self._engine, self._reason = engine_for(
            formula, order, events, vocabulary, metrics or {}, labels or {}
        )

    @property
    def exact(self) -> bool:
        """Is a final verdict reported as soon as it is true?"""
        return self.reason is None

    @property
    def reason(self) -> str | None:
        """Why a final verdict may come late or never, where it may."""
        if isinstance(self._engine, Follower) and self._engine.overflowed:
            return "too many results were unknown at once"
        if isinstance(self._engine, Follower) and not self._engine.explorer.exact:
            return "the search for a way out needs more states than the budget allows"
        return self._reason

    def step(self, event: Event) -> None:
        """Takes in the next event."""
        step, new_step = self._steps.of(event)
        if isinstance(event, Message) and self.events == "calls":
            self._new_step = self._new_step or new_step
            return
        new_step, self._new_step = new_step or self._new_step, False
        position, self.length = self.length, self.length + 1
        if self._verdict is not None and self._verdict.final:
            return
        self._verdict = None
        if isinstance(self._engine, Follower):
            self._engine.tidy()
        if isinstance(self._engine, Registers | History):
            self._engine.take(event, position, step)
        else:
            self._engine.step(event, position, new_step)
        if may_get_result(event) and self._engine.awaits(position):
            self._waiting[position] = event
            if len(self._waiting) > self._crowd:
                self._waiting = {p: c for p, c in self._waiting.items() if self._engine.awaits(p)}
                self._crowd = max(_CROWD, 2 * len(self._waiting))

    def record(self, position: int, result: Json, *, error: str | None = None) -> None:
        """Takes in the result of the call at a position, counted from 0; in any order."""
        if self._verdict is not None and self._verdict.final:
            return
        call = self._waiting.pop(position, None)
        if call is not None:  # else the result makes no difference to the formula
            self._engine.record(position, replace(call, result=result, error=error))
            self._verdict = None

    def end_step(self) -> None:
        """Says that the current step is over: the next event is in a new one."""
        self._steps.end()
        if isinstance(self._engine, Follower | Slices):
            self._engine.end_step()
            if self._verdict is None or not self._verdict.final:
                self._verdict = None

    @property
    def verdict(self) -> Verdict:
        """The verdict on what has happened so far."""
        if self._verdict is None:
            self._verdict = self._engine.verdict()
        return self._verdict

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> dict[str, Json]:
        """Where the monitor stands, as JSON; `restore` goes on from there."""
        standing = {
            "length": self.length,
            "steps": self._steps.save(),
            "new_step": self._new_step,
            "verdict": self._verdict.value if self._verdict else None,
            "waiting": [[at, _call_record(call)] for at, call in self._waiting.items()],
            "engine": self._engine.save(),
        }
        return dict(copied(standing))  # the monitor goes on

    def restore(self, saved: Mapping[str, Json]) -> None:
        """Puts a new monitor of the same formula where another one stood."""
        saved = copied(saved)  # it may be gone back to again
        self.length, self._new_step = saved["length"], saved["new_step"]
        self._steps.restore(saved["steps"])
        self._verdict = Verdict(saved["verdict"]) if saved["verdict"] else None
        self._waiting = {at: _call_of(record) for at, record in saved["waiting"]}
        self._engine.restore(saved["engine"])


def _call_record(call: Call) -> Json:
    return Trace([replace(call, step=0)]).to_record()["tool_calls"][0]


def _call_of(record: Json) -> Call:
    return Trace.from_record({"tool_calls": [record]}).calls[0]
