"""Rules about data that mean something else than they seem to: W511 to W513."""

from __future__ import annotations

from collections.abc import Iterator

from bylaw.logic import formula as f
from bylaw.logic.terms import Literal, is_constant
from bylaw.logic.walk import everything
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.lint.subject import LintSubject
from bylaw.procedure.procedure import Constraint
from bylaw.syntax.printer import to_text


def find_data_traps(subject: LintSubject) -> Iterator[Finding]:
    """W511 to W513, rule by rule."""
    for constraint in subject.procedure.constraints:
        if subject.procedure.events_of(constraint) == "calls":
            yield from _unseen_messages(constraint)
        yield from _null_comparisons(constraint)
        yield from _same_on_both_sides(constraint)


def _unseen_messages(constraint: Constraint) -> Iterator[Finding]:
    """W511: a rule that refers to messages but sees none."""
    if constraint.formula.contains(f.Says):
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
