"""What a constrained turn may look like: one tool call that fits, after at most one line of text.

    The second value is still missing.
    <tool_call>
    {"name": "lookup", "arguments": {"order": 7}}
    </tool_call>

The grammar is in the language of llguidance, which transformers models are steered with here and
which llama.cpp reads as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bylaw.agents.protocol import ToolSpec
from bylaw.values import LARGEST, Json, write_json

LONGEST_TEXT: Final = 200
"""How many characters a text among the arguments may have if its schema does not say."""

_GRAMMAR: Final = """\
%llguidance {{}}
start: {line} {opening} "\\n" call "\\n" {closing}
call: %json {schema}
"""
# No brace, backtick or angle bracket: a call begins with its tag and not in some other way.
_LINE: Final = """\
line[max_tokens={longest}]: /[^\\s<{{`][^\\n<{{`]*/
"""

_LAYOUT: Final = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""As models have seen JSON most often."""

_BOUNDS: Final[dict[str, dict[str, Json]]] = {
    "integer": {"minimum": -LARGEST, "maximum": LARGEST},
    "string": {"maxLength": LONGEST_TEXT},
}
"""Limits where a schema has none: a weak model may otherwise write digits until it is cut off."""


def call_grammar(
    tools: Sequence[ToolSpec], line_tokens: int, tokens: Mapping[str, int] | None = None
) -> str:
    """The turns in which one of these tools is called with arguments that fit its schema.

    The line before it has at most `line_tokens`; with 0 there is none. Where a tag is one of the
    `tokens` of the model, it has to be written as that token.
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
    return _exactly({"name": {"const": tool.name}, "arguments": _exactly(arguments)})


def _exactly(properties: dict[str, Json]) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _bounded(schema: Json) -> Json:
    """The schema with limits to how long its values get, in lists and objects as well."""
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
