"""The forms of rules that the gate can check together: limits, a required call, orders.

`CalledN(pay, <= 1)` and `CalledWith(pay, amount = 5)` can each still be satisfied after
`pay(amount = 3)`, but no longer both. A predicate whose `joint` says what it amounts to takes part
in that test; the others do not.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from bylaw.frozen import frozen
from bylaw.vocabulary.patterns import names_of
from bylaw.vocabulary.predicate import Probe

NthCall: TypeAlias = tuple[str, int]
"""A tool and the index of one of its calls, counted from 0."""


@frozen
class CountLimits:
    """The numbers of calls of a tool that a whole trace may have."""

    tool: str
    least: int = 0
    most: float = math.inf
    excluded: int | None = None
    """A number of calls in between that is not allowed."""


@frozen
class Precedence:
    """Both calls happen, the first strictly before the second."""

    first: NthCall
    second: NthCall


@frozen
class JointForm:
    """The demands of one rule on the calls of a whole trace."""

    limits: tuple[CountLimits, ...] = ()
    required: Probe | None = None
    """Some call must match this. It names one tool, and arguments that are written out."""
    precedence: Precedence | None = None
    sequence: tuple[str, ...] = ()
    """Calls of these tools occur in this order."""

    @property
    def tools(self) -> list[str]:
        """The tools it names."""
        found = [limits.tool for limits in self.limits]
        if self.required and self.required.tool:
            found += names_of(self.required.tool)
        if self.precedence:
            found += [self.precedence.first[0], self.precedence.second[0]]
        return [*found, *self.sequence]

    @property
    def only_limits(self) -> bool:
        """Does it limit counts, and nothing else?"""
        return not (self.required or self.precedence or self.sequence)
