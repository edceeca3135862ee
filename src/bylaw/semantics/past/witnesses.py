"""The form of a condition on earlier events that is remembered by its witnesses.

    earlier (Read & exists k in KEYS: args[k] = p)

What a later query can depend on is not the event but the values that the part with the query's
variables reads: here `args[k]`, for each `k`. A condition is brought into branches, one for each
way to meet it. A branch binds variables and tests what no query changes (its steps); what is left
is a question to be asked later, in which every value that the event gives is a column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final, TypeAlias, cast

from bylaw.frozen import frozen
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.walk import weight_of
from bylaw.semantics.machine.closure import Unsupported
from bylaw.trace.event import MISSING, Missing
from bylaw.vocabulary.local import (
    EventContext,
    LocalCompiler,
    Members,
    Reader,
    Slots,
    Test,
    junction,
)
from bylaw.vocabulary.possible import Seen, Unseen
from bylaw.work import spend

MAX_DEPTH: Final = 64
"""The depth of conditions that are brought into branches, which recurses."""
MAX_BRANCHES: Final = 32
MAX_STEPS: Final = 64
"""The steps of a branch: they are nested loops."""
_ASKED: Final = (
    *(f.Truth, f.Compare, f.Not, f.And, f.Or, f.Implies, f.Iff, f.ForAll, f.Exists, f.Let),
    *(f.Listed, f.Found, t.Literal, t.Variable, t.ListTerm, t.ObjectTerm, t.ObjectEntry),
    *(t.At, t.Apply, t.Counted),
)
"""The parts of a question that can be asked without the event, once its values are columns."""
_TERMS: Final = (t.Variable, t.ListTerm, t.ObjectTerm, t.Reading, t.At, t.Apply, t.Counted)

_Domain: TypeAlias = Callable[[EventContext], Members | Missing | Unseen]


@frozen
class _Binding:
    """A variable that takes the values of a domain."""

    slot: int
    values: _Domain


_Step: TypeAlias = Test | _Binding


@frozen
class WitnessBranch:
    """One way in which an event meets a condition."""

    steps: Sequence[_Step]
    columns: Sequence[Reader]
    """The values that a question needs of the event."""
    slots: Sequence[int]
    """The slots of the columns, while a question is asked."""
    asked: Test
    """The question: does a query match the values in the slots?"""
    key: tuple[int, Reader] | None
    """The column that must equal a value of the query."""
    sought: tuple[int, Reader] | None
    """The column that must contain a value of the query, if both are texts."""
    closed: Sequence[f.Formula]
    """The conditions among the steps that bind nothing."""
    weight: int
    """The steps that asking the question takes."""

    def witnesses(self, moment: EventContext) -> Iterator[list[Seen] | None]:
        """The values of the columns, for each way to bind the variables. None if not known yet."""
        for certain in self._bound(moment, 0):
            values = [column(moment) for column in self.columns]
            known = certain and not any(isinstance(value, Unseen) for value in values)
            yield values if known else None

    def _bound(self, moment: EventContext, number: int) -> Iterator[bool]:
        """For each binding: is it certain that the steps from this one on are met?"""
        certain = True
        for at in range(number, len(self.steps)):
            step = self.steps[at]
            if isinstance(step, _Binding):
                found = step.values(moment)
                if isinstance(found, Unseen):
                    yield False
                elif not isinstance(found, Missing):
                    for value, sure in found:
                        moment.values[step.slot] = value
                        inner = self._bound(moment, at + 1)
                        yield from (each and sure and certain for each in inner)
                return
            answer = step(moment)
            if answer is False:
                return
            certain = certain and answer is True
        spend(1)
        yield certain


@frozen
class _Draft:
    """A branch that is being made: its steps, and open conditions with their scopes."""

    steps: tuple[_Step, ...] = ()
    open: tuple[tuple[f.Formula, Slots], ...] = ()
    closed: tuple[f.Formula, ...] = ()


def branches(condition: f.Formula, slots: Slots, compiler: LocalCompiler) -> list[WitnessBranch]:
    """The branches of a condition on earlier events. Unsupported if it has no such form.

    `slots` are those of the query's variables.
    """
    if condition.depth > MAX_DEPTH:
        raise Unsupported("it nests too deeply")
    return [_finished(each, slots, compiler) for each in _drafts(condition, {}, compiler)]


def _drafts(formula: f.Formula, scope: Slots, compiler: LocalCompiler) -> list[_Draft]:
    """The branches of a formula. `scope` has the slots of the variables that it binds."""
    if formula.free <= scope.keys():
        closed = () if formula.free else (formula,)
        return [_Draft((compiler.formula(formula, scope),), closed=closed)]
    match formula:
        case f.Or(operands):
            found = [each for operand in operands for each in _drafts(operand, scope, compiler)]
        case f.And(operands):
            # What no query changes is tested first.
            ordered = sorted(operands, key=lambda each: not each.free <= scope.keys())
            parts = [_drafts(operand, scope, compiler) for operand in ordered]
            if _count(parts) > MAX_BRANCHES:
                raise Unsupported("it can be met in too many ways")
            found = [_joined(chosen) for chosen in product(*parts)]
        case f.Implies(left, right):
            return _drafts(f.Or((f.Not(left), right)), scope, compiler)
        case f.Not(f.Not(operand)):
            return _drafts(operand, scope, compiler)
        case f.Not(f.Implies(left, right)):
            return _drafts(f.And((left, f.Not(right))), scope, compiler)
        case f.Not(f.Or(operands)):
            return _drafts(f.And(tuple(map(f.Not, operands))), scope, compiler)
        case f.Not(f.And(operands)):
            return _drafts(f.Or(tuple(map(f.Not, operands))), scope, compiler)
        case f.Exists(variable, domain, body) if domain.free <= scope.keys():
            values, slot = compiler.members(domain, scope), compiler.new_slot()
            inner = _drafts(body, {**scope, variable: slot}, compiler)
            found = [_joined((_Draft((_Binding(slot, values),)), each)) for each in inner]
        case f.Let(variable, value, body) if value.free <= scope.keys():
            read, slot = compiler.term(value, scope), compiler.new_slot(whole=True)
            inner = _drafts(body, {**scope, variable: slot}, compiler)
            found = [_joined((_Draft((_Binding(slot, _only(read)),)), each)) for each in inner]
        case _:
            return [_Draft(open=((formula, scope),))]
    if len(found) > MAX_BRANCHES or any(len(each.steps) > MAX_STEPS for each in found):
        raise Unsupported("it can be met in too many ways")
    return found


def _count(parts: Sequence[Sequence[_Draft]]) -> int:
    count = 1
    for each in parts:
        count *= len(each)
    return count


def _joined(drafts: Sequence[_Draft]) -> _Draft:
    return _Draft(
        tuple(step for each in drafts for step in each.steps),
        tuple(part for each in drafts for part in each.open),
        tuple(part for each in drafts for part in each.closed),
    )


def _only(read: Reader) -> _Domain:
    """The domain of one value, which may be undefined."""

    def values(now: EventContext) -> Members | Unseen:
        value = read(now)
        return value if isinstance(value, Unseen) else [(value, True)]

    return values


# ── questions ─────────────────────────────────────────────────────────────────────────────


def _finished(draft: _Draft, slots: Slots, compiler: LocalCompiler) -> WitnessBranch:
    columns = _Columns(compiler)
    questions = [columns.question(formula, scope) for formula, scope in draft.open]
    asked = {**slots, **columns.slots}
    tests = [compiler.formula(each, asked) for each in questions]
    return WitnessBranch(
        draft.steps,
        columns.readers,
        list(columns.slots.values()),
        lambda now: junction(tests, now, False),
        columns.compared_in(questions, asked, "="),
        columns.compared_in(questions, asked, "contains"),
        draft.closed,
        sum(map(weight_of, questions)),
    )


class _Columns:
    """Collects the values that questions need of an event."""

    def __init__(self, compiler: LocalCompiler) -> None:
        self._compiler: Final = compiler
        self.readers: Final[list[Reader]] = []
        self.slots: Final[dict[str, int]] = {}
        """The slots of the columns, by the variables that stand for them."""

    def question(self, formula: f.Formula, scope: Slots) -> f.Formula:
        """The formula with a variable in place of each value that the event gives."""
        return cast(f.Formula, self._asked(formula, scope, frozenset()))

    def _asked(self, node: Node, scope: Slots, inner: frozenset[str]) -> Node:
        """A part of the question; `inner` are the variables that it binds itself."""
        if isinstance(node, _TERMS) and not node.free & inner and node.free <= scope.keys():
            return self._column(node, scope)
        if not isinstance(node, _ASKED):
            raise Unsupported("a query tests the event itself")
        match node:
            case f.ForAll(variable, domain, body) | f.Exists(variable, domain, body):
                found: Any = self._asked(domain, scope, inner)
                return type(node)(variable, found, self._body(body, scope, inner, variable))
            case t.Counted(variable, domain, body):
                found = self._asked(domain, scope, inner)
                return t.Counted(variable, found, self._body(body, scope, inner, variable))
            case f.Let(variable, value, body):
                named: Any = self._asked(value, scope, inner)
                return f.Let(variable, named, self._body(body, scope, inner, variable))
        fields: list[object] = []
        for field in node.values():
            if isinstance(field, Node):
                field = self._asked(field, scope, inner)
            elif isinstance(field, tuple):
                field = tuple(
                    self._asked(item, scope, inner) if isinstance(item, Node) else item
                    for item in field
                )
            fields.append(field)
        made: Any = type(node)
        return cast(Node, made(*fields))

    def _body(
        self, body: f.Formula, scope: Slots, inner: frozenset[str], variable: str
    ) -> f.Formula:
        return cast(f.Formula, self._asked(body, scope, inner | {variable}))

    def _column(self, term: Any, scope: Slots) -> Node:
        if not term.free and not term.contains(t.Reading):
            return cast(Node, term)  # a value that is written out
        name = f"column {len(self.readers)}"  # no rule can bind such a name
        self.readers.append(self._compiler.term(term, scope))
        self.slots[name] = self._compiler.new_slot(whole=True)
        return t.Variable(name)

    def compared_in(
        self, questions: Sequence[f.Formula], slots: Mapping[str, int], symbol: str
    ) -> tuple[int, Reader] | None:
        """A column that a question compares with a value of the query, by this symbol."""
        names = list(self.slots)
        for question in questions:
            if isinstance(question, f.Compare) and question.symbol == symbol:
                sides = question.left, question.right
                for mine, theirs in (sides, sides[::-1]) if symbol == "=" else (sides,):
                    column = isinstance(mine, t.Variable) and mine.name in self.slots
                    if column and not theirs.free & self.slots.keys():
                        return names.index(mine.name), self._compiler.term(theirs, slots)  # type: ignore[union-attr]  # a variable
        return None


def is_defined(value: Seen) -> bool:
    """Is the value known and defined?"""
    return value is not MISSING and not isinstance(value, Unseen)
