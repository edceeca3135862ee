"""Running lengths, sums and extremes of the events so far: of `sum(sofar(a).args.amount)`."""

from __future__ import annotations

from functools import partial
from typing import Final

from bylaw.saved import fields, listed
from bylaw.semantics.past.ages import KeyPlace
from bylaw.semantics.past.keyed import KeyedMemory, under
from bylaw.semantics.past.records import entry_of, entry_record
from bylaw.semantics.past.split import SplitCondition
from bylaw.semantics.undo import Undo
from bylaw.trace.event import MISSING
from bylaw.values import Json
from bylaw.vocabulary.local import EventContext, Reader, Test
from bylaw.vocabulary.possible import UNSEEN, PossibleValue, tallied
from bylaw.vocabulary.tally import Tally
from bylaw.vocabulary.view import Kleene
from bylaw.work import spend


class Tallies(KeyedMemory):
    """For each key, the tally of one value of the events that met a condition.

    An event whose part in it depends on an unknown result is kept until the result arrives.
    """

    def __init__(self, condition: SplitCondition, value: Reader) -> None:
        super().__init__(condition)
        self.value: Final = value
        """The value that an event adds; nothing if it is undefined or null."""
        self.tallies: dict[KeyPlace, Tally] = {}

    def take(self, moment: EventContext) -> tuple[list[Undo], bool]:
        """Takes in an event; returns the undo functions, and whether a pending result matters."""
        sure = self.sure(moment)
        if sure is False:
            return [], False
        value = self.value(moment)
        if value is MISSING or value is None:
            return [], False
        places = self.places(moment)
        if not sure or value is UNSEEN or places is None:
            return self.wait(moment)
        undo: list[Undo] = []
        for place in places:
            before = self.tallies.get(place)
            self.tallies[place] = (before or Tally()).plus(value)
            undo.append(partial(self._put_back, place, before))
        return undo, False

    def _put_back(self, place: KeyPlace, before: Tally | None) -> None:
        if before is None:
            del self.tallies[place]
        else:
            self.tallies[place] = before

    def result(self, function: str, here: Test, now: EventContext) -> PossibleValue:
        """The function of the values so far; `here` decides whether the event itself has a part."""
        found = ListTallies()
        wanted = self.wanted(now, texts=False)
        if wanted is not None:
            for tally in under(self.tallies, wanted):
                found.join(tally, sure=None not in wanted)
            spend(len(self.unsure))
            for entry in self.unsure:
                found.add(self.value(entry.moment), self.matches(entry, now))
        found.add(self.value(now), here(now))
        return tallied(function, found.certain, found.uncertain)

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> Json:
        """The memory as JSON."""
        return {
            "tallies": [[list(place), tally.to_json()] for place, tally in self.tallies.items()],
            "unsure": [entry_record(entry) for entry in self.unsure],
        }

    def restore(self, saved: Json, size: int) -> None:
        """Goes back to a saved memory; `size` is the number of variables."""
        tallies, unsure = fields(saved, "tallies", "unsure")
        pairs = (listed(each, 2) for each in listed(tallies))
        self.tallies = {self.place_of(place): Tally.from_json(tally) for place, tally in pairs}
        self.unsure = [entry_of(entry, size) for entry in listed(unsure)]


class ListTallies:
    """The tallies of the certain members of a list, and of the others."""

    def __init__(self) -> None:
        self.certain = Tally()
        self.uncertain = Tally()

    def join(self, tally: Tally, *, sure: bool) -> None:
        """Adds the members of another list."""
        if sure:
            self.certain = self.certain.joined(tally)
        else:
            self.uncertain = self.uncertain.joined(tally)

    def add(self, value: PossibleValue, belongs: Kleene) -> None:
        """Adds a member, unless it is undefined or null."""
        if belongs is False or value is MISSING or value is None:
            return
        if value is UNSEEN:
            self.uncertain = self.uncertain.plus_unseen()
        elif belongs:
            self.certain = self.certain.plus(value)
        else:
            self.uncertain = self.uncertain.plus(value)
