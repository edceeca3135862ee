"""A formula on a trace: its value, and the value of every part at every position."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from bylaw.argument_types import expect
from bylaw.errors import Diagnostic, SpecError
from bylaw.logic import formula as f
from bylaw.logic.formula import check_formula
from bylaw.logic.node import Node
from bylaw.logic.terms import Term
from bylaw.logic.walk import everything, sees_answer
from bylaw.semantics.reference import reading
from bylaw.semantics.scope import CompiledFormulas, EvaluationScope, Fault
from bylaw.semantics.verdict import FALSE, TRUE, UNKNOWN, VACUOUS, Outcome, Value
from bylaw.syntax.scope import check_closed
from bylaw.trace.trace import Events, Trace
from bylaw.vocabulary.domains import Elements
from bylaw.vocabulary.possible import Seen
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order, View


def holds(
    formula: f.Formula,
    trace: Trace,
    *,
    order: Order = "position",
    events: Events = "calls",
    vocabulary: Vocabulary = EMPTY,
) -> bool:
    """Does the trace satisfy the formula? Raises SpecError if a registered function fails."""
    check_formula(formula)
    expect(trace, Trace, "a trace", 'Make one: Trace([Call("search", {"q": "x"})]).')
    evaluation = evaluate(formula, view_of(formula, trace, order, events, vocabulary))
    if evaluation.outcome is Outcome.ERROR:
        reasons = "; ".join(map(str, evaluation.faults))
        raise SpecError(Diagnostic("E117", f"the formula could not be evaluated: {reasons}"))
    return evaluation.value.is_true


def view_of(
    formula: f.Formula,
    trace: Trace,
    order: Order = "position",
    events: Events = "calls",
    vocabulary: Vocabulary = EMPTY,
) -> View:
    """The events of a trace that the formula sees; the final answer only if it mentions it."""
    return View(trace, trace.seen(events, sees_answer(formula)), order, vocabulary)


def evaluate(formula: f.Formula, view: View) -> Evaluation:
    """The value of a formula at the start of a view."""
    check_closed(formula, view.vocabulary)
    return Evaluation(formula, view)


class Evaluation:
    """A formula on a view: its value at the start, and the value of every part anywhere."""

    def __init__(self, formula: f.Formula, view: View) -> None:
        self.formula: Final = formula
        self.view: Final = view
        self.scope: Final = EvaluationScope(view)
        self.awaits: dict[Node, bool] = {}
        """For each part, does it require a later event? Filled by `reasons`."""
        self._rows: dict[f.Formula, list[Value]] = {}
        self.outcome: Final = self.scope.outcome(CompiledFormulas([(0, formula)]))

    @property
    def faults(self) -> list[Fault]:
        """The registered functions that failed."""
        return self.scope.faults

    @property
    def value(self) -> Value:
        """The value at the start."""
        return _VALUES[self.outcome]

    def at(self, part: f.Formula, position: int) -> Value:
        """The value of a part at a position."""
        known = self._rows.get(part)
        if known is None:
            if _reads_values(part):  # values are read only at the positions needed
                return self._values(part, 1 << position, (position,))[0]
            known = self.row(part)
        return known[position]

    def row(self, part: f.Formula) -> list[Value]:
        """The value of a part at every position, and after the last one."""
        known = self._rows.get(part)
        if known is None:
            known = self._rows[part] = self._values(
                part, self.scope.everywhere, range(len(self.view) + 1)
            )
        return known

    def _values(self, part: f.Formula, where: int, positions: Iterable[int]) -> list[Value]:
        scope = self.scope
        true, checked = reading(part)(scope, where)
        known = not scope.partial and not scope.faults
        possible = true if known else reading(part, False)(scope, where)[0]
        return [
            (TRUE if checked >> i & 1 else VACUOUS)
            if true >> i & 1
            else (UNKNOWN if possible >> i & 1 else FALSE)
            for i in positions
        ]

    def read(self, term: Term, at: int) -> Seen:
        """The value of a term at a position."""
        return self.scope.value(term, at)

    def last(self, condition: f.Formula, at: int) -> int | None:
        """The position of the event that `last` finds, if that is certain."""
        found = list(self.scope.last(condition, at)) if at < len(self.view) else [None]
        return found[0] if len(found) == 1 else None

    def elements(self, domain: f.Domain, at: int) -> Elements:
        """The values that a quantifier at a position ranges over."""
        return self.scope.elements(domain, at)


@lru_cache(maxsize=65536)
def _reads_values(part: f.Formula) -> bool:
    costly = (f.Compare, f.OpenPredicate, f.ForAll, f.Exists, f.Let)
    return any(isinstance(each, costly) for each in everything(part))


_VALUES: Final = {
    Outcome.SATISFIED: TRUE,
    Outcome.VACUOUS: VACUOUS,
    Outcome.VIOLATED: FALSE,
    Outcome.ERROR: UNKNOWN,
}
