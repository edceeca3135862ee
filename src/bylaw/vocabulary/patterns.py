"""Matching calls against tools and patterns. Values compare as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, TypeAlias

from bylaw.logic.formula import ArgumentIs, OutcomeIs, Pattern
from bylaw.logic.terms import Literal, Term, Tool, ToolGlob, ToolName, ToolSet, members_of
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, Call, Missing
from bylaw.values import LARGEST, Json, equal, is_list
from bylaw.work import spend

ValueOf: TypeAlias = Callable[[Term], Any]
"""The value of a term, or MISSING."""


def is_tool(call: Call, tool: Tool | None) -> bool:
    """Is this a call of the tool? None is any tool but the final answer."""
    return call.tool != FINAL_ANSWER if tool is None else is_named(call.tool, tool)


def is_named(name: str, tool: Tool) -> bool:
    """Does the tool include this name? It has no variables."""
    if isinstance(tool, ToolName):
        return tool.name == name
    return _is_among(name, tool)


@lru_cache(maxsize=4096)  # agents call the same few tools again and again
def _is_among(name: str, tool: Tool) -> bool:
    return any(
        member.name == name if isinstance(member, ToolName) else _globs(name, member)
        for member in members_of(tool)
    )


def _globs(name: str, member: object) -> bool:
    # A glob never matches the final answer.
    return (
        isinstance(member, ToolGlob)
        and name != FINAL_ANSWER
        and fnmatchcase(name, member.pattern.replace("[", "[[]").replace("?", "[?]"))
    )


def names_among(names: Iterable[str], tool: Tool) -> list[str]:
    """The names that the tool includes."""
    if forms_of(tool):
        return [name for name in names if is_named(name, tool)]
    wanted = names_of(tool)
    return [name for name in wanted if name in names]


def forms_of(tool: Tool) -> tuple[str, ...]:
    """The globs in a tool: `get_*`."""
    return tuple(m.pattern for m in members_of(tool) if isinstance(m, ToolGlob))


def fits(call: Call, pattern: Pattern, value_of: ValueOf) -> bool:
    """Does the call have this argument, result or outcome?"""
    if isinstance(pattern, OutcomeIs):
        return call.ok if pattern.outcome == "ok" else call.failed
    found = lookup(call.args if isinstance(pattern, ArgumentIs) else call.value, pattern.path)
    if found is MISSING:
        return False
    expected = pattern.expected
    wanted = expected.value if isinstance(expected, Literal) else value_of(expected)
    return wanted is not MISSING and equal(found, wanted)


def names_of(tool: Tool) -> tuple[str, ...]:
    """The names that a tool without variables lists."""
    match tool:
        case ToolName(name):
            return (name,)
        case ToolSet(members):
            return tuple(member.name for member in members if isinstance(member, ToolName))
        case _:
            return ()


def title(tool: Tool | None) -> str:
    """The tool as messages name it: `"search"`, `"cancel" or "refund"`, `any tool`."""
    if tool is None:
        return "any tool"
    return " or ".join(f'"{name}"' for name in (*names_of(tool), *forms_of(tool))) or "no tool"


def lookup(value: Json | Missing, path: Sequence[str]) -> Json | Missing:
    """The value at the end of a path of keys; MISSING if a key is."""
    for key in path:
        if type(value) is not dict and not isinstance(value, Mapping):
            return MISSING
        value = value.get(key, MISSING)
    return value


def at_key(base: Any, key: Json | Missing) -> Json | Missing:
    """The value of a key in an object, or in each element of a list; or of an index in a list."""
    if isinstance(key, str):
        if isinstance(base, Mapping):
            return base.get(key, MISSING)
        if is_list(base):
            spend(len(base))
            found = (at_key(element, key) for element in base)
            return [value for value in found if value is not MISSING and value is not None]
        return MISSING
    index = whole_index(key)
    if index is not None and is_list(base) and -len(base) <= index < len(base):
        return base[index]
    return MISSING


def whole_index(key: Json | Missing) -> int | None:
    """The index that a value stands for, or None. `2.0` is one; `true` is not."""
    if type(key) is float and key.is_integer():
        return int(key)
    return key if type(key) is int else None


def whole_number(value: Json | Missing) -> int | Missing:
    """The value as a whole number, 0 or more; MISSING if it is not one. `2.0` is one."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= LARGEST else MISSING
