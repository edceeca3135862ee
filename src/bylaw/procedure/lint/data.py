"""Rules about data that mean something else than they seem to: W510 to W513."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import Last, Literal, is_constant
from bylaw.logic.walk import everything
from bylaw.procedure.constraint import Constraint
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.lint.subject import LintSubject
from bylaw.syntax.printer import to_text

_SEARCHES: Final = (f.Eventually, f.Once, f.Earlier, f.Later, f.Exists, Last)
"""Nodes that any single fitting event or value satisfies."""


def find_data_traps(subject: LintSubject) -> Iterator[Finding]:
    """W510 to W513, rule by rule."""
    for constraint in subject.procedure.constraints:
        yield from _vacuous_lets(constraint)
        if subject.procedure.events_of(constraint) == "calls":
            yield from _unseen_messages(constraint)
        yield from _null_comparisons(constraint)
        yield from _same_on_both_sides(constraint)


def _vacuous_lets(constraint: Constraint) -> Iterator[Finding]:
    """W510: a let whose vacuous truth, when its value is undefined, is not what was meant."""
    for let, reason in _misplaced(constraint.formula):
        text = to_text(let)
        shown = text if len(text) <= 60 else f"{text[:59]}…"
        message = f"`{shown}` is {reason}, and it is true wherever its value is undefined."
        advice = "Move the let outside, or require the value with exists x in …: instead."
        yield Finding("W510", (constraint.name,), message, advice)
        return  # one per rule is enough


def _misplaced(formula: f.Formula) -> Iterator[tuple[f.Formula, str]]:
    """The lets whose vacuous truth decides more than they check, and where they stand."""
    pending: list[tuple[Node, bool, str | None]] = [(formula, True, None)]
    while pending:
        node, positive, reason = pending.pop()
        if _is_let(node) and reason is not None:
            yield node, reason  # type: ignore[misc]  # a let is a formula
            reason = None
        match node:
            case f.Not(operand):
                pending.append((operand, not positive, "under a negation" if positive else None))
            case f.Implies(left, right):
                pending.append((left, not positive, "before an arrow" if positive else None))
                pending.append((right, positive, reason))
            case f.Iff(left, right):
                pending += [(side, positive, "an operand of <->") for side in (left, right)]
            case _ if isinstance(node, _SEARCHES) and positive:
                pending += [(part, positive, "inside a search") for part in node.parts()]
            case _:
                pending += [(part, positive, reason) for part in node.parts()]


def _is_let(node: Node) -> bool:
    match node:
        case f.ForAll(_, f.Listed((item,)), _):
            return not is_constant(item)
        case _:
            return False


def _unseen_messages(constraint: Constraint) -> Iterator[Finding]:
    """W511: a rule that refers to messages but sees none."""
    if any(isinstance(part, f.Says) for part in everything(constraint.formula)):
        message = "The rule refers to messages but sees only calls, so says(…) is never true."
        advice = "Add `events: all` to this constraint, or to the procedure."
        yield Finding("W511", (constraint.name,), message, advice)


def _null_comparisons(constraint: Constraint) -> Iterator[Finding]:
    """W512: a comparison with null, which is always false."""
    for part in everything(constraint.formula):
        if isinstance(part, f.Compare) and any(
            isinstance(side, Literal) and side.value is None for side in (part.left, part.right)
        ):
            message = f"`{to_text(part)}` is always false, like every comparison with null."
            advice = "Write exists x in args.key: true, or use a pattern: call(tool, key = null)."
            yield Finding("W512", (constraint.name,), message, advice)
            return


def _same_on_both_sides(constraint: Constraint) -> Iterator[Finding]:
    """W513: a value compared with itself, where the values of two events were meant."""
    for part in everything(constraint.formula):
        if isinstance(part, f.Compare) and part.left == part.right and not is_constant(part.left):
            text = to_text(part)
            message = f"`{text}` compares a value with itself: both sides read the same event."
            advice = "Bind the value of the other event first, with let x = …:, and compare with x."
            yield Finding("W513", (constraint.name,), message, advice)
            return
