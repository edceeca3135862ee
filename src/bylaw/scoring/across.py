"""Rules across runs on a corpus: its traces, put together by the value of a label.

The trace of a value is what happened under it, in order of time: each turn of a run stands where
its first event started, and is a step of its own. An assistant's message stands where it started,
too, and shares the step of its calls unless another run acted in between. A turn without a time
follows the turn before it; a run without any times precedes those with times, and such runs keep
the order of the corpus, as do turns that started at the same time. Within a run, the order is that
of its trace. Messages belong to it only if one of the rules sees messages.

A gate decides in the same order, because no two runs that share rules get the same time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import inf
from typing import Final, TypeAlias

from bylaw.errors import Diagnostic, listing
from bylaw.frozen import replace
from bylaw.procedure.across import across_value
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.verify import CheckedTrace, ConstraintResult
from bylaw.semantics.verdict import Outcome
from bylaw.trace.event import Call, Event, Message
from bylaw.trace.trace import Trace
from bylaw.values import Json

_Turn: TypeAlias = tuple[float, int, int, list[tuple[int, Event]]]
"""A part of a turn: its time, the number of its trace, its step there, and its events with their
indices into the calls of the trace."""
MAX_NAMED: Final = 5
"""The number of traces that a sentence names."""


class CombinedTrace:
    """The trace of one value of a label."""

    def __init__(self, traces: Sequence[Trace], labels: dict[str, Json], *, messages: bool) -> None:
        turns = heapq.merge(
            *(_turns(number, trace, messages) for number, trace in enumerate(traces)),
            key=lambda turn: turn[0],
        )
        events: list[Event] = []
        self.origins: list[tuple[int, int]] = []
        """For each call, the number of its trace, and its index among the calls of the trace."""
        step, latest = -1, None
        for _, number, of_run, found in turns:
            if latest != (number, of_run):
                step, latest = step + 1, (number, of_run)
            events += [replace(event, step=step) for _, event in found]
            self.origins += [(number, at) for at, event in found if isinstance(event, Call)]
        self.trace: Final = Trace(events, labels=labels)
        untimed = sum(all(event.start is None for event in each.events) for each in traces)
        self.in_time_order: Final = len(traces) == 1 or not untimed
        """Is the order of the runs known? Not if some of several have no times."""


def _turns(number: int, trace: Trace, messages: bool) -> Iterator[_Turn]:
    """The turns of a trace, in parts that others may come between: a message, or calls."""
    at, time = 0, -inf
    seen = trace.events if messages else trace.calls
    for (step, _), group in groupby(seen, key=lambda e: (e.step or 0, isinstance(e, Message))):
        events: list[tuple[int, Event]] = []
        for event in group:
            events.append((at, event))
            at += isinstance(event, Call)
        start = events[0][1].start
        time = time if start is None else max(time, start)
        yield time, number, step, events


@dataclass(frozen=True)
class AcrossResult:
    """One constraint across runs, for one value of its label."""

    result: ConstraintResult
    label: str
    value: str | None
    """None for a trace that lacks the label: it is judged alone."""
    traces: tuple[str, ...]
    """The traces of the value, in the order of the corpus."""
    origins: Sequence[tuple[int, int]]
    """For each call of `trace`, the number of its own trace, and its index there."""
    in_time_order: bool = True
    """Is the order of the runs known? Not if some of several have no times."""

    @property
    def trace(self) -> Trace:
        """All that happened under the value, in order."""
        return self.result.checked.trace

    @property
    def name(self) -> str:
        """The constraint's name."""
        return self.result.name

    @property
    def outcome(self) -> Outcome:
        """The outcome on all that happened under the value."""
        return self.result.outcome

    @property
    def passed(self) -> bool | None:
        """Was the constraint satisfied? None if that could not be decided."""
        return self.result.passed

    @property
    def title(self) -> str:
        """The value, or the trace that lacks the label: `customer c7`."""
        return f"{self.label} {self.value}" if self.value is not None else self.traces[0]

    @cached_property
    def witness(self) -> tuple[tuple[str, int], ...]:
        """The calls to look at: the trace of each, and its index among the calls of the trace."""
        found = [self.origins[position] for position in self.result.witness]
        return tuple((self.traces[number], at) for number, at in found)

    @property
    def where(self) -> str:
        """The calls to look at, in words: `#3 in runs.jsonl:1`."""
        calls = [f"#{at + 1} in {trace}" for trace, at in self.witness[:MAX_NAMED]]
        more = len(self.witness) - len(calls)
        return ", ".join(calls) + (f" and {more} more" if more > 0 else "")

    def to_dict(self) -> dict[str, Json]:
        """The result as JSON."""
        rest = self.result.to_dict()
        for unneeded in ("witness", "occurrences"):
            del rest[unneeded]
        return {
            "across": self.label,
            "value": self.value,
            "traces": list(self.traces),
            "in_time_order": self.in_time_order,
            **rest,
            "witness": [{"trace": trace, "call": at} for trace, at in self.witness],
        }


class AcrossTraces:
    """Collects the traces of a corpus. They are kept in memory until the results are asked for."""

    def __init__(self, procedure: Procedure) -> None:
        self.procedure: Final = procedure
        self._groups: dict[tuple[str, str | None, int], list[tuple[str, Trace]]] = {}
        self._added = 0

    def add(self, trace: Trace, name: str | None = None) -> None:
        """Adds the next trace of the corpus."""
        self._added += 1
        kept = Trace(trace.events, name=trace.name)
        for label in self.procedure.across:
            value = across_value(trace.labels, label)
            key = label, value, 0 if value is not None else self._added
            known = name or trace.name or f"trace {self._added}"
            self._groups.setdefault(key, []).append((known, kept))

    def results(self) -> Iterator[AcrossResult]:
        """Every constraint across runs, for every value of its label."""
        for (label, value, _), found in self._groups.items():
            rules = [rule for rule in self.procedure.constraints if rule.across == label]
            messages = any(self.procedure.events_of(rule) == "all" for rule in rules)
            labels: dict[str, Json] = {} if value is None else {label: value}
            combined = CombinedTrace([trace for _, trace in found], labels, messages=messages)
            checked = CheckedTrace(combined.trace, self.procedure)
            names = tuple(name for name, _ in found)
            for rule in rules:
                order = combined.origins, combined.in_time_order
                yield AcrossResult(checked.result(rule), label, value, names, *order)


def across_results(traces: Iterable[Trace], procedure: Procedure) -> list[AcrossResult]:
    """Every constraint across runs on these traces, for every value of its label."""
    found = AcrossTraces(procedure)
    for trace in traces:
        found.add(trace)
    return list(found.results())


def notes_on_labels(trace: Trace, procedure: Procedure) -> Iterator[Diagnostic]:
    """A note on the labels across which rules judge traces together, if the trace lacks some."""
    missing = [each for each in procedure.across if across_value(trace.labels, each) is None]
    if missing:
        labels = listing([f"'{label}'" for label in missing], 3)
        message = (
            f"the trace has no usable label {labels}, so rules across it judge the trace alone"
        )
        yield Diagnostic("W528", message, "A label is a text or a whole number.")
