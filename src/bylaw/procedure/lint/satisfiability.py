"""Rules that no trace satisfies (W501) or all do (W502), and pairs that clash (W503)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.terms import ToolVariable
from bylaw.logic.walk import everything, tools_in
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.lint.prover import Prover, conjuncts
from bylaw.procedure.lint.subject import LintSubject
from bylaw.semantics.evaluation import holds
from bylaw.syntax.printer import to_text
from bylaw.trace.trace import Trace

MAX_PAIRS: Final = 2_000
"""The number of pairs of rules that are compared."""

# ── one rule ──────────────────────────────────────────────────────────────────────────────


def find_constant(subject: LintSubject) -> Iterator[Finding]:
    """W501 and W502: the verdict is the same whatever the agent does."""
    prover = subject.prover
    for constraint in subject.constraints:
        if prover.never(constraint.formula):
            message = f"No trace can satisfy this rule{_clash(constraint.formula, prover)}."
            advice = "Every trace is scored as violating it. Correct it, or remove it."
            yield Finding("W501", (constraint.name,), message, advice)
        elif prover.always(constraint.formula):
            unmet = _unmet_condition(constraint.formula, prover)
            advice = "It checks nothing and only raises the score. Correct it, or remove it."
            yield Finding(
                "W502", (constraint.name,), f"Every trace satisfies this rule{unmet}.", advice
            )


def _clash(formula: f.Formula, prover: Prover) -> str:
    """The parts of a conjunction that exclude each other, as the end of a sentence."""
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


def _unmet_condition(formula: f.Formula, prover: Prover) -> str:
    """The condition that can never be met, as the end of a sentence."""
    match formula:
        case f.Always(f.Implies(left, _)) if prover.never(f.Eventually(left)):
            return f": `{to_text(left)}` is never true"
        case f.Implies(left, _) if prover.never(left):
            return f": `{to_text(left)}` is never true"
        case _:
            return ""


# ── two rules ─────────────────────────────────────────────────────────────────────────────


def find_contradictions(subject: LintSubject) -> Iterator[Finding]:
    """W503: two rules, each of which can be satisfied, but not both."""
    prover = subject.prover
    able = [
        constraint
        for constraint in subject.constraints
        if prover.possible(True, constraint.formula) and not prover.always(constraint.formula)
    ]
    hold_when_empty = {c.name for c in able if holds(c.formula, Trace(), order=prover.order)}
    pairs = [
        (one, other)
        for one, other in combinations(able, 2)
        if not {one.name, other.name} <= hold_when_empty
        and not _independent(one.formula, other.formula)
    ]
    for one, other in pairs[:MAX_PAIRS]:
        if prover.never(one.formula, other.formula):
            message = "No trace satisfies both rules, although each can be satisfied."
            advice = (
                "Every trace violates one of them. Give one a condition (… -> …), or remove it."
            )
            yield Finding("W503", (one.name, other.name), message, advice)
    if len(pairs) > MAX_PAIRS:
        message = f"Only the first {MAX_PAIRS:,} of {len(pairs):,} pairs of rules were compared."
        advice = "The others may contradict each other. Split the procedure to compare them all."
        yield Finding("W503", (), message, advice, severity="note")


def _independent(one: f.Formula, other: f.Formula) -> bool:
    """Is it evident that the rules do not contradict each other, given that each can hold?

    It is for combinations of trace predicates that name different tools. Such a rule depends only
    on the calls of its tools, their order, and the distance between them. A trace that satisfies
    one rule, followed by a trace that satisfies the other, therefore satisfies both; the final
    answer, which at most one of them names, goes last. It is not evident for rules about events:
    `G a` and `F b` also name different tools.
    """
    return not set(tools_in(one)) & set(tools_in(other)) and _timeless(one) and _timeless(other)


def _timeless(formula: f.Formula) -> bool:
    """Does it consist of trace predicates and connectives, without tool variables?"""
    allowed = (f.TracePredicate, f.Not, f.And, f.Or, f.Implies, f.Iff, f.Truth)
    return all(
        isinstance(part, allowed)
        for part in everything(formula)
        if isinstance(part, f.FormulaNode | ToolVariable)
    )
