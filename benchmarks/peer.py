"""The same rules in `agentltl`, the implementation that came with the paper.

Rules are translated from Bylaw's formulas to its formula objects, not through its parser, which
reads `!a W b` as `!(a W b)`. Both can express: the predicates below, `X F G U W R`, and the past
`Y O H S`. It has no weak next, no biconditional and no sets of tools, so no rule uses those.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

from bylaw import Call, parse
from bylaw.logic import formula as f
from bylaw.logic.terms import Literal, ToolName

try:
    import agentltl
except ImportError:
    agentltl = None

INSTALL: Final = (
    "agentltl is not installed, so only Bylaw is measured.\n"
    "To compare, run: pip install agentltl==0.2.1"
)


def available() -> bool:
    """Can the comparison be made? Says what to install if not."""
    if agentltl is None:
        print(INSTALL)
        return False
    logging.getLogger("agentltl").setLevel(logging.CRITICAL)  # it logs a line per violation
    return True


def constraints(rules: Sequence[str]) -> list[Any]:
    """The rules as its constraints."""
    return [agentltl.Constraint(rule, translated(parse(rule))) for rule in rules]


def enforcer(rules: Sequence[str]) -> Any:
    """Its online checker. Every rule tolerates violations, so that all calls are taken in."""
    tolerate = agentltl.ConstraintSeverity.TOLERATE
    return agentltl.Enforcer(constraints(rules), default_severity=tolerate)


def take_in(checker: Any, call: Call) -> None:
    """Adds a call to what the checker has seen, without judging it."""
    checker.record_completed(call.tool, call.args, result=call.result)


def step(checker: Any, call: Call) -> list[Any]:
    """Takes in a call; what it newly violates."""
    decision = checker.check(call.tool, call.args)
    take_in(checker, call)
    return decision.notes  # type: ignore[no-any-return]  # agentltl is untyped


def verify(record: dict[str, Any], rules: Sequence[Any]) -> list[bool]:
    """Scores a finished trace: for each constraint, was it satisfied?"""
    result = agentltl.verify_trace(record, rules)
    return [each["passed"] for each in result["constraints"]]


def record_of(calls: Sequence[Call]) -> dict[str, Any]:
    """Calls as the record that it scores."""
    return {
        "tool_calls": [
            {"tool_name": call.tool, "arguments": dict(call.args), "result": call.result}
            for call in calls
        ]
    }


def translated(formula: f.Formula) -> Any:
    """A formula as one of its formula objects."""
    a = agentltl
    match formula:
        case f.EventAtom(tool, ()):
            return a.Now(_name(tool))
        case f.EventAtom(tool, patterns):
            return a.Matches(a.ToolPattern(_name(tool), _arguments(patterns)))
        case f.TracePredicate(name, operands):
            return _predicate(name, operands)
        case f.And(operands):
            return reduce(a.And, map(translated, operands))
        case f.Or(operands):
            return reduce(a.Or, map(translated, operands))
        case f.FormulaNode() if type(formula) in _UNARY:
            (operand,) = formula.parts()
            return getattr(a, _UNARY[type(formula)])(translated(operand))  # type: ignore[arg-type]  # a formula
        case f.FormulaNode() if type(formula) in _BINARY:
            left, right = formula.parts()
            kind = getattr(a, _BINARY[type(formula)])
            return kind(translated(left), translated(right))  # type: ignore[arg-type]  # formulas
    raise ValueError(f"agentltl cannot express {formula}")


_UNARY: Final[dict[type, str]] = {
    f.Not: "Not",
    f.Next: "Next",
    f.Eventually: "Eventually",
    f.Always: "Globally",
    f.Yesterday: "Previous",
    f.Once: "Once",
    f.Historically: "Historically",
}
_BINARY: Final[dict[type, str]] = {
    f.Implies: "Implies",
    f.Until: "Until",
    f.WeakUntil: "WeakUntil",
    f.Release: "Release",
    f.Since: "Since",
}


def _predicate(name: str, operands: Sequence[Any]) -> Any:
    a = agentltl
    match name, operands:
        case ("Called", (tool,)):
            return a.Called(_name(tool))
        case ("CalledN", (tool, f.Count(comparison, Literal() as number))):
            comparison = "==" if comparison == "=" else comparison
            return a.CalledNTimes(_name(tool), number.value, comparison)
        case ("Before" | "After" | "BranchCalled", (first, second)):
            return getattr(a, name)(_name(first), _name(second))
        case ("AllBefore", (f.ToolList(tools), goal)):
            return a.AllBefore([_name(tool) for tool in tools], _name(goal))
        case ("InOrder", (f.ToolList(tools),)):
            return a.CalledInOrder([_name(tool) for tool in tools])
        case ("InstanceBefore", (first, n, second, m)):  # it counts from 1
            return a.InstanceBefore(_name(first), n.value + 1, _name(second), m.value + 1)
        case ("WithinSteps", (first, second, limit)):
            return a.WithinSteps(_name(first), _name(second), limit.value)
        case ("CalledWith", (tool, f.Arguments(patterns))):
            return a.CalledWith(_name(tool), _arguments(patterns))
    raise ValueError(f"agentltl cannot express {name}")


def _name(tool: Any) -> str:
    assert isinstance(tool, ToolName), "one tool by name"
    return tool.name


def _arguments(patterns: Sequence[Any]) -> dict[str, Any]:
    return {pattern.path[0]: pattern.expected.value for pattern in patterns}
