"""Compiling a JSON Schema: its parts, the references between them, every mistake with its place.

A keyword that is not supported is a mistake: a check that is silently left out would be a promise
that is not kept. Annotations are accepted and ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from bylaw.errors import clipped, did_you_mean, listing
from bylaw.procedure.toolset.clause import Schema, SchemaClause, ValuePath, quoted
from bylaw.regex.regex import compiled, regex_error
from bylaw.values import Json, kind_of

ANNOTATIONS: Final = frozenset(
    {
        *("$schema", "$comment", "$defs", "definitions", "title", "description", "default"),
        *("examples", "example", "deprecated", "readOnly", "writeOnly", "format"),
        *("contentEncoding", "contentMediaType", "contentSchema", "discriminator"),
    }
)
"""Keywords that exclude no value. `format` is one of them, as JSON Schema has it by default."""
_CASES: Final = "Write anyOf, with a schema for each case."
_DEFINITION: Final = "Write the schema itself, or a list of tool definitions."
_INSTEAD: Final = {
    "nullable": 'Write type: ["string", "null"].',
    **dict.fromkeys(("if", "then", "else"), _CASES),
    **dict.fromkeys(("parameters", "input_schema", "inputSchema"), _DEFINITION),
}
"""Advice: the replacement for a keyword that is not supported."""

Build: TypeAlias = "Callable[[SchemaPart, Schema], SchemaClause | None]"
KeywordTable: TypeAlias = Mapping[tuple[str, ...], Build]
"""Keywords that are compiled together, and the function that makes their clause."""


@dataclass(frozen=True, slots=True)
class SchemaMistake:
    """Something in a schema that cannot be used."""

    place: ValuePath
    message: str
    help: str | None = None


@dataclass(slots=True)
class SchemaCompiler:
    """Compiles one schema, with everything that it refers to."""

    root: Json
    keywords: KeywordTable
    mistakes: list[SchemaMistake] = field(default_factory=list)
    _referred: dict[str, Schema] = field(default_factory=dict)
    """The parts that are referred to, by their JSON pointers."""
    _same_value: dict[str, set[str]] = field(default_factory=dict)
    """For each of them, those that it applies to the same value."""

    def compiled(self) -> Schema:
        """The schema. If there are `mistakes`, it is incomplete."""
        schema = self._referred["#"] = Schema()
        self.compile(self.root, (), "#", schema)
        for pointer in self._same_value:
            if self._leads_back(pointer):
                message = f"{quoted(pointer)} applies to a value whatever it applies to it already"
                help = "A schema may refer to itself only for a part of the value."
                self.mistakes.append(SchemaMistake((), message, help))
                break
        return schema

    def compile(self, written: Json, place: ValuePath, within: str | None, into: Schema) -> Schema:
        """Compiles a part. `within` is the pointer of the part around it that tests the same value,
        if that is referred to.
        """
        if written is True:
            return into
        if written is False:
            into.stated = frozenset()
            into.complete([SchemaClause(lambda value, memo: False, lambda: "left out")])
            return into
        if not isinstance(written, dict):
            message = f"expected a schema, found {kind_of(written)}"
            self.mistakes.append(SchemaMistake(place, message))
            return into
        part = SchemaPart(self, written, place, within)
        known = {name for names in self.keywords for name in names}
        for name in written:
            if name not in known and name not in ANNOTATIONS and not name.startswith("x-"):
                close = _INSTEAD.get(name) or did_you_mean(name, known)
                help = close or f"Supported are: {listing(sorted(known), 40)}."
                part.complain(name, f"the keyword '{clipped(name, 60)}' is not supported", help)
        clauses = (
            build(part, into)
            for names, build in self.keywords.items()
            if any(name in written for name in names)
        )
        into.complete(clause for clause in clauses if clause is not None)
        return into

    def refer(self, pointer: str, within: str | None) -> Schema | None:
        """The part of the schema at a JSON pointer; None if there is none."""
        if within is not None:
            self._same_value.setdefault(within, set()).add(pointer)
        if pointer not in self._referred:
            written: Json = self.root
            place: ValuePath = ()
            for key in _pointer_keys(pointer):
                if isinstance(written, dict) and key in written:
                    written, place = written[key], (*place, key)
                elif isinstance(written, list) and key.isdecimal() and int(key) < len(written):
                    written, place = written[int(key)], (*place, int(key))
                else:
                    return None
            self._referred[pointer] = Schema()
            self.compile(written, place, pointer, self._referred[pointer])
        return self._referred[pointer]

    def _leads_back(self, pointer: str) -> bool:
        reached: set[str] = set()
        pending = list(self._same_value[pointer])
        while pending:
            each = pending.pop()
            if each not in reached:
                reached.add(each)
                pending += self._same_value.get(each, ())
        return pointer in reached


@dataclass(frozen=True, slots=True)
class SchemaPart:
    """One object of a schema while it is compiled."""

    compiler: SchemaCompiler
    written: Mapping[str, Json]
    place: ValuePath
    within: str | None

    def __contains__(self, name: str) -> bool:
        return name in self.written

    def __getitem__(self, name: str) -> Json:
        return self.written[name]

    def get(self, name: str, default: Json = None) -> Json:
        """The value of a keyword, or the default."""
        return self.written.get(name, default)

    def complain(self, name: str, message: str, help: str | None = None) -> None:
        """Notes a mistake in the value of a keyword."""
        self.compiler.mistakes.append(SchemaMistake((*self.place, name), message, help))

    # ── schemas inside ───────────────────────────────────────────────────────────────────

    def inner(self, written: Json, *place: str | int) -> Schema:
        """A schema for a part of the value."""
        return self.compiler.compile(written, (*self.place, *place), None, Schema())

    def inner_by_name(self, name: str) -> dict[str, Schema]:
        """The schemas of a mapping, each for a part of the value."""
        written = self.get(name, {})
        if not isinstance(written, dict):
            self.complain(name, f"'{name}' is a mapping from names to schemas")
            return {}
        return {key: self.inner(each, name, key) for key, each in written.items()}

    def same(self, written: Json, *place: str | int) -> Schema:
        """A schema for the same value."""
        return self.compiler.compile(written, (*self.place, *place), self.within, Schema())

    def same_listed(self, name: str) -> tuple[Schema, ...]:
        """Several schemas for the same value."""
        written = self[name]
        if not isinstance(written, list) or not written:
            self.complain(name, f"'{name}' is a list of schemas")
            return ()
        return tuple(self.same(each, name, index) for index, each in enumerate(written))

    def reference(self, pointer: Json) -> Schema | None:
        """The schema that a reference names."""
        if not isinstance(pointer, str) or not (pointer == "#" or pointer.startswith("#/")):
            message = f"{quoted(pointer)} is not a reference inside the schema"
            help = 'Copy what it names into the schema, under "$defs", and write "#/$defs/name".'
            self.complain("$ref", message, help)
            return None
        found = self.compiler.refer(pointer, self.within)
        if found is None:
            self.complain("$ref", f"{quoted(pointer)} refers to nothing in the schema")
        return found

    # ── regular expressions ──────────────────────────────────────────────────────────────

    def regex(self, written: Json, *place: str) -> Callable[[str], bool] | None:
        """The search for a regular expression, in time linear in the text."""
        if not isinstance(written, str):
            self.complain(place[0], f"'{place[0]}' is a regular expression")
            return None
        pattern = as_python_pattern(written)
        if (error := regex_error(pattern)) is not None:
            message = f"{quoted(written)} cannot be used: {error.message}"
            self.complain(place[0], message, error.help)
            return None
        found = compiled(pattern)
        return None if found is None else found.search


_DOLLAR: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|\$", re.DOTALL)
"""A dollar sign, or something that may contain one which does not stand for the end."""


def as_python_pattern(pattern: str) -> str:
    r"""A regular expression of JSON Schema as Python writes it.

    JSON Schema has those of JavaScript: `$` is the end of the text even after a line break, and
    `\d` and `\w` are ASCII.
    """
    return "(?a)" + _DOLLAR.sub(lambda found: r"\Z" if found[0] == "$" else found[0], pattern)


def _pointer_keys(pointer: str) -> list[str]:
    from urllib.parse import unquote  # slow to import, and most schemas have no references

    escaped = pointer.split("/")[1:]
    return [unquote(key).replace("~1", "/").replace("~0", "~") for key in escaped]
