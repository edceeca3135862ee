"""Memories of the events that met a condition, found again by the keys of later queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import merge
from itertools import product
from math import prod
from typing import Final, Literal, TypeAlias, TypeVar

from bylaw.saved import fields, flag, listed, text, whole
from bylaw.semantics.past.ages import Ages, KeyPlace
from bylaw.semantics.past.records import MemoryEntry, entry_of, entry_record
from bylaw.semantics.past.split import SplitCondition
from bylaw.semantics.undo import Undo
from bylaw.trace.event import MISSING, field_of
from bylaw.trace.time import microseconds
from bylaw.values import Json, identity, is_list, is_text
from bylaw.vocabulary.local import EventContext, Test
from bylaw.vocabulary.possible import UNSEEN, PossibleValue, found_at, one_of, some_of
from bylaw.vocabulary.reading import as_object, partial_object
from bylaw.vocabulary.view import Kleene
from bylaw.work import CHARACTERS, spend

Retention: TypeAlias = Literal["first", "latest", "all"]
"""The events that a memory keeps under each key: one, to know that there was any; or all."""
Bucket: TypeAlias = list[MemoryEntry]
_Kept = TypeVar("_Kept")


ANY: Final = ""
"""The label of a text in a key of lists: a query must search the text."""


class KeyedMemory:
    """The memory of events that met a condition. Unsettled ones are kept apart."""

    def __init__(self, condition: SplitCondition) -> None:
        self.condition: Final = condition
        self.unsure: list[MemoryEntry] = []

    def sure(self, moment: EventContext) -> Kleene:
        """Does an event meet the parts of the condition that do not depend on the query?"""
        sure: Kleene = True
        for test in self.condition.closed:
            answer = test(moment)
            if answer is False:
                return False
            sure = sure if answer else None
        return sure

    def wait(self, moment: EventContext) -> tuple[list[Undo], bool]:
        """Keeps an event until its result is known."""
        entry = MemoryEntry(moment, sure=False)
        self.unsure.append(entry)
        return [partial(_drop_last, self.unsure)], True

    def places(self, moment: EventContext) -> list[KeyPlace] | None:
        """The keys under which the event is stored; None if they are not known yet."""
        if not self.condition.keys:
            spend(1)
            return [()]
        options: list[list[str]] = []
        for key in self.condition.keys:
            value = key.of_event(moment)
            if value is UNSEEN:
                return None
            if value is MISSING or (value is None and not key.null_counts):
                return []
            if key.mention:
                options.append(_anchors_of(value))
            elif not key.member:
                options.append([label(value)])
            elif is_list(value):
                spend(len(value))
                options.append(list(dict.fromkeys(map(label, value))))
            elif is_text(value):
                options.append([ANY])
            else:
                return []
        if len(options) == 1:
            (words,) = options
            spend(len(words))
            return [(word,) for word in words]
        spend(prod(map(len, options)))
        return list(product(*options))

    def place_of(self, saved: Json) -> KeyPlace:
        """The labels that were saved, one for each key."""
        return tuple(map(text, listed(saved, len(self.condition.keys))))

    def wanted(self, moment: EventContext, *, texts: bool) -> list[KeyPlace | None] | None:
        """For each key, the labels that match the query; None if its value is unseen.

        None instead of the list if nothing matches. With `texts`, texts must be searched.
        """
        labels: list[KeyPlace | None] = []
        for key in self.condition.keys:
            value = key.of_query(moment)
            if value is MISSING or (value is None and not key.null_counts):
                return None
            if value is UNSEEN:
                labels.append(None)
            elif key.mention:
                labels.append(_anchors_for(value))
            else:
                word = label(value)
                labels.append((word, ANY) if key.member and texts else (word,))
        return labels

    def matches(self, entry: MemoryEntry, moment: EventContext) -> Kleene:
        """Does an entry match the query?"""
        spend(self.condition.weight)
        past, whole = asked_of(entry.moment, moment), self.condition.whole
        if not entry.sure and whole is not None:
            return whole(past)
        answer = self.condition.asked(past)
        return answer if entry.sure or answer is False else None


def under(kept: Mapping[KeyPlace, _Kept], labels: Sequence[KeyPlace | None]) -> Iterator[_Kept]:
    """The entries under the labels of a query, or possible ones, if a value of it is unseen."""
    if None not in labels:
        chosen: Iterable[KeyPlace] = product(*(each for each in labels if each is not None))
        yield from (kept[place] for place in chosen if place in kept)
        return
    spend(len(kept))
    for place, found in kept.items():
        pairs = zip(place, labels, strict=True)
        if all(each is None or word in each for word, each in pairs):
            yield found


def asked_of(past: EventContext, now: EventContext) -> EventContext:
    """A past event with the current values of the variables."""
    asked = EventContext(past.event, past.position, past.step, past.pending, 0)
    asked.values = now.values
    return asked


def label(value: Json) -> str:
    """A text that is the same for two values exactly if they are equal; fast for texts."""
    if isinstance(value, str):
        return f"s{value}"
    return f"j{value if type(value) is int else identity(value)}"


def _anchors_of(value: Json) -> list[str]:
    from bylaw.texts.occurrence import anchors_of  # slow to import, and few rules need it

    found = anchors_of(value)
    spend(len(found))
    return list(map(label, found))


def _anchors_for(value: Json) -> KeyPlace:
    from bylaw.texts.occurrence import anchors_for

    return tuple(map(label, anchors_for(value)))


class Index(KeyedMemory):
    """The events that met a condition, by the keys of later queries."""

    def __init__(
        self, condition: SplitCondition, retention: Retention, window: int | None = None
    ) -> None:
        super().__init__(condition)
        self.retention: Final[Retention] = retention
        self.window: Final = window
        """The events that started at most so many microseconds ago matter; None for all."""
        self.buckets: dict[KeyPlace, Bucket] = {}
        self._ages = Ages()
        self._texts = False
        """Has an event had a text where a list was possible?"""

    # ── taking in events ─────────────────────────────────────────────────────────────────

    def take(self, moment: EventContext) -> tuple[list[Undo], bool]:
        """Takes in an event; returns the undo functions, and whether a pending result matters."""
        sure = self.sure(moment)
        if sure is False:
            return [], False
        places = self.places(moment)
        if not sure or places is None:
            return self.wait(moment)
        return self._place(moment, places)

    def _place(self, moment: EventContext, places: Sequence[KeyPlace]) -> tuple[list[Undo], bool]:
        undo: list[Undo] = []
        entry = MemoryEntry(moment, sure=True)
        kept = False
        start = None if self.window is None else microseconds(moment.event.start)
        if self.window is not None and start is None and self.retention != "all":
            return [], False  # it is near nothing
        for place in places:
            if start is not None:
                undo.append(self._ages.add(start, place))
            texts = ANY in place
            self._texts = self._texts or texts
            bucket = self.buckets.setdefault(place, [])
            if texts or not self.condition.by_key or self.retention == "all":
                bucket.append(entry)
                undo.append(partial(_drop_last, bucket))
            elif self.retention == "latest":
                undo.append(partial(self.buckets.__setitem__, place, bucket))
                self.buckets[place] = [*_latest_before(bucket, moment.step), entry]
            elif not bucket:
                bucket.append(entry)  # all that matters is that there was one, and when
                undo.append(partial(_drop_last, bucket))
            else:
                continue
            kept = True
        shows_result = self.retention != "first" or self._searches
        return undo, kept and moment.pending and shows_result

    # ── answering ────────────────────────────────────────────────────────────────────────

    def candidates(
        self, moment: EventContext, *, strictly: bool
    ) -> Iterator[tuple[MemoryEntry, Kleene]]:
        """The entries before a moment that match or may match, latest first."""
        wanted = self.wanted(moment, texts=self._texts)
        if wanted is None:
            return
        by_key = not self._searches and None not in wanted
        contains = self._text_search(moment) if self._texts else None
        found = self._latest_first(wanted)
        for entry in found if self.window is None else self._near(found, moment):
            spend(1)
            if entry.moment.step < moment.step or not strictly:
                if not entry.sure:
                    answer = self.matches(entry, moment)
                elif contains is not None:
                    answer = contains(entry)
                else:
                    answer = by_key or self.matches(entry, moment)
                if answer is not False:
                    yield entry, answer

    def _text_search(self, moment: EventContext) -> Callable[[MemoryEntry], bool] | None:
        """The test of an entry under the labels of a query, if the query only seeks a text.

        It reads one value of the event, where `matches` would ask the whole condition.
        """
        if not self.condition.by_key or len(self.condition.keys) != 1:
            return None
        (key,) = self.condition.keys
        part = key.of_query(moment)
        if type(part) is not str:
            return None

        def contains(entry: MemoryEntry) -> bool:
            whole = key.of_event(entry.moment)
            if type(whole) is not str:
                return True  # a list, which has the text as an element
            spend(len(whole) / CHARACTERS)
            return part in whole

        return contains

    def _latest_first(self, wanted: Sequence[KeyPlace | None]) -> Iterable[MemoryEntry]:
        """The entries under the labels of a query, and the unsure ones; read as they are needed."""
        buckets = [bucket for bucket in under(self.buckets, wanted) if bucket]
        if self.unsure:
            buckets.append(self.unsure)
        mentions = any(key.mention for key in self.condition.keys)
        if len(buckets) == 1 and not mentions:
            return reversed(buckets[0])
        if None in wanted or mentions:  # an event may be found under several labels
            several = {id(entry): entry for bucket in buckets for entry in bucket}
            return sorted(several.values(), key=_position_of, reverse=True)
        return merge(*map(reversed, buckets), key=_position_of, reverse=True)

    def exists(self, moment: EventContext, *, strictly: bool) -> Kleene:
        """Was there such an event?"""
        decided = self._decided_by_key(moment)
        if decided is not None:
            return bool(decided) and (not strictly or decided[0].moment.step < moment.step)
        if self._texts and (found := self._said_before(moment, strictly=strictly)) is not None:
            return found
        answer: Kleene = False
        for _, matches in self.candidates(moment, strictly=strictly):
            if matches:
                return True
            answer = None
        return answer

    def _said_before(self, moment: EventContext, *, strictly: bool) -> bool | None:
        """Was there an event with the text that a query seeks? None if it seeks something else.

        It asks the same as `candidates`, without an iterator for each part of the search.
        """
        if self.window is not None or self.unsure or len(self.condition.keys) != 1:
            return None
        (key,) = self.condition.keys
        part = key.of_query(moment) if self.condition.by_key else MISSING
        if type(part) is not str:
            return None
        now = moment.step
        for entry in reversed(self.buckets.get((ANY,), ())):
            spend(1)
            if entry.moment.step < now or not strictly:
                whole = key.of_event(entry.moment)
                spend(len(whole) / CHARACTERS)  # type: ignore[arg-type]  # it has texts only
                if part in whole:  # type: ignore[operator]  # as above
                    return True
        lists: Bucket = self.buckets.get((label(part),)) or []
        return bool(lists) and (not strictly or lists[0].moment.step < now)

    def _decided_by_key(self, moment: EventContext) -> Bucket | None:
        """The entries that match a query, if keys alone decide it; None if they do not."""
        if self.window is not None or self.unsure or self._texts or not self.condition.by_key:
            return None
        place = []
        for key in self.condition.keys:
            value = key.of_query(moment)
            if value is MISSING or (value is None and not key.null_counts):
                return []
            if value is UNSEEN:
                return None
            place.append(label(value))
        return self.buckets.get(tuple(place)) or []

    def latest(self, moment: EventContext) -> PossibleValue:
        """The latest such event of an earlier step, as an object."""
        decided = self._decided_by_key(moment)
        if decided is not None:
            found = _latest_before(decided, moment.step)
            return _object(found[0].moment) if found else MISSING
        cases: list[PossibleValue] = []
        for entry, matches in self.candidates(moment, strictly=True):
            cases.append(_object(entry.moment))
            if matches:
                return one_of(cases)
        return one_of([*cases, MISSING])

    def latest_field(self, name: str, moment: EventContext) -> PossibleValue:
        """One field of the latest such event of an earlier step."""
        decided = self._decided_by_key(moment)
        if decided is not None:
            found = _latest_before(decided, moment.step)
            if not found:
                return MISSING
            past = found[0].moment
            if not past.pending:
                return past.step if name == "step" else field_of(past.event, name)
        return found_at(self.latest(moment), name)

    def _near(self, entries: Iterable[MemoryEntry], now: EventContext) -> Iterator[MemoryEntry]:
        """The entries that started in the window; those without a start if all entries matter."""
        assert self.window is not None, "asked only where there is one"
        start = microseconds(now.event.start)
        if start is None:
            return
        for entry in entries:
            began = microseconds(entry.moment.event.start)
            if began is None:
                if self.retention == "all":
                    yield entry
            elif start - began <= self.window:
                yield entry

    def forget(self, now: int) -> None:
        """Lets go of the events that no event from now on can see."""
        if self.window is None:
            return
        before = now - self.window
        for place in self._ages.places_before(before):
            bucket = self.buckets.get(place, [])
            bucket[:] = [entry for entry in bucket if not _began_before(entry, before)]
            if not bucket:
                self.buckets.pop(place, None)

    def so_far(self, here: Test, now: EventContext) -> PossibleValue:
        """All such events as objects, the event itself included if `here` holds."""
        if self.window is not None and now.event.start is None:
            return MISSING
        found = list(self.candidates(now, strictly=False))[::-1]
        undated = [matches for entry, matches in found if entry.moment.event.start is None]
        if self.window is not None and undated:
            if True in undated:
                return MISSING
            found = [each for each in found if each[0].moment.event.start is not None]
        members = [_object(entry.moment) for entry, _ in found]
        certain = [matches is True for _, matches in found]
        answer = here(now)
        if answer is not False:
            members.append(_object(now))
            certain.append(answer is True)
        value = some_of(members, certain)
        return one_of([value, MISSING]) if self.window is not None and undated else value

    @property
    def _searches(self) -> bool:
        """Must entries be tested, because their keys do not decide whether they match?"""
        return self._texts or not self.condition.by_key

    @property
    def keeps_events(self) -> bool:
        """Does it keep events and search them later?"""
        return self._searches or (self.retention == "all" and self.window is None)

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> Json:
        """The memory as JSON. An event that is found under many keys is written once."""
        numbers: dict[int, int] = {}
        entries: list[Json] = []
        buckets: list[Json] = []
        for place, bucket in self.buckets.items():
            for entry in bucket:
                if id(entry) not in numbers:
                    numbers[id(entry)] = len(entries)
                    entries.append(entry_record(entry))
            if bucket:
                buckets.append([list(place), [numbers[id(entry)] for entry in bucket]])
        return {
            "entries": entries,
            "buckets": buckets,
            "unsure": [entry_record(entry) for entry in self.unsure],
            "texts": self._texts,
        }

    def restore(self, saved: Json, size: int) -> None:
        """Goes back to a saved memory; `size` is the number of variables."""
        entries, buckets, unsure, texts = fields(saved, "entries", "buckets", "unsure", "texts")
        kept = [entry_of(entry, size) for entry in listed(entries)]
        self.buckets = {}
        for each in listed(buckets):
            place, bucket = listed(each, 2)
            numbers = [whole(number, 0, len(kept) - 1) for number in listed(bucket)]
            found = sorted((kept[number] for number in numbers), key=_position_of)
            self.buckets[self.place_of(place)] = found
        self.unsure = [entry_of(entry, size) for entry in listed(unsure)]
        self._texts = flag(texts)
        self._ages = Ages()
        starts = (
            (microseconds(entry.moment.event.start), place)
            for place, entries in self.buckets.items()
            for entry in entries
            if self.window is not None and entry.moment.event.start is not None
        )
        for start, place in sorted(starts):
            self._ages.add(start, place)


def _position_of(entry: MemoryEntry) -> int:
    return entry.moment.position


def _began_before(entry: MemoryEntry, start: int) -> bool:
    began = microseconds(entry.moment.event.start)
    return began is not None and began < start


def _latest_before(bucket: Bucket, step: int) -> Bucket:
    """The only entry that is still needed: the latest one of an earlier step."""
    if bucket and bucket[-1].moment.step < step:
        return bucket[-1:]
    return [entry for entry in bucket if entry.moment.step < step][-1:]


def _drop_last(bucket: Bucket) -> None:
    bucket.pop()


def _object(context: EventContext) -> PossibleValue:
    """An event as an object. Its step is that of the run."""
    made = partial_object(context.event) if context.pending else as_object(context.event)
    made["step"] = context.step
    return made
