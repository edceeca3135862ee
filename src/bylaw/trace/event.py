"""The events of a trace: tool calls and messages."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal, Self, TypeAlias, TypeGuard, get_args

from bylaw.errors import Diagnostic, TraceError
from bylaw.frozen import frozen
from bylaw.names import FINAL_ANSWER
from bylaw.read_only import read_only
from bylaw.values import Json, JsonError, decoded, kind_of, read_json, write_json

Role: TypeAlias = Literal["system", "user", "assistant"]
ROLES: Final[tuple[str, ...]] = get_args(Role)


class Missing(Enum):
    """The type of `MISSING`: no result was recorded. A null result is a result."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing.MISSING


class _CallFields:
    """The fields of a call, while they can still be set."""

    __slots__ = (
        *("tool", "args", "result", "step", "error", "id", "start", "end", "agent", "usage"),
        "_derived",
    )
    _derived: dict[str, Any]
    """Values derived from the result, each computed when it is first read."""


@frozen(init=False)
class Call(_CallFields):
    """One attempted tool call, whatever its outcome.

    `args` is a mapping, or the JSON text of an object, as OpenAI's API writes it.
    """

    tool: str
    args: Mapping[str, Json]
    result: Json | Missing
    step: int | None
    """The model turn that issued the call. Parallel calls, issued in one turn, share a step."""
    error: str | None
    id: str | None
    start: float | None
    """The time at which it was issued, in seconds since 1970, UTC."""
    end: float | None
    agent: str | None
    """The name of the agent that made the call."""
    usage: Mapping[str, Json] | None
    """The tokens, cost and the like that it used."""

    def __new__(
        cls,
        tool: str,
        args: Mapping[str, Json] | str | None = None,
        result: Json | Missing = MISSING,
        step: int | None = None,
        error: str | None = None,
        id: str | None = None,
        start: float | None = None,
        end: float | None = None,
        agent: str | None = None,
        usage: Mapping[str, Json] | None = None,
    ) -> Self:
        if isinstance(args, str):
            args = _decoded_arguments(tool, args)
        # Every decision makes some calls. A frozen class takes three times as long to fill.
        call: Any = _CallFields()
        call.tool = tool
        call.args = {} if args is None else args
        call.result = result
        call.step = step
        call.error = error
        call.id = id
        call.start = start
        call.end = end
        call.agent = agent
        call.usage = usage
        call._derived = {}
        if cls is Call:
            call.__class__ = cls
            return call  # type: ignore[no-any-return]  # it has become one
        other = object.__new__(cls)
        for name in _CallFields.__slots__:
            object.__setattr__(other, name, getattr(call, name))
        return other

    @property
    def value(self) -> Json | Missing:
        """The result as JSON: a string that encodes a JSON value counts as that value."""
        if "value" not in self._derived:
            self._derived["value"] = decoded(self.result)
        return self._derived["value"]

    @property
    def text(self) -> str | Missing:
        """The raw result, followed by the error if that is a different text."""
        if "text" not in self._derived:
            self._derived["text"] = _text(self)
        return self._derived["text"]  # type: ignore[no-any-return]  # from the line above

    @property
    def read_only(self) -> Call:
        """The same call with arguments and a result that cannot be changed."""
        if "read only" not in self._derived:
            args: Any = read_only(self.args)
            rest = self.step, self.error, self.id, self.start, self.end, self.agent
            usage: Any = read_only(self.usage)
            made = Call(self.tool, args, read_only(self.result), *rest, usage)
            made._derived["value"] = read_only(self.value)
            self._derived["read only"] = made
        return self._derived["read only"]  # type: ignore[no-any-return]  # from the line above

    @property
    def failed(self) -> bool:
        """Did the call report an error?"""
        return self.error is not None

    @property
    def ok(self) -> bool:
        """Does the call have a result and no error?"""
        return self.result is not MISSING and not self.failed


def read_arguments(text: str) -> dict[str, Json]:
    """The arguments in a JSON text. Blank text and null mean that there are none.

    Raises a JsonError if the text is not an object; its message completes "the arguments are …".
    """
    try:
        value = read_json(text) if text.strip() else None
    except JsonError as error:
        raise JsonError(f"not JSON: {error.message}", error.position) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise JsonError(f"{kind_of(value)}, not an object")
    return value


def _decoded_arguments(tool: str, text: str) -> dict[str, Json]:
    try:
        return read_arguments(text)
    except JsonError as error:
        message = f"the arguments of '{tool}' are {error.message}"
        help = 'Pass a mapping, or the JSON text of an object: {"q": "x"} or \'{"q": "x"}\'.'
        raise TraceError(Diagnostic("E303", message, help, where="args")) from None


@frozen
class Message:
    """Something said. Rules see messages only under `events: all`."""

    role: Role
    text: str
    step: int | None = None
    start: float | None = None
    agent: str | None = None
    usage: Mapping[str, Json] | None = None


Event: TypeAlias = Call | Message
"""One thing that happened: a call or a message."""


def may_get_result(event: Event) -> TypeGuard[Call]:
    """Is this a call whose result may still arrive?"""
    return (
        isinstance(event, Call)
        and event.result is MISSING
        and event.error is None
        and event.tool != FINAL_ANSWER
    )


# ── the fields that rules read ────────────────────────────────────────────────────────────

_WITH_RESULT: Final = frozenset({"result", "text", "error", "end", "duration", "usage"})
"""The fields of a call that may become known only with its result."""


def field_of(event: Event, name: str) -> Json | Missing:
    """The event's field of this name; MISSING if the event has none."""
    value: Any
    if name in ("step", "start", "agent", "usage"):
        value = getattr(event, name)
        return MISSING if value is None else value
    if not isinstance(event, Call):
        return event.text if name == "text" else MISSING
    match name:
        case "args":
            return event.args
        case "result":
            return event.value
        case "tool":
            return event.tool
        case "text":
            return event.text
        case "error" | "end":
            value = getattr(event, name)
            return MISSING if value is None else value
        case _:
            return MISSING if event.end is None or event.start is None else event.end - event.start


def _text(call: Call) -> str | Missing:
    parts = []
    if call.result is not MISSING:
        parts.append(call.result if isinstance(call.result, str) else write_json(call.result))
    if call.error is not None and call.error not in parts:
        parts.append(call.error)
    return "\n".join(parts) if parts else MISSING


def comes_with_result(name: str) -> bool:
    """May this field of a call become known only with its result?"""
    return name in _WITH_RESULT
