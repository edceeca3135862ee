"""Rules that check less than they seem to: W515, only vacuously true; W516, of one event only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.reach import BACK, is_local
from bylaw.logic.terms import Last
from bylaw.logic.walk import everything
from bylaw.procedure.constraint import Constraint
from bylaw.procedure.lint_finding import Finding
from bylaw.procedure.lint_logic import conjuncts
from bylaw.procedure.lint_prover import Prover
from bylaw.syntax.printer import to_text

# ── only vacuously true ───────────────────────────────────────────────────────────────────

MOVES: Final = 1_000
"""How many moves a question may make: what people overlook is impossible after a few calls."""


def find_vacuous(constraints: Sequence[Constraint], prover: Prover) -> Iterator[Finding]:
    """W515: a condition that no trace can meet and still satisfy the rule."""
    for constraint in constraints:
        parts = conjuncts(constraint.formula)
        for i, part in enumerate(parts):
            met: f.Formula
            ban: f.Formula
            match part:
                case f.Always(f.Implies(left, right)):
                    met, ban = f.Eventually(left), f.Always(f.Not(left))
                # A condition on the first event is W516, whatever follows from it.
                case f.Implies(left, right) if _condition(part) is None:
                    met, ban = left, f.Not(left)
                case _:
                    continue
            # `-> false` is one way to write a ban.
            if isinstance(right, f.Truth) or prover.possible(True, met) is not True:
                continue
            if prover.never(part, met):
                instead = (*parts[:i], ban, *parts[i + 1 :])
                yield Finding(
                    "W515",
                    "warning",
                    (constraint.name,),
                    f"No trace in which `{to_text(left)}` is true satisfies "
                    f"`{to_text(part)}`: it only forbids that.",
                    "Correct what it demands. If the ban is meant, write:",
                    to_text(ban if len(parts) == 1 else f.And(instead)),
                )
                break


# ── of the first event only ───────────────────────────────────────────────────────────────

_CONNECTIVES: Final = (f.Not, f.And, f.Or, f.Implies, f.Iff, f.ForAll, f.Exists)
"""What asks its parts of the event that it is asked of."""


def find_first_only(constraints: Sequence[Constraint]) -> Iterator[Finding]:
    """W516: rules that look back from the first event, or set a condition on it, for want of a G.

    A condition may be meant so; to look back to where nothing is may not.
    """
    for constraint in constraints:
        formula = constraint.formula
        condition = _condition(formula)
        if (past := next(_looks_back(formula), None)) is not None:
            told = f"`{to_text(past)}` is asked of the first event, and nothing is before that."
        elif condition is not None:
            told = f"`{to_text(condition)}` is asked of the first event only."
        else:
            continue
        yield Finding(
            "W516",
            "note" if past is None else "warning",
            (constraint.name,),
            told,
            "Ask it where it matters, as in G(refund -> O verify)."
            if condition is None
            else "To ask it of every event, write:",
            None if condition is None else f"G({to_text(formula)})",
        )


def _condition(formula: f.Formula) -> f.Formula | None:
    """The left side of an implication, if it tells some events from others."""
    if not isinstance(formula, f.Implies) or not is_local(formula.left):
        return None
    told = any(
        isinstance(part, f.Says) or (isinstance(part, f.Event) and part != f.Event())
        for part in everything(formula.left)
    )
    return formula.left if told else None


def _looks_back(formula: f.Formula) -> Iterator[f.Formula]:
    """The parts that look back from the event that the formula is asked of."""
    pending: list[f.Formula] = [formula]
    while pending:
        part = pending.pop()
        if isinstance(part, _CONNECTIVES):
            pending += [below for below in part.parts() if isinstance(below, f.FormulaNode)]  # type: ignore[misc]  # the union is closed
        elif isinstance(part, BACK) or (
            isinstance(part, f.Compare) and any(isinstance(each, Last) for each in everything(part))
        ):
            yield part
