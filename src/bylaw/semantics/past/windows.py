"""Memories that slide: events, and running totals, of the last so many microseconds.

Starts never decrease from event to event, so the oldest entries leave first. They are let go in
batches, when they are half of all: the cost per event is constant, and the memory is in proportion
to the window, however many keys there are.

The events of a `sofar` with a window must have a start. One without makes the value undefined.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import Final, NamedTuple

from bylaw.saved import Damaged, fields, listed, whole
from bylaw.semantics.past.ages import Ages, KeyPlace
from bylaw.semantics.past.keyed import KeyedMemory, under
from bylaw.semantics.past.records import entry_of, entry_record
from bylaw.semantics.past.split import SplitCondition
from bylaw.semantics.past.tallies import ListTallies
from bylaw.semantics.undo import Undo
from bylaw.trace.event import MISSING
from bylaw.trace.time import microseconds
from bylaw.values import LARGEST, Json
from bylaw.vocabulary.local import EventContext, Reader, Test
from bylaw.vocabulary.possible import UNSEEN, PossibleValue, one_of, tallied
from bylaw.vocabulary.tally import Exact, Tally
from bylaw.work import spend


class Sums(NamedTuple):
    """The sums of the entries up to each of them."""

    members: int = 0
    numbers: int = 0
    texts: int = 0
    above: Exact = 0
    below: Exact = 0
    fractions: int = 0

    def plus(self, value: Json) -> Sums:
        """The sums with one more value."""
        one = Tally().plus(value)
        return Sums(
            self.members + 1,
            self.numbers + one.numbers,
            self.texts + one.texts,
            self.above + one.above,
            self.below + one.below,
            self.fractions + (not one.whole),
        )

    def since(self, before: Sums) -> Tally:
        """The tally of the entries after those that add up to `before`, without extremes."""
        return Tally(
            members=self.members - before.members,
            numbers=self.numbers - before.numbers,
            texts=self.texts - before.texts,
            above=self.above - before.above,
            below=self.below - before.below,
            whole=self.fractions == before.fractions,
        )


class TimedValues:
    """The values under one key, with their starts, and what they add up to."""

    __slots__ = ("starts", "sums", "undated", "values")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.values: list[Json] = []
        self.sums: list[Sums] = [Sums()]
        """One more than the values: what those before each add up to."""
        self.undated = 0
        """The number of events without a start."""

    def add(self, start: int | None, value: Json) -> Undo:
        """Takes in a value; returns the function that takes it back."""
        if start is None:
            self.undated += 1
            return self._drop_undated
        self.starts.append(start)
        self.values.append(value)
        self.sums.append(self.sums[-1].plus(value))
        return self._drop_last

    def _drop_undated(self) -> None:
        self.undated -= 1

    def _drop_last(self) -> None:
        for each in (self.starts, self.values, self.sums):
            each.pop()

    def forget(self, before: int) -> None:
        """Lets go of the values from before a start."""
        old = bisect_left(self.starts, before)
        del self.starts[:old], self.values[:old], self.sums[:old]

    def tally(self, function: str, since: int) -> Tally:
        """The tally of the values from a start on."""
        first = bisect_left(self.starts, since)
        if function not in ("max", "min"):
            return self.sums[-1].since(self.sums[first])
        spend(len(self.values) - first)
        found = Tally()
        for value in self.values[first:]:
            found = found.plus(value)
        return found


class WindowedTallies(KeyedMemory):
    """For each key, one value of the events that met a condition in the last so much time."""

    def __init__(self, condition: SplitCondition, value: Reader, window: int) -> None:
        super().__init__(condition)
        self.value: Final = value
        self.window: Final = window
        self.windows: dict[KeyPlace, TimedValues] = {}
        self._ages = Ages()

    def take(self, moment: EventContext) -> tuple[list[Undo], bool]:
        """Takes in an event; returns the undo functions, and whether a pending result matters."""
        sure = self.sure(moment)
        if sure is False:
            return [], False
        value = self.value(moment)
        start = microseconds(moment.event.start)
        if (value is MISSING or value is None) and start is not None:
            return [], False
        places = self.places(moment)
        if not sure or value is UNSEEN or places is None:
            return self.wait(moment)
        undo: list[Undo] = []
        for place in places:
            undo.append(self.windows.setdefault(place, TimedValues()).add(start, value))
            if start is not None:
                undo.append(self._ages.add(start, place))
        return undo, False

    def forget(self, now: int) -> None:
        """Lets go of the events that no event from now on can see."""
        for place in self._ages.places_before(now - self.window):
            window = self.windows.get(place)
            if window is not None:
                window.forget(now - self.window)
                if not window.starts and not window.undated:
                    del self.windows[place]

    def result(self, function: str, here: Test, now: EventContext) -> PossibleValue:
        """The function of the values in the window; `here` decides on the event itself."""
        start = microseconds(now.event.start)
        if start is None:
            return MISSING
        found, perhaps_undefined = ListTallies(), False
        wanted = self.wanted(now, texts=False)
        if wanted is not None:
            sure = None not in wanted
            for window in under(self.windows, wanted):
                if window.undated and sure:
                    return MISSING
                perhaps_undefined = perhaps_undefined or window.undated > 0
                found.join(window.tally(function, start - self.window), sure=sure)
            spend(len(self.unsure))
            for entry in self.unsure:
                began = microseconds(entry.moment.event.start)
                if began is not None and start - began > self.window:
                    continue
                belongs = self.matches(entry, now)
                if began is None:
                    if belongs:
                        return MISSING
                    perhaps_undefined = perhaps_undefined or belongs is None
                else:
                    found.add(self.value(entry.moment), belongs)
        found.add(self.value(now), here(now))
        value = tallied(function, found.certain, found.uncertain)
        return one_of([value, MISSING]) if perhaps_undefined else value

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> Json:
        """The memory as JSON."""
        return {
            "windows": [
                [list(place), window.undated, window.starts, window.values]
                for place, window in self.windows.items()
            ],
            "unsure": [entry_record(entry) for entry in self.unsure],
        }

    def restore(self, saved: Json, size: int) -> None:
        """Goes back to a saved memory; `size` is the number of variables."""
        windows, unsure = fields(saved, "windows", "unsure")
        self.windows, self._ages = {}, Ages()
        ages: list[tuple[int, KeyPlace]] = []
        for each in listed(windows):
            labels, undated, starts, values = listed(each, 4)
            place, window = self.place_of(labels), TimedValues()
            window.undated = whole(undated)
            dated = [whole(start, least=-LARGEST) for start in listed(starts)]
            for start, value in zip(dated, listed(values, len(dated)), strict=True):
                window.add(start, value)
            if any(later < earlier for earlier, later in pairwise(window.starts)):
                raise Damaged("expected starts in order")
            self.windows[place] = window
            ages += [(start, place) for start in dated]
        for start, place in sorted(ages):
            self._ages.add(start, place)
        self.unsure = [entry_of(entry, size) for entry in listed(unsure)]
