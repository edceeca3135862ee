"""When a message was written, by whom, and what it used: as far as its format records that.

Times are numbers (of seconds, or a thousand, million or billion times finer) or ISO 8601 texts; a
text without a time zone is in UTC. Usage is kept as it is recorded. The two counts that nearly all
formats have are also kept under one pair of names, `input_tokens` and `output_tokens`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from bylaw.frozen import frozen
from bylaw.values import Json, problem

_TIMES: Final = ("timestamp", "created_at", "createdAt", "created", "start_time", "time")
_USAGE: Final = ("usage", "usage_metadata", "token_usage")
_NAMES: Final = {
    "input_tokens": ("prompt_tokens", "input_token_count", "gen_ai.usage.input_tokens"),
    "output_tokens": ("completion_tokens", "output_token_count", "gen_ai.usage.output_tokens"),
}
_LATEST: Final = 1e11
"""In seconds, the year 5138: larger numbers count something finer."""


@frozen
class Details:
    """The time, the agent and the usage of a message."""

    start: float | None = None
    agent: str | None = None
    usage: Mapping[str, Json] | None = None


NO_DETAILS: Final = Details()


def details_of(message: object) -> Details:
    """The details in the fields of a message."""
    if not isinstance(message, Mapping):
        return NO_DETAILS
    name = message.get("name") if message.get("role", message.get("type")) in _MODEL else None
    agent = message.get("agent", name)
    return Details(start_of(message), agent if isinstance(agent, str) else None, usage_of(message))


_MODEL: Final = ("assistant", "ai")


def start_of(message: Mapping[str, Any]) -> float | None:
    """The time in the fields of a message."""
    found = (time_of(message[key]) for key in _TIMES if key in message)
    return next((time for time in found if time is not None), None)


def time_of(value: object) -> float | None:
    """A time in seconds since 1970, UTC; None if the value is none."""
    if isinstance(value, str):
        try:
            read = datetime.fromisoformat(value)
        except ValueError:
            return None
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    if type(value) not in (int, float) or problem(value):
        return None
    seconds: Any = value
    while abs(seconds) >= _LATEST:
        seconds = seconds / 1000
    return seconds  # type: ignore[no-any-return]  # a number, as was checked


def usage_of(message: Mapping[str, Any]) -> Mapping[str, Json] | None:
    """The usage in the fields of a message."""
    around = message.get("response_metadata")
    places = [message, around if isinstance(around, Mapping) else {}]
    for place in places:
        for key in _USAGE:
            if isinstance(place.get(key), Mapping) and problem(place[key]) is None:
                return with_common_names(place[key])
    return None


def with_common_names(usage: Mapping[str, Json]) -> Mapping[str, Json]:
    """The usage, with the numbers of tokens also under their common names."""
    found = dict(usage)
    for name, others in _NAMES.items():
        other = next((each for each in others if each in usage), None)
        if name not in usage and other is not None:
            found[name] = usage[other]
    return found
