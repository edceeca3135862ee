"""The memory of what events showed: the values that met a condition, and since when.

It keeps neither the events nor how often something was shown, so it grows with the number of
different facts: an agent that reads the same file a hundred times has read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, TypeAlias

from bylaw.frozen import frozen
from bylaw.saved import Damaged, fields, listed, whole
from bylaw.semantics.past.keyed import asked_of, label
from bylaw.semantics.past.records import MemoryEntry, entry_of, entry_record
from bylaw.semantics.past.witnesses import WitnessBranch, is_defined
from bylaw.semantics.undo import Undo
from bylaw.trace.event import MISSING
from bylaw.values import Json, canonical
from bylaw.vocabulary.local import EventContext, Reader, Test
from bylaw.vocabulary.possible import UNSEEN, Seen, Unseen
from bylaw.vocabulary.view import Kleene
from bylaw.work import CHARACTERS, spend


@frozen
class Fact:
    """The values of a branch's columns that an event showed, and the first step that did so."""

    values: Sequence[Seen]
    step: int


_Known: TypeAlias = dict[tuple[str | tuple[str], ...], Fact]
"""Facts by their values: a text as it is, other values as they are written."""
_Written: TypeAlias = list[Json]
"""A value in a list of its own; the empty list is an undefined value."""
_ANY: Final = ""
"""The place of facts of a branch without a key, or whose key is undefined."""


class Facts:
    """The facts of each branch of a condition, by the branch's key."""

    def __init__(self, branches: Sequence[WitnessBranch], whole: Test, weight: int) -> None:
        self._branches: Final = branches
        self._whole: Final = whole
        """The condition itself, for events whose result is outstanding."""
        self._weight: Final = weight
        self._facts: list[dict[str, _Known]] = [{} for _ in branches]
        self._unsure: list[MemoryEntry] = []

    # ── taking in events ─────────────────────────────────────────────────────────────────

    def take(self, moment: EventContext) -> tuple[list[Undo], bool]:
        """Takes in an event; returns the undo functions, and whether a pending result matters."""
        shown: list[tuple[int, list[Seen]]] = []
        for number, branch in enumerate(self._branches):
            if not branch.columns and self._facts[number]:
                continue  # it was met before, and a query asks for nothing else
            for values in branch.witnesses(moment):
                if values is None:
                    self._unsure.append(MemoryEntry(moment, sure=False))
                    return [partial(_drop_last, self._unsure)], True
                shown.append((number, values))
        added = (self._add(number, Fact(values, moment.step)) for number, values in shown)
        return [undo for undo in added if undo is not None], False

    def _add(self, number: int, fact: Fact) -> Undo | None:
        """Adds a fact, unless it is known."""
        key, facts = self._branches[number].key, self._facts[number]
        place = _ANY
        if key is not None and is_defined(value := fact.values[key[0]]):
            place = label(value)
        name = tuple(
            value if type(value) is str else (canonical(_written(value)),) for value in fact.values
        )
        known = facts.setdefault(place, {})
        if name in known:
            return None
        known[name] = fact

        def undo() -> None:
            del known[name]
            if not known:
                facts.pop(place, None)

        return undo

    # ── answering ────────────────────────────────────────────────────────────────────────

    def exists(self, now: EventContext, *, strictly: bool) -> Kleene:
        """Was there such an event? Strictly: in an earlier step."""
        answer: Kleene = False
        for branch, facts in zip(self._branches, self._facts, strict=True):
            for fact in _found(branch, facts, now):
                if strictly and fact.step >= now.step:
                    continue
                spend(branch.weight)
                for slot, value in zip(branch.slots, fact.values, strict=True):
                    now.values[slot] = value
                here = branch.asked(now)
                if here:
                    return True
                answer = None if here is None else answer
        for entry in self._unsure:
            if entry.moment.step < now.step or not strictly:
                spend(self._weight)
                here = self._whole(asked_of(entry.moment, now))
                if here:
                    return True
                answer = None if here is None else answer
        return answer

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> Json:
        """The memory as JSON."""
        return {
            "facts": [
                [
                    [[_written(value) for value in fact.values], fact.step]
                    for known in facts.values()
                    for fact in known.values()
                ]
                for facts in self._facts
            ],
            "unsure": [entry_record(entry) for entry in self._unsure],
        }

    def restore(self, saved: Json, size: int) -> None:
        """Goes back to a saved memory; `size` is the number of variables."""
        facts, unsure = fields(saved, "facts", "unsure")
        self._facts = [{} for _ in self._branches]
        for number, remembered in enumerate(listed(facts, len(self._branches))):
            columns = len(self._branches[number].columns)
            for each in listed(remembered):
                values, step = listed(each, 2)
                read = [_value(value) for value in listed(values, columns)]
                self._add(number, Fact(read, whole(step)))
        self._unsure = [entry_of(entry, size) for entry in listed(unsure)]


def _found(branch: WitnessBranch, facts: dict[str, _Known], now: EventContext) -> Iterable[Fact]:
    """The facts that may match a query, latest first: an agent speaks of what it saw lately."""
    found: Iterable[Fact]
    value = UNSEEN if branch.key is None else branch.key[1](now)
    if value is MISSING:
        return ()
    if not isinstance(value, Unseen):
        found = reversed(facts.get(label(value), {}).values())
    else:
        found = (fact for known in facts.values() for fact in reversed(known.values()))
    return found if branch.sought is None else _with_text(*branch.sought, found, now)


def _with_text(
    column: int, sought: Reader, facts: Iterable[Fact], now: EventContext
) -> Iterable[Fact]:
    """The facts without those whose text does not contain what is sought.

    This alone decides most queries, and takes a fraction of the time of asking them.
    """
    part = sought(now)
    if type(part) is not str:
        return facts

    def contains(fact: Fact) -> bool:
        text = fact.values[column]
        if type(text) is not str:
            return True
        spend(1 + len(text) / CHARACTERS)
        return part in text

    return filter(contains, facts)


def _written(value: Seen) -> _Written:
    assert not isinstance(value, Unseen), "facts are known"
    return [] if value is MISSING else [value]


def _value(written: Json) -> Seen:
    values = listed(written)
    if len(values) > 1:
        raise Damaged("a fact has a value too many")
    return values[0] if values else MISSING


def _drop_last(entries: list[MemoryEntry]) -> None:
    entries.pop()
