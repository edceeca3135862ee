"""Memories of past events, so that the events themselves need not be kept.

A memory belongs to one past operator, or to one `last` or `sofar`, of a rule. It keeps only what a
later query can depend on: for `last(call(get_order, id = i, ok))`, the latest such call for each
`id` that occurred, found by its key; for `earlier`, the values by which such an event can match,
and since when (`facts`); for `length(sofar(…))`, the number for each key (`tallies`). Only if such
values cannot answer a query, or if the rule asks for the list of events itself, are the events kept
and searched.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from bylaw.saved import flag
from bylaw.semantics.past.facts import Facts
from bylaw.semantics.past.keyed import Index, asked_of
from bylaw.semantics.past.records import moment_of, moment_record
from bylaw.semantics.past.tallies import Tallies
from bylaw.semantics.past.windows import WindowedTallies
from bylaw.semantics.undo import Undo
from bylaw.values import Json
from bylaw.vocabulary.local import EventContext, Test
from bylaw.vocabulary.view import Kleene


class Carried:
    """The value of a closed `Y` or `S` at the previous event."""

    def __init__(self, following: Test) -> None:
        self.following: Final = following
        self.value: Kleene = False

    def take(self, moment: EventContext) -> tuple[list[Undo], bool]:
        """Takes in an event; returns the undo functions, and whether a pending result matters."""
        before, self.value = self.value, self.following(moment)

        def undo() -> None:
            self.value = before

        return [undo], self.value is None

    def save(self) -> Json:
        """The memory as JSON."""
        return self.value

    def restore(self, saved: Json, size: int) -> None:
        """Goes back to a saved memory."""
        self.value = None if saved is None else flag(saved)


class Previous:
    """The previous event, for a `Y` that uses variables bound outside it."""

    def __init__(self, test: Test, *, reads_result: bool) -> None:
        self.test: Final = test
        self.reads_result: Final = reads_result
        self.moment: EventContext | None = None

    def holds(self, now: EventContext) -> Kleene:
        """Did the condition hold at the previous event, with the current values?"""
        return False if self.moment is None else self.test(asked_of(self.moment, now))

    def take(self, moment: EventContext) -> tuple[list[Undo], bool]:
        """Takes in an event; returns the undo functions, and whether a pending result matters."""
        before, self.moment = self.moment, moment

        def undo() -> None:
            self.moment = before

        return [undo], moment.pending and self.reads_result

    def save(self) -> Json:
        """The memory as JSON."""
        return None if self.moment is None else moment_record(self.moment)

    def restore(self, saved: Json, size: int) -> None:
        """Goes back to a saved memory."""
        self.moment = None if saved is None else moment_of(saved, size)


Memory: TypeAlias = Facts | Index | Tallies | WindowedTallies | Carried | Previous
