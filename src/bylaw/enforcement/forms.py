"""Rules as bounds, wanted calls, orders and sequences: the forms that a gold trace compiles to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from bylaw.logic import formula as f
from bylaw.logic.terms import Literal, ToolName
from bylaw.trace.event import Call
from bylaw.vocabulary.patterns import fits
from bylaw.vocabulary.tracker import value_of, whole

Instance: TypeAlias = tuple[str, int]
"""A tool and the number of one of its calls, counted from 0."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How often a tool must, and may, be called in all."""

    tool: str
    least: int = 0
    most: float = math.inf
    not_so: int | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Some call of a tool must have these arguments."""

    tool: str
    patterns: tuple[f.ArgumentIs, ...]
    exactly: bool = False

    def met_by(self, call: Call) -> bool:
        """Is this such a call?"""
        if self.exactly and len(call.args) != len(self.patterns):
            return False
        return all(fits(call, pattern, value_of) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Edge:
    """One call comes strictly before another."""

    first: Instance
    second: Instance


@dataclass(frozen=True, slots=True)
class Form:
    """What one constraint amounts to."""

    bounds: tuple[Bound, ...] = ()
    wanted: Wanted | None = None
    edge: Edge | None = None
    sequence: tuple[str, ...] = ()

    @property
    def tools(self) -> list[str]:
        """The tools that it speaks of."""
        found = [bound.tool for bound in self.bounds]
        found += [self.wanted.tool] if self.wanted else []
        found += [self.edge.first[0], self.edge.second[0]] if self.edge else []
        return [*found, *self.sequence]

    @property
    def caps(self) -> bool:
        """Is it a count of calls, and no more?"""
        return bool(self.bounds) and not (self.wanted or self.edge or self.sequence)


def form_of(formula: f.Formula) -> Form | None:
    """What a constraint amounts to, if it is of a known form."""
    if not isinstance(formula, f.TracePredicate):
        return None
    tools: list[str] = []
    for operand in formula.operands:
        each = operand.tools if isinstance(operand, f.ToolList) else (operand,)
        for tool in each:
            if isinstance(tool, ToolName):
                tools.append(tool.name)
            elif not isinstance(tool, Literal | f.Count | f.Arguments):
                return None  # a set, a form of names, or a value that is not written out
    match formula.name, formula.operands:
        case "Called", _:
            return Form((Bound(tools[0], least=1),))
        case "BranchCalled", _:
            return Form((Bound(tools[0], least=1), Bound(tools[1], most=0)))
        case "CalledN", (_, f.Count(comparison, number)):
            return _counted(tools[0], comparison, whole(number))
        case ("CalledWith" | "CalledExactly") as name, (_, f.Arguments(patterns)):
            if not all(isinstance(pattern.expected, Literal) for pattern in patterns):
                return None
            return Form(wanted=Wanted(tools[0], patterns, name == "CalledExactly"))
        case "Before", _:
            return Form(edge=Edge((tools[0], 0), (tools[1], 0)))
        case "After", _:
            return Form(edge=Edge((tools[1], 0), (tools[0], 0)))
        case "InstanceBefore", (_, n, _, m):
            first, second = whole(n), whole(m)  # type: ignore[arg-type]  # numbers, by the signature
            if first is None or second is None:
                return None
            return Form(edge=Edge((tools[0], first), (tools[1], second)))
        case "InOrder", _:
            return Form(sequence=tuple(tools))
        case _:
            return None


def _counted(tool: str, comparison: str, number: int | None) -> Form | None:
    if number is None:
        return None
    bounds = {
        "=": Bound(tool, number, number),
        "!=": Bound(tool, not_so=number),
        "<=": Bound(tool, most=number),
        "<": Bound(tool, most=number - 1),
        ">=": Bound(tool, number),
        ">": Bound(tool, number + 1),
    }
    return Form((bounds[comparison],))
