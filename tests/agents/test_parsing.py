"""Tool calls in the text of a model: what is read, what is not, and what the model is told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bylaw import Call
from bylaw.agents.parsing import parse_calls
from bylaw.agents.protocol import Reply, ToolSpec

TOOLS = [ToolSpec(name, "", {"i": {"type": "integer"}}) for name in ("tool_a", "tool_b")]
A1 = '{"name": "tool_a", "arguments": {"i": 1}}'
B2 = '{"name": "tool_b", "arguments": {"i": 2}}'
DATA = '{"total": 3}'


@dataclass(frozen=True)
class Row:
    id: str
    text: str
    calls: str = ""
    """The calls, as `tool(arguments)`, one after another."""
    told: tuple[str, ...] = ()
    """A part of each sentence about what cannot be read."""
    left: str | None = None
    """The rest of the text. None: all of it, or, if there are calls, nothing."""


CALLS = [
    Row("a tag", f"<tool_call>{A1}</tool_call>", 'tool_a({"i": 1})'),
    Row("a tag over lines", f"<tool_call>\n{A1}\n</tool_call>\n", 'tool_a({"i": 1})'),
    Row("a tag left open at the end", f"<tool_call>{A1}", 'tool_a({"i": 1})'),
    Row(
        "a tag left open before the next",
        f"<tool_call>{A1}\n<tool_call>{B2}</tool_call>",
        'tool_a({"i": 1}) tool_b({"i": 2})',
    ),
    Row(
        "two tags",
        f"<tool_call>{A1}</tool_call>\n<tool_call>{B2}</tool_call>",
        'tool_a({"i": 1}) tool_b({"i": 2})',
    ),
    Row(
        "two objects in a tag",
        f"<tool_call>\n{A1}\n{B2}\n</tool_call>",
        'tool_a({"i": 1}) tool_b({"i": 2})',
    ),
    Row(
        "a list in a tag",
        f"<tool_call>[{A1}, {B2}]</tool_call>",
        'tool_a({"i": 1}) tool_b({"i": 2})',
    ),
    Row(
        "text around a tag",
        f"First this. <tool_call>{A1}</tool_call> Then more.",
        'tool_a({"i": 1})',
        left="First this.  Then more.",
    ),
    Row(
        "a closing tag inside an argument",
        '<tool_call>{"name": "t", "arguments": {"s": "</tool_call>```"}}</tool_call>',
        't({"s": "</tool_call>```"})',
    ),
    Row("a fence", f"```json\n{A1}\n```", 'tool_a({"i": 1})'),
    Row("a fence on one line", f"```json {A1}```", 'tool_a({"i": 1})'),
    Row("a fence without a language", f"```\n{A1}\n```", 'tool_a({"i": 1})'),
    Row("a fence with its language run on", f"```json{A1}```", 'tool_a({"i": 1})'),
    Row("a fence left open at the end", f"```json\n{A1}\n", 'tool_a({"i": 1})'),
    Row("a list in a fence", f"```json\n[{A1},\n {B2}]\n```", 'tool_a({"i": 1}) tool_b({"i": 2})'),
    Row(
        "text around a fence",
        f"I look it up:\n```json\n{A1}\n```\nDone.",
        'tool_a({"i": 1})',
        left="I look it up:\n\nDone.",
    ),
    Row(
        "a fence inside an argument",
        '```json\n{"name": "t", "arguments": {"s": "```py\\n1\\n```"}}\n```',
        't({"s": "```py\\n1\\n```"})',
    ),
    Row("a fence around a tag", f"```xml\n<tool_call>{A1}</tool_call>\n```", 'tool_a({"i": 1})'),
    Row(
        "a fence around a tag and text",
        f"```\nSo: <tool_call>{A1}</tool_call>\n```",
        'tool_a({"i": 1})',
        left="```\nSo: \n```",
    ),
    Row(
        "the same call in a tag and in a fence is two",
        f"<tool_call>{A1}</tool_call>\n```json\n{A1}\n```",
        'tool_a({"i": 1}) tool_a({"i": 1})',
    ),
    Row(
        "a fence and then a tag keep their order",
        f"```json\n{B2}\n```\n<tool_call>{A1}</tool_call>",
        'tool_b({"i": 2}) tool_a({"i": 1})',
    ),
    Row("the whole text", f"\n {A1} \n", 'tool_a({"i": 1})'),
    Row("a list as the whole text", f"[{A1}, {B2}]", 'tool_a({"i": 1}) tool_b({"i": 2})'),
    Row(
        "a fence inside an argument of the whole text",
        '{"name": "t", "arguments": {"s": "```json\\n{}\\n```"}}',
        't({"s": "```json\\n{}\\n```"})',
    ),
    Row("parameters", '{"name": "tool_a", "parameters": {"i": 1}}', 'tool_a({"i": 1})'),
    Row("args", '{"name": "tool_a", "args": {"i": 1}}', 'tool_a({"i": 1})'),
    Row("tool", '{"tool": "tool_a", "args": {"i": 1}}', 'tool_a({"i": 1})'),
    Row("function", '{"type": "function", "function": "tool_a", "arguments": {}}', "tool_a({})"),
    Row(
        "nested, as OpenAI has it",
        '{"id": "x", "function": {"name": "tool_a", "arguments": "{\\"i\\": 1}"}}',
        'tool_a({"i": 1})',
    ),
    Row(
        "arguments in a string",
        '{"name": "tool_a", "arguments": "{\\"i\\": 1}"}',
        'tool_a({"i": 1})',
    ),
    Row(
        "a tool that nobody has",
        '<tool_call>{"name": "nope", "arguments": {}}</tool_call>',
        "nope({})",
    ),
    Row(
        "a tool that nobody has, in a fence",
        '```\n{"name": "nope", "arguments": {}}\n```',
        "nope({})",
    ),
]

TEXT = [
    Row("nothing", ""),
    Row("prose", "The answer is 7."),
    Row("data in a fence", f"The result:\n```json\n{DATA}\n```"),
    Row("data as the whole text", DATA),
    Row("data with a name", '```json\n{"name": "Ann", "age": 7}\n```'),
    Row("a list of data", "```json\n[1, 2, 3]\n```"),
    Row("code that calls no tool", "```python\nprint(sum([1, 2]))\n```"),
    Row("something like JSON that is not a call", "```js\n{total: 3}\n```"),
    Row("an empty fence", "```\n```"),
    Row("a tool that is spoken of", "I would call tool_a(i=1) next."),
    Row("a call in the middle of prose", f"I propose {A1} here."),
]

MALFORMED = [
    Row("an empty tag", "<tool_call></tool_call>", told=("nothing in the <tool_call> tag",)),
    Row("prose in a tag", "<tool_call>look it up</tool_call>", told=("at look it up",)),
    Row("data in a tag", f"<tool_call>{DATA}</tool_call>", told=('no "name"',)),
    Row("a number in a tag", "<tool_call>7</tool_call>", told=("must be an object, not 7",)),
    Row("cut off", '<tool_call>{"name": "tool_a", "argum', told=("unterminated string",)),
    Row("a bracket short", f"<tool_call>{A1[:-1]}</tool_call>", told=("before it is complete",)),
    Row("a bracket too many", f"<tool_call>{A1}}}</tool_call>", told=("bracket too many",)),
    Row("prose after an open tag", f"<tool_call>{A1} That is it.", told=("at That is it.",)),
    Row("a closing tag alone", f"Now {A1}</tool_call>", told=("no <tool_call> before it",)),
    Row(
        "no arguments, in a tag",
        '<tool_call>{"name": "tool_a"}</tool_call>',
        told=('the call of tool_a has no "arguments"',),
    ),
    Row(
        "no arguments to a tool, in a fence",
        '```\n{"name": "tool_a"}\n```',
        told=('the call of tool_a has no "arguments"',),
    ),
    Row(
        "an empty name", '<tool_call>{"name": "", "arguments": {}}</tool_call>', told=('no "name"',)
    ),
    Row(
        "arguments that are a list",
        '{"name": "tool_a", "arguments": [1]}',
        told=("the arguments of tool_a must be an object, not [1]",),
    ),
    Row(
        "arguments that are null",
        '{"name": "tool_a", "arguments": null}',
        told=("must be an object, not null",),
    ),
    Row(
        "arguments in a string that is not JSON",
        '{"name": "tool_a", "arguments": "i=1"}',
        told=("the arguments of tool_a are not JSON: expecting value, at i=1",),
    ),
    Row(
        "arguments in a string that is no object",
        '{"name": "tool_a", "arguments": "1"}',
        told=("must be an object, not 1",),
    ),
    Row(
        "single quotes in a tag",
        "<tool_call>{'name': 'tool_a', 'arguments': {}}</tool_call>",
        told=("need double quotes",),
    ),
    Row(
        "single quotes in a fence",
        "```json\n{'name': 'tool_a', 'arguments': {}}\n```",
        told=("need double quotes",),
    ),
    Row(
        "single quotes as the whole text",
        "{'name': 'tool_a', 'arguments': {}}",
        told=("need double quotes",),
    ),
    Row("no quotes", "```\n{name: tool_a, arguments: {}}\n```", told=("need double quotes",)),
    Row(
        "a comma at the end",
        '```json\n{"name": "tool_a", "arguments": {"i": 1,}}\n```',
        told=("no comma before a closing bracket",),
    ),
    Row(
        "Python's words",
        '<tool_call>{"name": "t", "arguments": {"i": True}}</tool_call>',
        told=("true, false and null",),
    ),
    Row(
        "a comment",
        '<tool_call>{"name": "t", // this\n"arguments": {}}</tool_call>',
        told=("no comments",),
    ),
    Row(
        "a line break in a string",
        '<tool_call>{"name": "t", "arguments": {"s": "a\nb"}}',
        told=("is written \\n",),
    ),
    Row(
        "a lone backslash",
        '<tool_call>{"name": "t", "arguments": {"s": "\\d"}}',
        told=("is written \\\\",),
    ),
    Row(
        "a quote in a string",
        '<tool_call>{"name": "t", "arguments": {"s": "say "hi""}}',
        told=('is written \\"',),
    ),
    Row("Python in a fence", "```python\ntool_a(i=1)\n```", told=('{"name": ..., "arguments"',)),
    Row("Python in a fence with no language", "```tool_a(i=1)```", told=('{"name": ...',)),
    Row("Python with a variable", "```\nx = tool_a(i=1)\n```", told=('{"name": ...',)),
    Row(
        "a key twice",
        '<tool_call>{"name": "t", "arguments": {"i": 1, "i": 2}}</tool_call>',
        told=('the key "i" appears twice',),
    ),
    Row(
        "not a number",
        '<tool_call>{"name": "t", "arguments": {"i": NaN}}</tool_call>',
        told=("NaN is not a JSON value",),
    ),
    Row("too deep", "<tool_call>" + "[" * 99_999, told=("too deep",)),
    Row("text after the whole", f"{A1} Done.", told=("at Done.",)),
    Row(
        "two tags, both broken",
        "<tool_call>a</tool_call> <tool_call>b</tool_call>",
        told=("at a", "at b"),
    ),
    Row(
        "a closing tag inside a string, before the fault",
        '<tool_call>{"s": "</tool_call>", i: 1}</tool_call>',
        told=("need double quotes, at i: 1",),
    ),
    Row(
        "a near miss before a tag is text",
        f"{{'name': 'tool_b', 'arguments': {{}}}} <tool_call>{A1}</tool_call>",
        'tool_a({"i": 1})',
        left="{'name': 'tool_b', 'arguments': {}}",
    ),
    Row(
        "one of two is read",
        f"<tool_call>{A1}</tool_call><tool_call>b</tool_call>",
        'tool_a({"i": 1})',
        told=("at b",),
        left="<tool_call>b</tool_call>",
    ),
    Row(
        "one of two in a tag is read",
        f"<tool_call>{A1} {DATA}</tool_call>",
        'tool_a({"i": 1})',
        told=('no "name"',),
    ),
]


@pytest.mark.parametrize("row", [*CALLS, *TEXT, *MALFORMED], ids=lambda row: row.id)
def test_reads(row: Row) -> None:
    written = parse_calls(row.text, TOOLS, "turn3-")
    said = " ".join(f"{call.tool}({json.dumps(dict(call.args))})" for call in written.calls)
    assert said == row.calls
    assert [call.id for call in written.calls] == [
        f"turn3-{number}" for number in range(1, len(written.calls) + 1)
    ]
    assert len(written.malformed) == len(row.told), written.malformed
    for sentence, part in zip(written.malformed, row.told, strict=True):
        assert part in sentence
    left = ("" if row.calls else row.text.strip()) if row.left is None else row.left
    assert written.text == left


def _json_values() -> st.SearchStrategy[Any]:
    marks = st.sampled_from(["</tool_call>", "<tool_call>", "```", '"', "\\", "}", "é\n"])
    words = st.lists(marks | st.text(max_size=3), max_size=3).map("".join)
    numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.none() | st.booleans() | numbers | words
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
        max_leaves=6,
    )


_CALLS = st.lists(
    st.builds(
        Call,
        st.text(min_size=1, max_size=9),
        st.dictionaries(st.text(max_size=4), _json_values(), max_size=3),
    ),
    min_size=1,
    max_size=3,
)


@given(_CALLS)
def test_calls_written_in_tags_are_parsed_back(calls: list[Call]) -> None:
    message = Reply(calls=tuple(calls)).to_message()
    tags = (f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in message["tool_calls"])
    written = parse_calls("\n".join(tags), TOOLS, "")
    assert [(call.tool, call.args) for call in written.calls] == [
        (call.tool, call.args) for call in calls
    ]
    assert (written.text, written.malformed) == ("", ())


_SCRAPS = st.sampled_from(
    [
        *"{}[]\"':,\\ \n`0",
        *("```", "```json\n", "<tool_call>", "</tool_call>", "tool_a(", A1, B2),
        *('"name"', '"arguments"', '"function"', '"tool_a"', "NaN", "1e999", "True"),
    ]
)


@given(st.lists(_SCRAPS | st.text(max_size=4), max_size=12).map("".join))
def test_any_text_can_be_read(text: str) -> None:
    written = parse_calls(text, TOOLS, "")
    assert all(sentence.endswith(".") for sentence in written.malformed)
    if not written.calls:
        assert written.text == text.strip()
