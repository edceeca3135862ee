"""The events of many traces as columns: tools as codes, steps as numbers, the rest on demand.

A question that the tool's name does not answer is put to the event itself. A store decodes and
caches an event only if a rule needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.segments import Mask, Positions, Segments
from bylaw.trace.event import Call, Event
from bylaw.values import Json, identity
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.tracker import Probe

MESSAGE: Final = ""
"""Takes the place of the tool name for events that are not calls."""


class Codes:
    """A number for each tool name, the same for a whole corpus."""

    def __init__(self) -> None:
        self.names: Final[list[str]] = []
        self.numbers: Final[dict[str, int]] = _Numbered(self.names)

    def of(self, names: Iterable[str], count: int) -> NDArray[np.int32]:
        """The numbers of `count` names."""
        return np.fromiter(map(self.numbers.__getitem__, names), np.int32, count)


class _Numbered(dict[str, int]):
    def __init__(self, names: list[str]) -> None:
        self._names = names

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self._names)
        self._names.append(name)
        return number


class Store(Protocol):
    """The events themselves, numbered from 0."""

    def event(self, number: int) -> Event:
        """One event."""

    def metrics(self, trace: int) -> Json:
        """The metrics of a trace."""

    def test(self, probe: Probe, numbers: Sequence[int], vocabulary: Vocabulary) -> list[bool]:
        """For each of these events: does it match the probe?"""


class Columns:
    """The events of many traces that rules see."""

    def __init__(
        self,
        codes: Codes,
        segments: Segments,
        tools: NDArray[np.int32],
        steps: NDArray[np.int64],
        store: Store,
        events: NDArray[np.intp] | None = None,
        traces: NDArray[np.intp] | None = None,
    ) -> None:
        self.codes: Final = codes
        self.segments: Final = segments
        self.tools: Final = tools
        self.steps: Final = steps
        self.store: Final = store
        self.events: Final = events
        """The number of each event in the store, if that is not its position."""
        self.traces: Final = traces
        """The number of each trace in the store, if that is not its index."""

    @cached_property
    def step_starts(self) -> Positions:
        """For each position, the first position of its step."""
        first = np.empty(self.segments.size, dtype=np.bool_)
        first[1:] = self.steps[1:] != self.steps[:-1]
        first[self.segments.starts] = True
        return self.segments.everywhere.latest(first)

    @cached_property
    def step_ends(self) -> Positions:
        """For each position, the position after the last of its step."""
        last = np.empty(self.segments.size, dtype=np.bool_)
        last[:-1] = self.steps[1:] != self.steps[:-1]
        last[self.segments.ends - 1] = True
        return self.segments.everywhere.next(last) + np.int32(1)

    def numbers(self, places: Positions) -> Sequence[int]:
        """The numbers in the store of the events at these positions."""
        found: list[int] = (places if self.events is None else self.events[places]).tolist()
        return found

    def test(self, probe: Probe, places: Positions, vocabulary: Vocabulary) -> Mask:
        """For each of the events at these positions: does it match the probe?"""
        found = self.store.test(probe, self.numbers(places), vocabulary)
        return np.fromiter(found, np.bool_, len(places))

    def calls(self, places: Positions) -> Iterable[Call]:
        """The calls at these positions, all of which hold calls."""
        for number in self.numbers(places):
            event = self.store.event(number)
            assert isinstance(event, Call), "only calls have a tool"
            yield event

    def metrics(self) -> Iterable[Json]:
        """The metrics of each trace."""
        traces = range(self.segments.count) if self.traces is None else self.traces.tolist()
        return map(self.store.metrics, traces)

    def picked(self, traces: NDArray[np.intp]) -> Columns:
        """The columns of some of the traces, each repeated as often as it is listed."""
        lengths = self.segments.lengths[traces]
        segments = Segments(lengths)
        shift = self.segments.starts[traces] - segments.starts
        places = segments.everywhere.indices + np.repeat(shift, lengths)
        return Columns(
            self.codes,
            segments,
            self.tools[places],
            self.steps[places],
            self.store,
            places.astype(np.intp) if self.events is None else self.events[places],
            traces if self.traces is None else self.traces[traces],
        )


class Identities:
    """Numbers for JSON values: equal values have equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, value: Json) -> int:
        """The value's number, from 0."""
        return self._numbers.setdefault(identity(value), len(self._numbers))
