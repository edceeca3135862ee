"""The events of a trace: tool calls and messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal, TypeAlias, get_args

from bylaw.values import Json, decoded

Role: TypeAlias = Literal["system", "user", "assistant"]
ROLES: Final[tuple[str, ...]] = get_args(Role)


class Missing(Enum):
    """The one value that says: no result was recorded. A null result is a result."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing.MISSING


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call that was attempted, whatever came of it."""

    tool: str
    args: Mapping[str, Json] = field(default_factory=dict)
    result: Json | Missing = MISSING
    step: int | None = None
    """The model turn that issued it. Calls of one turn, issued in parallel, share a step."""
    error: str | None = None
    id: str | None = None
    start: float | None = None
    end: float | None = None
    agent: str | None = None
    _value: list[Json | Missing] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @property
    def value(self) -> Json | Missing:
        """The result as JSON: a string that encodes a JSON value counts as that value."""
        if not self._value:  # decoding is worth doing once, and only where a rule looks
            self._value.append(decoded(self.result))
        return self._value[0]

    @property
    def failed(self) -> bool:
        """Did the call report an error?"""
        return self.error is not None

    @property
    def ok(self) -> bool:
        """Does the call have a result, and did it not fail?"""
        return self.result is not MISSING and not self.failed


@dataclass(frozen=True, slots=True)
class Message:
    """Something said. Messages take part only under `events: all`."""

    role: Role
    text: str
    step: int | None = None


Event: TypeAlias = Call | Message
