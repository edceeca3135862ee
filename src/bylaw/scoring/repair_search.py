"""The search for repairs: a shortest path over places in a trace and states of machines.

Cost comes first; among equally cheap paths the plainest are preferred, then those that change the
trace latest. The number of moves is bounded: `cheapest` raises `Exhausted`, `distances` is None.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from bylaw.scoring.edits import PLACEHOLDER, Kind, answer_call, as_answer, oddity
from bylaw.semantics.machine.alphabet import Alphabet, Letter
from bylaw.semantics.machine.machine import Machine, StateNumber
from bylaw.semantics.machine.residual import TooLarge
from bylaw.trace.event import MISSING, Call, Event
from bylaw.trace.trace import Trace
from bylaw.values import canonical
from bylaw.vocabulary.predicate import Probe

SearchNode: TypeAlias = tuple[int, tuple[StateNumber, ...], bool]
"""A place in the trace, the machines' states, and whether the next event can join the last step."""
_Letters: TypeAlias = tuple[Letter, ...]
"""An event's letter, restricted to what each machine distinguishes."""
_Weight: TypeAlias = tuple[int, int, int]
"""The cost in halves, the oddity, and the distance from the end; compared in this order."""
_Option: TypeAlias = tuple[_Letters, Call, int]
"""A sample call with its letters and its oddity."""
Change: TypeAlias = tuple[Kind, int, Call]
"""The kind of edit, the index of the event, and the call."""
_Transition: TypeAlias = tuple[SearchNode, _Weight, Change | None]
_FREE: Final = (0, 0, 0)
_SPLITS, _DELETES, _SWAPS, _INVENTS = 3, 6, 8, 8
"""The oddity of splitting a step, of deleting a call, of changing the tool of a call, and of
inserting one that returns a certain value."""


class Exhausted(Exception):
    """A search used up its moves."""


class EditSpace:
    """The places of a trace with the states of the machines there, explored as needed."""

    def __init__(
        self,
        trace: Trace,
        events: Sequence[Event],
        alphabet: Alphabet,
        machines: Sequence[Machine],
        moves: int,
        *,
        edit_results: bool = False,
    ) -> None:
        self.events, self.machines, self.moves = events, machines, moves
        self._alphabet = alphabet
        self._edit_results = edit_results
        self.start: Final[SearchNode] = (0, tuple(machine.start for machine in machines), False)
        self.by_step: Final = any(machine.counts_steps for machine in machines)
        self._concerns = [
            frozenset(alphabet.number[probe] for probe in _probes(machine)) for machine in machines
        ]
        self._letters = [self._split(alphabet.letter(event)) for event in events]
        self._inside = [False, *(a.step == b.step for a, b in itertools.pairwise(events)), False]
        samples = sorted(alphabet.samples, key=lambda sample: oddity(sample.event))
        self._samples = [
            (self._split(sample.letter), sample.event, oddity(sample.event))
            for sample in samples
            if isinstance(sample.event, Call) and not sample.final
        ]
        self._insertions = _distinct(self._samples, lambda call: True)
        if not edit_results:  # to delete a call is plainer than to invent what a tool returned
            self._insertions = [
                (letters, call, effort + _INVENTS * _is_invented(call))
                for letters, call, effort in self._insertions
            ]
        self._replacements: dict[str | int, list[_Option]] = {}
        self._sees_answer = any(machine.sees_answer for machine in machines)
        self._answer = None if trace.answer is None else answer_call(trace.answer)
        self._given = self._split(alphabet.letter(self._answer)) if self._answer else ()
        answers = [as_answer(sample.event) for sample in samples if sample.final]
        self._answers = _distinct(
            [(self._split(alphabet.letter(call)), call, oddity(call)) for call in answers],
            lambda call: True,
        )

    def _split(self, letter: Letter) -> _Letters:
        return tuple(letter & concerns for concerns in self._concerns)

    def _after(
        self, states: tuple[StateNumber, ...], letters: _Letters, new: bool, final: bool = False
    ) -> tuple[StateNumber, ...]:
        self.moves -= len(states)
        if self.moves < 0:
            raise Exhausted
        return tuple(
            machine.advance(state, (letter, new, final))
            for machine, state, letter in zip(self.machines, states, letters, strict=True)
        )

    def done(self, node: SearchNode) -> bool:
        """Is this the end of the trace, and does every rule hold?"""
        at_end = node[0] > len(self.events)
        return at_end and all(m.accepts(s) for m, s in zip(self.machines, node[1], strict=True))

    def transitions(self, node: SearchNode) -> Iterator[_Transition]:
        """The transitions from a node: its targets, with the change and its weight."""
        at, states, joined = node
        if at > len(self.events):
            return
        early = len(self.events) - at
        if not early:
            yield from self._endings(states)
        else:
            event, new = self.events[at], not joined
            joins = self.by_step and self._inside[at + 1]
            yield (at + 1, self._after(states, self._letters[at], new), joins), _FREE, None
            if isinstance(event, Call):
                target = (at + 1, states, joined and joins)
                yield target, (2, _DELETES, early), ("delete", at, event)
                for letters, call, effort in self._replacing(at, event):
                    cost, effort = (1, effort) if call.tool == event.tool else (2, effort + _SWAPS)
                    target = (at + 1, self._after(states, letters, new), joins)
                    yield target, (cost, effort, early), ("replace", at, call)
        parting = _SPLITS if self._inside[at] else 0
        for letters, call, effort in self._insertions:
            target = (at, self._after(states, letters, True), False)
            yield target, (2, effort + parting, early), ("insert", at, call)

    def _replacing(self, at: int, old: Call) -> list[_Option]:
        """The calls that can replace this one, one for each effect on the machines."""
        key = old.tool if self._edit_results else at
        if key not in self._replacements:
            samples = self._samples if self._edit_results else self._with_result_of(old)
            self._replacements[key] = _distinct(samples, lambda call: call.tool == old.tool)
        return self._replacements[key]

    def _with_result_of(self, old: Call) -> list[_Option]:
        """The samples, where those of the same tool return what the call returned."""
        arguments: dict[str, _Option] = {}
        for _, call, effort in self._samples:
            if call.tool == old.tool:
                new = Call(call.tool, call.args, old.result, error=old.error)
                letters = self._split(self._alphabet.letter(new))
                arguments.setdefault(canonical(call.args), (letters, new, effort))
        others = [option for option in self._samples if option[1].tool != old.tool]
        return sorted([*arguments.values(), *others], key=lambda option: option[2])

    def _endings(self, states: tuple[StateNumber, ...]) -> Iterator[_Transition]:
        at = len(self.events)
        if not self._sees_answer or self._answer is None:
            yield (at + 1, states, False), _FREE, None
        else:
            kept = self._after(states, self._given, True, True)
            yield (at + 1, kept, False), _FREE, None
            yield (at + 1, states, False), (2, _DELETES, 0), ("delete", at, self._answer)
        if self._sees_answer:
            kind: Kind = "insert" if self._answer is None else "replace"
            cost = 2 if kind == "insert" else 1
            for letters, call, effort in self._answers:
                target = (at + 1, self._after(states, letters, True, True), False)
                yield target, (cost, effort, 0), (kind, at, call)

    def cheapest(self, estimate: Callable[[SearchNode], int | None]) -> list[Change] | None:
        """The changes on a path to a node where every rule holds; None if there is none.

        It is a cheapest path if `estimate` never exceeds a node's remaining cost, in halves.
        """
        best: dict[SearchNode, _Weight] = {self.start: _FREE}
        came: dict[SearchNode, tuple[SearchNode, Change | None]] = {}
        heap: list[tuple[_Weight, int, SearchNode]] = [(_FREE, 0, self.start)]
        number, closed = itertools.count(1), set[SearchNode]()
        while heap:
            node = heapq.heappop(heap)[2]
            if node in closed:
                continue
            closed.add(node)
            if self.done(node):
                return _path(came, node)
            so_far = best[node]
            for target, (cost, effort, early), change in self.transitions(node):
                weight = (so_far[0] + cost, so_far[1] + effort, so_far[2] + early)
                if target in closed or (target in best and best[target] <= weight):
                    continue
                rest = estimate(target)
                if rest is not None:
                    best[target], came[target] = weight, (node, change)
                    guess = (weight[0] + rest, *weight[1:])
                    heapq.heappush(heap, (guess, next(number), target))
        return None

    def distances(self) -> dict[SearchNode, int] | None:
        """The remaining cost of each node from which every rule can hold, in halves.

        None if the budget is too small.
        """
        try:
            return self._distances()
        except (Exhausted, TooLarge):
            return None

    def _distances(self) -> dict[SearchNode, int]:
        back: dict[SearchNode, list[tuple[SearchNode, int]]] = {self.start: []}
        pending = [self.start]
        for node in pending:
            for target, weight, _ in self.transitions(node):
                if target not in back:
                    back[target] = []
                    pending.append(target)
                back[target].append((node, weight[0]))
        found: dict[SearchNode, int] = {}
        number = itertools.count()
        heap = [(0, next(number), node) for node in pending if self.done(node)]
        while heap:
            cost, _, node = heapq.heappop(heap)
            if found.setdefault(node, cost) == cost:
                for source, more in back.pop(node, ()):
                    if source not in found:
                        heapq.heappush(heap, (cost + more, next(number), source))
        return found


class CostEstimate:
    """Estimates a node's remaining cost, in halves, from the cost of each rule alone."""

    def __init__(
        self, machines: Sequence[Machine], distances: Sequence[dict[SearchNode, int] | None]
    ) -> None:
        self._rules = list(zip(machines, distances, strict=True))

    def at_least(self, node: SearchNode) -> int | None:
        """The largest cost of a single rule, a lower bound; None if a rule can no longer hold."""
        return self._combined(node, lambda needs: max(needs, default=0), 0)

    def roughly(self, node: SearchNode) -> int | None:
        """An overestimate, which leads a search straight to some goal."""
        return self._combined(node, lambda needs: 2 * sum(needs), 4)

    def _combined(
        self, node: SearchNode, together: Callable[[list[int]], int], per_event: int
    ) -> int | None:
        at, states, joined = node
        needs = []
        for state, (machine, distances) in zip(states, self._rules, strict=True):
            if distances is None:
                if per_event:
                    needs.append(per_event * machine.distance(state, True))
                continue
            needed = distances.get((at, (state,), joined and machine.counts_steps))
            if needed is None:
                return None
            needs.append(needed)
        return together(needs)


def _is_invented(call: Call) -> bool:
    """Does the call return a value, and not just anything?"""
    return call.result not in (MISSING, PLACEHOLDER)


def _distinct(options: Sequence[_Option], kind: Callable[[Call], bool]) -> list[_Option]:
    """The first option for each kind and each effect on the machines."""
    found: dict[tuple[_Letters, bool], _Option] = {}
    for option in options:
        found.setdefault((option[0], kind(option[1])), option)
    return list(found.values())


def _path(
    came: dict[SearchNode, tuple[SearchNode, Change | None]], node: SearchNode
) -> list[Change]:
    backwards = []
    while node in came:
        node, change = came[node]
        if change is not None:
            backwards.append(change)
    return backwards[::-1]


def _probes(machine: Machine) -> Iterator[Probe]:
    closure = machine.closure
    yield from closure.probes
    yield from (probe for tracker in closure.trackers for probe in tracker.probes)
