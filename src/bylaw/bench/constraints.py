"""Compiling a gold trace into a procedure, layer by layer.

The name and reason of a rule say which tools it concerns. They never give a value away: the agent
must find the right arguments and counts itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Final

from bylaw.bench.gold import Execution, GoldCall
from bylaw.formulas import (
    BranchCalled,
    Called,
    CalledExactly,
    CalledN,
    CalledWith,
    InOrder,
    InstanceBefore,
)
from bylaw.logic.formula import Formula
from bylaw.procedure.procedure import Constraint, Procedure
from bylaw.values import canonical

WEIGHTS: Final[Mapping[str, float]] = {
    "L1": 2.0,
    "L2": 1.5,
    "L3": 4.0,
    "L4": 3.0,
    "L5": 3.0,
    "L6": 1.0,
}
FIXES: Final[Mapping[str, str]] = {
    "L1": "Check the condition again, and take the other branch.",
    "L2": "Check the arguments against the prompt.",
    "L3": "Go on with the step of the procedure that comes next.",
    "L4": "Make the calls one turn after another, in the order of the procedure.",
    "L5": "Check how often the procedure calls it.",
}


def compile_procedure(run: Execution, tools: Sequence[str], name: str) -> Procedure:
    """The procedure that a gold trace follows; `tools` are those offered to the agent.

    The published setting lets an agent finish at any time, and lets it find out by itself that a
    tool does not exist.
    """
    constraints = [
        _constraint(layer, number, about, formula, why)
        for layer, rules in _LAYERS.items()
        for number, (about, formula, why) in enumerate(rules(run, tools), 1)
    ]
    return Procedure(
        constraints, name=name, tools=tools, unlisted="allow", order="step", finish="free"
    )


_LayerRule = tuple[str, Formula, str | None]
"""The tools that a rule concerns, its formula and its reason."""


def _constraint(
    layer: str, number: int, about: str, formula: Formula, why: str | None
) -> Constraint:
    name = f"{layer}-{number:02d}-{about}"
    return Constraint(name, formula, WEIGHTS[layer], layer, why=why, fix=FIXES.get(layer))


def _routing(run: Execution, tools: Sequence[str]) -> Iterator[_LayerRule]:
    """Each tool is used; where only one side of a branch was taken, the other tool is not."""
    used = {call.tool for call in run.calls}
    never = {taken: other for taken, other in run.taken if other and other not in used}
    for tool in _in_order(run.calls):
        if tool in never:
            why = f"The conditions of the procedure never lead to {never[tool]} here."
            yield f"{tool}-not-{never[tool]}", BranchCalled(tool, never[tool]), why
        else:
            yield tool, Called(tool), f"The procedure calls {tool}."


def _prompt_arguments(run: Execution, tools: Sequence[str]) -> Iterator[_LayerRule]:
    """Each distinct call whose arguments follow from the prompt alone is made."""
    for call in _distinct([call for call in run.calls if call.given]):
        why = f"A call of {call.tool} with the arguments that the prompt gives is missing."
        yield call.tool, CalledWith(call.tool, **call.arguments), why


def _sequence(run: Execution, tools: Sequence[str]) -> Iterator[_LayerRule]:
    """The tools are called in the order of the whole trace."""
    why = "The calls follow the order of the procedure."
    yield "order", InOrder(*(call.tool for call in run.calls)), why


def _pairs(run: Execution, tools: Sequence[str]) -> Iterator[_LayerRule]:
    """Tools are ordered by their first calls, and adjacent calls by their instances."""
    instances = _instances(run.calls)
    pairs = [
        *(((a, 0), (b, 0)) for a, b in combinations(_in_order(run.calls), 2)),
        *pairwise(instances),
    ]
    for (a, n), (b, m) in dict.fromkeys(pairs):
        why = f"Here a call of {a} comes before the next one of {b}, and its result is awaited."
        yield f"{a}-{b}", InstanceBefore(a, n, b, m), why


def _counts(run: Execution, tools: Sequence[str]) -> Iterator[_LayerRule]:
    """Each offered tool is called exactly as often as in the trace, perhaps never."""
    names = [call.tool for call in run.calls]
    for tool in tools:
        why = f"{tool} is called as often as the procedure says, and no more."
        yield tool, CalledN(tool, "=", names.count(tool)), why


def _exact(run: Execution, tools: Sequence[str]) -> Iterator[_LayerRule]:
    """Each distinct call is made with exactly its arguments."""
    for call in _distinct(run.calls):
        yield call.tool, CalledExactly(call.tool, **call.arguments), None


_LAYERS: Final = {
    "L1": _routing,
    "L2": _prompt_arguments,
    "L3": _sequence,
    "L4": _pairs,
    "L5": _counts,
    "L6": _exact,
}


def _in_order(calls: Sequence[GoldCall]) -> list[str]:
    """The tools used, in order of their first calls."""
    return list(dict.fromkeys(call.tool for call in calls))


def _instances(calls: Sequence[GoldCall]) -> list[tuple[str, int]]:
    """Each call as the n-th of its tool."""
    made: dict[str, int] = {}
    found = []
    for call in calls:
        number = made.get(call.tool, 0)
        made[call.tool] = number + 1
        found.append((call.tool, number))
    return found


def _distinct(calls: Sequence[GoldCall]) -> list[GoldCall]:
    return list({canonical([call.tool, dict(call.arguments)]): call for call in calls}.values())
