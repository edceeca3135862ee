"""Chat messages become events: the rules that the readers of conversations share.

- A message of the system (or the developer) or of the user is a `Message` in a step of its own.
- An assistant's text is a `Message` unless it is blank. It precedes the message's calls, and all
  of them share one step. Of content in parts, the text is kept.
- A tool message that names a call answers that call and no other. Call ids may repeat in a
  conversation: the latest turn with that id is meant, and in it the first call without a result.
  Tool messages that name no call answer the remaining calls of the turn before them, in order.
- A call has failed if its tool message has an `error`, `is_error` or `"status": "error"`. A text
  such as `Error: not found` is an ordinary result here, because only a procedure knows how its
  tools report failure: `failed: text ~ /^Error/`.
- A call whose result or error is a gate's refusal did not run, and is kept apart from the events
  (`bylaw.trace.refusal_mark`).
- Times, agents and usage are kept as far as they are recorded (`details`). The usage of a turn is
  that of its text, or of its first call if it has no text. A call ends when its result is written.
- The assistant's text at the end of a conversation is also the answer. It stays a message, so
  that rules over messages see the whole conversation.

An oddity that can still be read becomes a note. Anything else is a mistake, and all mistakes are
raised together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Final

from bylaw.errors import MAX_DIAGNOSTICS, Diagnostic, TraceError, shown
from bylaw.trace.event import MISSING, Call, Event, Message, Missing, Role, read_arguments
from bylaw.trace.formats.details import NO_DETAILS, Details, details_of, start_of
from bylaw.trace.formats.format import NotedTrace, without_refused
from bylaw.trace.record import Contents
from bylaw.values import Json, JsonError, kind_of, write_json

RAW_ARGUMENTS: Final = "_raw"
"""The argument that holds a call's arguments as text if they are not a JSON object."""

SPEAKERS: Final[Mapping[str, Role]] = {"system": "system", "developer": "system", "user": "user"}
_RESULTS: Final = ("tool", "function")
_ROLES: Final = (*SPEAKERS, "assistant", *_RESULTS)
_TEXT_PARTS: Final = ("text", "input_text", "output_text")


@dataclass(frozen=True, slots=True)
class CallFields:
    """The keys that lead to a tool call's tool and arguments, one inside the other."""

    tool: tuple[str, ...]
    arguments: tuple[str, ...]
    id: str = "id"


_FUNCTION_CALL: Final = CallFields(("name",), ("arguments",))


class ConversationReader:
    """Collects the events, the notes and the mistakes of one conversation.

    A format with other messages overrides `message`, which reports what it finds to `said`,
    `turn` and `returned`.
    """

    def __init__(self, fields: CallFields) -> None:
        self.fields = fields
        self.events: list[Event] = []
        self.answer: str | None = None
        self.answered: float | None = None
        self.notes: list[Diagnostic] = []
        self.problems: list[Diagnostic] = []
        self.list_name = "messages"
        """The place of the messages, for notes on all of them."""
        self.step = -1
        self.details = NO_DETAILS
        """The time, agent and usage of the message that is being read."""
        self.waiting: dict[int, Call] = {}  # the latest calls, by position among the events
        self.named: dict[str, list[int]] = {}  # the waiting calls with an id, from any turn
        self.results: list[tuple[Mapping[str, Any], str]] = []  # tool messages since then

    def read(self, messages: object, where: str) -> None:
        """Reads all messages; raises their mistakes."""
        self.take(messages, where)
        self.end()

    def take(self, messages: object, where: str) -> None:
        """Reads messages that others may follow."""
        self.list_name = where
        if isinstance(messages, list | tuple):
            for index, message in enumerate(messages):
                self.details = self.details_of(message)
                self.message(message, f"{where}[{index}]")
        else:
            self.complain(where, f"expected a list of messages, found {kind_of(messages)}")

    def details_of(self, message: object) -> Details:
        """The time, agent and usage of a message."""
        return details_of(message)

    def end(self) -> None:
        """Ends the conversation; raises its mistakes."""
        self.settle()
        if self.problems:
            raise TraceError(self.problems)

    def trace(
        self,
        name: str | None,
        labels: Mapping[str, Json] | None = None,
        metrics: Mapping[str, Json] | None = None,
    ) -> NotedTrace:
        """The conversation as a trace."""
        answered = None if self.answer is None else self.answered
        about = metrics or {}, labels or {}
        contents = Contents(self.events, self.answer, *about, answered=answered)
        noted = without_refused(contents, self.list_name, name)
        return NotedTrace(noted.trace, (*self.notes, *noted.notes))

    def complain(self, where: str, message: str, help: str | None = None) -> None:
        """Reports a mistake."""
        self.problems.append(Diagnostic("E320", message, help, where=where))
        if len(self.problems) >= MAX_DIAGNOSTICS:
            raise TraceError(self.problems)

    def note(self, code: str, where: str, message: str, help: str) -> None:
        """Reports an oddity."""
        self.notes.append(Diagnostic(code, message, help, where=where))

    # ── messages ─────────────────────────────────────────────────────────────────────────

    def message(self, message: object, where: str) -> None:
        """Reads one message."""
        if not isinstance(message, Mapping):
            self.complain(where, f"expected a message, found {kind_of(message)}")
            return
        role = message.get("role")
        if role == "assistant":
            self.assistant(message, where)
        elif role in _RESULTS:
            self.returned(message, where)
        elif isinstance(role, str) and role in SPEAKERS:
            if "content" not in message:
                self.complain(where, "the field 'content' is missing")
            self.said(SPEAKERS[role], self.text(message.get("content"), f"{where}.content"))
        elif "role" not in message:
            self.complain(where, "the field 'role' is missing")
        else:
            help = f"The roles are: {', '.join(_ROLES)}."
            self.complain(f"{where}.role", f"unknown role {shown(role)}", help)

    def assistant(self, message: Mapping[str, Any], where: str) -> None:
        if message.get("tool_calls") or message.get("function_call"):
            self.settle()  # oddities of earlier results are noted before these calls
        text = self.text(message.get("content"), f"{where}.content")
        self.turn(text, self.calls(message, where))

    def said(self, role: Role, text: str) -> None:
        """A message of the system or of the user, in a step of its own."""
        self.step += 1
        self.events.append(Message(role, text, self.step, self.details.start))
        self.answer = None

    def turn(self, text: str, calls: Sequence[Call]) -> None:
        """A turn of the assistant: its text, its calls, or both. Calls may have results already."""
        if calls:
            self.settle()
        if text.strip() or calls:
            self.step += 1
        self.answer = None
        start, agent, usage = self.details.start, self.details.agent, self.details.usage
        if text.strip():
            self.events.append(Message("assistant", text, self.step, start, agent, usage))
            self.answer, self.answered = None if calls else text, start
            usage = None
        self.named.update({call.id: [] for call in calls if call.id is not None})
        for call in calls:
            begun = start if call.start is None else call.start
            call = replace(call, step=self.step, start=begun, agent=call.agent or agent)
            if usage is not None and call.usage is None:  # without a text, the first call has it
                call, usage = replace(call, usage=usage), None
            if call.result is MISSING and not call.failed:
                self.waiting[len(self.events)] = call
                if call.id is not None:
                    self.named[call.id].append(len(self.events))
            self.events.append(call)

    def returned(self, result: Mapping[str, Any], where: str) -> None:
        """A tool message: the result of a call, with the call's id in `tool_call_id`."""
        self.results.append((result, where))
        self.answer = None

    def text(self, content: object, where: str) -> str:
        """The text of a message's content, which is a string or a list of parts."""
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
        return [self.call(entry, f"{where}.tool_calls[{i}]") for i, entry in entries]

    def call(self, entry: object, where: str, fields: CallFields | None = None) -> Call:
        """The call that an entry describes."""
        fields = fields or self.fields
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
        return Call(tool if isinstance(tool, str) else "?", args, id=_id(entry.get(fields.id)))

    def arguments(self, given: Json | Missing, where: str) -> dict[str, Json]:
        """The arguments as an object, given as an object or as JSON text."""
        if given is None or given is MISSING:
            return {}
        if isinstance(given, Mapping):
            return dict(given)
        try:
            if isinstance(given, str):
                return read_arguments(given)
            reason, text = f"{kind_of(given)}, not an object", write_json(given)
        except JsonError as error:
            reason, text = error.message, given
        help = f"They are kept as text, as {RAW_ARGUMENTS}."
        self.note("W520", where, f"the arguments are {reason}", help)
        return {RAW_ARGUMENTS: text}

    # ── results ──────────────────────────────────────────────────────────────────────────

    def settle(self) -> None:
        """Assigns the results that arrived to their calls."""
        nameless = [position for position, call in self.waiting.items() if call.id is None]
        others: list[tuple[Mapping[str, Any], str]] = []
        for message, where in self.results:
            id = _id(message.get("tool_call_id"))
            if id in self.named:
                if meant := self.named[id]:
                    self.assign(meant[0], message)
                else:  # the call has its result, and this one must not answer another call
                    self.leave_out(where)
            elif id is None and len(nameless) == 1:
                self.assign(nameless.pop(), message)
            else:
                others.append((message, where))
        left = list(self.waiting)[: len(others)]
        for (message, where), position in zip_longest(others, left):
            if position is None:
                self.leave_out(where)
            else:
                self.assign(position, message)
        self.waiting, self.results = {}, []

    def assign(self, position: int, message: Mapping[str, Any]) -> None:
        """Gives the call at a position its result."""
        call = self.events[position]
        assert isinstance(call, Call), "only calls wait"
        end = start_of(message) if call.end is None else call.end
        self.events[position] = replace(answered(call, message), end=end)
        self.waiting.pop(position, None)
        if call.id is not None:
            self.named[call.id].remove(position)

    def leave_out(self, where: str) -> None:
        self.note("W521", where, "a result answers no call", "It is left out.")


def answered(call: Call, message: Mapping[str, Any]) -> Call:
    """The call with the result or the error in a tool message."""
    content, error = message.get("content"), message.get("error")
    in_parts = isinstance(content, list | tuple) and all(
        isinstance(part, Mapping) and "type" in part for part in content
    )
    result: Json = _joined(content) if in_parts else content
    if not (error or message.get("is_error") or message.get("status") == "error"):
        return replace(call, result=result)
    reason = result if error is True or not error else error
    text = reason if isinstance(reason, str) else "" if reason is None else write_json(reason)
    nothing_else = result in ("", None, text)
    return replace(call, result=MISSING if nothing_else else result, error=text)


def scalars(value: object, names: Iterable[str] | None = None) -> dict[str, Json]:
    """The strings, numbers and booleans among the fields of an object, or among those named."""
    if not isinstance(value, Mapping):
        return {}
    kept = value if names is None else [name for name in names if name in value]
    return {name: value[name] for name in kept if isinstance(value[name], str | int | float)}


def _joined(parts: Json) -> str:
    """The text of the parts that are text."""
    texts = []
    for part in parts:
        if isinstance(part, Mapping):
            kind = part.get("type")
            is_text = isinstance(kind, str) and kind in _TEXT_PARTS
            part = part.get("text", part.get("content")) if is_text else None
        if isinstance(part, str):
            texts.append(part)
    return "\n".join(texts)


def _down(value: Json, keys: Iterable[str]) -> Json | Missing:
    """The value at the end of a path of keys."""
    for key in keys:
        value = value.get(key, MISSING) if isinstance(value, Mapping) else MISSING
    return value


def _id(value: object) -> str | None:
    """A call's id, if it is a non-empty string."""
    return value if isinstance(value, str) and value else None
