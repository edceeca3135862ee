"""Rules about the past, made into functions of the current event and of what is remembered.

A formula without future operators, trace predicates and domains of the whole trace becomes a
function from an event to true, false or unknown. Its past operators and its `last` become
memories. A memory whose condition speaks of variables from outside is split: what does not
depend on them is asked when an event is taken in; an equality or membership becomes a key; the
rest is asked of the events that the key finds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import (
    Answer,
    Apply,
    At,
    Counted,
    Labels,
    Last,
    ListTerm,
    Literal,
    ObjectTerm,
    Reading,
    Term,
    Tool,
    ToolVariable,
    Variable,
    is_constant,
    members_of,
)
from bylaw.logic.walk import everything
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.closure import Unsupported
from bylaw.semantics.memories import (
    Carried,
    Index,
    Key,
    Memory,
    Moment,
    Previous,
    Reader,
    Test,
    same,
)
from bylaw.trace.event import MISSING, Call, Message
from bylaw.values import Json
from bylaw.vocabulary.function_table import apply
from bylaw.vocabulary.patterns import forms_of, is_named, is_tool, lookup, names_of
from bylaw.vocabulary.reading import (
    UNSEEN,
    Seen,
    elements_of,
    field_of,
    found_at,
    known_before_result,
)
from bylaw.vocabulary.relations import related
from bylaw.vocabulary.view import Kleene

Slots = Mapping[str, int]
"""Where the value of each variable is kept."""

_AHEAD: Final = (
    f.Next,
    f.WeakNext,
    f.Eventually,
    f.Always,
    f.Until,
    f.WeakUntil,
    f.Release,
    f.Later,
    f.TracePredicate,
    f.OpenPredicate,
    f.FromArgs,
    f.FromResults,
    f.FromMetrics,
    f.Extracted,
    Answer,
)
_REMEMBERS: Final = (f.Earlier, f.Once, f.Historically, f.Since, f.Yesterday, Last)


def is_past(formula: f.Formula) -> bool:
    """Is the formula decided at each event, whatever comes after it?"""
    return not any(isinstance(part, _AHEAD) for part in everything(formula))


def past_bodies(formula: f.Formula) -> list[f.Formula] | None:
    """The bodies of a conjunction of `G` over the past; None for any other formula."""
    bodies: list[f.Formula] = []
    for part in formula.operands if isinstance(formula, f.And) else (formula,):
        if not isinstance(part, f.Always) or not is_past(part.operand):
            return None
        bodies.append(part.operand)
    return bodies


class Compiler:
    """Compiles the parts of one rule; collects its memories, innermost first."""

    def __init__(self, labels: Mapping[str, Json]) -> None:
        self.labels: Final = labels
        self.memories: Final[list[Memory]] = []
        self.heard: Final[list[frozenset[str] | None]] = []
        """For each memory, the events that it takes in: tools and roles; None for all."""
        self.size = 0
        """How many variables there are."""

    def _slot(self) -> int:
        self.size += 1
        return self.size - 1

    def _remember(self, memory: Memory, hears: frozenset[str] | None) -> None:
        self.memories.append(memory)
        self.heard.append(hears)

    # ── values ───────────────────────────────────────────────────────────────────────────

    def term(self, term: Term, slots: Slots) -> Reader:
        """A function that reads the value at a moment."""
        match term:
            case Literal():
                value = term.value
                return lambda now: value
            case Variable(name):
                slot = slots[name]
                return lambda now: now.values[slot]
            case Reading(field):
                return self._field(field)
            case At(base, key):
                of_base, of_key = self.term(base, slots), self.term(key, slots)
                return lambda now: found_at(of_base(now), of_key(now))
            case Apply(function, operands):
                readers = [self.term(operand, slots) for operand in operands]
                return lambda now: _applied(function, [reader(now) for reader in readers])
            case Last(condition):
                index = self._index(condition, slots, keeps_latest=True)
                return index.latest
            case Counted(variable, domain, body):
                return self._counted(variable, domain, body, slots)
            case ListTerm(items):
                readers = [self.term(item, slots) for item in items]
                return lambda now: _whole([reader(now) for reader in readers])
            case ObjectTerm(entries):
                keys = [entry.key for entry in entries]
                readers = [self.term(entry.value, slots) for entry in entries]
                return lambda now: _object(keys, _whole([reader(now) for reader in readers]))
            case Labels():
                labels = self.labels
                return lambda now: labels
            case Answer():
                raise Unsupported("the answer is only known at the end")

    def _field(self, field: str) -> Reader:
        if field == "step":
            return lambda now: now.step if now.event.step is None else now.event.step
        if known_before_result(field):
            return lambda now: field_of(now.event, field)
        return lambda now: UNSEEN if now.pending else field_of(now.event, field)

    def _values(self, domain: f.Domain, slots: Slots) -> Reader:
        """A function that reads the list a quantifier ranges over."""
        match domain:
            case f.Listed(items):
                readers = [self.term(item, slots) for item in items]
                return lambda now: _defined([reader(now) for reader in readers])
            case f.Found(term):
                reader = self.term(term, slots)
                return lambda now: _elements(reader(now))
            case _:
                raise Unsupported("a quantifier reads a domain that is only known at the end")

    def _counted(self, variable: str, domain: f.Domain, body: f.Formula, slots: Slots) -> Reader:
        values, slot = self._values(domain, slots), self._slot()
        test = self.formula(body, {**slots, variable: slot})

        def count(now: Moment) -> Seen:
            found = values(now)
            if found is UNSEEN or found is MISSING:
                return UNSEEN
            number = 0
            for value in found:
                now.values[slot] = value
                answer = test(now)
                if answer is None:
                    return UNSEEN
                number += answer
            return number

        return count

    # ── formulas ─────────────────────────────────────────────────────────────────────────

    def formula(self, formula: f.Formula, slots: Slots) -> Test:
        """A function that decides the formula at a moment."""
        match formula:
            case f.Truth(truth):
                return lambda now: truth
            case f.Event(tool, patterns):
                return self._event(tool, patterns, slots)
            case f.Says(role):
                return lambda now: isinstance(now.event, Message) and now.event.role == role
            case f.Compare(symbol, left, right):
                a, b = self.term(left, slots), self.term(right, slots)
                return lambda now: _compared(a(now), symbol, b(now))
            case f.Not(operand):
                inner = self.formula(operand, slots)
                return lambda now: _not(inner(now))
            case f.And(operands) | f.Or(operands):
                tests = [self.formula(operand, slots) for operand in operands]
                decided = isinstance(formula, f.Or)
                return lambda now: _junction(tests, now, decided)
            case f.Implies(left, right):
                tests = [self.formula(f.Not(left), slots), self.formula(right, slots)]
                return lambda now: _junction(tests, now, True)
            case f.Iff(left, right):
                first, second = self.formula(left, slots), self.formula(right, slots)
                return lambda now: _same_truth(first(now), second(now))
            case f.ForAll(variable, domain, body) | f.Exists(variable, domain, body):
                return self._quantified(formula, variable, domain, body, slots)
            case f.Earlier(operand):
                index = self._index(operand, slots)
                return lambda now: index.exists(now, strictly=True)
            case f.Once(operand):
                index, here = self._index(operand, slots), self.formula(operand, slots)
                return lambda now: _or(here(now), lambda: index.exists(now, strictly=False))
            case f.Historically(operand):
                return self.formula(f.Not(f.Once(f.Not(operand))), slots)
            case f.Yesterday(operand):
                return self._carried(operand, self.formula(operand, slots))
            case f.Since(left, right):
                return self._since(left, right, slots)
            case _:
                raise Unsupported("it looks ahead, and compares data")

    def _event(self, tool: Tool | None, patterns: Sequence[f.Pattern], slots: Slots) -> Test:
        called = self._tool(tool, slots)
        if not patterns:
            return called
        tests = [called, *(self._pattern(pattern, slots) for pattern in patterns)]
        return lambda now: _junction(tests, now, False)

    def _tool(self, tool: Tool | None, slots: Slots) -> Test:
        if tool is not None and tool.free:
            bound = [slots[m.name] for m in members_of(tool) if isinstance(m, ToolVariable)]

            def is_bound(now: Moment) -> Kleene:
                event = now.event
                if not isinstance(event, Call) or event.tool == FINAL_ANSWER:
                    return isinstance(event, Call) and is_named(event.tool, tool)
                values = [now.values[slot] for slot in bound]
                if is_named(event.tool, tool) or event.tool in values:
                    return True
                return None if UNSEEN in values else False

            return is_bound
        if tool is None or forms_of(tool):
            return lambda now: isinstance(now.event, Call) and is_tool(now.event, tool)
        names = frozenset(names_of(tool))
        return lambda now: isinstance(now.event, Call) and now.event.tool in names

    def _pattern(self, pattern: f.Pattern, slots: Slots) -> Test:
        match pattern:
            case f.OutcomeIs(outcome):
                wanted = outcome == "ok"
                return lambda now: (
                    None if now.pending else now.event.ok if wanted else now.event.failed  # type: ignore[union-attr]  # asked of calls only
                )
            case f.ArgumentIs(path, expected):
                value = self.term(expected, slots)
                return lambda now: same(lookup(now.event.args, path), value(now))  # type: ignore[union-attr]
            case f.ResultIs(path, expected):
                value = self.term(expected, slots)
                return lambda now: (
                    None if now.pending else same(lookup(now.event.value, path), value(now))  # type: ignore[union-attr]
                )

    def _quantified(
        self, formula: f.Formula, variable: str, domain: f.Domain, body: f.Formula, slots: Slots
    ) -> Test:
        values, slot = self._values(domain, slots), self._slot()
        test = self.formula(body, {**slots, variable: slot})
        decided = isinstance(formula, f.Exists)

        def ask(now: Moment) -> Kleene:
            found = values(now)
            if found is UNSEEN or found is MISSING:
                return None
            answer: Kleene = not decided
            for value in found:
                now.values[slot] = value
                here = test(now)
                if here is decided:
                    return decided
                answer = answer if here is not None else None
            return answer

        return ask

    def _since(self, left: f.Formula, right: f.Formula, slots: Slots) -> Test:
        if left.free or right.free:
            raise Unsupported("'S' compares data of several events")
        a, b = self.formula(left, slots), self.formula(right, slots)
        memory = Carried(lambda now: value(now))

        def value(now: Moment) -> Kleene:
            return _or(b(now), lambda: _and(a(now), memory.value))

        self._remember(memory, None)
        return value

    def _carried(self, operand: f.Formula, test: Test) -> Test:
        if operand.free and _asks_memory(operand):
            raise Unsupported(
                "an operator that looks back is nested in another, with its variables"
            )
        if operand.free:
            previous = Previous(test, reads_result=_reads_result(operand))
            self._remember(previous, None)
            return previous.holds
        memory = Carried(test)
        self._remember(memory, None)
        return lambda now: memory.value

    # ── memories ─────────────────────────────────────────────────────────────────────────

    def _index(self, condition: f.Formula, slots: Slots, *, keeps_latest: bool = False) -> Index:
        """The memory of the events that meet a condition."""
        parts = list(_conjuncts(condition))
        closed = [part for part in parts if not part.free]
        open_parts = [part for part in parts if part.free]
        if any(_asks_memory(part) for part in open_parts):
            raise Unsupported(
                "an operator that looks back is nested in another, with its variables"
            )
        keys = [key for part in open_parts if (key := self._key(part, slots))]
        whole = None if _asks_memory(condition) else self.formula(condition, slots)
        asked = [self.formula(part, slots) for part in open_parts]
        index = Index(
            [self.formula(part, slots) for part in closed],
            keys,
            lambda now: _junction(asked, now, False),
            whole,
            by_key=len(keys) == len(open_parts),
            keeps_latest=keeps_latest,
        )
        self._remember(index, heard_by(closed))
        return index

    def _key(self, part: f.Formula, slots: Slots) -> Key | None:
        """The key that a condition on variables from outside amounts to, if it is one."""
        match part:
            case f.Event(None, (f.ArgumentIs(path, expected),)):
                return Key(_found_in("args", path), self.term(expected, slots), False, True)
            case f.Event(None, (f.ResultIs(path, expected),)):
                return Key(_found_in("result", path), self.term(expected, slots), False, True)
            case f.Compare("=", left, right):
                for mine, theirs in ((left, right), (right, left)):
                    if not mine.free and is_constant(theirs):
                        return Key(self.term(mine, slots), self.term(theirs, slots), False, False)
            case f.Compare("in", theirs, mine) | f.Compare("contains", mine, theirs):
                if not mine.free and is_constant(theirs):
                    return Key(self.term(mine, slots), self.term(theirs, slots), True, False)
        return None


def _found_in(field: str, path: tuple[str, ...]) -> Reader:
    """What a pattern's path finds: unlike a value's path, it does not look into lists."""
    known = known_before_result(field)
    return lambda now: (
        UNSEEN if now.pending and not known else lookup(field_of(now.event, field), path)
    )


def _conjuncts(formula: f.Formula) -> list[f.Formula]:
    """The parts that must all hold, negations pushed as far as conjunctions need it."""
    match formula:
        case f.And(operands):
            return [part for operand in operands for part in _conjuncts(operand)]
        case f.Not(f.Not(operand)):
            return _conjuncts(operand)
        case f.Not(f.Implies(left, right)):
            return [*_conjuncts(left), *_conjuncts(f.Not(right))]
        case f.Not(f.Or(operands)):
            return [part for operand in operands for part in _conjuncts(f.Not(operand))]
        case f.Event(tool, patterns) if formula.free and patterns:
            # Each pattern may become a key of its own; the tool is asked first.
            alone = [f.Event(None, (pattern,)) for pattern in patterns]
            return [f.Event(tool) if tool is not None else f.Event(), *alone]
        case _:
            return [formula]


def _asks_memory(node: Node) -> bool:
    return any(isinstance(part, _REMEMBERS) for part in everything(node))


def _reads_result(node: Node) -> bool:
    return any(
        isinstance(part, f.ResultIs | f.OutcomeIs)
        or (isinstance(part, Reading) and not known_before_result(part.field))
        for part in everything(node)
    )


def heard_by(parts: Sequence[f.Formula]) -> frozenset[str] | None:
    """The events that can meet all the conditions, by tool or role; None where that is open."""
    for part in parts:
        match part:
            case f.Event(tool) if tool is not None and not tool.free and not forms_of(tool):
                return frozenset(names_of(tool))
            case f.Says(role):
                return frozenset({heard_role(role)})
    return None


def heard_role(role: str) -> str:
    """The name under which messages of a role are heard; no tool has it."""
    return f"\0{role}"


def triggers(body: f.Formula) -> frozenset[str] | None:
    """The events at which a body can be false, by tool or role; None where that is open."""
    match body:
        case f.Implies(left, _):
            return heard_by(_conjuncts(left))
        case f.Not(operand):
            return heard_by(_conjuncts(operand))
        case f.Or(operands):
            for operand in operands:
                if isinstance(operand, f.Not) and (found := triggers(operand)) is not None:
                    return found
    return None


# ── three-valued connectives ──────────────────────────────────────────────────────────────


def _not(value: Kleene) -> Kleene:
    return None if value is None else not value


def _and(left: Kleene, right: Kleene) -> Kleene:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Kleene, right: object) -> Kleene:
    """Left or right, which is asked only if it matters."""
    if left:
        return True
    second: Kleene = right()  # type: ignore[operator]
    return True if second else None if left is None or second is None else False


def _junction(tests: Sequence[Test], now: Moment, decided: bool) -> Kleene:
    """All of the tests, or one of them: the first that has the deciding value ends it."""
    answer: Kleene = not decided
    for test in tests:
        here = test(now)
        if here is decided:
            return decided
        if here is None:
            answer = None
    return answer


def _same_truth(left: Kleene, right: Kleene) -> Kleene:
    return None if left is None or right is None else left is right


def _compared(left: Seen, symbol: str, right: Seen) -> Kleene:
    if left is MISSING or right is MISSING or left is None or right is None:
        return False
    if left is UNSEEN or right is UNSEEN:
        return None
    return related(left, symbol, right)


def _applied(function: str, values: list[Seen]) -> Seen:
    return UNSEEN if UNSEEN in values else apply(function, values)


def _whole(values: list[Seen]) -> Seen:
    return UNSEEN if UNSEEN in values else MISSING if MISSING in values else values


def _object(keys: Sequence[str], values: Seen) -> Seen:
    if values is MISSING or values is UNSEEN:
        return values
    return dict(zip(keys, values, strict=True))


def _defined(values: list[Seen]) -> Seen:
    return UNSEEN if UNSEEN in values else [value for value in values if value is not MISSING]


def _elements(value: Seen) -> Seen:
    return UNSEEN if value is UNSEEN else elements_of(value)
