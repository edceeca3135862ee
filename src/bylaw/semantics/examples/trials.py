"""Examples by trial, for rules without a machine: generated, tested and minimised.

The search is random with a fixed seed, and the reference checks its results. It may miss an
example that exists, and the example it finds need not be the shortest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from time import monotonic
from typing import Final

from bylaw.errors import SpecError
from bylaw.logic import formula as f
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.semantics.examples.invented_events import OTHERS, Maker, smaller
from bylaw.semantics.verdict import Value
from bylaw.trace.event import Event, Message
from bylaw.trace.trace import Events, Trace
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order

MAX_TRIALS: Final = 6_000
MAX_SECONDS: Final = 3.0
"""The time limit of one search."""
MAX_LENGTH: Final = 5


class Trials:
    """Finds traces on which a formula has a given value."""

    def __init__(
        self,
        formula: f.Formula,
        order: Order = "position",
        events: Events = "calls",
        vocabulary: Vocabulary = EMPTY,
        *,
        marked: Callable[[Trace], Trace] | None = None,
    ) -> None:
        self.formula: Final = formula
        self.marked: Final = marked
        self.settings: Final = (order, events, vocabulary)
        self.maker: Final = Maker([formula], messages=events == "all")

    def find(
        self, wanted: Value, accepted: Callable[[Trace], bool] = lambda _: True
    ) -> Trace | None:
        """A minimal accepted trace on which the formula has the value, if one is found."""
        random = Random(0)
        until = monotonic() + MAX_SECONDS
        for number in range(MAX_TRIALS):
            length = 1 + min(number // 200, MAX_LENGTH - 1)
            trace = Trace(self._generated(random, random.randint(1, length)))
            if self._value(trace) is wanted and accepted(trace):
                return self._minimised(trace, wanted, accepted)
            if monotonic() > until:
                break
        return None

    def _generated(self, random: Random, length: int) -> Iterator[Event]:
        # Few values in one trace, so that events often share a value.
        pool = random.sample(OTHERS, random.choice([1, 1, 2]))
        step = 0
        for number in range(length):
            event = self.maker.event(random, pool)
            alone = isinstance(event, Message) and event.role != "assistant"
            step += bool(number) and (alone or random.random() < 0.8)
            yield replace(event, step=step)
            step += alone

    def _value(self, trace: Trace) -> Value | None:
        try:
            subject = trace if self.marked is None else self.marked(trace)
            return evaluate(self.formula, view_of(self.formula, subject, *self.settings)).value
        except SpecError:
            return None

    def _minimised(self, trace: Trace, wanted: Value, accepted: Callable[[Trace], bool]) -> Trace:
        """The trace after removing, one by one, the parts that are not needed."""
        shrinking = True
        while shrinking:
            shrinking = False
            for events in _smaller_traces(trace.events):
                shorter = Trace(events)
                if self._value(shorter) is wanted and accepted(shorter):
                    trace, shrinking = shorter, True
                    break
        return trace


def _smaller_traces(events: tuple[Event, ...]) -> Iterator[list[Event]]:
    for i in range(len(events)):
        yield [*events[:i], *events[i + 1 :]]
    for i, event in enumerate(events):
        yield from ([*events[:i], less, *events[i + 1 :]] for less in smaller(event))
