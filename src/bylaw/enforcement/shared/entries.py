"""The entries of a stream: everything that happened under one value of a label, in order.

A stream is rebuilt by replaying its entries, so a store needs to keep nothing else. Entries are
numbered from 0 without gaps. A store that accepts only the next number of a stream therefore
notices two processes that decided at the same time, each without knowing of the other.

| kind | fields | meaning |
| --- | --- | --- |
| call | run, turn, event, excused | A call was allowed, past the rules in `excused`. |
| message | run, turn, event | Somebody said something. |
| result | at, event | The call at this position has a result, or was given up. |
| time | now | A deadline passed. |

`event` is a call or a message as JSON. That of a result has only the fields that it adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

from bylaw.frozen import field, frozen
from bylaw.saved import choice, fields, number, table, text, whole
from bylaw.values import Json

EntryKind: TypeAlias = Literal["call", "message", "result", "time"]
_FIELDS: Final[Mapping[EntryKind, tuple[str, ...]]] = {
    "call": ("run", "turn", "event", "excused"),
    "message": ("run", "turn", "event"),
    "result": ("at", "event"),
    "time": ("now",),
}
"""The fields of each kind of entry, besides its label, value, number and kind."""

_CHECKS: Final[Mapping[str, Callable[[Json], object]]] = {
    **dict.fromkeys(("label", "value", "run"), text),
    **dict.fromkeys(("number", "turn", "at"), whole),
    **dict.fromkeys(("event", "excused"), table),
    "now": number,
}


@frozen
class StreamEntry:
    """One entry of the stream of a value of a label."""

    label: str
    value: str
    number: int
    """Its place in the stream, from 0 without gaps."""
    kind: EntryKind
    run: str = ""
    """The id of the run that made the call, or in which the message was."""
    turn: int = 0
    """The turn of that run."""
    event: Mapping[str, Json] = field(default_factory=dict)
    excused: Mapping[str, str] = field(default_factory=dict)
    """The rules that the call was let past, by name, with the reasons."""
    at: int = 0
    """The position in the stream of the call that has a result."""
    now: float = 0.0

    @classmethod
    def from_dict(cls, data: Mapping[str, Json]) -> StreamEntry:
        """The entry that `to_dict` wrote. If it is not one, a Damaged error is raised."""
        given: dict[str, Any] = dict(data)
        kind: EntryKind = choice(given.get("kind"), get_args(EntryKind))
        fields(given, "label", "value", "number", "kind", *_FIELDS[kind])
        checked: dict[str, Any] = {
            name: kind if name == "kind" else _CHECKS[name](each) for name, each in given.items()
        }
        return cls(**checked)

    def to_dict(self) -> dict[str, Json]:
        """The entry as JSON."""
        names = ("label", "value", "number", "kind", *_FIELDS[self.kind])
        return {name: getattr(self, name) for name in names}
