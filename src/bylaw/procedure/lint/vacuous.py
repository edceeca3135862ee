"""Rules that check less than they seem to: vacuously true (W515), or only at the start (W516)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.terms import Last, Sofar
from bylaw.logic.walk import BACK, everything, is_local
from bylaw.procedure.lint.finding import Finding, Importance
from bylaw.procedure.lint.prover import conjuncts
from bylaw.procedure.lint.subject import LintSubject
from bylaw.syntax.printer import to_text

# ── vacuously true ────────────────────────────────────────────────────────────────────────


def find_vacuous(subject: LintSubject) -> Iterator[Finding]:
    """W515: a condition that no trace can meet and still satisfy the rule."""
    prover = subject.quick_prover
    for constraint in subject.constraints:
        parts = conjuncts(constraint.formula)
        for i, part in enumerate(parts):
            met: f.Formula
            ban: f.Formula
            match part:
                case f.Always(f.Implies(left, right)):
                    met, ban = f.Eventually(left), f.Always(f.Not(left))
                # A condition on the first event is W516, whatever the consequence.
                case f.Implies(left, right) if _condition(part) is None:
                    met, ban = left, f.Not(left)
                case _:
                    continue
            # `-> false` is one way to write a ban.
            if isinstance(right, f.Truth) or prover.possible(True, met) is not True:
                continue
            if prover.never(part, met):
                if isinstance(left, f.Always) and len(parts) == 1:
                    yield _tighter(constraint.name, left, right)
                    break
                instead = (*parts[:i], ban, *parts[i + 1 :])
                yield Finding(
                    "W515",
                    (constraint.name,),
                    f"No trace in which `{to_text(left)}` is true satisfies "
                    f"`{to_text(part)}`: it is only a ban.",
                    "Correct the consequence. If the ban is intended, write:",
                    to_text(ban if len(parts) == 1 else f.And(instead)),
                )
                break


def _tighter(name: str, left: f.Always, right: f.Formula) -> Finding:
    """`G a -> b`, where `G(a -> b)` was meant."""
    message = f"G stands for `{to_text(left.operand)}` alone: it binds more tightly than ->."
    rewrite = to_text(f.Always(f.Implies(left.operand, right)))
    return Finding("W515", (name,), message, "If it stands for the whole rule, write:", rewrite)


# ── at the first event only ───────────────────────────────────────────────────────────────

_CONNECTIVES: Final = (f.Not, f.And, f.Or, f.Implies, f.Iff, f.ForAll, f.Exists, f.Let)
"""Formulas whose parts are evaluated at the same event."""


def find_first_only(subject: LintSubject) -> Iterator[Finding]:
    """W516: rules that look back from the first event, or set a condition on it: a missing `G`.

    Such a condition may be intended; looking back from the first event cannot be.
    """
    for constraint in subject.procedure.constraints:
        formula = constraint.formula
        condition = _condition(formula)
        if (past := next(_looks_back(formula), None)) is not None:
            message = f"`{to_text(past)}` is evaluated at the first event, which nothing precedes."
        elif condition is not None:
            message = f"`{to_text(condition)}` is evaluated at the first event only."
        else:
            continue
        advice, rewrite = "Evaluate it where it matters, as in G(refund -> O verify).", None
        if condition is not None:
            advice, rewrite = (
                "To evaluate the rule at every event, write:",
                f"G({to_text(formula)})",
            )
        severity: Importance = "note" if past is None else "warning"
        yield Finding("W516", (constraint.name,), message, advice, rewrite, severity)


def _condition(formula: f.Formula) -> f.Formula | None:
    """The left side of an implication, if it is about particular events."""
    if not isinstance(formula, f.Implies) or not is_local(formula.left):
        return None
    particular = any(
        isinstance(part, f.Says) or (isinstance(part, f.EventAtom) and part != f.EventAtom())
        for part in everything(formula.left)
    )
    return formula.left if particular else None


def _looks_back(formula: f.Formula) -> Iterator[f.Formula]:
    """The parts that look back from the event at which the formula is evaluated."""
    pending: list[f.Formula] = [formula]
    while pending:
        part = pending.pop()
        if isinstance(part, _CONNECTIVES):
            pending += [below for below in part.parts() if isinstance(below, f.FormulaNode)]  # type: ignore[misc]  # the union is closed
        elif isinstance(part, BACK) or (
            isinstance(part, f.Compare)
            and any(isinstance(each, Last | Sofar) for each in everything(part))
        ):
            yield part
