"""The JSON Schema of a tool's arguments: compiled once, checked at every call.

Supported is what tool definitions use, with the meaning that JSON Schema gives it. Other keywords
are mistakes, and reported when the schema is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, TypeAlias

from bylaw.procedure.toolset import combinations, scalars, structures
from bylaw.procedure.toolset.clause import Misfit, Schema
from bylaw.procedure.toolset.compiling import KeywordTable, SchemaCompiler, SchemaMistake
from bylaw.values import Json, canonical, copied, problem

SCHEMA_KEYWORDS: Final[KeywordTable] = {
    ("type",): scalars.types,
    ("enum", "const"): scalars.values,
    **{(bound.name,): bound for bound in scalars.BOUNDS},
    ("required",): structures.required,
    ("multipleOf",): scalars.multiples,
    ("pattern",): scalars.patterns,
    ("$ref",): combinations.reference,
    ("prefixItems", "items", "additionalItems"): structures.items,
    ("uniqueItems",): structures.unique_items,
    ("propertyNames",): structures.property_names,
    ("properties", "patternProperties", "additionalProperties"): structures.properties,
    ("allOf",): combinations.all_of,
    ("anyOf",): combinations.any_of,
    ("oneOf",): combinations.one_of,
    ("not",): combinations.not_,
}
"""The keywords that are checked, the cheapest first. A keyword says nothing about values of other
types than its own."""
MAX_MISFITS: Final = 3
"""The number of misfits that a message names."""


class ToolSchema:
    """The schema of one tool's arguments. Immutable; equal if it was written the same."""

    def __init__(self, written: Json) -> None:
        reason = problem(written)
        self.written: Final[Json] = copied(written) if reason is None else False
        compiler = SchemaCompiler(self.written, SCHEMA_KEYWORDS)
        self.root: Final[Schema] = compiler.compiled()
        unreadable = [SchemaMistake((), f"it is not JSON: {reason}")] if reason else []
        self.mistakes: Final = (*unreadable, *compiler.mistakes)
        """The parts that cannot be used. A procedure does not accept a schema with mistakes."""

    def problem(self, arguments: Mapping[str, Json]) -> str | None:
        """The misfits of a call's arguments, as sentences; None if they fit."""
        try:
            if self.root.fits(arguments, {}):
                return None
            found = list(islice(self._misfits(arguments), MAX_MISFITS + 1))
        except RecursionError:
            return "The arguments nest too deeply to be checked."
        more = ", and more" if len(found) > MAX_MISFITS else ""
        return f"The arguments do not fit: {'; '.join(map(str, found[:MAX_MISFITS]))}{more}."

    def _misfits(self, arguments: Mapping[str, Json]) -> Iterator[Misfit]:
        yield from self.root.misfits(arguments, (), {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolSchema) and self.written == other.written

    def __hash__(self) -> int:
        return hash(canonical(self.written))


ToolTable: TypeAlias = dict[str, ToolSchema | None]
"""Tools by name; None for a tool whose arguments have no schema."""
