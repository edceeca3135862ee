"""When a call fits what a formula demands of it. Values compare as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from bylaw.logic.formula import ArgumentIs, OutcomeIs, Pattern, ResultIs
from bylaw.logic.terms import Term, Tool, ToolName, ToolSet
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, Call, Missing
from bylaw.values import Json, equal

ValueOf: TypeAlias = Callable[[Term], Json | Missing]
"""What a term denotes."""


def is_tool(call: Call, tool: Tool | None) -> bool:
    """Is this a call of the tool? Every call is one of any tool, except the final answer."""
    return call.tool != FINAL_ANSWER if tool is None else call.tool in names_of(tool)


def fits(call: Call, pattern: Pattern, value_of: ValueOf) -> bool:
    """Does the call have this argument, result or outcome?"""
    match pattern:
        case OutcomeIs(outcome):
            return call.ok if outcome == "ok" else call.failed
        case ArgumentIs(path, expected):
            found = lookup(call.args, path)
        case ResultIs(path, expected):
            found = lookup(call.value, path)
    wanted = value_of(expected)
    return found is not MISSING and wanted is not MISSING and equal(found, wanted)


def names_of(tool: Tool) -> tuple[str, ...]:
    """The tool names that a tool without variables stands for."""
    match tool:
        case ToolName(name):
            return (name,)
        case ToolSet(members):
            return tuple(member.name for member in members if isinstance(member, ToolName))
        case _:
            return ()


def title(tool: Tool | None) -> str:
    """How people refer to a tool: `"search"`, `"cancel" or "refund"`, `any tool`."""
    if tool is None:
        return "any tool"
    return " or ".join(f'"{name}"' for name in names_of(tool)) or "no tool"


def lookup(value: Json | Missing, path: Sequence[str]) -> Json | Missing:
    """What lies at the end of a path of keys; missing where a key is."""
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return MISSING
        value = value[key]
    return value
