"""What is remembered of past events, so that they need not be kept.

A memory belongs to one past operator, or to one `last`, of a rule. Of each event it keeps what a
later question can depend on: for `last(call(get_order, id = i, ok))` the latest such call for
each `id` that occurred, found by its key; for `earlier` that there was one, and when. Only where
a question cannot be answered by a key (a text that may contain something, an order comparison
with a value that is not known yet) are the events themselves kept and looked through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Final, TypeAlias

from bylaw.trace.event import MISSING, Event
from bylaw.trace.trace import Trace
from bylaw.values import Json, identity, is_list, is_text
from bylaw.vocabulary.local import EventContext, Reader, Test
from bylaw.vocabulary.reading import UNSEEN, OneOf, Seen, as_object, one_of, partial_object
from bylaw.vocabulary.view import Kleene

Undo: TypeAlias = Callable[[], None]
"""Takes back what a memory took in."""


@dataclass(frozen=True, slots=True)
class Key:
    """A condition that a later question looks up: the event's value meets the question's."""

    of_event: Reader
    of_question: Reader
    member: bool
    """Is the event's value a list that must contain the other, or a text; else they are equal."""
    null_counts: bool
    """Is null a value like others? In patterns it is, in comparisons it is not."""


@dataclass(slots=True)
class MemoryEntry:
    """An event that was taken in."""

    moment: EventContext
    sure: bool
    """Is it known to fit, or does that depend on its result?"""


Bucket: TypeAlias = list[MemoryEntry]
ANY: Final = ""
"""Stands in a key where the event's value is a text: then the question looks through it."""


class Index:
    """The events that met a condition, by the keys that questions come with."""

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
        """What does not depend on the question: asked when an event is taken in."""
        self.keys: Final = keys
        self.asked: Final = asked
        """What depends on the question, keys included."""
        self.whole: Final = whole
        """The whole condition, where it can be asked later; None if it asks other memories."""
        self.by_key: Final = by_key
        """Do the keys say all that depends on the question?"""
        self.keeps_latest: Final = keeps_latest
        self.buckets: dict[tuple[str, ...], Bucket] = {}
        self.unsure: list[MemoryEntry] = []
        self._texts = False
        """Has an event had a text where a list could have stood?"""

    # ── taking in events ─────────────────────────────────────────────────────────────────

    def take(self, moment: EventContext) -> tuple[list[Undo], bool]:
        """Takes in an event; how to undo that, and does it depend on a result still to come?"""
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
        """The keys under which the event is found; None if they are not known yet."""
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
                bucket.append(entry)  # that there was one, and when, is all that matters
            else:
                continue
            kept = True
            undo.append(partial(self.buckets.__setitem__, place, before))
        return undo, kept and moment.pending and (self.keeps_latest or self.keeps_events)

    # ── answering ────────────────────────────────────────────────────────────────────────

    def candidates(
        self, moment: EventContext, *, strictly: bool
    ) -> Iterator[tuple[MemoryEntry, Kleene]]:
        """Entries before a moment, latest first, and whether they fit; unknown values fit maybe."""
        found = [*self._bucketed(moment), *self.unsure]
        if len(found) > 1:
            found.sort(key=lambda entry: -entry.moment.position)
        for entry in found:
            if entry.moment.step < moment.step or not strictly:
                answer = self._fits(entry, moment)
                if answer is not False:
                    yield entry, answer

    def _bucketed(self, moment: EventContext) -> Iterator[MemoryEntry]:
        labels: list[tuple[str, ...]] = []
        for key in self.keys:
            wanted = key.of_question(moment)
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

    def _fits(self, entry: MemoryEntry, moment: EventContext) -> Kleene:
        """Does an entry fit what is asked? Its key does, unless that was not known."""
        if entry.sure and not self.keeps_events:
            return None if self._asks_unseen(moment) else True
        test = self.asked if entry.sure else self.whole
        return None if test is None else test(_asked_of(entry.moment, moment))

    def _asks_unseen(self, moment: EventContext) -> bool:
        return any(key.of_question(moment) is UNSEEN for key in self.keys)

    def exists(self, moment: EventContext, *, strictly: bool) -> Kleene:
        """Was there such an event?"""
        answer: Kleene = False
        for _, fits in self.candidates(moment, strictly=strictly):
            if fits:
                return True
            answer = None
        return answer

    def latest(self, moment: EventContext) -> Seen | OneOf:
        """The latest such event of an earlier step, as an object."""
        cases: list[Seen] = []
        for entry, fits in self.candidates(moment, strictly=True):
            context = entry.moment
            found = partial_object if context.pending else as_object
            cases.append(type(found(context.event))({**found(context.event), "step": context.step}))
            if fits:
                return one_of(cases)
        return one_of([*cases, MISSING])

    @property
    def keeps_events(self) -> bool:
        """Does it keep events that later questions look through?"""
        return self._texts or not self.by_key

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> Json:
        """What is remembered, as JSON."""
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
        """Goes back to what was remembered; `size` is how many variables there are."""
        self.buckets = {
            tuple(place): [_entry_of(entry, size) for entry in bucket]
            for place, bucket in saved["buckets"]
        }
        self.unsure = [_entry_of(entry, size) for entry in saved["unsure"]]
        self._texts = saved["texts"]


def _latest_before(bucket: Bucket, step: int) -> Bucket:
    """Of the entries so far, the one that is still needed: the latest of an earlier step."""
    return [entry for entry in bucket if entry.moment.step < step][-1:]


class Carried:
    """What a closed `Y` or `S` was at the previous event."""

    def __init__(self, following: Test) -> None:
        self.following: Final = following
        self.value: Kleene = False

    def take(self, moment: EventContext) -> tuple[list[Undo], bool]:
        """Takes in an event; how to undo that, and does it depend on a result still to come?"""
        before, self.value = self.value, self.following(moment)

        def undo() -> None:
            self.value = before

        return [undo], self.value is None

    def save(self) -> Json:
        """What is remembered, as JSON."""
        return self.value

    def restore(self, saved: Json, size: int) -> None:
        """Goes back to what was remembered."""
        self.value = saved


class Previous:
    """The previous event, for a `Y` that speaks of variables from outside."""

    def __init__(self, test: Test, *, reads_result: bool) -> None:
        self.test: Final = test
        self.reads_result: Final = reads_result
        self.moment: EventContext | None = None

    def holds(self, now: EventContext) -> Kleene:
        """Did the condition hold at the previous event, with the values of now?"""
        return False if self.moment is None else self.test(_asked_of(self.moment, now))

    def take(self, moment: EventContext) -> tuple[list[Undo], bool]:
        """Takes in an event; how to undo that, and does it depend on a result still to come?"""
        before, self.moment = self.moment, moment

        def undo() -> None:
            self.moment = before

        return [undo], moment.pending and self.reads_result

    def save(self) -> Json:
        """What is remembered, as JSON."""
        return None if self.moment is None else _moment_record(self.moment)

    def restore(self, saved: Json, size: int) -> None:
        """Goes back to what was remembered."""
        self.moment = None if saved is None else _moment_of(saved, size)


Memory: TypeAlias = Index | Carried | Previous


def _asked_of(past: EventContext, now: EventContext) -> EventContext:
    """A past event with the values that the variables have now."""
    asked = EventContext(past.event, past.position, past.step, past.pending, 0)
    asked.values = now.values
    return asked


def label(value: Json) -> str:
    """A text that two values share exactly when they are equal; quick for texts."""
    if isinstance(value, str):
        return f"s{value}"
    return f"j{identity(value)}"


def event_record(event: Event) -> Json:
    """An event as JSON."""
    return [Trace([replace(event, step=0)]).to_record(), event.step]


def event_of(record: Json) -> Event:
    """The event that `event_record` wrote."""
    alone, step = record
    return replace(Trace.from_record(alone).seen("all", answer=True)[0], step=step)


def _moment_record(moment: EventContext) -> Json:
    return [event_record(moment.event), moment.position, moment.step, moment.pending]


def _moment_of(record: Json, size: int) -> EventContext:
    event, position, step, pending = record
    return EventContext(event_of(event), position, step, pending, size)


def _entry_record(entry: MemoryEntry) -> Json:
    return [_moment_record(entry.moment), entry.sure]


def _entry_of(record: Json, size: int) -> MemoryEntry:
    moment, sure = record
    return MemoryEntry(_moment_of(moment, size), sure)
