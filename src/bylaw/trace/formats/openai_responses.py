r"""OpenAI Responses: a response with `output`, a request with `input`, both, or a list of items.

    [{"role": "user", "content": "Refund order 7."},
     {"type": "function_call", "call_id": "c1", "name": "refund", "arguments": "{\"order\": 7}"},
     {"type": "function_call_output", "call_id": "c1", "output": "done"},
     {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "OK."}]}]

Consecutive texts and calls of the model are one turn. An item whose type ends in `_call` is a call:
of a function, of a custom tool (its text is the argument `input`), of an MCP server (the item also
has the result), or of a hosted tool such as `web_search`. A call with an `error` or the status
`failed` has failed. `instructions` are a system message. Reasoning and other items are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.trace.event import MISSING, Call
from bylaw.trace.formats.conversation import CallFields, ConversationReader, answered, scalars
from bylaw.trace.formats.format import Format, NotedTrace
from bylaw.values import kind_of

_CALLS: Final = CallFields(("name",), ("arguments",), "call_id")
_CALL: Final = "_call"
_OUTPUT: Final = "_call_output"
_NAMED: Final = ("function_call", "mcp_call", "custom_tool_call")
_RESULTS: Final = ("output", "outputs", "results", "result")
_ABOUT: Final = ("type", "id", "call_id", "status", "error", *_RESULTS)
"""The fields of a hosted tool's item that are not arguments."""


class _ItemReader(ConversationReader):
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
            self.end_turn()
            self.returned(_result(message), where)
        elif kind.endswith(_CALL):
            self.made.append(self.item_call(kind, message, where))
        elif kind == "message" and message.get("role") == "assistant":
            self.texts.append(self.text(message.get("content"), f"{where}.content"))
        elif kind == "message":
            self.end_turn()
            super().message(message, where)

    def item_call(self, kind: str, item: Mapping[str, Any], where: str) -> Call:
        """The call that an item describes."""
        if kind in _NAMED:
            given = {"arguments": {"input": item.get("input")}} if "custom" in kind else {}
            call = self.call({**item, **given}, where)
        else:
            rest = {key: found for key, found in item.items() if key not in _ABOUT}
            call = self.call({**item, "name": kind.removesuffix(_CALL), "arguments": rest}, where)
        result = _result(item)
        return answered(call, result) if result["error"] or "content" in result else call

    def end_turn(self) -> None:
        """The texts and calls so far are one turn."""
        texts, calls = self.texts, self.made
        self.texts, self.made = [], []
        if texts or calls:
            self.turn("\n".join(texts), calls)

    def end(self) -> None:
        self.end_turn()
        super().end()


def _result(item: Mapping[str, Any]) -> dict[str, Any]:
    """The result or the error in an item, as a tool message."""
    failed = item.get("error") or item.get("status") == "failed"
    result = {"tool_call_id": item.get("call_id"), "error": failed}
    found = next((item[key] for key in _RESULTS if key in item), MISSING)
    return result if found is MISSING else {**result, "content": found}


def _is_item(value: object) -> bool:
    """Is this an item that no chat contains?"""
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


def _detects(value: object) -> bool:
    """Is there an item in the list, or is this a response?"""
    if not isinstance(value, Mapping):
        return _are_items(value)
    sides = (value.get("input"), value.get("output"))
    return value.get("object") == "response" or any(map(_are_items, sides))


def _read(value: Any, name: str | None) -> NotedTrace:
    reader = _ItemReader()
    around = value if isinstance(value, Mapping) else {"output": value}
    if isinstance(instructions := around.get("instructions"), str):
        reader.said("system", instructions)
    if isinstance(asked := around.get("input"), str):
        reader.said("user", asked)
    elif asked is not None:
        reader.take(asked, "input")
        reader.end_turn()  # the output is another turn
    if "output" in around or asked is None:
        reader.take(around.get("output"), "output")
    reader.end()
    return reader.trace(name, scalars(around, ("id", "model", "status")))


OPENAI_RESPONSES: Final = Format("OpenAI Responses", "output", _detects, _read)
