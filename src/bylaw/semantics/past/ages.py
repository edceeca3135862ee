"""The starts of the entries of a memory, so that old ones can be let go.

Starts never decrease from event to event, so the oldest entries leave first. They are let go in
batches, when they are half of all: the cost per event is constant, and the memory is in proportion
to the window, however many keys there are.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, TypeAlias

from bylaw.semantics.undo import Undo

KeyPlace: TypeAlias = tuple[str, ...]
"""The labels of an event's values, one for each key."""

_FEW: Final = 16
"""The number of old entries up to which they are kept."""


class Ages:
    """The starts of the entries of a memory, with the places where they are kept."""

    def __init__(self) -> None:
        self._ages: list[tuple[int, KeyPlace]] = []

    def add(self, start: int, place: KeyPlace) -> Undo:
        """Notes a new entry; returns the function that takes it back."""
        self._ages.append((start, place))
        return self._drop_last

    def _drop_last(self) -> None:
        self._ages.pop()

    def places_before(self, start: int) -> set[KeyPlace]:
        """The places that have entries from before a start, if these are half of all entries."""
        old = bisect_left(self._ages, (start,))
        if old <= max(_FEW, len(self._ages) // 2):
            return set()
        places = {place for _, place in self._ages[:old]}
        del self._ages[:old]
        return places
