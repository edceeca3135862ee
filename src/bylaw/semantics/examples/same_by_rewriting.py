"""A proof that two formulas mean the same: they become equal when what always holds is left out.

To a rule that sees only calls, `call` holds at every event. So `G(call -> a)` is `G a`, and
`Y(call & a)` is `Y a`. Where a formula may be read on the empty trace, `call` is left alone.
"""

from __future__ import annotations

from typing import Final, cast

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.walk import Steps, mapped, run, sees_answer
from bylaw.semantics.examples.reading_options import ReadingOptions

_AT_EVENTS: Final = (
    *(f.Always, f.Eventually, f.Historically, f.Once, f.Yesterday, f.Next),
    *(f.Earlier, f.Later, t.Last, t.Sofar),
    *(f.EventuallyWithin, f.OnceWithin, f.LaterWithin, f.EarlierWithin),
)
"""Nodes that read their operand at events only."""
_ANY_CALL: Final = f.EventAtom()


def provably_same(
    old: f.Formula, new: f.Formula, old_setting: ReadingOptions, new_setting: ReadingOptions
) -> bool:
    """Do the two agree on every trace? False if that was not proved."""
    seen = [(s.events, sees_answer(each)) for each, s in ((old, old_setting), (new, new_setting))]
    if old_setting != new_setting or seen != [("calls", False)] * 2:
        return False
    return _shortened(old) == _shortened(new)


def _shortened(formula: f.Formula) -> f.Formula:
    return cast(f.Formula, run(_rewritten(formula, False)))


def _rewritten(node: Node, at_event: bool) -> Steps[Node]:
    inside = at_event or isinstance(node, _AT_EVENTS)
    new = yield from mapped(node, lambda part: _rewritten(part, inside))
    if not at_event:
        return new
    match new:
        case f.Implies(left, right) if left == _ANY_CALL:
            return right
        case f.And(operands) if _ANY_CALL in operands:
            rest = tuple(each for each in operands if each != _ANY_CALL)
            return f.And(rest) if len(rest) > 1 else rest[0] if rest else _ANY_CALL
        case _:
            return new
