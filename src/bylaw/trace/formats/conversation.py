"""Chat messages become events: what the readers of foreign formats share.

- A message of the system (or the developer) and of the user is a `Message` in a step of its own.
- An assistant's text is a `Message` unless it is blank. It precedes the message's calls, and all
  of them share one step. Of content that comes in parts, the text is kept.
- A tool message answers a call of the turn before it. Call ids may repeat in a conversation, so
  they count only within a turn, and only if they tell its calls apart: then a message that names
  a call answers it. The others answer the calls that are left, in order.
- A call has failed if its tool message says so: with an `error`, `is_error` or
  `"status": "error"`. A text such as `Error: not found` is a result like any other here, because
  only a procedure knows how its tools report failure: `failed: text ~ /^Error/`.
- A conversation that ends with an assistant's text has that text as its answer too. It stays a
  message, so that rules over messages see the whole conversation.

What is odd and can still be read becomes a note; what cannot be read is a mistake, and all
mistakes are raised at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Final

from bylaw.errors import MAX_DIAGNOSTICS, Diagnostic, TraceError, shown
from bylaw.trace.event import MISSING, Call, Event, Message, Missing, Role
from bylaw.trace.record import kind_of
from bylaw.trace.trace import Trace
from bylaw.values import Json, JsonError, read_json, write_json

RAW_ARGUMENTS: Final = "_raw"
"""The argument that holds a call's arguments as text where they are not a JSON object."""

_SPEAKERS: Final[Mapping[str, Role]] = {"system": "system", "developer": "system", "user": "user"}
_RESULTS: Final = ("tool", "function")
_ROLES: Final = (*_SPEAKERS, "assistant", *_RESULTS)


@dataclass(frozen=True, slots=True)
class Reading:
    """The trace that was found in a value, and what was odd about it."""

    trace: Trace
    notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class CallFields:
    """Where a tool call keeps its tool and its arguments: the keys that lead there."""

    tool: tuple[str, ...]
    arguments: tuple[str, ...]


_FUNCTION_CALL: Final = CallFields(("name",), ("arguments",))


class Conversation:
    """Collects the events, the notes and the mistakes of one conversation."""

    def __init__(self, fields: CallFields) -> None:
        self.fields = fields
        self.events: list[Event] = []
        self.answer: str | None = None
        self.notes: list[Diagnostic] = []
        self.problems: list[Diagnostic] = []
        self.step = -1
        self.turn: dict[int, Call] = {}  # the latest calls, by position among the events
        self.results: list[tuple[Mapping[str, Any], str]] = []  # tool messages since then

    def read(self, messages: object, where: str) -> None:
        """Takes in all messages; raises what is wrong with them."""
        if isinstance(messages, list | tuple):
            for index, message in enumerate(messages):
                self.message(message, f"{where}[{index}]")
            self.settle()
        else:
            self.complain(where, f"expected a list of messages, found {kind_of(messages)}")
        if self.problems:
            raise TraceError(self.problems)

    def reading(
        self, name: str | None, labels: Mapping[str, Json], metrics: Mapping[str, Json]
    ) -> Reading:
        """What was read, as a trace."""
        trace = Trace(self.events, answer=self.answer, metrics=metrics, labels=labels, name=name)
        return Reading(trace, tuple(self.notes))

    def complain(self, where: str, message: str, help: str | None = None) -> None:
        self.problems.append(Diagnostic("E320", message, help, where=where))
        if len(self.problems) >= MAX_DIAGNOSTICS:
            raise TraceError(self.problems)

    def note(self, code: str, where: str, message: str, help: str) -> None:
        self.notes.append(Diagnostic(code, message, help, where=where))

    # ── messages ─────────────────────────────────────────────────────────────────────────

    def message(self, message: object, where: str) -> None:
        self.answer = None
        if not isinstance(message, Mapping):
            self.complain(where, f"expected a message, found {kind_of(message)}")
            return
        role = message.get("role")
        if role == "assistant":
            self.assistant(message, where)
        elif role in _RESULTS:
            self.results.append((message, where))
        elif isinstance(role, str) and role in _SPEAKERS:
            if "content" not in message:
                self.complain(where, "the field 'content' is missing")
            self.step += 1
            text = self.text(message.get("content"), f"{where}.content")
            self.events.append(Message(_SPEAKERS[role], text, self.step))
        elif "role" not in message:
            self.complain(where, "the field 'role' is missing")
        else:
            help = f"The roles are: {', '.join(_ROLES)}."
            self.complain(f"{where}.role", f"unknown role {shown(role)}", help)

    def assistant(self, message: Mapping[str, Any], where: str) -> None:
        if message.get("tool_calls") or message.get("function_call"):
            self.settle()
        text = self.text(message.get("content"), f"{where}.content")
        calls = self.calls(message, where)
        if text.strip() or calls:
            self.step += 1
        if text.strip():
            self.events.append(Message("assistant", text, self.step))
            self.answer = None if calls else text
        for call in calls:
            self.turn[len(self.events)] = call = replace(call, step=self.step)
            self.events.append(call)

    def text(self, content: object, where: str) -> str:
        """The text of a message's content: a string, or the text among its parts."""
        if content is None or isinstance(content, str):
            return content or ""
        if not isinstance(content, list | tuple):
            self.complain(where, f"expected text or a list of parts, found {kind_of(content)}")
            return ""
        for index, part in enumerate(content):
            if not isinstance(part, Mapping | str):
                self.complain(f"{where}[{index}]", f"expected a part, found {kind_of(part)}")
        return _joined(content)

    # ── calls ────────────────────────────────────────────────────────────────────────────

    def calls(self, message: Mapping[str, Any], where: str) -> list[Call]:
        listed, older = message.get("tool_calls"), message.get("function_call")
        if older and not listed:
            return [self.call(older, f"{where}.function_call", _FUNCTION_CALL)]
        if listed is not None and not isinstance(listed, list | tuple):
            self.complain(f"{where}.tool_calls", f"expected a list, found {kind_of(listed)}")
            return []
        entries = enumerate(listed or ())
        return [self.call(entry, f"{where}.tool_calls[{i}]", self.fields) for i, entry in entries]

    def call(self, entry: object, where: str, fields: CallFields) -> Call:
        if not isinstance(entry, Mapping):
            self.complain(where, f"expected an object, found {kind_of(entry)}")
            return Call("?")
        tool, at = _down(entry, fields.tool), ".".join((where, *fields.tool))
        if tool is MISSING:
            self.complain(at, "the field is missing")
        elif not isinstance(tool, str) or not tool:
            self.complain(at, f"expected a non-empty string, found {kind_of(tool)}")
        given = _down(entry, fields.arguments)
        args = self.arguments(given, ".".join((where, *fields.arguments)))
        return Call(tool if isinstance(tool, str) else "?", args, id=_id(entry.get("id")))

    def arguments(self, given: Json | Missing, where: str) -> dict[str, Json]:
        """The arguments as an object, whether they came as one or as JSON text."""
        value, reason = given, ""
        if isinstance(given, str):
            try:
                value = read_json(given) if given.strip() else None
            except JsonError as error:
                reason = f"not JSON: {error.message}"
        if value is None or value is MISSING:
            return {}
        if isinstance(value, Mapping):
            return dict(value)
        message = f"the arguments are {reason or kind_of(value) + ', not an object'}"
        self.note("W520", where, message, f"They are kept as text, as {RAW_ARGUMENTS}.")
        return {RAW_ARGUMENTS: given if isinstance(given, str) else write_json(given)}

    # ── results ──────────────────────────────────────────────────────────────────────────

    def settle(self) -> None:
        """Gives the results that arrived to the calls of the turn."""
        named = {call.id: position for position, call in self.turn.items()}
        if len(named) < len(self.turn):  # the ids do not tell the calls apart
            named = {}
        others = []
        for message, where in self.results:
            position = named.pop(_id(message.get("tool_call_id")), None)
            if position is None:
                others.append((message, where))
            else:
                self.events[position] = _answered(self.turn.pop(position), message)
        waiting = list(self.turn)[: len(others)]
        for (message, where), position in zip_longest(others, waiting):
            if position is None:
                self.note("W521", where, "a result answers no call", "It is left out.")
            else:
                self.events[position] = _answered(self.turn[position], message)
        self.turn, self.results = {}, []


def _answered(call: Call, message: Mapping[str, Any]) -> Call:
    """The call with what a tool message says came of it."""
    content, error = message.get("content"), message.get("error")
    in_parts = isinstance(content, list | tuple) and all(
        isinstance(part, Mapping) and "type" in part for part in content
    )
    result: Json = _joined(content) if in_parts else content
    if not (error or message.get("is_error") or message.get("status") == "error"):
        return replace(call, result=result)
    told = result if error is True or not error else error
    text = told if isinstance(told, str) else "" if told is None else write_json(told)
    nothing_else = result in ("", None, text)
    return replace(call, result=MISSING if nothing_else else result, error=text)


def _joined(parts: Json) -> str:
    """The text of those parts that are text."""
    texts = []
    for part in parts:
        if isinstance(part, Mapping):
            part = part.get("text", part.get("content")) if part.get("type") == "text" else None
        if isinstance(part, str):
            texts.append(part)
    return "\n".join(texts)


def _down(value: Json, keys: Iterable[str]) -> Json | Missing:
    for key in keys:
        value = value.get(key, MISSING) if isinstance(value, Mapping) else MISSING
    return value


def _id(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def scalars(value: object, names: Iterable[str] | None = None) -> dict[str, Json]:
    """The fields of an object that hold a string, a number, true or false; or those named."""
    if not isinstance(value, Mapping):
        return {}
    kept = value if names is None else [name for name in names if name in value]
    return {name: value[name] for name in kept if isinstance(value[name], str | int | float)}
