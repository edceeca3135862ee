"""The parts of a rule, each with how its truth bears on the rule's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.walk import everything


@dataclass(frozen=True, slots=True)
class PlacedPart:
    """A formula inside a rule, and its place."""

    part: f.Formula
    helps: bool = True
    """Does the rule need it to be true? Under an odd number of negations it needs it false."""
    in_condition: bool = False
    """Is it in the condition of the rule, before its first arrow?"""
    after_arrow: bool = False
    negation: f.Not | None = None
    """The negation directly around it."""
    names: Mapping[str, t.Term] = field(default_factory=dict)
    """The terms that `let` gives names to here."""
    required: frozenset[t.Term] = frozenset()
    """Terms that a conjunct next to it compares, so that it does not hold without them."""

    @property
    def written(self) -> f.Formula:
        """The part, with the negation directly around it."""
        return self.part if self.negation is None else self.negation

    def last_event(self, node: Node) -> t.Last | None:
        """The `last` that a part of it reads, directly or by a name."""
        for part in everything(node):
            match part:
                case t.Last():
                    return part
                case t.Variable(name) | t.ToolVariable(name) if name in self.names:
                    found = self.last_event(self.names[name])
                    if found is not None:
                        return found
        return None


def placed_parts(rule: f.Formula) -> Iterator[PlacedPart]:
    """The formulas of a rule, outermost first. Those inside values are left out."""
    pending = [PlacedPart(rule)]
    while pending:
        here = pending.pop()
        yield here
        pending += reversed(list(_below(here)))


def _below(here: PlacedPart) -> Iterator[PlacedPart]:
    put = partial(replace, here, negation=None)
    match here.part:
        case f.Not(operand):
            yield put(part=operand, helps=not here.helps, negation=here.part)
        case f.Implies(left, right):
            first_arrow = not here.after_arrow
            yield put(
                part=left, helps=not here.helps, in_condition=here.in_condition or first_arrow
            )
            yield put(part=right, after_arrow=True)
        case f.And(operands) if here.helps:
            required = here.required.union(*map(_required, operands))
            yield from (put(part=each, required=required) for each in operands)
        case f.Iff(left, right):
            yield from (
                put(part=side, helps=way) for side in (left, right) for way in (True, False)
            )
        case f.Let(variable, value, body):
            # A name that the term itself uses stays what it was outside.
            outer = {name: each for name, each in here.names.items() if name != variable}
            known = value.free <= outer.keys() or not value.free
            yield put(part=body, names={**outer, variable: value} if known else outer)
        case f.ForAll(variable, _, body) | f.Exists(variable, _, body):
            names = {name: each for name, each in here.names.items() if name != variable}
            yield put(part=body, names=names)
        case part:
            yield from (put(part=each) for each in part.parts() if isinstance(each, f.FormulaNode))


def _required(formula: f.Formula) -> frozenset[t.Term]:
    """Terms without which a formula does not hold: those that it compares in every case."""
    match formula:
        case f.Compare(_, left, right):
            return frozenset({left, right})
        case f.And(operands):
            return frozenset().union(*map(_required, operands))
        case f.Or((first, *others)):
            return _required(first).intersection(*map(_required, others))
        case _:
            return frozenset()
