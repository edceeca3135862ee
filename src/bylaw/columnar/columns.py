"""The events of many traces as columns: tools as codes, steps as numbers, the rest on demand.

A question that the tool's name does not answer is put to the event itself. A store decodes and
caches an event only if a rule needs it. A `Subject` gives formulas the events that they ask for: by
tool, arguments, result and variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.segments import Mask, Places, Positions, Segments
from bylaw.logic import formula as f
from bylaw.logic.terms import Term, Tool, ToolName, ToolVariable, Variable, members_of
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, ROLES, Call, Event, Missing
from bylaw.values import Json, identity
from bylaw.vocabulary.corpus_calls import CallMoments
from bylaw.vocabulary.patterns import is_named, lookup
from bylaw.vocabulary.possible import Seen
from bylaw.vocabulary.predicate import Probe
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order

if TYPE_CHECKING:
    from bylaw.columnar.start_times import StartTimes

MESSAGE: Final = ""
"""Takes the place of the tool name for events that are not calls."""
ROLE_CODES: Final = {role: code for code, role in enumerate(ROLES, 1)}
"""The numbers of the roles of messages; calls have 0."""
_NOT_THERE: Final = -1
_UNDEFINED: Final = -2
"""The numbers of no value: of an event that has none, and of a variable."""


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

    @property
    def starts(self) -> StartTimes:
        """The starts of all events."""

    def test(self, probe: Probe, numbers: Sequence[int], vocabulary: Vocabulary) -> list[bool]:
        """For each of these events: does it match the probe?"""

    def texts(self, numbers: Sequence[int]) -> list[str | Missing]:
        """The text of each of these events."""

    @property
    def computed(self) -> dict[Term, dict[int, Seen]]:
        """Values of terms that have been computed, for events by number."""


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
        roles: NDArray[np.int8] | None = None,
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
        self.roles: Final = roles
        """The role of each event, as a number; None if all events are calls."""

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

    @cached_property
    def start_ranks(self) -> NDArray[np.int64]:
        """For each position, the rank of its start among those of the store."""
        ranks = self.store.starts.ranks
        return ranks[: self.segments.size] if self.events is None else ranks[self.events]

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
            None if self.roles is None else self.roles[places],
        )


class Identities:
    """Numbers for JSON values: equal values have equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, value: Json) -> int:
        """The value's number, from 0."""
        return self._numbers.setdefault(identity(value), len(self._numbers))


# ── asked by formulas ──────────────────────────────────────────────────────────────────


class BoundVariable:
    """A variable's value in each trace; MISSING where it is undefined."""

    def __init__(self, values: Sequence[Seen], identities: Identities) -> None:
        self.values: Final = values
        self._known = identities

    @cached_property
    def identities(self) -> NDArray[np.int64]:
        """A number for each value; equal values have equal numbers. Undefined equals nothing."""
        numbers = [_UNDEFINED if each is MISSING else self._known.of(each) for each in self.values]
        return np.array(numbers, dtype=np.int64)

    def picked(self, traces: NDArray[np.intp]) -> BoundVariable:
        """The values in some of the traces."""
        return BoundVariable([self.values[trace] for trace in traces.tolist()], self._known)


class Subject:
    """The columns, order, functions and variables that formulas are evaluated with.

    Implements `CorpusCalls`. Answers are cached, because formulas share many questions.
    """

    def __init__(
        self,
        columns: Columns,
        order: Order = "position",
        vocabulary: Vocabulary = EMPTY,
        bound: Mapping[str, BoundVariable] | None = None,
        identities: Identities | None = None,
    ) -> None:
        self.columns: Final = columns
        self.segments: Final[Segments] = columns.segments
        self.order: Final = order
        self.vocabulary: Final = vocabulary
        self._bound = bound or {}
        self._identities = identities or Identities()
        self._masks: dict[Probe, Mask] = {}
        self._hits: dict[Probe, Positions] = {}

    def instances(self, traces: NDArray[np.intp], values: Mapping[str, Sequence[Seen]]) -> Subject:
        """The subject in which each of these traces appears once, with values for variables."""
        bound = {name: each.picked(traces) for name, each in self._bound.items()}
        bound |= {name: BoundVariable(each, self._identities) for name, each in values.items()}
        columns = self.columns.picked(traces)
        return Subject(columns, self.order, self.vocabulary, bound, self._identities)

    # ── the calls of each trace: the positions of a tool's calls in all traces are one sorted array

    @property
    def never(self) -> Mask:
        return np.zeros(self.segments.count, dtype=np.bool_)

    def counts(self, probe: Probe) -> NDArray[np.integer]:
        hits = self.hits(probe)
        ends = np.searchsorted(hits, self.segments.ends)
        return ends - np.searchsorted(hits, self.segments.starts)

    def first(self, tool: Tool) -> CallMoments:
        return self.nth(tool, 0)

    def nth(self, tool: Tool, index: int) -> CallMoments:
        hits = self.hits(Probe(tool))
        first = np.searchsorted(hits, self.segments.starts)
        return self._moments(hits, first + min(index, len(hits)))

    def before(self, one: CallMoments, other: CallMoments) -> Mask:
        return one.exist & other.exist & (one.times < other.times)

    def at_or_after(self, tool: Tool, start: CallMoments) -> CallMoments:
        return self._next(tool, start, start.positions)

    def after(self, tool: Tool, start: CallMoments) -> CallMoments:
        if self.order == "position":
            return self._next(tool, start, start.positions + 1)
        return self._next(tool, start, self.columns.step_ends[start.positions])

    def _next(self, tool: Tool, start: CallMoments, positions: NDArray[np.integer]) -> CallMoments:
        hits = self.hits(Probe(tool))
        found = self._moments(hits, np.searchsorted(hits, positions))
        return replace(found, exist=start.exist & found.exist)

    def _moments(self, hits: Positions, indices: NDArray[np.integer]) -> CallMoments:
        """The hits with these indices, in the traces that have them."""
        if not len(hits):
            return CallMoments(self.never, self.segments.starts, self.segments.starts)
        positions = hits[np.minimum(indices, len(hits) - 1)]
        exist = (indices < len(hits)) & (positions < self.segments.ends)
        times = positions if self.order == "position" else self.columns.steps[positions]
        return CallMoments(exist, positions, times)

    # ── single events ─────────────────────────────────────────────────────────────────────

    def events(self, places: Positions) -> list[Event]:
        """The events at some positions."""
        return [self.columns.store.event(number) for number in self.columns.numbers(places)]

    def texts(self, places: Positions) -> list[str | Missing]:
        """The texts of the events at some positions."""
        return self.columns.store.texts(self.columns.numbers(places))

    def says(self, role: str) -> Mask:
        """Marks the messages of a role."""
        roles = self.columns.roles
        if roles is None:
            return np.zeros(self.segments.size, dtype=np.bool_)
        return np.equal(roles, ROLE_CODES[role])

    def has_value(self, variable: str) -> Mask:
        """Marks the traces in which a variable is defined."""
        values = self._bound[variable].values
        return np.array([value is not MISSING for value in values], dtype=np.bool_)

    def bound_values(self, variable: str, places: Places) -> list[Seen]:
        """The values of a variable at some positions."""
        values = self._bound[variable].values
        return [values[trace] for trace in places.trace.tolist()]

    def local_truth(self, formula: f.Formula, places: Positions) -> Mask:
        """The truth, at some positions, of a formula that reads one event only."""
        probe = Probe(None, conditions=(formula,), of_any_event=True)
        return self.columns.test(probe, places, self.vocabulary)

    def hits(self, probe: Probe) -> Positions:
        """The positions of the calls that match a probe, in ascending order."""
        known = self._hits.get(probe)
        if known is None:
            known = self._hits[probe] = np.flatnonzero(self.mask(probe)).astype(np.int32)
        return known

    def mask(self, probe: Probe) -> Mask:
        """Marks the calls that match a probe."""
        known = self._masks.get(probe)
        if known is None:
            known = self._masks[probe] = self._matching(probe)
        return known

    def _matching(self, probe: Probe) -> Mask:
        if probe.bare:
            return self._named(probe.tool)
        mask = self.mask(Probe(probe.tool)).copy()
        places = np.flatnonzero(mask).astype(np.int32)
        fixed = tuple(pattern for pattern in probe.patterns if not pattern.free)
        if fixed or probe.conditions or probe.result is not None:
            tool = probe.tool if probe.tool is None or not probe.tool.free else None
            asked = Probe(tool, fixed, result=probe.result, conditions=probe.conditions)
            mask[places] = self.columns.test(asked, places, self.vocabulary)
        for pattern in probe.patterns:
            if pattern.free:
                self._keep_bound(mask, pattern)
        if probe.exactly:
            places = np.flatnonzero(mask).astype(np.int32)
            sizes = (len(call.args) for call in self.columns.calls(places))
            mask[places] = np.fromiter(sizes, np.int64, len(places)) == len(probe.patterns)
        return mask

    def _keep_bound(self, mask: Mask, pattern: f.Pattern) -> None:
        """Keeps only the calls whose argument or result equals the value of a variable."""
        assert not isinstance(pattern, f.OutcomeIs), "an outcome has no variables"
        assert isinstance(pattern.expected, Variable), "other patterns have no columns"
        places = np.flatnonzero(mask).astype(np.int32)
        wanted = self._bound[pattern.expected.name].identities[self.segments.trace[places]]
        arguments = isinstance(pattern, f.ArgumentIs)
        # Each event is read once, although it appears in many instances.
        events, which = np.unique(self.columns.numbers(places), return_inverse=True)
        found = (
            lookup(event.args if arguments else event.value, pattern.path)  # type: ignore[union-attr]  # a call
            for event in map(self.columns.store.event, events.tolist())
        )
        numbers = (
            _NOT_THERE if value is MISSING else self._identities.of(value) for value in found
        )
        mask[places] = np.fromiter(numbers, np.int64, len(events))[which] == wanted

    def _named(self, tool: Tool | None) -> Mask:
        """Marks the calls of the tool."""
        codes, tools = self.columns.codes, self.columns.tools
        if isinstance(tool, ToolName):
            return np.equal(tools, codes.numbers.get(tool.name, -1))
        names = codes.names
        if tool is None:
            table = [name not in (FINAL_ANSWER, MESSAGE) for name in names]
        else:
            table = [name != MESSAGE and is_named(name, tool) for name in names]
        mask: Mask = np.array(table, dtype=np.bool_)[tools]
        for member in members_of(tool) if tool is not None else ():
            if isinstance(member, ToolVariable):
                mask |= tools == self._bound_tools(member.name)[self.segments.trace]
        return mask

    def _bound_tools(self, variable: str) -> NDArray[np.int32]:
        """The tool that a variable names in each trace; it never names the final answer."""
        numbers = self.columns.codes.numbers
        found = [
            numbers.get(value, -1)
            if isinstance(value, str) and value not in (FINAL_ANSWER, MESSAGE)
            else -1
            for value in self._bound[variable].values
        ]
        return np.array(found, dtype=np.int32)
