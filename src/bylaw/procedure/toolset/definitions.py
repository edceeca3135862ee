"""The tools of a procedure, in every form that a file may write them.

- names: `[lookup, refund]`
- schemas by name: `{lookup: {type: object, …}, refund: null}`
- definitions, as OpenAI (chat completions and responses), Anthropic and MCP write them
- a file that holds one of these, as JSON or YAML
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bylaw.errors import Span, SpecError, closest
from bylaw.procedure.document import FieldReader, Located, read_document_file
from bylaw.procedure.toolset.clause import ValuePath
from bylaw.procedure.toolset.schema import ToolSchema, ToolTable

_SCHEMA_FIELDS: Final = ("parameters", "input_schema", "inputSchema")
"""The schema of the arguments, as OpenAI, Anthropic and MCP call it."""
_OTHER_FIELDS: Final = frozenset(
    {
        *("type", "function", "name", "title", "description", "strict", "annotations", "icons"),
        *("outputSchema", "output_schema", "execution", "_meta", "meta", "cache_control", "format"),
        *("input_examples", "defer_loading", "allowed_callers", "eager_input_streaming"),
    }
)
"""Fields of definitions that say nothing about the arguments."""
_HELP: Final = (
    "Tools are a list of names, a mapping from names to JSON Schemas, a list of tool definitions, "
    "or the path of a file with one of these."
)


def read_tools(reader: FieldReader, node: Located, folder: Path | None) -> ToolTable | None:
    """The tools of a procedure, or None if nothing is known of them.

    Paths are relative to the folder; without one, no file is read.
    """
    if isinstance(node.value, str):
        return _from_file(reader, node, folder)
    return _ToolList(reader, "tools").read(node)


def _from_file(reader: FieldReader, node: Located, folder: Path | None) -> ToolTable | None:
    if folder is None:
        message = f"the tools are in the file '{node.value}', and a mapping has no folder"
        help = "Load the procedure from its file, or write the tools themselves."
        reader.complain(node.span, "tools", "E215", message, help)
        return {}
    path = folder / node.value
    try:
        text, document = read_document_file(path)
        other = FieldReader(text, reader.vocabulary)
        found = _ToolList(other, "tools").read(document)
        problems = other.problems
    except SpecError as error:
        found, problems = {}, list(error.diagnostics)
        if not path.suffix:
            message = f"the tools are in the file '{node.value}', which cannot be read"
            help = f"A list of names stands in brackets: tools: [{node.value}]"
            reader.complain(node.span, "tools", "E206", message, help)
            return None
    reader.problems += [problem.located(str(path)) for problem in problems]
    return found


class _ToolList:
    """Reads one document of tools, and collects its mistakes."""

    def __init__(self, reader: FieldReader, where: str) -> None:
        self.reader: Final = reader
        self.where: Final = where
        self.found: ToolTable = {}

    def read(self, node: Located) -> ToolTable:
        """The tools in a list or a mapping."""
        listed = node.value.get("tools") if isinstance(node.value, dict) else None
        if isinstance(listed, Located) and isinstance(listed.value, list):
            node = listed  # the answer of an MCP server to tools/list
        if isinstance(node.value, list):
            for index, item in enumerate(node.value):
                self._item(item, f"{self.where}[{index}]")
        elif isinstance(node.value, dict):
            for name, schema in node.value.items():
                self._add(name, schema, node.keys.get(name, node.span), f"{self.where}.{name}")
        else:
            self.reader.expected(node, self.where, "a list of tools", _HELP)
        return self.found

    def _item(self, item: Located, where: str) -> None:
        """A name, or a definition."""
        if not isinstance(item.value, dict):
            name = self.reader.string(item, where)
            if name:
                self._add(name, None, item.span, where)
            elif item.value == "":
                self.reader.expected(item, where, "a tool name")
            return
        inner = item.value.get("function")
        if isinstance(inner, Located) and isinstance(inner.value, dict):
            item, where = inner, f"{where}.function"
        self._definition(item, where)

    def _definition(self, item: Located, where: str) -> None:
        fields: dict[str, Located] = item.value
        named = fields.get("name") or fields.get("type")  # a hosted tool may have no name
        name = self.reader.string(named, f"{where}.name") if named is not None else None
        if not name:
            message = "the tool definition has no name"
            self.reader.complain(_start(item), where, "E215", message, _HELP)
            return
        for field in fields.keys() - _OTHER_FIELDS - set(_SCHEMA_FIELDS):
            if meant := closest(field, _SCHEMA_FIELDS):
                span = item.keys.get(field, item.span)
                message = f"unknown field '{field}' of a tool definition"
                self.reader.complain(
                    span, f"{where}.{field}", "E215", message, f"did you mean '{meant}'?"
                )
        given = [field for field in _SCHEMA_FIELDS if field in fields]
        if len(given) > 1:
            message = f"the tool definition has two schemas: {given[0]} and {given[1]}"
            self.reader.complain(_start(item), where, "E215", message)
        schema = fields[given[0]] if given else None
        span = named.span if named is not None else item.span
        self._add(name, schema, span, f"{where}.{given[0]}" if given else where)

    def _add(self, name: str, schema: Located | None, span: Span, where: str) -> None:
        if name in self.found and (schema is not None or self.found[name] is not None):
            self.reader.complain(span, where, "E211", f"two tools are called '{name}'")
            return
        self.found[name] = None
        if schema is not None and schema.value is not None:
            compiled = ToolSchema(schema.plain())
            self.found[name] = compiled
            for mistake in compiled.mistakes:
                message = f"in the schema of '{name}': {mistake.message}"
                path = "".join(f".{key}" for key in mistake.place)
                place = _span(schema, mistake.place)
                self.reader.complain(place, where + path, "E214", message, mistake.help)


def _start(node: Located) -> Span:
    return Span(node.span.start, node.span.start + 1)


def _span(node: Located, place: ValuePath) -> Span:
    """The position of a part of a schema: that of its key, if it has one."""
    span = _start(node)
    for key in place:
        inside = node.value
        if isinstance(inside, dict) and key in inside:
            span = node.keys.get(str(key), node.span)
        elif isinstance(inside, list) and isinstance(key, int) and key < len(inside):
            span = _start(inside[key])
        else:
            break
        node = inside[key]
    return span
