"""The grammar of a constrained turn: one valid tool call, after at most one line of text.

    The second value is still missing.
    <tool_call>
    {"name": "lookup", "arguments": {"order": 7}}
    </tool_call>

The grammar is written for llguidance, which constrains transformers models here and which llama.cpp
supports as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bylaw.agents.protocol import ToolSpec
from bylaw.values import LARGEST, Json, write_json

LONGEST_TEXT: Final = 200
"""The default limit of a string argument, in characters."""

_GRAMMAR: Final = """\
%llguidance {{}}
start: {line} {opening} "\\n" call "\\n" {closing}
call: %json {schema}
"""
# No brace, backtick or angle bracket: a call can begin only with its tag.
_LINE: Final = """\
line[max_tokens={longest}]: /[^\\s<{{`][^\\n<{{`]*/
"""

_LAYOUT: Final = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""The JSON layout that is most common in training data."""

_BOUNDS: Final[dict[str, dict[str, Json]]] = {
    "integer": {"minimum": -LARGEST, "maximum": LARGEST},
    "string": {"maxLength": LONGEST_TEXT},
}
"""Default limits: a weak model may otherwise generate digits until its turn is cut off."""


def call_grammar(
    tools: Sequence[ToolSpec], line_tokens: int, tokens: Mapping[str, int] | None = None
) -> str:
    """The grammar of turns that call one of these tools with arguments that fit its schema.

    The line before the call has at most `line_tokens`; with 0 there is none. A tag that is one of
    the model's `tokens` must be generated as that token.
    """
    opening, closing = (_tag(tag, tokens or {}) for tag in ("<tool_call>", "</tool_call>"))
    schema = {"x-guidance": _LAYOUT, "anyOf": [_call_schema(tool) for tool in tools]}
    before = '(line "\\n")?' if line_tokens else ""
    grammar = _GRAMMAR.format(
        line=before, opening=opening, closing=closing, schema=write_json(schema)
    )
    return grammar + (_LINE.format(longest=line_tokens) if line_tokens else "")


def _tag(tag: str, tokens: Mapping[str, int]) -> str:
    return f"<[{tokens[tag]}]>" if tag in tokens else f'"{tag}"'


def _call_schema(tool: ToolSpec) -> Json:
    arguments = {name: _bounded(schema) for name, schema in tool.parameters.items()}
    return _object_schema({"name": {"const": tool.name}, "arguments": _object_schema(arguments)})


def _object_schema(properties: dict[str, Json]) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _bounded(schema: Json) -> Json:
    """The schema with length limits on its values, including those in lists and objects."""
    match schema:
        case {"enum": _} | {"const": _} | {"pattern": _} | {"format": _}:
            return schema
        case {"type": "array", "items": items}:
            return {**schema, "items": _bounded(items)}
        case {"type": "object", "properties": dict() as properties}:
            inner = {name: _bounded(value) for name, value in properties.items()}
            return {**schema, "properties": inner}
        case {"type": str() as kind}:
            return {**_BOUNDS.get(kind, {}), **schema}
        case _:
            return schema
