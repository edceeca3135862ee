r"""OpenAI Responses: a response with `output`, a request with `input`, both, or a list of items.

    [{"role": "user", "content": "Refund order 7."},
     {"type": "function_call", "call_id": "c1", "name": "refund", "arguments": "{\"order\": 7}"},
     {"type": "function_call_output", "call_id": "c1", "output": "done"},
     {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "OK."}]}]

What the model produced without a break, texts and calls, is one turn. An item whose type ends in
`_call` is a call: of a function, of a custom tool (its text is the argument `input`), of an MCP
server (the item has the result, too), or of a hosted tool such as `web_search`. A call with an
`error` or the status `failed` has failed. `instructions` are a system message. Reasoning and other
bookkeeping is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.trace.event import MISSING, Call
from bylaw.trace.formats.conversation import CallFields, Conversation, Reading
from bylaw.trace.formats.fields import answered, scalars
from bylaw.values import kind_of

_CALLS: Final = CallFields(("name",), ("arguments",), "call_id")
_CALL: Final = "_call"
_OUTPUT: Final = "_call_output"
_NAMED: Final = ("function_call", "mcp_call", "custom_tool_call")
_RESULTS: Final = ("output", "outputs", "results", "result")
_ABOUT: Final = ("type", "id", "call_id", "status", "error", *_RESULTS)
"""What an item of a hosted tool says besides the call's arguments."""


class _Items(Conversation):
    def __init__(self) -> None:
        super().__init__(_CALLS)
        self.texts: list[str] = []
        self.made: list[Call] = []

    def message(self, message: object, where: str) -> None:
        if not isinstance(message, Mapping):
            self.complain(where, f"expected an item, found {kind_of(message)}")
            return
        kind = message.get("type", "message")
        if not isinstance(kind, str):
            self.complain(f"{where}.type", f"expected a string, found {kind_of(kind)}")
        elif kind.endswith(_OUTPUT):
            self.speak()
            self.returned(_result(message), where)
        elif kind.endswith(_CALL):
            self.made.append(self.made_by(kind, message, where))
        elif kind == "message" and message.get("role") == "assistant":
            self.texts.append(self.text(message.get("content"), f"{where}.content"))
        elif kind == "message":
            self.speak()
            super().message(message, where)

    def made_by(self, kind: str, item: Mapping[str, Any], where: str) -> Call:
        """The call that an item is."""
        if kind in _NAMED:
            given = {"arguments": {"input": item.get("input")}} if "custom" in kind else {}
            call = self.call({**item, **given}, where)
        else:
            rest = {key: found for key, found in item.items() if key not in _ABOUT}
            call = self.call({**item, "name": kind.removesuffix(_CALL), "arguments": rest}, where)
        result = _result(item)
        return answered(call, result) if result["error"] or "content" in result else call

    def speak(self) -> None:
        """What the model produced so far was one turn."""
        texts, calls = self.texts, self.made
        self.texts, self.made = [], []
        if texts or calls:
            self.turn("\n".join(texts), calls)

    def end(self) -> None:
        self.speak()
        super().end()


def _result(item: Mapping[str, Any]) -> dict[str, Any]:
    """What an item says came of a call, as a tool message."""
    failed = item.get("error") or item.get("status") == "failed"
    result = {"tool_call_id": item.get("call_id"), "error": failed}
    found = next((item[key] for key in _RESULTS if key in item), MISSING)
    return result if found is MISSING else {**result, "content": found}


def _is_item(value: object) -> bool:
    """Is this an item that a chat cannot have?"""
    kind = value.get("type") if isinstance(value, Mapping) else None
    if not isinstance(kind, str) or not isinstance(value, Mapping):
        return False
    parts = value.get("content") if kind == "message" else None
    return kind.endswith((_CALL, _OUTPUT)) or (
        isinstance(parts, list | tuple)
        and any(isinstance(p, Mapping) and p.get("type") == "output_text" for p in parts)
    )


def _are_items(value: object) -> bool:
    return isinstance(value, list | tuple) and any(map(_is_item, value))


def detects(value: object) -> bool:
    """Is there an item among these, or is this a response?"""
    if not isinstance(value, Mapping):
        return _are_items(value)
    sides = (value.get("input"), value.get("output"))
    return value.get("object") == "response" or any(map(_are_items, sides))


def read(value: Any, name: str | None = None) -> Reading:
    """The trace of what went in, and of what came out."""
    conversation = _Items()
    around = value if isinstance(value, Mapping) else {"output": value}
    if isinstance(instructions := around.get("instructions"), str):
        conversation.said("system", instructions)
    if isinstance(asked := around.get("input"), str):
        conversation.said("user", asked)
    elif asked is not None:
        conversation.take(asked, "input")
        conversation.speak()  # what came out is another turn
    if "output" in around or asked is None:
        conversation.take(around.get("output"), "output")
    conversation.end()
    labels = scalars(around, ("id", "model", "status"))
    return conversation.reading(name, labels, {})
