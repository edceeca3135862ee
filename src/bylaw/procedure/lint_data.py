"""Rules about data that say less than they seem to: W510 to W513."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import Last, Literal, is_constant
from bylaw.logic.walk import everything
from bylaw.procedure.constraint import Constraint
from bylaw.procedure.lint_finding import Finding
from bylaw.procedure.procedure import Procedure
from bylaw.syntax.printer import to_text

_SEARCHES: Final = (f.Eventually, f.Once, f.Earlier, f.Later, f.Exists, Last)
"""What is satisfied by any event, or value, that is good enough."""


def find_data_traps(procedure: Procedure) -> Iterator[Finding]:
    """What the rules about data of a procedure may not mean."""
    for constraint in procedure.constraints:
        yield from _generous_lets(constraint)
        if procedure.events_of(constraint) == "calls":
            yield from _unseen_messages(constraint)
        yield from _null_comparisons(constraint)
        yield from _same_on_both_sides(constraint)


def _generous_lets(constraint: Constraint) -> Iterator[Finding]:
    """W510: a let that is true of what it was not meant for, because its value is undefined."""
    for let, reason in _misplaced(constraint.formula):
        text = to_text(let)
        shown = text if len(text) <= 60 else f"{text[:59]}…"
        yield Finding(
            "W510",
            "warning",
            (constraint.name,),
            f"`{shown}` stands {reason}: where the value is undefined, it is true there.",
            "Move the let outside, or say what must be there with exists x in …: instead.",
        )
        return  # one is enough to look at


def _misplaced(formula: f.Formula) -> Iterator[tuple[f.Formula, str]]:
    """The lets whose vacuous truth counts against, or for, more than they check."""
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
                pending += [(left, positive, "beside <->"), (right, positive, "beside <->")]
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
    """W511: a rule that speaks of messages, and sees none."""
    if any(isinstance(part, f.Says) for part in everything(constraint.formula)):
        yield Finding(
            "W511",
            "warning",
            (constraint.name,),
            "The rule speaks of messages, but sees calls only: says(…) is never true.",
            "Write `events: all` in this constraint, or in the procedure.",
        )


def _null_comparisons(constraint: Constraint) -> Iterator[Finding]:
    """W512: a comparison with null, which is always false."""
    for part in everything(constraint.formula):
        if isinstance(part, f.Compare) and any(
            isinstance(side, Literal) and side.value is None for side in (part.left, part.right)
        ):
            yield Finding(
                "W512",
                "warning",
                (constraint.name,),
                f"`{to_text(part)}` is always false: nothing compares with null.",
                "Ask exists x in args.key: true, or use a pattern: call(tool, key = null).",
            )
            return


def _same_on_both_sides(constraint: Constraint) -> Iterator[Finding]:
    """W513: a value compared with itself, where two events were meant."""
    for part in everything(constraint.formula):
        if isinstance(part, f.Compare) and part.left == part.right and not is_constant(part.left):
            yield Finding(
                "W513",
                "warning",
                (constraint.name,),
                f"`{to_text(part)}` compares a value with itself: both sides read the same event.",
                "Name the value of the other event first: let x = …: and compare with x.",
            )
            return
