"""Calls whose arguments and results are still the bytes they were read from."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from bylaw.batch.needs import read_by
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.failure import Failure
from bylaw.trace.event import MISSING, Call, Event
from bylaw.values import Json, JsonError, read_json
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.tracker import Probe

ABSENT: Final = Raw(b"")
"""What stands for a field that a record does not have."""
MAX_KNOWN: Final = 1 << 14
"""How many answers are remembered for a probe: as many different calls are soon met again."""

Known: TypeAlias = dict[Probe, dict[Hashable, bool]]


class Unreadable(Exception):
    """A record is not what it seemed: it must be read in the ordinary way."""

    def __init__(self, *, record: int | None = None, event: int | None = None) -> None:
        super().__init__()
        self.record = record
        """Its number in the chunk, if that is known."""
        self.event = event
        """The number of one of its events, otherwise."""


@dataclass
class RawEvents:
    """The calls of some records, and the answers behind them."""

    names: Sequence[str]
    """The name of each code."""
    tools: Sequence[int]
    """The code of each call's tool."""
    steps: NDArray[np.int64]
    arguments: Sequence[Raw] = ()
    """None at all where no rule reads them."""
    results: Sequence[Raw] = ()
    errors: Sequence[str | None] = ()
    answers: Sequence[tuple[str, int]] = ()
    """Each with its step. They are numbered on from the calls."""
    failed: Failure | None = None
    """How tools report failure, where they have a way of their own."""
    known: Known = field(default_factory=dict)
    """Answers about calls that were met before."""
    _asked: Known = field(default_factory=dict)
    """Answers about events of these records, by number."""
    _made: dict[int, Event] = field(default_factory=dict)

    def event(self, number: int) -> Event:
        """One event, with what the rules read of it."""
        made = self._made.get(number)
        if made is None:
            made = self._made[number] = self._event(number)
        return made

    def _event(self, number: int) -> Event:
        if number >= len(self.tools):
            answer, step = self.answers[number - len(self.tools)]
            return Call(FINAL_ANSWER, {"answer": answer}, step=step)
        arguments = self._value(self.arguments, number)
        if arguments is MISSING or arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            raise Unreadable(event=number)
        error = self.errors[number] if self.errors else None
        result = self._value(self.results, number)
        step = int(self.steps[number])
        call = Call(self.names[self.tools[number]], arguments, result, step, error)
        return call if self.failed is None else self.failed.marked(call)

    def _value(self, column: Sequence[Raw], number: int) -> Json:
        raw = bytes(column[number]) if column else b""
        if not raw:
            return MISSING
        try:
            return read_json(raw.decode())
        except (JsonError, UnicodeDecodeError):
            raise Unreadable(event=number) from None

    def metrics(self, trace: int) -> Json:
        """Metrics are not kept: a procedure that asks for them has records read as a whole."""
        raise AssertionError(f"trace {trace} was read without its metrics")

    def test(self, probe: Probe, numbers: Sequence[int], vocabulary: Vocabulary) -> list[bool]:
        """Which of these events match a probe; equal calls are asked once."""
        read, calls = read_by(probe), len(self.tools)
        keys: Sequence[Hashable] = numbers
        if read - {"arguments"} or (self.answers and any(number >= calls for number in numbers)):
            # Results are long, and seldom the same: only the very same event is met again.
            known = self._asked.setdefault(probe, {})
        else:
            known, keys = self._known_of(probe), self._keys(numbers, with_arguments=bool(read))
        found: list[bool] = []
        for number, key in zip(numbers, keys, strict=True):
            answer = known.get(key)
            if answer is None:
                answer = known[key] = probe.matches(self.event(number), vocabulary)
            found.append(answer)
        return found

    def _known_of(self, probe: Probe) -> dict[Hashable, bool]:
        known = self.known.setdefault(probe, {})
        if len(known) > MAX_KNOWN:
            known.clear()
        return known

    def _keys(self, numbers: Sequence[int], *, with_arguments: bool) -> Sequence[Hashable]:
        """What tells calls apart: the tool, and perhaps the arguments as they were written."""
        tools = [self.tools[number] for number in numbers]
        if not with_arguments:
            return tools
        given = (bytes(self.arguments[number]) for number in numbers)
        return list(zip(tools, given, strict=True))
