"""An anchor: the head of a log at some time, to be kept where the log's writer cannot reach it.

A log that was cut, or rewritten from some entry on, no longer contains the entry that the anchor
names.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from bylaw.errors import Diagnostic, UsageError
from bylaw.frozen import frozen
from bylaw.values import Json, JsonError, read_json

_FIELDS: Final[dict[str, type | tuple[type, ...]]] = {
    "anchor": int,
    "log": str,
    "entries": int,
    "head": str,
    "time": (int, float),
}
VERSION: Final = 1


@frozen
class Anchor:
    """The head of a log at some time."""

    log: str
    """The hash of the log's first entry."""
    entries: int
    head: str
    """The hash of the last of these entries."""
    time: float
    """When it was taken, in seconds since 1970."""

    @classmethod
    def taken_now(cls, log: str, entries: int, head: str) -> Anchor:
        """The anchor for a log that ends with this entry."""
        return cls(log, entries, head, round(time.time(), 3))

    @classmethod
    def read(cls, text: str, source: str) -> Anchor:
        """The anchor in a text, as `to_dict` gives it."""
        try:
            value = read_json(text)
        except JsonError as error:
            raise _unusable(f"it is not JSON: {error.message}", source) from None
        if not isinstance(value, Mapping) or value.get("anchor") != VERSION:
            raise _unusable("it is not an anchor", source)
        for name, kind in _FIELDS.items():
            if not isinstance(value.get(name), kind) or isinstance(value.get(name), bool):
                raise _unusable(f"its field '{name}' is missing or wrong", source)
        if value["entries"] < 1:
            raise _unusable("it is of a log without entries", source)
        return cls(value["log"], value["entries"], value["head"], value["time"])

    def to_dict(self) -> dict[str, Json]:
        """The anchor as JSON."""
        return {
            "anchor": VERSION,
            "log": self.log,
            "entries": self.entries,
            "head": self.head,
            "time": self.time,
        }


def _unusable(reason: str, source: str) -> UsageError:
    help = "Give what `bylaw log anchor` printed."
    return UsageError(Diagnostic("E415", f"the anchor cannot be used: {reason}", help, source))
