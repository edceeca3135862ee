"""Tools in plain text, for models whose chat template does not support tools.

The system message lists the tools; calls and results become text between tags. The conversation
then consists of plain turns, which every template supports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bylaw.agents.protocol import ChatMessage, ToolSpec
from bylaw.values import decoded, write_json

CHATML: Final = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The fallback for a model without a chat template."""

PROBE: Final = ToolSpec("probe_of_the_template", "Never called.", {})
"""A template that supports tools includes this name."""

_LISTING: Final = """\
You may call these functions, each described by one line of JSON:
<tools>
{tools}
</tools>

Write a call as a JSON object within <tool_call></tool_call> tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""


def with_objects(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The messages with the arguments of calls as objects, as templates expect them."""
    return [
        {**message, "tool_calls": [_with_object(call) for call in message["tool_calls"]]}
        if message.get("tool_calls")
        else message
        for message in messages
    ]


def _with_object(call: ChatMessage) -> ChatMessage:
    function = call["function"]
    return {**call, "function": {**function, "arguments": decoded(function["arguments"])}}


def in_plain_text(messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> list[ChatMessage]:
    """The conversation as turns of plain text. Results become messages of the user."""
    system = [str(message["content"]) for message in messages if message["role"] == "system"]
    if tools:
        listed = "\n".join(write_json(tool.to_dict()["function"]) for tool in tools)
        system.append(_LISTING.format(tools=listed))
    turns: list[ChatMessage] = []
    for message in messages:
        if message["role"] == "system":
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        if turns and turns[-1]["role"] == role:  # some templates require alternating turns
            turns[-1]["content"] += "\n" + _text(message)
        else:
            turns.append({"role": role, "content": _text(message)})
    head = [{"role": "system", "content": "\n\n".join(system)}] if system else []
    return head + turns


def _text(message: ChatMessage) -> str:
    content = str(message["content"])
    if message["role"] == "tool":
        return f"<tool_response>\n{content}\n</tool_response>"
    calls = [_tagged(call["function"]) for call in message.get("tool_calls", ())]
    return "\n".join([content, *calls] if content else calls)


def _tagged(function: ChatMessage) -> str:
    call = {"name": function["name"], "arguments": decoded(function["arguments"])}
    return f"<tool_call>\n{write_json(call)}\n</tool_call>"
