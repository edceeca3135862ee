"""Advice for values that are given in place of a call: how the same call is written."""

from __future__ import annotations

from collections.abc import Mapping

from bylaw.errors import shown

_EXAMPLE = 'Write [Call("search", {"q": "x"})]: a turn is a list of calls.'
_NAMES = ("name", "tool_name", "tool", "toolName")
_ARGUMENTS = ("arguments", "args", "input", "parameters", "params", "kwargs")


def call_advice(given: object) -> str:
    """The help for something that is not a call, or not a list of calls."""
    match given:
        case str() if given.isidentifier():
            return _written(given, {})
        case str():
            return _EXAMPLE
        case (str(name), Mapping() as arguments):
            return _written(name, arguments)
        case {"function": Mapping() as function}:
            return _from_mapping(function)
        case Mapping():
            return _from_mapping(given)
    if hasattr(given, "function"):  # an object of the OpenAI library
        return "Write Call(c.function.name, c.function.arguments) for a tool call c."
    if hasattr(given, "name") and hasattr(given, "input"):  # of the Anthropic library
        return "Write Call(b.name, b.input) for a tool_use block b."
    return _EXAMPLE


def _from_mapping(given: Mapping[object, object]) -> str:
    name = next((given[key] for key in _NAMES if key in given), None)
    arguments = next((given[key] for key in _ARGUMENTS if key in given), {})
    return _written(name, arguments) if isinstance(name, str) else _EXAMPLE


def _written(name: str, arguments: object) -> str:
    inside = f'"{name}", {shown(arguments)}' if arguments else f'"{name}"'
    return f"Write [Call({inside})]: a turn is a list of calls."
