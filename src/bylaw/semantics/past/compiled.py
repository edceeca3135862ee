"""Rules about the past, compiled to functions of the current event and of memories.

A formula without future operators, trace predicates and domains of the whole trace becomes a
function from an event to true, false or unknown. Its past operators and its `last` become
memories. The condition of a memory may use variables bound outside it. It is then split: parts
without such variables are tested when an event is taken in; an equality or a membership becomes
a key; the other parts are tested on the events found by the key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.terms import is_constant
from bylaw.logic.walk import BACK, is_past, weight_of
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.conditions import reads_result
from bylaw.semantics.past.facts import Facts
from bylaw.semantics.past.hearing import Hearing, heard_by
from bylaw.semantics.past.keyed import Index, Retention
from bylaw.semantics.past.memories import Carried, Memory, Previous
from bylaw.semantics.past.split import Key, SplitCondition
from bylaw.semantics.past.tallies import Tallies
from bylaw.semantics.past.windows import WindowedTallies
from bylaw.semantics.past.witnesses import branches
from bylaw.trace.time import microseconds
from bylaw.values import Json
from bylaw.vocabulary.local import (
    EventContext,
    LocalCompiler,
    PossibleReader,
    Slots,
    Test,
    found_in,
    junction,
)
from bylaw.vocabulary.tally import TALLIED
from bylaw.vocabulary.view import Kleene


def past_bodies(
    formula: f.Formula, is_past: Callable[[f.Formula], bool] = is_past
) -> list[f.Formula] | None:
    """The bodies of a conjunction of `G` over the past; None for any other formula."""
    bodies: list[f.Formula] = []
    for part in formula.operands if isinstance(formula, f.And) else (formula,):
        if not isinstance(part, f.Always) or not is_past(part.operand):
            return None
        bodies.append(part.operand)
    return bodies


class Compiler(LocalCompiler):
    """Compiles the parts of one rule; collects its memories, innermost first."""

    def __init__(self, labels: Mapping[str, Json]) -> None:
        super().__init__(labels)
        self.memories: Final[list[Memory]] = []
        self.heard: Final[list[Hearing | None]] = []
        """For each memory, the events that it takes in: tools and roles; None for all."""

    def _remember(self, memory: Memory, hears: Hearing | None) -> None:
        self.memories.append(memory)
        self.heard.append(hears)

    def last(self, condition: f.Formula, slots: Slots) -> PossibleReader:
        """The event that `last` finds: the latest event in the memory under the key."""
        return self._index(condition, slots, "latest").latest

    def sofar(self, term: t.Sofar, slots: Slots) -> PossibleReader:
        """The events that `sofar` finds: those in the memory under the key, and this one."""
        index = self._index(term.condition, slots, "all", term.seconds)
        return partial(index.so_far, self.formula(term.condition, slots))

    def possible(self, term: t.Term, slots: Slots) -> PossibleReader:
        """A function that reads a value; the length or sum of `sofar` is kept as it grows."""
        match term:
            case t.Apply(function, (operand,)) if function in TALLIED:
                reader = self._tallied(function, operand, slots)
                return super().possible(term, slots) if reader is None else reader
            case t.At(t.Last(condition), t.Literal() as key) if key.value in t.FIELDS:
                index = self._index(condition, slots, "latest")
                return partial(index.latest_field, key.value)
            case _:
                return super().possible(term, slots)

    def _tallied(self, function: str, operand: t.Term, slots: Slots) -> PossibleReader | None:
        """The function of a value of all events so far; None if the events must be kept."""
        selected = _selected(operand)
        if selected is None:
            return None
        sofar, value = selected
        condition = sofar.condition
        open_parts = [part for part in _conjuncts(condition) if part.free]
        keys = [self._key(part, slots) for part in open_parts]
        if any(key is None or key.member for key in keys):
            return None
        split, hears = self._split(condition, slots)
        window, read = _window(sofar.seconds), self.term(value, slots)
        memory = Tallies(split, read) if window is None else WindowedTallies(split, read, window)
        self._remember(memory, hears)
        return partial(memory.result, function, self.formula(condition, slots))

    def elsewhere(self, formula: f.Formula, slots: Slots) -> Test:
        """A past operator, decided from its memory."""
        match formula:
            case f.Earlier(operand):
                return partial(self._seen(operand, slots).exists, strictly=True)
            case f.Once(operand):
                index, here = self._seen(operand, slots), self.formula(operand, slots)
                return lambda now: _either(here(now), lambda: index.exists(now, strictly=False))
            case f.EarlierWithin(operand, seconds):
                index = self._index(operand, slots, "latest", seconds)
                return partial(index.exists, strictly=True)
            case f.OnceWithin(operand, seconds):
                index = self._index(operand, slots, "latest", seconds)
                tests = [_has_start, self.formula(operand, slots)]
                return lambda now: _either(
                    junction(tests, now, False), lambda: index.exists(now, strictly=False)
                )
            case f.Historically(operand):
                return self.formula(f.Not(f.Once(f.Not(operand))), slots)
            case f.Yesterday(f.Once(operand)):
                # The memory has the events before this one.
                return partial(self._seen(operand, slots).exists, strictly=False)
            case f.Yesterday(operand):
                return self._carried(operand, self.formula(operand, slots))
            case f.Since(left, right):
                return self._since(left, right, slots)
            case _:
                raise Unsupported("it refers to later events and compares data")

    def _since(self, left: f.Formula, right: f.Formula, slots: Slots) -> Test:
        if left.free or right.free:
            raise Unsupported("'S' compares data of several events")
        a, b = self.formula(left, slots), self.formula(right, slots)
        memory = Carried(lambda now: value(now))

        def value(now: EventContext) -> Kleene:
            return _either(b(now), lambda: _both(a(now), memory.value))

        self._remember(memory, None)
        return value

    def _carried(self, operand: f.Formula, test: Test) -> Test:
        if operand.free and _asks_memory(operand):
            raise Unsupported("a past operator inside another uses variables from outside")
        if operand.free:
            previous = Previous(test, reads_result=reads_result(operand))
            self._remember(previous, None)
            return previous.holds
        memory = Carried(test)
        self._remember(memory, None)
        return lambda now: memory.value

    def keyed_condition(self, condition: f.Formula, slots: Slots) -> SplitCondition:
        """A condition on other events that equalities alone connect with this one."""
        split, _ = self._split(condition, slots)
        if not split.by_key or any(key.member for key in split.keys):
            raise Unsupported("it compares data of different events")
        return split

    # ── memories ─────────────────────────────────────────────────────────────────────────

    def _seen(self, condition: f.Formula, slots: Slots) -> Facts | Index:
        """The memory of whether some event met a condition."""
        open_parts = [part for part in _conjuncts(condition) if part.free]
        found_by_key = open_parts and all(self._key(part, slots) for part in open_parts)
        if found_by_key or _asks_memory(condition):
            return self._index(condition, slots, "first")
        try:
            found = branches(condition, slots, self)
        except Unsupported:
            return self._index(condition, slots, "first")
        hears = Hearing.together(heard_by(branch.closed) for branch in found)
        facts = Facts(found, self.formula(condition, slots), weight_of(condition))
        self._remember(facts, hears)
        return facts

    def _index(
        self,
        condition: f.Formula,
        slots: Slots,
        retention: Retention,
        seconds: t.Literal | None = None,
    ) -> Index:
        """The memory of the events that meet a condition."""
        split, hears = self._split(condition, slots)
        index = Index(split, retention, _window(seconds))
        self._remember(index, hears)
        return index

    def _split(self, condition: f.Formula, slots: Slots) -> tuple[SplitCondition, Hearing | None]:
        """A condition, split by what a query adds; and the events that can meet it."""
        parts = list(_conjuncts(condition))
        closed = [part for part in parts if not part.free]
        open_parts = [part for part in parts if part.free]
        if any(_asks_memory(part) for part in open_parts):
            raise Unsupported("a past operator inside another uses variables from outside")
        keys = [key for part in open_parts if (key := self._key(part, slots))]
        whole = None if _asks_memory(condition) else self.formula(condition, slots)
        asked = [self.formula(part, slots) for part in open_parts]
        split = SplitCondition(
            [self.formula(part, slots) for part in closed],
            keys,
            lambda now: junction(asked, now, False),
            whole,
            by_key=len(keys) == len(open_parts) and not any(key.mention for key in keys),
            weight=weight_of(condition),
        )
        return split, heard_by(closed)

    def _key(self, part: f.Formula, slots: Slots) -> Key | None:
        """The key for a condition on outer variables, if it is an equality or a membership."""
        match part:
            case f.EventAtom(None, (f.ArgumentIs(path, expected),)):
                return Key(found_in("args", path), self.term(expected, slots), False, True)
            case f.EventAtom(None, (f.ResultIs(path, expected),)):
                return Key(found_in("result", path), self.term(expected, slots), False, True)
            case f.Compare("=", left, right):
                for mine, theirs in ((left, right), (right, left)):
                    if not mine.free and is_constant(theirs):
                        return Key(self.term(mine, slots), self.term(theirs, slots), False, False)
            case f.Compare("in", theirs, mine) | f.Compare("contains", mine, theirs):
                if not mine.free and is_constant(theirs):
                    return Key(self.term(mine, slots), self.term(theirs, slots), True, False)
            case f.Compare("mentions", mine, theirs):
                if not mine.free and is_constant(theirs):
                    read = self.term(mine, slots), self.term(theirs, slots)
                    return Key(*read, member=True, null_counts=False, mention=True)
        return None


def _both(left: Kleene, right: Kleene) -> Kleene:
    """The conjunction."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _either(left: Kleene, right: Callable[[], Kleene]) -> Kleene:
    """The disjunction; `right` is evaluated only if needed."""
    if left:
        return True
    second = right()
    return True if second else None if left is None or second is None else False


def _conjuncts(formula: f.Formula) -> list[f.Formula]:
    """The conjuncts of a formula, with negations pushed inwards where that yields more."""
    match formula:
        case f.And(operands):
            return [part for operand in operands for part in _conjuncts(operand)]
        case f.Not(f.Not(operand)):
            return _conjuncts(operand)
        case f.Not(f.Implies(left, right)):
            return [*_conjuncts(left), *_conjuncts(f.Not(right))]
        case f.Not(f.Or(operands)):
            return [part for operand in operands for part in _conjuncts(f.Not(operand))]
        case f.EventAtom(tool, patterns) if formula.free and patterns:
            # Each pattern may become a key of its own; the tool is tested first.
            alone = [f.EventAtom(None, (pattern,)) for pattern in patterns]
            return [f.EventAtom(tool) if tool is not None else f.EventAtom(), *alone]
        case _:
            return [formula]


def _selected(operand: t.Term) -> tuple[t.Sofar, t.Term] | None:
    """A `sofar`, and what is read of each event that it finds: `sofar(a).args.amount`.

    Keys are looked up in each event of the list; an index would choose one of them.
    """
    keys: list[str] = []
    while isinstance(operand, t.At):
        if not isinstance(operand.key, t.Literal) or not isinstance(operand.key.value, str):
            return None
        keys.insert(0, operand.key.value)
        operand = operand.base
    if not isinstance(operand, t.Sofar):
        return None
    if not keys:
        return operand, t.Literal.of(True)  # each event counts, whatever it is
    if keys[0] not in t.FIELDS:
        return None
    return operand, t.path_term(t.Reading(keys[0]), *keys[1:])  # type: ignore[arg-type]  # one of the fields


def _window(seconds: t.Literal | None) -> int | None:
    """A window in microseconds; None if there is none."""
    return None if seconds is None else microseconds(seconds.value)


def _has_start(now: EventContext) -> bool:
    return now.event.start is not None


def _asks_memory(node: Node) -> bool:
    return node.contains(*BACK)


def triggers(body: f.Formula) -> Hearing | None:
    """The events at which a body can be false, by tool or role; None if it may be any event."""
    match body:
        case f.Let(_, _, inner):
            return triggers(inner)
        case f.Implies(left, _):
            return heard_by(_conjuncts(left))
        case f.Not(operand):
            return heard_by(_conjuncts(operand))
        case f.Or(operands):
            for operand in operands:
                if isinstance(operand, f.Not) and (found := triggers(operand)) is not None:
                    return found
    return None
