"""A formula followed call by call: a machine with its state in hand.

A call whose result is not recorded yet may turn out in several ways. The monitor then stands in
several states at once, one for each way that matters to the formula, and drops those that a
recorded result rules out. A result that never arrives counts, at the end, as missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypeGuard

from bylaw.logic import formula as f
from bylaw.logic.walk import everything, sees_answer, with_labels
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.alphabet import Letter
from bylaw.semantics.closure import Unsupported
from bylaw.semantics.compiled import past_bodies
from bylaw.semantics.history import History
from bylaw.semantics.machine import Machine
from bylaw.semantics.reference import check_closed
from bylaw.semantics.registers import Registers
from bylaw.semantics.search import Explorer
from bylaw.semantics.slices import Slices
from bylaw.semantics.steps import Steps
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import MISSING, Call, Event, Message
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order

_CROWD: Final = 64
"""When so many calls wait for results, those whose result no longer matters are let go."""
MAX_BRANCHES: Final = 256
"""In how many ways unknown results may turn out before they are no longer told apart."""


Token: TypeAlias = Any
"""Where an engine stands, as it likes to put it."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An event that waits for earlier results."""

    event: Event
    position: int
    new_step: bool

    @property
    def parts(self) -> tuple[Event, int, bool]:
        """The event, its position, and whether it opens a step."""
        return self.event, self.position, self.new_step


def may_get_result(event: Event) -> TypeGuard[Call]:
    """Is this a call whose result is not there yet?"""
    return (
        isinstance(event, Call)
        and event.result is MISSING
        and not event.failed
        and event.tool != FINAL_ANSWER
    )


class Follower:
    """A machine's state, or several while results are unknown. The core of `Monitor`."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer: Final = explorer
        self.machine: Final = explorer.machine
        self.pending: list[int] = []
        """The positions whose results are unknown and matter, in order."""
        self.branches: dict[tuple[Letter, ...], int] = {(): self.machine.start}
        """For each way the pending results may turn out: the state."""
        self.assumed: tuple[Letter, ...] = ()
        """How they turn out if no result ever arrives."""
        self.queue: list[Waiting] = []
        """Events that wait for earlier results, because too many are unknown at once."""
        self.ahead: int = self.machine.start
        """With a queue: the state behind it if no result ever arrives."""
        self.overflowed = False
        """Have there been too many unknown results at once?"""

    def step(self, event: Event, position: int, new_step: bool) -> None:
        """Takes in an event. A call without a result may still get one."""
        if self.queue or not self._take(event, position, new_step):
            self.overflowed = True
            start = self.ahead if self.queue else self.branches[self.assumed]
            self.ahead = self._moved(start, event, new_step)
            self.queue.append(Waiting(event, position, new_step))

    def mark(self) -> Token:
        """Where the follower stands, for `undo`."""
        return (
            list(self.pending),
            dict(self.branches),
            self.assumed,
            list(self.queue),
            self.ahead,
            self.overflowed,
        )

    def undo(self, token: Token) -> None:
        """Goes back to where it stood."""
        (
            self.pending,
            self.branches,
            self.assumed,
            self.queue,
            self.ahead,
            self.overflowed,
        ) = token

    def _moved(self, state: int, event: Event, new_step: bool) -> int:
        """The state behind an event as it is."""
        final = isinstance(event, Call) and event.tool == FINAL_ANSWER
        return self.machine.advance(state, (self.machine.alphabet.letter(event), new_step, final))

    def _take(self, event: Event, position: int, new_step: bool) -> bool:
        """Moves every state by an event; False if its result may turn out in too many ways."""
        if may_get_result(event):
            letters = self.machine.alphabet.letters_of(event)
            if not self.machine.alphabet.complete:
                # Its letter may be one that no sample shows, unless results do not matter.
                if self.machine.alphabet.depends_on_result(event.tool):
                    return False
            elif len(letters) > 1:
                if len(letters) * len(self.branches) > MAX_BRANCHES:
                    return False
                self._branch(position, self.machine.alphabet.letter(event), letters, new_step)
                return True
        for key, state in self.branches.items():
            self.branches[key] = self._moved(state, event, new_step)
        return True

    def tidy(self) -> None:
        """Clears the machine's tables if a counter has filled them."""
        machine = self.machine
        if not machine.crowded():
            return
        standing = {key: machine.configurations[state] for key, state in self.branches.items()}
        ahead = machine.configurations[self.ahead]
        machine.clear()
        self.explorer.forget()
        self.branches = {key: machine.number(each) for key, each in standing.items()}
        self.ahead = machine.number(ahead)

    def end_step(self) -> None:
        """The current step is over. With a queue, the next event's own step says so."""
        if not self.queue:
            end = self.machine.end_step
            self.branches = {key: end(state) for key, state in self.branches.items()}

    def _branch(
        self, position: int, assumed: Letter, letters: Mapping[Letter, Call], new_step: bool
    ) -> None:
        self.pending.append(position)
        self.assumed = (*self.assumed, assumed)
        self.branches = {
            (*key, letter): self.machine.advance(state, (letter, new_step, False))
            for key, state in self.branches.items()
            for letter in letters
        }

    def awaits(self, position: int) -> bool:
        """Could a result of the call at this position still make a difference?"""
        return position in self.pending or any(each.position == position for each in self.queue)

    def record(self, position: int, call: Call) -> None:
        """Takes in the result of an earlier call."""
        if position in self.pending:
            index = self.pending.index(position)
            letter = self.machine.alphabet.letter(call)
            kept = {k: s for k, s in self.branches.items() if k[index] == letter}
            self.branches = {(*k[:index], *k[index + 1 :]): s for k, s in kept.items()}
            self.assumed = (*self.assumed[:index], *self.assumed[index + 1 :])
            del self.pending[index]
        self.queue = [
            replace(each, event=call) if each.position == position else each for each in self.queue
        ]
        self._drain()

    def _drain(self) -> None:
        """Takes in what has been waiting, as far as that is possible now."""
        while self.queue and self._take(*self.queue[0].parts):
            del self.queue[0]
        self.ahead = self.branches[self.assumed]
        for each in self.queue:
            self.ahead = self._moved(self.ahead, each.event, each.new_step)

    def save(self) -> Json:
        """The states as JSON."""
        written = [
            [[sorted(letter) for letter in key], self.machine.written(state)]
            for key, state in self.branches.items()
        ]
        assumed = [sorted(letter) for letter in self.assumed]
        return {
            "pending": self.pending,
            "assumed": assumed,
            "branches": written,
            "queue": Trace([each.event for each in self.queue]).to_record(),
            "places": [[each.position, each.new_step] for each in self.queue],
        }

    def restore(self, saved: Json) -> None:
        """Goes back to saved states."""
        self.pending = list(saved["pending"])
        self.assumed = tuple(frozenset(letter) for letter in saved["assumed"])
        self.branches = {
            tuple(frozenset(letter) for letter in key): self.machine.read(state)
            for key, state in saved["branches"]
        }
        waiting = Trace.from_record(saved["queue"]).seen("all", answer=True)
        self.queue = [
            Waiting(event, *place) for event, place in zip(waiting, saved["places"], strict=True)
        ]
        self.overflowed = bool(self.queue)
        self._drain()

    @property
    def now(self) -> int:
        """The state if no more results arrive."""
        return self.ahead if self.queue else self.branches[self.assumed]

    def verdict(self) -> Verdict:
        """The verdict on what has happened so far: final if it is, however results turn out."""
        if len(self.branches) == 1 and not self.queue:
            return self.explorer.verdict(self.now)
        verdicts = {self.explorer.verdict(state) for state in set(self.branches.values())}
        if len(verdicts) == 1 and (common := verdicts.pop()).final:
            return common  # the queue cannot change what is final before it
        holds = self.machine.accepts(self.now)
        return Verdict.PRESUMABLY_SATISFIED if holds else Verdict.PRESUMABLY_VIOLATED

    def concerns(self, name: str) -> bool:
        """Does the formula name the tool?"""
        return name in self.machine.alphabet.named

    def idles(self) -> bool:
        """Would a call of a tool that the formula does not name change nothing?"""
        if self.pending or self.queue:
            return False
        machine, elsewhere = self.machine, self.machine.alphabet.elsewhere
        return elsewhere is not None and all(
            machine.advance(self.now, (elsewhere, new_step, False)) == self.now
            for new_step in (True, False)
        )


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
) -> tuple[Engine, str | None]:
    """The cheapest way to follow a formula, and why its final verdicts may come late."""
    check_closed(formula, vocabulary)
    formula = with_labels(formula, labels)
    if _reads_data(formula):
        # A machine would follow most of these, too, but would have to hear of every event.
        with suppress(Unsupported):
            return Registers(formula, labels), None
    try:
        return Follower(Explorer(Machine(formula, order, events, vocabulary))), None
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
    past = past_bodies(formula) is not None
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
        self._steps = Steps()
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
        return {
            "length": self.length,
            "steps": self._steps.save(),
            "new_step": self._new_step,
            "verdict": self._verdict.value if self._verdict else None,
            "waiting": [[at, _call_record(call)] for at, call in self._waiting.items()],
            "engine": self._engine.save(),
        }

    def restore(self, saved: Mapping[str, Json]) -> None:
        """Puts a new monitor of the same formula where another one stood."""
        self.length, self._new_step = saved["length"], saved["new_step"]
        self._steps.restore(saved["steps"])
        self._verdict = Verdict(saved["verdict"]) if saved["verdict"] else None
        self._waiting = {at: _call_of(record) for at, record in saved["waiting"]}
        self._engine.restore(saved["engine"])


def _call_record(call: Call) -> Json:
    return Trace([replace(call, step=0)]).to_record()["tool_calls"][0]


def _call_of(record: Json) -> Call:
    return Trace.from_record({"tool_calls": [record]}).calls[0]
