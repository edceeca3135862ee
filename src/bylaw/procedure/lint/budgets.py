"""Budgets that a call escapes: it is not known to count, or does not count (W534, W535).

A limit on a total over `sofar` is meant for the proposed call, too. If the total is of successes,
nobody knows yet whether the call belongs to it. If it is kept for each value of an argument, a call
without that argument belongs to none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bylaw.errors import listing
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.walk import everything, tools_in
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.lint.polarity import PlacedPart, placed_parts
from bylaw.procedure.lint.subject import LintSubject
from bylaw.procedure.procedure import Constraint, Procedure
from bylaw.semantics.machine.conditions import reads_result
from bylaw.syntax.printer import term_text

_TALLIES: Final = ("length", "sum")
_UPPER: Final = {"<": "left", "<=": "left", ">": "right", ">=": "right"}
"""The side of a comparison that it limits."""


def find_escapable_budgets(subject: LintSubject) -> Iterator[Finding]:
    """W534 and W535, at most one of each for a rule."""
    for constraint in subject.procedure.constraints:
        budgets = list(_budgets(constraint.formula))
        yield from _of_successes(constraint, budgets)
        yield from _without_key(constraint, budgets, subject.procedure)


class _Budget:
    """A total that a rule limits, and the tools whose calls belong to it and are judged."""

    def __init__(self, tally: t.Term, sofar: t.Sofar, names: PlacedPart, tools: set[str]) -> None:
        self.tally: Final = tally
        self.sofar: Final = sofar
        self.names: Final = names.names
        self.tools: Final = tools


def _budgets(rule: f.Formula) -> Iterator[_Budget]:
    judged = {
        name
        for part in everything(rule)
        if isinstance(part, f.Implies)
        for name in tools_in(part.left)
    }
    for placed in placed_parts(rule):
        part = placed.part
        if not isinstance(part, f.Compare) or placed.in_condition or not placed.helps:
            continue
        limited = {"left": part.left, "right": part.right}.get(_UPPER.get(part.symbol, ""))
        if not isinstance(limited, t.Apply) or limited.function not in _TALLIES:
            continue
        for inner in everything(limited):
            if isinstance(inner, t.Sofar):
                counted = set(tools_in(inner.condition))
                own = counted & judged if judged else counted
                if own:
                    yield _Budget(limited, inner, placed, own)


def _of_successes(constraint: Constraint, budgets: list[_Budget]) -> Iterator[Finding]:
    for budget in budgets:
        if reads_result(budget.sofar.condition):
            message = (
                f"`{term_text(budget.tally)}` depends on results. Whether a proposed call will "
                "belong to it is not known, so calls of one turn can exceed the limit together."
            )
            yield Finding("W534", (constraint.name,), message, "Count calls, whatever comes back.")
            return


def _without_key(
    constraint: Constraint, budgets: list[_Budget], procedure: Procedure
) -> Iterator[Finding]:
    for budget in budgets:
        keys = [
            name
            for part in everything(budget.sofar.condition)
            if isinstance(part, t.Variable)
            if (name := _argument(budget.names.get(part.name))) is not None
        ]
        open_tools = sorted(
            tool
            for tool in budget.tools
            for schema in (procedure.schemas.get(tool),)
            if keys and (schema is None or not schema.root.required.issuperset(keys))
        )
        if open_tools:
            shown = listing(list(dict.fromkeys(f"`{key}`" for key in keys)), 3)
            message = f"A call without {shown} belongs to no total, so that no limit holds for it."
            advice = f"Require it in the schema of {listing(open_tools, 3)}."
            yield Finding("W535", (constraint.name,), message, advice, severity="note")
            return


def _argument(term: t.Term | None) -> str | None:
    """The argument of the call that a term is, if it is one: `args.customer`."""
    match term:
        case t.At(t.Reading("args"), t.Literal() as key) if isinstance(key.value, str):
            return key.value
        case _:
            return None
