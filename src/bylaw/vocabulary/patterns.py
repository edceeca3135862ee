"""When a call fits what a formula demands of it. Values compare as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

from bylaw.logic.formula import ArgumentIs, OutcomeIs, Pattern
from bylaw.logic.terms import Term, Tool, ToolGlob, ToolName, ToolSet, members_of
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, Call, Missing
from bylaw.values import Json, equal

ValueOf: TypeAlias = Callable[[Term], Json | Missing]
"""What a term denotes."""


def is_tool(call: Call, tool: Tool | None) -> bool:
    """Is this a call of the tool? Every call is one of any tool, except the final answer."""
    return call.tool != FINAL_ANSWER if tool is None else is_named(call.tool, tool)


def is_named(name: str, tool: Tool) -> bool:
    """Does the tool, which has no variables, stand for this name?"""
    if isinstance(tool, ToolName):
        return tool.name == name
    return any(
        member.name == name if isinstance(member, ToolName) else _has_form(name, member)
        for member in members_of(tool)
    )


def _has_form(name: str, member: object) -> bool:
    # The answer is never reached through a form.
    return (
        isinstance(member, ToolGlob)
        and name != FINAL_ANSWER
        and fnmatchcase(name, member.pattern.replace("[", "[[]").replace("?", "[?]"))
    )


def names_among(names: Iterable[str], tool: Tool) -> list[str]:
    """Those of the names that the tool stands for."""
    if forms_of(tool):
        return [name for name in names if is_named(name, tool)]
    wanted = names_of(tool)
    return [name for name in wanted if name in names]


def forms_of(tool: Tool) -> tuple[str, ...]:
    """The forms of names that a tool stands for: `get_*`."""
    return tuple(m.pattern for m in members_of(tool) if isinstance(m, ToolGlob))


def fits(call: Call, pattern: Pattern, value_of: ValueOf) -> bool:
    """Does the call have this argument, result or outcome?"""
    if isinstance(pattern, OutcomeIs):
        return call.ok if pattern.outcome == "ok" else call.failed
    found = lookup(call.args if isinstance(pattern, ArgumentIs) else call.value, pattern.path)
    wanted = value_of(pattern.expected)
    return found is not MISSING and wanted is not MISSING and equal(found, wanted)


def names_of(tool: Tool) -> tuple[str, ...]:
    """The tool names that a tool without variables writes out."""
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
    return " or ".join(f'"{name}"' for name in (*names_of(tool), *forms_of(tool))) or "no tool"


def lookup(value: Json | Missing, path: Sequence[str]) -> Json | Missing:
    """What lies at the end of a path of keys; missing where a key is."""
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return MISSING
        value = value[key]
    return value
