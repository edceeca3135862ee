"""What follows from the rules alone: W501 and W502 of one, W503 of two; W509, late verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.terms import ToolVariable
from bylaw.logic.walk import everything, tools_in
from bylaw.procedure.constraint import Constraint
from bylaw.procedure.lint_finding import Finding
from bylaw.procedure.lint_prover import Prover
from bylaw.semantics.reference import holds
from bylaw.syntax.printer import to_text
from bylaw.trace.trace import Trace

MAX_PAIRS: Final = 2_000
"""How many pairs of rules are compared."""


def conjuncts(formula: f.Formula) -> tuple[f.Formula, ...]:
    """The parts that must all hold."""
    return formula.operands if isinstance(formula, f.And) else (formula,)


# ── one rule ──────────────────────────────────────────────────────────────────────────────


def find_constant(constraints: Sequence[Constraint], prover: Prover) -> Iterator[Finding]:
    """W501 and W502: the verdict is the same whatever the agent does."""
    for constraint in constraints:
        if prover.never(constraint.formula):
            yield Finding(
                "W501",
                "warning",
                (constraint.name,),
                f"No trace can satisfy this rule{_clash(constraint.formula, prover)}.",
                "Every trace is scored as violating it: correct it, or remove it.",
            )
        elif prover.always(constraint.formula):
            yield Finding(
                "W502",
                "warning",
                (constraint.name,),
                f"Every trace satisfies this rule{_idle(constraint.formula, prover)}.",
                "It checks nothing and only raises the score: correct it, or remove it.",
            )


def _clash(formula: f.Formula, prover: Prover) -> str:
    """Which parts of a conjunction exclude each other."""
    parts = conjuncts(formula)
    if len(parts) == 1:
        return ""
    for part in parts:
        if prover.never(part):
            return f": `{to_text(part)}` can never hold"
    for one, other in combinations(parts[:20], 2):
        if prover.never(one, other):
            return f": `{to_text(one)}` and `{to_text(other)}` exclude each other"
    return ": its parts exclude each other"


def _idle(formula: f.Formula, prover: Prover) -> str:
    """Which condition can never be met."""
    match formula:
        case f.Always(f.Implies(left, _)) if prover.never(f.Eventually(left)):
            return f": `{to_text(left)}` is never true"
        case f.Implies(left, _) if prover.never(left):
            return f": `{to_text(left)}` is never true"
        case _:
            return ""


# ── two rules ─────────────────────────────────────────────────────────────────────────────


def find_contradictions(constraints: Sequence[Constraint], prover: Prover) -> Iterator[Finding]:
    """W503: two rules that can each be satisfied, but not together."""
    able = [
        constraint
        for constraint in constraints
        if prover.possible(True, constraint.formula) and not prover.always(constraint.formula)
    ]
    idle = {c.name for c in able if holds(c.formula, Trace(), order=prover.order)}
    pairs = [
        (one, other)
        for one, other in combinations(able, 2)
        if not {one.name, other.name} <= idle  # the empty trace satisfies both
        and not _independent(one.formula, other.formula)
    ]
    for one, other in pairs[:MAX_PAIRS]:
        if prover.never(one.formula, other.formula):
            yield Finding(
                "W503",
                "warning",
                (one.name, other.name),
                "No trace satisfies both rules, although each can be satisfied.",
                "Every trace violates one of them: give one a condition (… -> …), or remove it.",
            )
    if len(pairs) > MAX_PAIRS:
        yield Finding(
            "W503",
            "note",
            (),
            f"Of {len(pairs):,} pairs of rules only the first {MAX_PAIRS:,} were compared.",
            "The other pairs may hold contradictions: split the procedure to compare them all.",
        )


def _independent(one: f.Formula, other: f.Formula) -> bool:
    """Is it plain that the rules do not contradict each other, given that each can hold?

    So it is for combinations of trace predicates that name different tools. Such a rule looks
    only at the calls of its tools, their order, and the distance between them; so a trace that
    satisfies the one, followed by a trace that satisfies the other, satisfies both (the final
    answer, which at most one of them names, goes last). It is not so for rules that speak of
    events: `G a` and `F b` name different tools, too.
    """
    return not set(tools_in(one)) & set(tools_in(other)) and _timeless(one) and _timeless(other)


def _timeless(formula: f.Formula) -> bool:
    """Is it made of trace predicates and connectives, all tools named outright?"""
    allowed = (f.TracePredicate, f.Not, f.And, f.Or, f.Implies, f.Iff, f.Truth)
    return all(
        isinstance(part, allowed)
        for part in everything(formula)
        if isinstance(part, f.FormulaNode | ToolVariable)
    )


# ── late verdicts ─────────────────────────────────────────────────────────────────────────


def find_late(constraints: Sequence[Constraint], prover: Prover) -> Iterator[Finding]:
    """W509: rules whose loss a monitor may notice late, or only at the end."""
    for constraint in constraints:
        if (late := prover.lateness(constraint.formula)) is None:
            continue
        reason, budget = late
        advice = (
            "Split it at its '&': several rules are followed one by one."
            if budget and isinstance(constraint.formula, f.And)
            else "Say it with fewer tools or smaller numbers, or leave it to the score."
            if budget
            else "Scores are not affected. To have a gate refuse in time, state what it should "
            "refuse in a rule of its own, over calls and their arguments."
        )
        message = f"While an agent acts, final verdicts on this rule may come late: {reason}."
        severity = "warning" if budget else "note"
        yield Finding("W509", severity, (constraint.name,), message, advice)  # type: ignore[arg-type]
