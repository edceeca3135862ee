"""What would have fixed a trace: the cheapest edits after which its rules hold.

A call can be inserted or deleted (cost 1), or replaced: by a call of the same tool (0.5) or of
another (1). The edits are found by a shortest-path search over places in the trace and states of
the rules' machines; among equally cheap ones the plainest win, and then the latest. Every repair
is tried on the reference semantics before it is returned.

A call that is inserted is a step of its own; inside a step it parts what stood before it from
what stands behind it. Other events stay together as they were. Only calls and the final answer
are edited, never messages; metrics and labels stay as they are.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from bylaw.errors import SpecError
from bylaw.logic import formula as f
from bylaw.logic.terms import tool_of
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.semantics.alphabet import OTHER, Alphabet, Letter
from bylaw.semantics.closure import Unsupported
from bylaw.semantics.machine import Machine, StateNumber
from bylaw.semantics.reference import holds
from bylaw.semantics.residual import TooLarge
from bylaw.trace.event import MISSING, Call, Event
from bylaw.trace.trace import Trace
from bylaw.values import Json, write_json
from bylaw.vocabulary.patterns import names_of
from bylaw.vocabulary.tracker import Probe

MAX_MOVES: Final = 400_000
"""How many moves of machines a search may make; past that the repair is an upper bound."""

Kind: TypeAlias = Literal["insert", "delete", "replace"]
_PLACEHOLDER: Final = "another value"
"""What stands for any value that the rules do not name, in sample calls as here."""
_ANSWER: Final = "an answer"


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a trace."""

    kind: Kind
    index: int
    """The call that is changed, or before which one is inserted; `len(trace)` is the end."""
    call: Call
    """The call that is inserted, put in place of another, or deleted."""
    original: Call | None = None
    """The call at the index, where there is one."""
    place: int = 0
    """Where that is among all events of the trace."""

    @property
    def cost(self) -> float:
        """The paper's costs of its trace distance."""
        same = self.original is not None and self.original.tool == self.call.tool
        return 0.5 if self.kind == "replace" and same else 1.0

    def __str__(self) -> str:
        old, new, number = self.original, self.call, self.index + 1
        if new.tool == FINAL_ANSWER:
            return _told_answer(self.kind, new.args["answer"])
        if old is None:
            return f"Insert {_told(new)}{_outcome(new)} at the end."
        if self.kind == "insert":
            return f"Insert {_told(new)}{_outcome(new)} before call #{number} ({old.tool})."
        if self.kind == "delete":
            return f"Delete call #{number} ({old.tool})."
        outcomes = [_outcome(call) for call in (new, old)]
        if (new.result, new.error) == (old.result, old.error) or old.tool != new.tool:
            outcomes[1] = ""
        if (new.result, new.error) == (old.result, old.error):
            outcomes[0] = ""
        elif old.tool == new.tool:
            outcomes = [outcome or " without a result" for outcome in outcomes]
        return (
            f"Replace call #{number}: {_told(new)}{outcomes[0]} "
            f"instead of {_told(old)}{outcomes[1]}."
        )

    def to_dict(self) -> dict[str, Json]:
        """The edit as JSON."""
        call = self.call
        data = {"kind": self.kind, "index": self.index, "tool": call.tool, "arguments": call.args}
        optional = {"error": call.error} if call.failed else {}
        return data | optional | ({} if call.result is MISSING else {"result": call.result})


@dataclass(frozen=True, slots=True)
class Repair:
    """Edits of a trace after which a rule, or a whole procedure, holds."""

    edits: tuple[Edit, ...]
    exact: bool = True
    """Is nothing cheaper possible? Otherwise the cost is an upper bound."""

    @property
    def cost(self) -> float:
        """What the edits cost together."""
        return sum(edit.cost for edit in self.edits)

    def apply(self, trace: Trace) -> Trace:
        """The trace with the edits made."""
        answer, inserted, changed = trace.answer, dict[int, list[Call]](), dict[int, Edit]()
        for edit in self.edits:
            if edit.call.tool == FINAL_ANSWER:
                answer = None if edit.kind == "delete" else edit.call.args["answer"]
            elif edit.kind == "insert":
                inserted.setdefault(edit.place, []).append(edit.call)
            else:
                changed[edit.place] = edit
        events: list[Event] = []
        step, shift = -1, 0
        together: int | None = None  # the step of the original event before, if that was the last
        for place, event in enumerate((*trace.events, None)):
            for call in inserted.get(place, ()):
                step, shift, together = step + 1, shift + 1, None
                events.append(replace(call, step=step))
            edit_here = changed.get(place)
            if event is None or (edit_here is not None and edit_here.kind == "delete"):
                continue
            if event.step != together:
                step = max((event.step or 0) + shift, step + 1)
                together = event.step
            events.append(replace(event if edit_here is None else edit_here.call, step=step))
        fields = {"metrics": trace.metrics, "labels": trace.labels}
        return Trace(events, answer=answer, name=trace.name, **fields)

    def sentences(self) -> list[str]:
        """The edits, for people; calls are numbered as in the original trace."""
        return [str(edit) for edit in self.edits]

    def to_dict(self) -> dict[str, Json]:
        """The repair as JSON."""
        return {
            "cost": self.cost,
            "exact": self.exact,
            "edits": [edit.to_dict() for edit in self.edits],
            "sentences": self.sentences(),
        }


def repair(trace: Trace, procedure: Procedure, name: str) -> Repair | None:
    """The cheapest edits after which a constraint holds.

    None if there are none, if the search found none within its budget, or if the rule cannot be
    followed call by call and does not hold: it reads a registered function, or a domain that
    depends on the trace.
    """
    return _repaired(trace, procedure, [procedure[name].formula])


def repair_procedure(trace: Trace, procedure: Procedure) -> Repair | None:
    """The cheapest edits after which every constraint holds; None as for `repair`."""
    return _repaired(trace, procedure, [each.formula for each in procedure.constraints])


def _repaired(trace: Trace, procedure: Procedure, rules: Sequence[f.Formula]) -> Repair | None:
    def satisfied(rule: f.Formula, subject: Trace) -> bool:
        order, events, vocabulary = procedure.order, procedure.events, procedure.vocabulary
        try:
            return holds(rule, subject, order=order, events=events, vocabulary=vocabulary)
        except SpecError:
            return False

    machines: list[Machine] = []
    for rule in rules:
        try:
            machines.append(Machine(rule, procedure.order, procedure.events, procedure.vocabulary))
        except Unsupported:
            if not satisfied(rule, trace):
                return None
    if not machines:
        return Repair(())
    found = _search(trace, procedure, machines)
    if found is None or not all(satisfied(rule, found.apply(trace)) for rule in rules):
        return None
    return found


def _search(trace: Trace, procedure: Procedure, machines: Sequence[Machine]) -> Repair | None:
    alphabet = _alphabet(trace, procedure, machines)
    order, events, vocabulary = procedure.order, procedure.events, procedure.vocabulary
    machines = [Machine(m.formula, order, events, vocabulary, alphabet) for m in machines]
    seen = trace.seen(events)
    share = MAX_MOVES // len(machines)
    alone = [_Space(trace, seen, alphabet, [machine], share) for machine in machines]
    ahead = _Ahead(machines, [each.distances() if len(alone) > 1 else None for each in alone])
    for exact, guess in ((True, ahead.at_least), (False, ahead.roughly)):
        try:
            path = _Space(trace, seen, alphabet, machines, MAX_MOVES).cheapest(guess)
        except (_Exhausted, TooLarge):
            continue
        if path is None:
            return None
        return Repair(_edits(trace, seen, alphabet, path), exact and alphabet.complete)
    return None


def _alphabet(trace: Trace, procedure: Procedure, machines: Sequence[Machine]) -> Alphabet:
    """What the rules tell apart, and the tools: replacing within one is cheaper."""
    probes = [probe for machine in machines for probe in machine.alphabet.probes]
    tools = {name for p in probes if p.tool is not None for name in names_of(p.tool)}
    if any(probe.tool is None and probe.patterns for probe in probes):
        tools |= {call.tool for call in trace.calls}
    return Alphabet(
        [*probes, *(Probe(tool_of(name)) for name in sorted(tools - {FINAL_ANSWER}))],
        answer=any(machine.sees_answer for machine in machines),
        vocabulary=procedure.vocabulary,
    )


# ── the search ───────────────────────────────────────────────────────────────────────────

_Node: TypeAlias = tuple[int, tuple[StateNumber, ...], bool]
"""A place in the trace, the machines' states, and whether the next event can join the last step."""
_Letters: TypeAlias = tuple[Letter, ...]
"""An event's letter, for each machine what concerns it."""
_Weight: TypeAlias = tuple[int, int, int]
"""Half the cost, how far from plain, how far from the end; compared in this order."""
_Option: TypeAlias = tuple[_Letters, Call, int]
"""A sample call, and how far from plain it is."""
_Change: TypeAlias = tuple[Kind, int, Call]
_Way: TypeAlias = tuple[_Node, _Weight, _Change | None]
_FREE: Final = (0, 0, 0)
_SPLITS, _DELETES, _SWAPS = 3, 6, 8
"""How far from plain: parting a step, deleting a call, turning a call into one of another tool."""


class _Exhausted(Exception):
    """A search made as many moves as it may."""


class _Space:
    """Places in a trace and where machines can stand there, explored as far as needed."""

    def __init__(
        self,
        trace: Trace,
        events: Sequence[Event],
        alphabet: Alphabet,
        machines: Sequence[Machine],
        moves: int,
    ) -> None:
        self.events, self.machines, self.moves = events, machines, moves
        self.start: Final[_Node] = (0, tuple(machine.start for machine in machines), False)
        self.by_step: Final = any(machine.counts_steps for machine in machines)
        self._concerns = [
            frozenset(alphabet.number[probe] for probe in _probes(machine)) for machine in machines
        ]
        self._letters = [self._split(alphabet.letter(event)) for event in events]
        self._inside = [False, *(a.step == b.step for a, b in itertools.pairwise(events)), False]
        samples = sorted(alphabet.samples, key=lambda sample: _effort(sample.event))
        self._samples = [
            (self._split(sample.letter), sample.event, _effort(sample.event))
            for sample in samples
            if isinstance(sample.event, Call) and not sample.final
        ]
        self._insertions = _distinct(self._samples, lambda call: True)
        self._replacements: dict[str, list[_Option]] = {}
        self._sees_answer = any(machine.sees_answer for machine in machines)
        self._answer = None if trace.answer is None else _answer_call(trace.answer)
        self._given = self._split(alphabet.letter(self._answer)) if self._answer else ()
        answers = [_as_answer(sample.event) for sample in samples if sample.final]
        self._answers = _distinct(
            [(self._split(alphabet.letter(call)), call, _effort(call)) for call in answers],
            lambda call: True,
        )

    def _split(self, letter: Letter) -> _Letters:
        return tuple(letter & concerns for concerns in self._concerns)

    def _after(
        self, states: tuple[StateNumber, ...], letters: _Letters, new: bool, final: bool = False
    ) -> tuple[StateNumber, ...]:
        self.moves -= len(states)
        if self.moves < 0:
            raise _Exhausted
        return tuple(
            machine.advance(state, (letter, new, final))
            for machine, state, letter in zip(self.machines, states, letters, strict=True)
        )

    def done(self, node: _Node) -> bool:
        """Is the trace over, and does every rule hold?"""
        at_end = node[0] > len(self.events)
        return at_end and all(m.accepts(s) for m, s in zip(self.machines, node[1], strict=True))

    def ways(self, node: _Node) -> Iterator[_Way]:
        """The ways on from a node."""
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
                for letters, call, effort in self._replacing(event.tool):
                    cost, effort = (1, effort) if call.tool == event.tool else (2, effort + _SWAPS)
                    target = (at + 1, self._after(states, letters, new), joins)
                    yield target, (cost, effort, early), ("replace", at, call)
        parting = _SPLITS if self._inside[at] else 0
        for letters, call, effort in self._insertions:
            target = (at, self._after(states, letters, True), False)
            yield target, (2, effort + parting, early), ("insert", at, call)

    def _replacing(self, tool: str) -> list[_Option]:
        """Calls that can stand in for one of the tool, one for each that makes a difference."""
        if tool not in self._replacements:
            self._replacements[tool] = _distinct(self._samples, lambda call: call.tool == tool)
        return self._replacements[tool]

    def _endings(self, states: tuple[StateNumber, ...]) -> Iterator[_Way]:
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

    def cheapest(self, ahead: Callable[[_Node], int | None]) -> list[_Change] | None:
        """The changes of a cheapest path to where everything holds, if `ahead` says no more than
        what a node costs at least, in halves; else of some path. None if there is none.
        """
        best: dict[_Node, _Weight] = {self.start: _FREE}
        came: dict[_Node, tuple[_Node, _Change | None]] = {}
        heap: list[tuple[_Weight, int, _Node]] = [(_FREE, 0, self.start)]
        number, closed = itertools.count(1), set[_Node]()
        while heap:
            node = heapq.heappop(heap)[2]
            if node in closed:
                continue
            closed.add(node)
            if self.done(node):
                return _path(came, node)
            so_far = best[node]
            for target, (cost, effort, early), change in self.ways(node):
                weight = (so_far[0] + cost, so_far[1] + effort, so_far[2] + early)
                if target in closed or (target in best and best[target] <= weight):
                    continue
                rest = ahead(target)
                if rest is not None:
                    best[target], came[target] = weight, (node, change)
                    guess = (weight[0] + rest, *weight[1:])
                    heapq.heappush(heap, (guess, next(number), target))
        return None

    def distances(self) -> dict[_Node, int] | None:
        """For each node from which everything can hold: what that costs, in halves. None if the
        budget does not suffice.
        """
        try:
            return self._distances()
        except (_Exhausted, TooLarge):
            return None

    def _distances(self) -> dict[_Node, int]:
        back: dict[_Node, list[tuple[_Node, int]]] = {self.start: []}
        pending = [self.start]
        for node in pending:
            for target, weight, _ in self.ways(node):
                if target not in back:
                    back[target] = []
                    pending.append(target)
                back[target].append((node, weight[0]))
        found: dict[_Node, int] = {}
        number = itertools.count()
        heap = [(0, next(number), node) for node in pending if self.done(node)]
        while heap:
            cost, _, node = heapq.heappop(heap)
            if found.setdefault(node, cost) == cost:
                for source, more in back.pop(node, ()):
                    if source not in found:
                        heapq.heappush(heap, (cost + more, next(number), source))
        return found


class _Ahead:
    """What a node still costs, in halves, judged by what each rule needs by itself."""

    def __init__(
        self, machines: Sequence[Machine], distances: Sequence[dict[_Node, int] | None]
    ) -> None:
        self._rules = list(zip(machines, distances, strict=True))

    def at_least(self, node: _Node) -> int | None:
        """No less than the rule that needs most; None if one can no longer hold."""
        return self._combined(node, lambda needs: max(needs, default=0), 0)

    def roughly(self, node: _Node) -> int | None:
        """Rather too much, which takes a search straight to some goal."""
        return self._combined(node, lambda needs: 2 * sum(needs), 4)

    def _combined(
        self, node: _Node, together: Callable[[list[int]], int], per_event: int
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


def _distinct(options: Sequence[_Option], kind: Callable[[Call], bool]) -> list[_Option]:
    """The first option of each kind that makes a difference to the machines."""
    found: dict[tuple[_Letters, bool], _Option] = {}
    for option in options:
        found.setdefault((option[0], kind(option[1])), option)
    return list(found.values())


def _path(came: dict[_Node, tuple[_Node, _Change | None]], node: _Node) -> list[_Change]:
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


# ── what is found, for people ────────────────────────────────────────────────────────────


def _edits(
    trace: Trace, seen: Sequence[Event], alphabet: Alphabet, path: Sequence[_Change]
) -> tuple[Edit, ...]:
    places = [
        i for i, e in enumerate(trace.events) if len(seen) > len(trace) or isinstance(e, Call)
    ]
    edits = []
    for kind, at, call in path:
        index = sum(isinstance(event, Call) for event in seen[:at])
        original = next((event for event in seen[at:] if isinstance(event, Call)), None)
        place = places[at] if at < len(places) else len(trace.events)
        if call.tool == FINAL_ANSWER:
            edits.append(Edit(kind, index, call, _answer_call(trace.answer or "")))
            continue
        if kind == "replace" and original is not None:
            call = _like(original, call, alphabet)
        if kind == "insert" and len(seen) == len(trace):
            place = _before_text(trace, place)
        edits.append(Edit(kind, index, call, original, place))
    return tuple(edits)


def _before_text(trace: Trace, place: int) -> int:
    """An assistant's text stays beside the calls of its turn."""
    events = trace.events
    while 0 < place < len(events) and not isinstance(events[place - 1], Call):
        if events[place - 1].step != events[place].step:
            break
        place -= 1
    return place


def _like(old: Call, new: Call, alphabet: Alphabet) -> Call:
    """The new call, as much like the old one as the rules permit."""
    if old.tool != new.tool:
        return new
    letter = alphabet.letter(new)

    def fits(args: dict[str, Json], outcome: Call) -> bool:
        return alphabet.letter(Call(old.tool, args, outcome.result, error=outcome.error)) == letter

    args = dict(new.args)
    outcome = old if fits(args, old) else new
    for key, value in old.args.items():
        if fits(args | {key: value}, outcome):
            args[key] = value
        elif key not in args and fits(args | {key: _PLACEHOLDER}, outcome):
            args[key] = _PLACEHOLDER
    ordered = {key: args[key] for key in (*old.args, *args) if key in args}
    if outcome is new and fits(ordered, old):
        outcome = old
    return Call(old.tool, ordered, outcome.result, error=outcome.error, agent=old.agent)


def _answer_call(text: str) -> Call:
    return Call(FINAL_ANSWER, {"answer": text})


def _as_answer(event: Event) -> Call:
    """The answer that a sample shows; an answer is always a text."""
    given = event.args.get("answer", _ANSWER) if isinstance(event, Call) else _ANSWER
    return _answer_call(given if isinstance(given, str) else write_json(given))


def _effort(event: Event) -> int:
    """How far a sample call is from one that people would write down."""
    if not isinstance(event, Call):
        return 0
    written = write_json(dict(event.args))
    strange = written.count(f'"{_PLACEHOLDER}"') + (event.tool == OTHER)
    outcome = (event.result is not MISSING) + 2 * event.failed
    return 10 * strange + len(event.args) + outcome


def _told(call: Call) -> str:
    tool = "any other call" if call.tool == OTHER else call.tool
    return f"{tool} {_short(dict(call.args))}" if call.args or call.tool != OTHER else tool


def _outcome(call: Call) -> str:
    if call.failed:
        return " that fails"
    if call.result is MISSING:
        return ""
    return (
        " that succeeds"
        if call.result == _PLACEHOLDER
        else f" with the result {_short(call.value)}"
    )


def _told_answer(kind: Kind, text: str) -> str:
    if kind == "delete":
        return "Give no final answer."
    if text in (_ANSWER, _PLACEHOLDER):
        return "Give a final answer." if kind == "insert" else "Give another final answer."
    return f"Give the final answer {_short(text)}{' instead' if kind == 'replace' else ''}."


def _short(value: Json) -> str:
    written = json.dumps(value, ensure_ascii=False, default=str)  # whatever a trace may hold
    return written if len(written) <= 80 else f"{written[:79]}…"
