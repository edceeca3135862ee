"""Conversations for templates that know no tools, and the grammar of a constrained turn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bylaw.agents.call_grammar import LONGEST_TEXT, call_grammar
from bylaw.agents.protocol import Reply, ToolSpec
from bylaw.agents.tool_text import in_plain_text, with_objects
from bylaw.trace.event import Call
from bylaw.values import LARGEST

LOOKUP = ToolSpec("lookup", "Finds an order.", {"order": {"type": "integer"}})
ORDER_7, ORDER_8 = Call("lookup", {"order": 7}, id="1"), Call("lookup", {"order": 8}, id="2")
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where are orders 7 and 8?"},
    Reply("Looking.", (ORDER_7, ORDER_8)).to_message(),
    {"role": "tool", "tool_call_id": "1", "name": "lookup", "content": "sent"},
    {"role": "tool", "tool_call_id": "2", "name": "lookup", "content": "lost"},
]


def test_the_system_message_lists_the_tools() -> None:
    system = in_plain_text(MESSAGES, [LOOKUP])[0]
    assert system["role"] == "system"
    assert system["content"].startswith("Be brief.\n\n")
    assert json.dumps(LOOKUP.to_dict()["function"]) in system["content"]


@pytest.mark.parametrize("tools", [[], [LOOKUP]])
def test_there_is_one_where_there_is_something_to_say(tools: list[ToolSpec]) -> None:
    roles = [message["role"] for message in in_plain_text(MESSAGES[1:2], tools)]
    assert roles == (["system", "user"] if tools else ["user"])


def test_calls_and_results_are_text_and_turns_alternate() -> None:
    turns = in_plain_text(MESSAGES, [LOOKUP])[1:]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert turns[1]["content"] == (
        "Looking.\n"
        '<tool_call>\n{"name": "lookup", "arguments": {"order": 7}}\n</tool_call>\n'
        '<tool_call>\n{"name": "lookup", "arguments": {"order": 8}}\n</tool_call>'
    )
    assert turns[2]["content"] == (
        "<tool_response>\nsent\n</tool_response>\n<tool_response>\nlost\n</tool_response>"
    )


def test_arguments_become_objects_in_a_copy() -> None:
    copied = with_objects(MESSAGES)
    assert [call["function"]["arguments"] for call in copied[2]["tool_calls"]] == [
        {"order": 7},
        {"order": 8},
    ]
    assert MESSAGES[2]["tool_calls"][0]["function"]["arguments"] == '{"order": 7}'


def _schema_of(argument: Any) -> Any:
    """The schema that the grammar has for an argument."""
    tool = ToolSpec("tool", "", {"x": argument})
    (line,) = (line for line in call_grammar([tool], 0).splitlines() if line.startswith("call:"))
    (call,) = json.loads(line.removeprefix("call: %json "))["anyOf"]
    return call["properties"]["arguments"]["properties"]["x"]


@pytest.mark.parametrize(
    ("schema", "bounds"),
    [
        ({"type": "integer"}, {"minimum": -LARGEST, "maximum": LARGEST}),
        ({"type": "integer", "minimum": 1}, {"maximum": LARGEST}),
        ({"type": "string"}, {"maxLength": LONGEST_TEXT}),
        ({"type": "string", "maxLength": 900}, {}),
        ({"type": "string", "pattern": "[a-z]"}, {}),
        ({"type": "string", "enum": ["a"]}, {}),
        ({"type": "boolean"}, {}),
        ({}, {}),
    ],
    ids=str,
)
def test_values_have_an_end_where_the_schema_sets_none(schema: Any, bounds: Any) -> None:
    assert _schema_of(schema) == {**schema, **bounds}
    listed = {"type": "array", "items": schema}
    assert _schema_of(listed) == {"type": "array", "items": {**schema, **bounds}}
    inside = {"type": "object", "properties": {"y": listed}}
    assert _schema_of(inside)["properties"]["y"]["items"] == {**schema, **bounds}
