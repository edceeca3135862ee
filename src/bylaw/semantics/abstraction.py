"""A formula in which what cannot be decided on prefixes may be true or false at every event.

Whatever dooms such a formula may make the original one false for good, although no monitor can
know it: a registered predicate, say, may change its mind. The abstraction tells rules that a run
can break by a call from those that it only has to meet in the end.
"""

from __future__ import annotations

from typing import Final

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.walk import rewritten, substitute
from bylaw.syntax.printer import to_text

_ELSEWHERE: Final = (t.Last, t.Sofar, t.Counted, t.Labels)
"""Terms that read more than the event."""
_ANY_VALUE: Final = "any value"


def abstraction(formula: f.Formula) -> f.Formula:
    """The formula with conditions of their own in place of what no prefix decides."""
    return rewritten(formula, _condition_for)


def _condition_for(node: Node) -> Node | None:
    match node:
        case f.OpenPredicate():
            return _condition(node)
        case f.Let(variable, _, body):
            return _for_any_value(body, variable)
        case f.ForAll(variable, domain, body) | f.Exists(variable, domain, body):
            if _reads_answer(domain):  # there are no values before the answer
                return f.Eventually(_condition(node))
            return _for_any_value(body, variable)
        case f.Compare():
            if _reads_answer(node):
                return f.Eventually(_condition(node))
            elsewhere = node.contains(*_ELSEWHERE)
            return _condition(node) if elsewhere else None
        case _:
            return None


def _for_any_value(body: f.Formula, variable: str) -> f.Formula:
    """The body for a value that nothing is known of: a comparison with it may be true or false."""

    def compared(node: Node) -> Node | None:
        return _condition(node) if isinstance(node, f.Compare) and variable in node.free else None

    return abstraction(substitute(rewritten(body, compared), variable, _ANY_VALUE))


def _reads_answer(node: Node) -> bool:
    return node.contains(t.Answer)


def _condition(formula: f.Formula) -> f.Formula:
    """A condition on the event that nothing else speaks of; the same for equal formulas."""
    argument = t.path_term(t.Reading("args"), f"§ {to_text(formula)}")
    return f.Compare("=", argument, t.Literal.of(True))
