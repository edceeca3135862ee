"""Chat messages become events: what the readers of foreign formats share.

- A message of the system (or the developer) and of the user is a `Message` in a step of its own.
- An assistant's text is a `Message` unless it is blank. It precedes the message's calls, and all
  of them share one step. Of content that comes in parts, the text is kept.
- A tool message that names a call answers it, and no other. Call ids may repeat in a conversation,
  so the calls of the latest turn with that id are meant, the first that has no result yet. The
  messages that name no call answer those of the turn before them that are left, in order.
- A call has failed if its tool message says so: with an `error`, `is_error` or
  `"status": "error"`. A text such as `Error: not found` is a result like any other here, because
  only a procedure knows how its tools report failure: `failed: text ~ /^Error/`.
- A conversation that ends with an assistant's text has that text as its answer too. It stays a
  message, so that rules over messages see the whole conversation.

What is odd and can still be read becomes a note; what cannot be read is a mistake, and all
mistakes are raised at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Final

from bylaw.errors import MAX_DIAGNOSTICS, Diagnostic, TraceError, shown
from bylaw.trace.event import MISSING, Call, Event, Message, Missing, Role
from bylaw.trace.formats.fields import answered, down, id_of, joined
from bylaw.trace.trace import Trace
from bylaw.values import Json, JsonError, kind_of, read_json, write_json

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
    id: str = "id"


_FUNCTION_CALL: Final = CallFields(("name",), ("arguments",))


class Conversation:
    """Collects the events, the notes and the mistakes of one conversation.

    A format whose messages look otherwise overrides `message`, and tells what it finds in one as
    something that was `said`, as a `turn` of the assistant, or as what a call `returned`.
    """

    def __init__(self, fields: CallFields) -> None:
        self.fields = fields
        self.events: list[Event] = []
        self.answer: str | None = None
        self.notes: list[Diagnostic] = []
        self.problems: list[Diagnostic] = []
        self.step = -1
        self.waiting: dict[int, Call] = {}  # the latest calls, by position among the events
        self.named: dict[str, list[int]] = {}  # the calls of an id that wait, from any turn
        self.results: list[tuple[Mapping[str, Any], str]] = []  # tool messages since then

    def read(self, messages: object, where: str) -> None:
        """Takes in all messages; raises what is wrong with them."""
        self.take(messages, where)
        self.end()

    def take(self, messages: object, where: str) -> None:
        """Takes in messages, and more may follow."""
        if isinstance(messages, list | tuple):
            for index, message in enumerate(messages):
                self.message(message, f"{where}[{index}]")
        else:
            self.complain(where, f"expected a list of messages, found {kind_of(messages)}")

    def end(self) -> None:
        """There are no more messages: raises what was wrong with them."""
        self.settle()
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
        """Takes in one message."""
        if not isinstance(message, Mapping):
            self.complain(where, f"expected a message, found {kind_of(message)}")
            return
        role = message.get("role")
        if role == "assistant":
            self.assistant(message, where)
        elif role in _RESULTS:
            self.returned(message, where)
        elif isinstance(role, str) and role in _SPEAKERS:
            if "content" not in message:
                self.complain(where, "the field 'content' is missing")
            self.said(_SPEAKERS[role], self.text(message.get("content"), f"{where}.content"))
        elif "role" not in message:
            self.complain(where, "the field 'role' is missing")
        else:
            help = f"The roles are: {', '.join(_ROLES)}."
            self.complain(f"{where}.role", f"unknown role {shown(role)}", help)

    def assistant(self, message: Mapping[str, Any], where: str) -> None:
        if message.get("tool_calls") or message.get("function_call"):
            self.settle()  # what is odd about earlier results is noted before these calls
        text = self.text(message.get("content"), f"{where}.content")
        self.turn(text, self.calls(message, where))

    def said(self, role: Role, text: str) -> None:
        """Somebody said something, in a step of its own."""
        self.step += 1
        self.events.append(Message(role, text, self.step))
        self.answer = None

    def turn(self, text: str, calls: Sequence[Call]) -> None:
        """The assistant spoke, made calls, or both. Calls that have their result wait for none."""
        if calls:
            self.settle()
        if text.strip() or calls:
            self.step += 1
        self.answer = None
        if text.strip():
            self.events.append(Message("assistant", text, self.step))
            self.answer = None if calls else text
        self.named.update({call.id: [] for call in calls if call.id is not None})
        for call in calls:
            call = replace(call, step=self.step)
            if call.result is MISSING and not call.failed:
                self.waiting[len(self.events)] = call
                if call.id is not None:
                    self.named[call.id].append(len(self.events))
            self.events.append(call)

    def returned(self, result: Mapping[str, Any], where: str) -> None:
        """A call came back: a tool message, with the call's id in `tool_call_id`."""
        self.results.append((result, where))
        self.answer = None

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
        return joined(content)

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
        tool, at = down(entry, fields.tool), ".".join((where, *fields.tool))
        if tool is MISSING:
            self.complain(at, "the field is missing")
        elif not isinstance(tool, str) or not tool:
            self.complain(at, f"expected a non-empty string, found {kind_of(tool)}")
        given = down(entry, fields.arguments)
        args = self.arguments(given, ".".join((where, *fields.arguments)))
        return Call(tool if isinstance(tool, str) else "?", args, id=id_of(entry.get(fields.id)))

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
        """Gives the results that arrived to their calls."""
        nameless = [position for position, call in self.waiting.items() if call.id is None]
        others: list[tuple[Mapping[str, Any], str]] = []
        for message, where in self.results:
            id = id_of(message.get("tool_call_id"))
            if id in self.named:
                if meant := self.named[id]:
                    self.give(meant[0], message)
                else:  # the call has its result, and no other must pass for answered
                    self.leave_out(where)
            elif id is None and len(nameless) == 1:
                self.give(nameless.pop(), message)
            else:
                others.append((message, where))
        left = list(self.waiting)[: len(others)]
        for (message, where), position in zip_longest(others, left):
            if position is None:
                self.leave_out(where)
            else:
                self.give(position, message)
        self.waiting, self.results = {}, []

    def give(self, position: int, message: Mapping[str, Any]) -> None:
        """The call at a position has its result, and waits no longer."""
        call = self.events[position]
        assert isinstance(call, Call), "only calls wait"
        self.events[position] = answered(call, message)
        self.waiting.pop(position, None)
        if call.id is not None:
            self.named[call.id].remove(position)

    def leave_out(self, where: str) -> None:
        self.note("W521", where, "a result answers no call", "It is left out.")
