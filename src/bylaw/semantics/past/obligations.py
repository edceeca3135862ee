"""Events that wait for something to follow them in time, one deadline for each key."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias

from bylaw.saved import Damaged, listed, text, whole
from bylaw.semantics.past.ages import KeyPlace
from bylaw.semantics.undo import Undo
from bylaw.values import LARGEST, Json

Waiting: TypeAlias = tuple[tuple[int, int], ...]
"""The starts and steps of the events that wait under one key: the first, and one of its own step
if that is later. What meets the first one meets all that lie between."""


class Obligations:
    """The events that wait, by key."""

    def __init__(self, limit: int | None, *, apart: bool) -> None:
        self.limit: Final = limit
        """The time within which each is to be met, in microseconds; None for any time."""
        self.apart: Final = apart
        """Must it be met in a later step?"""
        self.waiting: dict[KeyPlace, Waiting] = {}
        self._first: list[tuple[int, KeyPlace]] = []
        """A heap of starts and keys; some have been met since."""

    def add(self, place: KeyPlace, start: int, step: int) -> list[Undo]:
        """An event begins to wait; returns the undo functions."""
        before = self.waiting.get(place, ())
        if before and (not self.apart or before[-1][1] == step):
            return []
        self._put(place, (*before[:1], (start, step)))
        return [partial(self._put, place, before)]

    def meet(self, places: Iterable[KeyPlace], start: int, step: int) -> list[Undo]:
        """Removes the events that an event meets; returns the undo functions."""
        undo: list[Undo] = []
        for place in places:
            before = self.waiting.get(place, ())
            left = tuple(each for each in before if not self._met(each, start, step))
            if left != before:
                self._put(place, left)
                undo.append(partial(self._put, place, before))
        return undo

    def _met(self, waiting: tuple[int, int], start: int, step: int) -> bool:
        since, in_step = waiting
        in_time = self.limit is None or start - since <= self.limit
        return in_time and (step > in_step or not self.apart)

    def _put(self, place: KeyPlace, waiting: Waiting) -> None:
        if not waiting:
            self.waiting.pop(place, None)
            return
        self.waiting[place] = waiting
        heappush(self._first, (waiting[0][0], place))
        if len(self._first) > 2 * len(self.waiting) + 16:
            self._first = [(each[0][0], place) for place, each in self.waiting.items()]
            heapify(self._first)

    def earliest(self) -> int | None:
        """The start of the event that has waited longest."""
        while self._first:
            start, place = self._first[0]
            waiting = self.waiting.get(place)
            if waiting is not None and waiting[0][0] == start:
                return start
            heappop(self._first)
        return None

    def deadline(self) -> int | None:
        """The last moment at which what is due first can be met, if there is one."""
        earliest = self.earliest()
        return None if earliest is None or self.limit is None else earliest + self.limit

    def drop_before(self, now: int) -> list[Undo]:
        """Drops what is overdue; returns the undo functions."""
        undo: list[Undo] = []
        if self.limit is None:
            return undo
        while (deadline := self.deadline()) is not None and deadline < now:
            _, place = self._first[0]
            before = self.waiting[place]
            self._put(place, tuple(each for each in before if each[0] + self.limit >= now))
            undo.append(partial(self._put, place, before))
        return undo

    def save(self) -> Json:
        """The waiting events as JSON."""
        return [
            [list(place), [list(each) for each in waiting]]
            for place, waiting in self.waiting.items()
        ]

    def restore(self, saved: Json, labels: int) -> None:
        """Goes back to what was saved; each key has so many labels."""
        self.waiting, self._first = {}, []
        for each in listed(saved):
            place, waiting = listed(each, 2)
            key = tuple(map(text, listed(place, labels)))
            pairs = [listed(pair, 2) for pair in listed(waiting)]
            if not 1 <= len(pairs) <= 2 or key in self.waiting:
                raise Damaged("expected one or two events that wait under each key")
            self._put(key, tuple((whole(s, least=-LARGEST), whole(step)) for s, step in pairs))
