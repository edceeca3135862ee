"""The arguments that a tool will receive, by the JSON Schema that its framework gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.plain import as_json
from bylaw.procedure.toolset.schema import ToolSchema
from bylaw.values import Json, equal


class ToolArguments:
    """The arguments of one tool. Its framework would convert what does not fit their schema."""

    def __init__(self, schema: Any) -> None:
        self._defaults: Final = defaults_of(schema)
        self._schema: Final = ToolSchema(as_json(schema or {}))

    def completed(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """The arguments with the defaults of those that are missing."""
        return {**self._defaults, **given}

    def problem(self, arguments: Mapping[str, Json]) -> str | None:
        """The reason why a tool cannot be called with these arguments, if there is one.

        A default always fits: that of an optional argument may be null, whatever its type is.
        """
        given = {
            name: value
            for name, value in arguments.items()
            if name not in self._defaults or not equal(value, self._defaults[name])
        }
        return self._schema.problem(given)


def defaults_of(schema: Any) -> dict[str, Json]:
    """The defaults that a schema states, by name."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return {
        name: as_json(about["default"])
        for name, about in (properties or {}).items()
        if isinstance(about, Mapping) and "default" in about
    }
