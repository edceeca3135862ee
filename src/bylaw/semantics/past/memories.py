"""Memories of past events, so that the events themselves need not be kept.

A memory belongs to one past operator, or to one `last`, of a rule. It keeps only what a later
query can depend on: for `last(call(get_order, id = i, ok))`, the latest such call for each `id`
that occurred, found by its key; for `earlier`, that there was such an event, and when. Only if a
key cannot answer a query (does a text contain a value, is a value above one not known yet) are
the events themselves kept and searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Final, TypeAlias

from bylaw.saved import fields, flag, listed, text, whole
from bylaw.trace.event import MISSING, Event
from bylaw.trace.trace import Trace
from bylaw.values import Json, identity, is_list, is_text
from bylaw.vocabulary.local import EventContext, Reader, Test
from bylaw.vocabulary.reading import UNSEEN, OneOf, Seen, as_object, one_of, partial_object
from bylaw.vocabulary.view import Kleene

Undo: TypeAlias = Callable[[], None]
"""Undoes a change to a memory."""


@dataclass(frozen=True, slots=True)
class Key:
    """A condition that a later query looks up: the event's value matches the query's."""

    of_event: Reader
    of_query: Reader
    member: bool
    """Must the event's value, a list or a text, contain the query's? Else they are equal."""
    null_counts: bool
    """Can null match? In patterns it can, in comparisons it cannot."""


@dataclass(slots=True)
class MemoryEntry:
    """An event that was taken in."""

    moment: EventContext
    sure: bool
    """Is it known to meet the condition, or does that depend on its result?"""


Bucket: TypeAlias = list[MemoryEntry]
ANY: Final = ""
"""The label of a text in a key of lists: a query must search the text."""


class Index:
    """The events that met a condition, by the keys of later queries."""

    def __init__(
        self,
        closed: Sequence[Test],
        keys: Sequence[Key],
        asked: Test,
        whole: Test | None,
        *,
        by_key: bool,
        keeps_latest: bool,
    ) -> None:
        self.closed: Final = closed
        """The conditions that do not depend on the query: tested when an event is taken in."""
        self.keys: Final = keys
        self.asked: Final = asked
        """The condition that depends on the query, keys included."""
        self.whole: Final = whole
        """The whole condition, if it can be tested later; None if it queries other memories."""
        self.by_key: Final = by_key
        """Do the keys cover everything that depends on the query?"""
        self.keeps_latest: Final = keeps_latest
        self.buckets: dict[tuple[str, ...], Bucket] = {}
        self.unsure: list[MemoryEntry] = []
        self._texts = False
        """Has an event had a text where a list was possible?"""

    # ── taking in events ─────────────────────────────────────────────────────────────────

    def take(self, moment: EventContext) -> tuple[list[Undo], bool]:
        """Takes in an event; returns the undo functions, and whether a pending result matters."""
        sure: Kleene = True
        for test in self.closed:
            answer = test(moment)
            if answer is False:
                return [], False
            sure = sure if answer else None
        if sure:
            places = self._places(moment)
            if places is not None:
                return self._place(moment, places)
        entry = MemoryEntry(moment, sure=False)
        self.unsure.append(entry)
        return [lambda: self.unsure.remove(entry)], True

    def _places(self, moment: EventContext) -> list[tuple[str, ...]] | None:
        """The keys under which the event is stored; None if they are not known yet."""
        options: list[list[str]] = []
        for key in self.keys:
            value = key.of_event(moment)
            if value is UNSEEN:
                return None
            if value is MISSING or (value is None and not key.null_counts):
                return []
            if not key.member:
                options.append([label(value)])
            elif is_list(value):
                options.append(list(dict.fromkeys(map(label, value))))
            elif is_text(value):
                options.append([ANY])
            else:
                return []
        return list(product(*options))

    def _place(
        self, moment: EventContext, places: Sequence[tuple[str, ...]]
    ) -> tuple[list[Undo], bool]:
        undo: list[Undo] = []
        entry = MemoryEntry(moment, sure=True)
        kept = False
        for place in places:
            texts = ANY in place
            self._texts = self._texts or texts
            bucket = self.buckets.setdefault(place, [])
            before = list(bucket)
            if texts or not self.by_key:
                bucket.append(entry)
            elif self.keeps_latest:
                bucket[:] = [*_latest_before(bucket, moment.step), entry]
            elif not bucket:
                bucket.append(entry)  # all that matters is that there was one, and when
            else:
                continue
            kept = True
            undo.append(partial(self.buckets.__setitem__, place, before))
        return undo, kept and moment.pending and (self.keeps_latest or self.keeps_events)

    # ── answering ────────────────────────────────────────────────────────────────────────

    def candidates(
        self, moment: EventContext, *, strictly: bool
    ) -> Iterator[tuple[MemoryEntry, Kleene]]:
        """The entries before a moment that match or may match, latest first."""
        found = [*self._bucketed(moment), *self.unsure]
        if len(found) > 1:
            found.sort(key=lambda entry: -entry.moment.position)
        for entry in found:
            if entry.moment.step < moment.step or not strictly:
                answer = self._matches(entry, moment)
                if answer is not False:
                    yield entry, answer

    def _bucketed(self, moment: EventContext) -> Iterator[MemoryEntry]:
        labels: list[tuple[str, ...]] = []
        for key in self.keys:
            wanted = key.of_query(moment)
            if wanted is MISSING or (wanted is None and not key.null_counts):
                return
            if wanted is UNSEEN:
                for bucket in self.buckets.values():
                    yield from bucket
                return
            word = label(wanted)
            labels.append((word, ANY) if key.member and self._texts else (word,))
        for place in product(*labels):
            yield from self.buckets.get(place, ())

    def _matches(self, entry: MemoryEntry, moment: EventContext) -> Kleene:
        """Does an entry match the query? Its key does, unless the query's key is unknown."""
        if entry.sure and not self.keeps_events:
            return None if self._asks_unseen(moment) else True
        test = self.asked if entry.sure else self.whole
        return None if test is None else test(_asked_of(entry.moment, moment))

    def _asks_unseen(self, moment: EventContext) -> bool:
        return any(key.of_query(moment) is UNSEEN for key in self.keys)

    def exists(self, moment: EventContext, *, strictly: bool) -> Kleene:
        """Was there such an event?"""
        answer: Kleene = False
        for _, matches in self.candidates(moment, strictly=strictly):
            if matches:
                return True
            answer = None
        return answer

    def latest(self, moment: EventContext) -> Seen | OneOf:
        """The latest such event of an earlier step, as an object."""
        cases: list[Seen] = []
        for entry, matches in self.candidates(moment, strictly=True):
            context = entry.moment
            found = partial_object if context.pending else as_object
            cases.append(type(found(context.event))({**found(context.event), "step": context.step}))
            if matches:
                return one_of(cases)
        return one_of([*cases, MISSING])

    @property
    def keeps_events(self) -> bool:
        """Does it keep events and search them later?"""
        return self._texts or not self.by_key

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> Json:
        """The memory as JSON."""
        return {
            "buckets": [
                [list(place), [_entry_record(entry) for entry in bucket]]
                for place, bucket in self.buckets.items()
                if bucket
            ],
            "unsure": [_entry_record(entry) for entry in self.unsure],
            "texts": self._texts,
        }

    def restore(self, saved: Json, size: int) -> None:
        """Goes back to a saved memory; `size` is the number of variables."""
        buckets, unsure, texts = fields(saved, "buckets", "unsure", "texts")
        self.buckets = {}
        for each in listed(buckets):
            place, bucket = listed(each, 2)
            key = tuple(map(text, listed(place, len(self.keys))))
            self.buckets[key] = [_entry_of(entry, size) for entry in listed(bucket)]
        self.unsure = [_entry_of(entry, size) for entry in listed(unsure)]
        self._texts = flag(texts)


def _latest_before(bucket: Bucket, step: int) -> Bucket:
    """The only entry that is still needed: the latest one of an earlier step."""
    return [entry for entry in bucket if entry.moment.step < step][-1:]


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
        return False if self.moment is None else self.test(_asked_of(self.moment, now))

    def take(self, moment: EventContext) -> tuple[list[Undo], bool]:
        """Takes in an event; returns the undo functions, and whether a pending result matters."""
        before, self.moment = self.moment, moment

        def undo() -> None:
            self.moment = before

        return [undo], moment.pending and self.reads_result

    def save(self) -> Json:
        """The memory as JSON."""
        return None if self.moment is None else _moment_record(self.moment)

    def restore(self, saved: Json, size: int) -> None:
        """Goes back to a saved memory."""
        self.moment = None if saved is None else _moment_of(saved, size)


Memory: TypeAlias = Index | Carried | Previous


def _asked_of(past: EventContext, now: EventContext) -> EventContext:
    """A past event with the current values of the variables."""
    asked = EventContext(past.event, past.position, past.step, past.pending, 0)
    asked.values = now.values
    return asked


def label(value: Json) -> str:
    """A text that is the same for two values exactly if they are equal; fast for texts."""
    if isinstance(value, str):
        return f"s{value}"
    return f"j{identity(value)}"


def event_record(event: Event) -> Json:
    """An event as JSON."""
    return [Trace([replace(event, step=0)]).to_record(), event.step]


def event_of(record: Json) -> Event:
    """The event that `event_record` wrote."""
    alone, step = listed(record, 2)
    (event,) = Trace.from_record(alone).seen("all", answer=True)
    return replace(event, step=None if step is None else whole(step))


def _moment_record(moment: EventContext) -> Json:
    return [event_record(moment.event), moment.position, moment.step, moment.pending]


def _moment_of(record: Json, size: int) -> EventContext:
    event, position, step, pending = listed(record, 4)
    return EventContext(event_of(event), whole(position), whole(step), flag(pending), size)


def _entry_record(entry: MemoryEntry) -> Json:
    return [_moment_record(entry.moment), entry.sure]


def _entry_of(record: Json, size: int) -> MemoryEntry:
    moment, sure = listed(record, 2)
    return MemoryEntry(_moment_of(moment, size), flag(sure))
