"""A formula as a deterministic machine, explored on demand.

A state is what the formula still needs: a residual over obligations that begin with the next
event, the values that past operators carry along, and the states of its trace predicates. An
obligation is a part of the formula, strong (there must be a next event) or weak, or a trace
predicate's final value. States are numbered as they are reached. A transition is computed once
and looked up afterwards.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Final, TypeAlias

from bylaw.frozen import replace
from bylaw.logic import formula as f
from bylaw.logic.walk import sees_answer
from bylaw.saved import Damaged, fields, flag, listed, whole
from bylaw.semantics.evaluation import holds
from bylaw.semantics.machine.alphabet import Alphabet, Letter
from bylaw.semantics.machine.closure import Closure
from bylaw.semantics.machine.progress import Configuration, Obligation, Progress
from bylaw.semantics.machine.residual import FALSE, TRUE, Residual
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json
from bylaw.vocabulary.patterns import names_of
from bylaw.vocabulary.predicate import Outlook, Tracker
from bylaw.vocabulary.predicate import State as TrackerState
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order

StateNumber: TypeAlias = int
Move: TypeAlias = tuple[Letter, bool, bool]
"""A letter; does the event open a new step; is it the final answer?"""

_TIMELESS: Final = ("true", "false", "predicate", "not predicate", "and", "or")
"""The shapes whose value is the same at every event."""

_values: Final = attrgetter(*Obligation.__match_args__)

MAX_STATES: Final = 50_000
"""The size at which the state table is full."""


class Machine:
    """A formula's machine. It knows letters, not events; `alphabet` translates."""

    def __init__(
        self,
        formula: f.Formula,
        order: Order = "position",
        events: Events = "calls",
        vocabulary: Vocabulary = EMPTY,
        alphabet: Alphabet | None = None,
    ) -> None:
        self.formula: Final = formula
        self.closure: Final = Closure(formula, order)
        self.sees_answer: Final = sees_answer(formula)
        probes = [*self.closure.probes, *(p for t in self.closure.trackers for p in t.probes)]
        self.alphabet: Final = alphabet or Alphabet(
            probes, answer=self.sees_answer, messages=events == "all", vocabulary=vocabulary
        )
        number = self.alphabet.number
        self.probe_numbers = [number[probe] for probe in self.closure.probes]
        self._tracker_numbers = [[number[p] for p in t.probes] for t in self.closure.trackers]
        self.counts_steps: Final = any(t.counts_steps for t in self.closure.trackers)
        self.obligations: list[Obligation] = []
        self._obligation_numbers: dict[Obligation, int] = {}
        self._empty_holds = holds(formula, Trace(), order=order, vocabulary=vocabulary)
        self._lock: Final = threading.Lock()
        self.configurations: list[Configuration] = []
        self._numbers: dict[Configuration, StateNumber] = {}
        self._moves: dict[tuple[StateNumber, Move], StateNumber] = {}
        self._ends: dict[StateNumber, StateNumber] = {}
        self._idle: dict[StateNumber, bool] = {}
        self.start: StateNumber = self.number(self._beginning())
        self._unstarted: Residual | None = None
        """The residual before the first event, if the formula consists of predicates only."""
        if all(part.shape in _TIMELESS for part in self.closure.parts):
            before = self.configurations[self.start]
            progress = Progress(self, before, frozenset(), before.trackers)
            self._unstarted = progress.at(self.closure.root)

    def _beginning(self) -> Configuration:
        trackers = tuple(tracker.start for tracker in self.closure.trackers)
        return Configuration(FALSE, (), trackers, started=False)

    def number(self, configuration: Configuration) -> StateNumber:
        """The number of a state."""
        found = self._numbers.get(configuration)
        if found is None:
            with self._lock:  # runs in several threads may share the machine
                found = self._numbers.get(configuration)
                if found is None:
                    found = len(self.configurations)
                    self.configurations.append(configuration)
                    self._numbers[configuration] = found
        return found

    def crowded(self) -> bool:
        """Is the state table full?"""
        return len(self.configurations) > MAX_STATES

    def renewed(self) -> Machine:
        """The same machine with empty tables. Other holders keep the old ones."""
        new = copy.copy(self)
        new.configurations, new._numbers, new._moves = [], {}, {}
        new._ends, new._idle = {}, {}
        new.start = new.number(new._beginning())
        return new

    def written(self, state: StateNumber) -> Json:
        """A state as JSON."""
        configuration = self.configurations[state]
        return {
            "residual": self._written(configuration.residual),
            "carried": [self._written(residual) for residual in configuration.carried],
            "trackers": configuration.trackers,
            "started": configuration.started,
            "ended": configuration.ended,
        }

    def _written(self, residual: Residual) -> Json:
        """A residual as JSON: in one order, so that equal states are written alike."""
        return sorted(
            sorted(sorted(_values(self.obligations[n]) for n in each) for each in requirement)
            for requirement in residual
        )

    def read(self, written: Json) -> StateNumber:
        """The state that `written` wrote."""
        residual, carried, trackers, started, ended = fields(
            written, "residual", "carried", "trackers", "started", "ended"
        )
        states = zip(
            self.closure.trackers, listed(trackers, len(self.closure.trackers)), strict=True
        )
        return self.number(
            Configuration(
                self._read(residual),
                tuple(map(self._read, listed(carried, len(self.closure.past) if started else 0))),
                tuple(_tracker_state(tracker, state) for tracker, state in states),
                flag(started),
                flag(ended),
            )
        )

    def _read(self, written: Json) -> Residual:
        return frozenset(
            frozenset(
                frozenset(self._read_obligation(each) for each in listed(alternative))
                for alternative in listed(requirement)
            )
            for requirement in listed(written)
        )

    def _read_obligation(self, written: Json) -> int:
        part, strong, tracker = listed(written, 3)
        closure = self.closure
        return self.obligation(
            Obligation(
                whole(part, -1, len(closure.parts) - 1),
                flag(strong),
                whole(tracker, -1, len(closure.trackers) - 1),
            )
        )

    # ── transitions ──────────────────────────────────────────────────────────────────────

    def advance(self, state: StateNumber, move: Move) -> StateNumber:
        """The state after an event. The final answer does not move the machine of a formula that
        does not see it.
        """
        key = (state, move)
        found = self._moves.get(key)
        if found is None:
            found = self._moves[key] = self.number(self._moved(self.configurations[state], move))
        return found

    def _moved(self, before: Configuration, move: Move) -> Configuration:
        letter, new_step, final = move
        if final and not self.sees_answer:
            return before
        trackers = tuple(
            tracker.advance(state, [number in letter for number in numbers], new_step)
            for tracker, state, numbers in zip(
                self.closure.trackers, before.trackers, self._tracker_numbers, strict=True
            )
        )
        progress = Progress(self, before, letter, trackers)
        residual = (
            progress.of(before.residual) if before.started else progress.at(self.closure.root)
        )
        carried = tuple(progress.carry(part) for part in self.closure.past)
        return Configuration(residual, carried, trackers, True, final)

    def end_step(self, state: StateNumber) -> StateNumber:
        """The state after the end of a step: the next event is in a new one."""
        if not self.counts_steps:
            return state
        found = self._ends.get(state)
        if found is None:
            found = self._ends[state] = self._end_step(self.configurations[state])
        return found

    def _end_step(self, before: Configuration) -> StateNumber:
        trackers = tuple(
            tracker.advance(each, [False] * len(tracker.probes), True)
            if tracker.counts_steps
            else each
            for tracker, each in zip(self.closure.trackers, before.trackers, strict=True)
        )
        return self.number(replace(before, trackers=trackers))

    def idles(self, state: StateNumber) -> bool:
        """Would a call of a tool that the formula does not name leave the state as it is?"""
        found = self._idle.get(state)
        if found is None:
            elsewhere = self.alphabet.elsewhere
            found = self._idle[state] = elsewhere is not None and all(
                self.advance(state, (elsewhere, new_step, False)) == state
                for new_step in (True, False)
            )
        return found

    def obligation(self, obligation: Obligation) -> int:
        """The number of an obligation."""
        found = self._obligation_numbers.get(obligation)
        if found is None:
            with self._lock:
                found = self._obligation_numbers.get(obligation)
                if found is None:
                    found = len(self.obligations)
                    self.obligations.append(obligation)
                    self._obligation_numbers[obligation] = found
        return found

    # ── questions ────────────────────────────────────────────────────────────────────────

    def accepts(self, state: StateNumber) -> bool:
        """Does the formula hold if the trace ends here?"""
        configuration = self.configurations[state]
        if not configuration.started:
            return self._empty_holds
        return all(
            any(
                all(self._met_at_end(number, configuration) for number in alternative)
                for alternative in requirement
            )
            for requirement in configuration.residual
        )

    def _met_at_end(self, number: int, configuration: Configuration) -> bool:
        obligation = self.obligations[number]
        if obligation.tracker < 0:
            return not obligation.strong
        tracker = self.closure.trackers[obligation.tracker]
        return tracker.holds(configuration.trackers[obligation.tracker]) is obligation.strong

    def decided(self, state: StateNumber) -> bool | None:
        """The final value, if the state alone determines it."""
        configuration = self.configurations[state]
        if not configuration.started:
            return None
        if configuration.ended:
            return self.accepts(state)
        return {TRUE: True, FALSE: False}.get(configuration.residual)

    def outlook(self, state: StateNumber) -> Outlook | None:
        """The values that are still possible, if the trace predicates alone determine them.

        They do if only predicates with an exact outlook are left, and no two of them concern the
        same tool, so that they are independent. Then no search is needed, however far a counter is
        from its bound.
        """
        configuration = self.configurations[state]
        residual = configuration.residual if configuration.started else self._unstarted
        if residual is None or configuration.ended:
            return None
        numbers = {n for needed in residual for alternative in needed for n in alternative}
        trackers = [self.obligations[n].tracker for n in numbers]
        if -1 in trackers or len(set(trackers)) < len(trackers):
            return None
        if not all(self.closure.trackers[index].independent for index in trackers):
            return None
        if len(trackers) > 1 and not self._disjoint_tools(trackers):
            return None
        can = {n: self._possible(n, configuration, True) for n in numbers}
        can_fail = {n: self._possible(n, configuration, False) for n in numbers}
        return Outlook(
            all(any(all(can[n] for n in each) for each in needed) for needed in residual),
            any(all(any(can_fail[n] for n in each) for each in needed) for needed in residual),
        )

    def _possible(self, number: int, configuration: Configuration, met: bool) -> bool:
        obligation = self.obligations[number]
        tracker = self.closure.trackers[obligation.tracker]
        outlook = tracker.outlook(configuration.trackers[obligation.tracker])
        return outlook.true if obligation.strong is met else outlook.false

    def _disjoint_tools(self, trackers: Iterable[int]) -> bool:
        """Do these predicates concern different tools?"""
        seen: set[str] = set()
        for index in trackers:
            tools: set[str] = set()
            for probe in self.closure.trackers[index].probes:
                if probe.tool is None:
                    return False
                tools |= set(names_of(probe.tool))
            if seen & tools:
                return False
            seen |= tools
        return True

    def distance(self, state: StateNumber, goal: bool) -> int:
        """An estimate of the events needed until the formula has this value; 0 if it has it."""
        if self.accepts(state) is goal:
            return 0
        configuration = self.configurations[state]
        if not configuration.started:
            return 1
        efforts = [
            [[self._effort(n, configuration, goal) for n in alternative] for alternative in needed]
            for needed in configuration.residual
        ]
        if goal:
            return 1 + sum(min(map(sum, alternatives), default=0) for alternatives in efforts)
        return 1 + min(
            (sum(min(each) for each in alternatives) for alternatives in efforts), default=0
        )

    def _effort(self, number: int, configuration: Configuration, goal: bool) -> int:
        obligation = self.obligations[number]
        if obligation.tracker < 0:
            return int(self._met_at_end(number, configuration) is not goal)
        tracker = self.closure.trackers[obligation.tracker]
        state = configuration.trackers[obligation.tracker]
        return tracker.distance(state, obligation.strong is goal)


def _tracker_state(tracker: Tracker, written: Json) -> TrackerState:
    """A tracker's state from JSON. It must be one that the tracker can work with."""
    state = _tuples(written)
    tracker.holds(state), tracker.outlook(state), tracker.distance(state, True)
    for hit in (False, True):
        tracker.advance(state, [hit] * len(tracker.probes), True)
    return state


def _tuples(value: Json) -> Any:
    """Lists as tuples, at every level, and nothing but numbers and words in them."""
    if isinstance(value, list | tuple):
        return tuple(map(_tuples, value))
    if type(value) is int:
        return whole(value)
    if value is not None and type(value) not in (bool, str):
        raise Damaged("expected the state of a tracker")
    return value
