"""Plain records straight from their bytes into columns: only what some rule reads is decoded.

A line that is not a plain record of the current version, or is odd in a way that matters, is
handed back and read in the ordinary way, which also knows what to say about it. Fields that no
rule reads are skipped, so a mistake in one of them goes unnoticed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import UNSET, Raw, UnsetType
from numpy.typing import NDArray

from bylaw.batch.needs import Needs
from bylaw.batch.raw_events import ABSENT, Known, RawEvents, Unreadable
from bylaw.columnar.columns import Codes, Columns
from bylaw.columnar.segments import Mask, Segments
from bylaw.errors import TraceError
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.trace.record import VERSION
from bylaw.trace.trace import Events, Trace
from bylaw.values import LARGEST, JsonError, read_json

NO_STEP: Final = -(2**62)
"""What stands for a step that is not recorded."""
NO_MESSAGES: Final = (b"", b"null", b"[]")


class NativeReader:
    """Decodes lines as far as the rules of a procedure need it."""

    def __init__(self, procedure: Procedure, needs: Needs, codes: Codes) -> None:
        self.procedure: Final = procedure
        self.needs: Final = needs
        self.codes: Final = codes
        self.known: Final[Known] = {}
        self.decoded: Final[Callable[[memoryview], Any]] = msgspec.json.Decoder(
            _record_type(needs)
        ).decode

    def chunks(
        self, lines: Iterable[memoryview], size: int, names_from: tuple[str, int]
    ) -> Iterator[NativeChunk]:
        """The lines in portions of about so many calls."""
        chunk = NativeChunk(self, names_from)
        for number, line in enumerate(lines):
            record = self._record(line)
            if record is None:
                chunk.others.append(number)
            else:
                chunk.add(number, line, record)
            if len(chunk.tools) + len(chunk.others) >= size:
                yield chunk.settled()
                chunk = NativeChunk(self, names_from)
        yield chunk.settled()

    def _record(self, line: memoryview) -> Any:
        """The record on a line; None if it is to be read in the ordinary way."""
        if self.needs.metrics:
            return None
        try:
            record = self.decoded(line)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return None
        if record.bylaw != VERSION:
            return None
        if self.needs.places_messages and bytes(record.messages) not in NO_MESSAGES:
            return None
        return record


def _record_type(needs: Needs) -> type:
    """The fields of a record that matter, as a type to decode."""
    call: list[Any] = [("tool_name", str)]
    if needs.steps:
        call.append(("step", int, NO_STEP))
    if needs.arguments:
        call.append(("arguments", Raw, ABSENT))
    if needs.results:
        call += [("tool_result", Raw, ABSENT), ("error", str | None, None)]
    # Not tracked by the collector: a record holds no cycles, and there are millions of them.
    calls = msgspec.defstruct("Call", call, gc=False)
    record: list[Any] = [
        ("tool_calls", list[calls]),  # type: ignore[valid-type]  # a type that was made just now
        ("bylaw", int, VERSION),
        ("answer", str | None | UnsetType, UNSET),
        ("final_answer", str | None, None),
    ]
    if needs.places_messages:
        record.append(("messages", Raw, ABSENT))
    return msgspec.defstruct("Record", record, gc=False)


@dataclass
class NativeChunk:
    """Some records, as columns, and the lines that are not plain records."""

    reader: NativeReader
    names_from: tuple[str, int]
    """What the file is called, and the number of its first line here."""
    lines: list[int] = field(default_factory=list)
    """The number of each record's line, counted from 0."""
    contents: list[memoryview] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    """How many calls each record has."""
    answers: list[str | None] = field(default_factory=list)
    tools: list[int] = field(default_factory=list)
    """The code of each call's tool; the other columns are empty where no rule reads them."""
    steps: list[int] = field(default_factory=list)
    arguments: list[Raw] = field(default_factory=list)
    results: list[Raw] = field(default_factory=list)
    errors: list[str | None] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    """The numbers of the lines that are to be read in the ordinary way."""

    def add(self, number: int, line: memoryview, record: Any) -> None:
        """Takes a record apart at once, while it is in the processor's cache."""
        calls, needs = record.tool_calls, self.reader.needs
        self.lines.append(number)
        self.contents.append(line)
        self.lengths.append(len(calls))
        self.answers.append(record.final_answer if record.answer is UNSET else record.answer)
        codes = self.reader.codes.numbers
        self.tools += [codes[call.tool_name] for call in calls]
        if needs.steps:
            self.steps += [call.step for call in calls]
        if needs.arguments:
            wanted = needs.arguments_of
            self.arguments += [
                call.arguments if wanted is None or call.tool_name in wanted else ABSENT
                for call in calls
            ]
        if needs.results:
            self.results += [call.tool_result for call in calls]
            self.errors += [call.error for call in calls]

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def names(self) -> list[str]:
        """What the records are called."""
        return [self._name(line) for line in self.lines]

    def _name(self, line: int) -> str:
        source, first = self.names_from
        return f"{source}:{first + line}"

    def settled(self) -> NativeChunk:
        """The chunk without the records that break a rule of the format."""
        try:
            fine = self._fine()
        except OverflowError:  # a step beyond all bounds
            fine = np.zeros(len(self), dtype=np.bool_)
        return self if fine.all() else self._with(np.flatnonzero(fine).tolist())

    def _with(self, kept: Sequence[int]) -> NativeChunk:
        """The chunk with some of its records; the others are to be read in the ordinary way."""
        chunk = NativeChunk(self.reader, self.names_from)
        for number in kept:
            line = self.contents[number]
            chunk.add(self.lines[number], line, self.reader.decoded(line))
        chunk.others = sorted({*self.others, *self.lines} - {*chunk.lines})
        return chunk

    def without(self, odd: Unreadable) -> NativeChunk:
        """The chunk without a record that turned out to be odd, and without all others like it.

        Each is looked into once, so that many of them cost no more than a few.
        """
        whole = odd.record is not None
        number = odd.record
        if number is None:
            number = int(np.searchsorted(self._offsets, odd.event or 0, side="right")) - 1
        good = [n for n in range(len(self)) if n != number and self._is_read(n, whole=whole)]
        return self._with(good)

    def _is_read(self, number: int, *, whole: bool) -> bool:
        """Can all be read of a record that a rule may read, or the whole of it?"""
        try:
            for event in range(self._offsets[number], self._offsets[number + 1]):
                self._store.event(event)
            if whole:
                self.trace(number)
        except Unreadable:
            return False
        return True

    def _fine(self) -> Mask:
        """Whether each record names its tools, and counts its steps upwards if it counts them."""
        starts, ends = self._offsets[:-1], self._offsets[1:]
        tools = self._tools
        nameless, final = (self.reader.codes.numbers[name] for name in ("", FINAL_ANSWER))
        odd = (tools == nameless) | (tools == final)
        if self.reader.needs.steps:
            steps = self._recorded
            odd |= (steps > LARGEST) | ((steps < 0) & (steps != NO_STEP))
            later = np.zeros(len(steps), dtype=np.bool_)
            missing = steps == NO_STEP
            later[1:] = (steps[1:] < steps[:-1]) | (missing[1:] != missing[:-1])
            later[starts[starts < ends]] = False
            odd |= later
        before = np.concatenate(([0], np.cumsum(odd)))
        return np.equal(before[ends], before[starts])

    # ── columns ───────────────────────────────────────────────────────────────────────────

    @cached_property
    def calls(self) -> NDArray[np.int64]:
        """How many calls each trace has."""
        return np.array(self.lengths, dtype=np.int64)

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self.calls)))

    @cached_property
    def _tools(self) -> NDArray[np.int32]:
        return np.fromiter(self.tools, np.int32, len(self.tools))

    @cached_property
    def _recorded(self) -> NDArray[np.int64]:
        return np.fromiter(self.steps, np.int64, len(self.steps))

    @cached_property
    def _counted(self) -> NDArray[np.int64]:
        """The steps; where none are recorded, or none matter, each call is one."""
        own = np.arange(len(self.tools)) - np.repeat(self._offsets[:-1], self.calls)
        if not self.reader.needs.steps:
            return own
        return np.where(self._recorded == NO_STEP, own, self._recorded)

    # ── what rules see ────────────────────────────────────────────────────────────────────

    def trace(self, number: int) -> Trace:
        """One of them, as a whole."""
        try:
            record = read_json(bytes(self.contents[number]).decode())
            trace = Trace.from_record(record, name=self._name(self.lines[number]), checked=True)
            return self.reader.procedure.marked(trace)
        except (JsonError, TraceError, UnicodeDecodeError):
            raise Unreadable(record=number) from None

    def columns(self, events: Events, answer: bool) -> tuple[Columns, NDArray[np.intp]]:
        """What rules see of the records; there are no messages in them, or none that matter."""
        tools, steps, lengths, numbers = self._tools, self._counted, self.calls, None
        if answer:
            has = np.array([answer is not None for answer in self.answers], dtype=np.bool_)
            ends = self._offsets[1:][has]
            tools = np.insert(tools, ends, self.reader.codes.numbers[FINAL_ANSWER])
            steps = np.insert(steps, ends, self._answer_steps[has])
            calls = len(self.tools)
            numbers = np.insert(np.arange(calls), ends, np.arange(len(ends)) + calls)
            lengths = lengths + has
        there = np.flatnonzero(lengths)
        segments = Segments(lengths[there])
        return Columns(self.reader.codes, segments, tools, steps, self._store, numbers), there

    @cached_property
    def _answer_steps(self) -> NDArray[np.int64]:
        """The step that the answer of each record has, behind its last call."""
        last = np.append(self._counted, -1)[self._offsets[1:] - 1]
        return np.where(self.calls > 0, last + 1, 0)

    @cached_property
    def _store(self) -> RawEvents:
        failed = self.reader.procedure.failed
        answers = zip(self.answers, self._answer_steps.tolist(), strict=True)
        return RawEvents(
            self.reader.codes.names,
            self.tools,
            self._counted,
            self.arguments,
            self.results,
            self.errors,
            [(answer, step) for answer, step in answers if answer is not None],
            failed,
            self.reader.known,
        )
