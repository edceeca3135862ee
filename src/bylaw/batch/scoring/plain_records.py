"""Plain records, decoded straight into columns: only the fields that some rule reads.

Messages are decoded if rules see them, or steps matter: they have steps, too.

A line that is not a plain record of the current version, or is odd in a way that matters, is left
to the ordinary reader, which also reports what is wrong with it. Fields that no rule reads are
skipped, so a mistake in one of them goes unnoticed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Raw, UnsetType
from numpy.typing import NDArray

from bylaw.batch.scoring.partial_decoding import (
    ABSENT,
    FieldsRead,
    GivenAnswer,
    OddRecord,
    ProbeAnswers,
    RawEvents,
)
from bylaw.columnar.columns import MESSAGE, ROLE_CODES, Codes, Columns
from bylaw.columnar.segments import Mask, Segments
from bylaw.errors import TraceError
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Role
from bylaw.trace.record import MESSAGE_DETAILS, VERSION
from bylaw.trace.refusal_mark import MARK
from bylaw.trace.trace import Events, Trace
from bylaw.values import LARGEST, JsonError, read_json

NO_STEP: Final = -(2**62)
"""The step of a call that has none."""
MARK_BYTES: Final = MARK.encode()
_BOUNDS: Final = msgspec.Meta(ge=-LARGEST, le=LARGEST)
_WHOLE: Final[Any] = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
_TIME: Final[Any] = Annotated[int, _BOUNDS] | Annotated[float, _BOUNDS] | None
_DETAILS: Final[tuple[tuple[str, str, Any, Any], ...]] = (
    ("starts", "start", _TIME, None),
    ("ends", "end", _TIME, None),
    ("agents", "agent", str | None, None),
    ("usage", "usage", Raw, ABSENT),
)
"""Fields that few rules read, with their names in a call, their types and defaults."""


class PlainReader:
    """Decodes lines as far as the rules of a procedure read them."""

    def __init__(self, procedure: Procedure, fields: FieldsRead, codes: Codes) -> None:
        self.procedure: Final = procedure
        self.fields: Final = fields
        self.codes: Final = codes
        self.known: Final[ProbeAnswers] = {}
        self.decoded: Final[Callable[[memoryview], Any]] = msgspec.json.Decoder(
            _record_type(fields)
        ).decode

    def batches(
        self, lines: Iterable[memoryview], calls: int, named: tuple[str, int], *, marked: bool
    ) -> Iterator[PlainBatch]:
        """The lines in batches of about the given number of calls; at least one batch.

        `marked`: some of them may hold calls that a gate refused, and are read completely.
        """
        batch = PlainBatch(self, named)
        for number, line in enumerate(lines):
            if not line:
                continue
            record = None if marked and MARK_BYTES in bytes(line) else self._record(line)
            if record is None:
                batch.others.append(number)
            else:
                batch.add(number, line, record)
            if len(batch.tools) + len(batch.others) >= calls:
                yield batch.checked()
                batch = PlainBatch(self, named)
        yield batch.checked()

    def _record(self, line: memoryview) -> Any:
        """The record on a line; None if it must be read in the ordinary way."""
        if "metrics" in self.fields:
            return None
        try:
            record = self.decoded(line)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return None
        return record if record.bylaw == VERSION else None


def _record_type(fields: FieldsRead) -> type:
    """The type of records with only the fields that matter."""
    call: list[Any] = [("tool_name", str)]
    if "steps" in fields:
        call.append(("step", int, NO_STEP))
    if "arguments" in fields:
        call.append(("arguments", Raw, ABSENT))
    if "results" in fields:
        call += [("tool_result", Raw, ABSENT), ("error", str | None, None)]
    call += [(name, type_, default) for field, name, type_, default in _DETAILS if field in fields]
    # Not tracked by the collector: a record holds no cycles, and there are millions of them.
    calls = msgspec.defstruct("Call", call, gc=False)
    record: list[Any] = [
        ("tool_calls", list[calls]),  # type: ignore[valid-type]  # a type made at run time
        ("bylaw", int, VERSION),
        ("answer", str | None | UnsetType, UNSET),
        ("final_answer", str | None, None),
    ]
    if "starts" in fields:
        record.append(("answered", _TIME, None))
    if fields.message_positions:
        record.append(("messages", list[_message_type(fields)] | None, None))  # type: ignore[misc]  # as above
    return msgspec.defstruct("Record", record, gc=False)


def _message_type(fields: FieldsRead) -> type:
    message: list[Any] = [("role", Role), ("text", str), ("before", _WHOLE)]
    if "steps" in fields:
        message.append(("step", int, NO_STEP))
    if "messages" in fields:
        details = [each for each in _DETAILS if each[1] in MESSAGE_DETAILS]
        message += [
            (name, kind, default) for field, name, kind, default in details if field in fields
        ]
    return msgspec.defstruct("Message", message, gc=False)


@dataclass
class PlainBatch:
    """Some records, as columns, and the lines that are not plain records."""

    reader: PlainReader
    named: tuple[str, int]
    """The name of the file, and the number of the first line."""
    lines: list[int] = field(default_factory=list)
    """The line of each record, counted from 0."""
    texts: list[memoryview] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    """The number of calls of each record."""
    answers: list[str | None] = field(default_factory=list)
    tools: list[int] = field(default_factory=list)
    """The code of each call's tool. The other columns are empty if no rule reads them."""
    steps: list[int] = field(default_factory=list)
    arguments: list[Raw] = field(default_factory=list)
    results: list[Raw] = field(default_factory=list)
    errors: list[str | None] = field(default_factory=list)
    starts: list[float | None] = field(default_factory=list)
    ends: list[float | None] = field(default_factory=list)
    agents: list[str | None] = field(default_factory=list)
    usage: list[Raw] = field(default_factory=list)
    answered: list[float | None] = field(default_factory=list)
    """The time of each answer."""
    messages: list[Any] = field(default_factory=list)
    """The messages of all records, one record after the other."""
    said: list[int] = field(default_factory=list)
    """The number of messages of each record."""
    others: list[int] = field(default_factory=list)
    """The lines that must be read in the ordinary way."""

    def add(self, number: int, line: memoryview, record: Any) -> None:
        """Adds a record to the columns at once, while it is in the processor's cache."""
        calls, fields = record.tool_calls, self.reader.fields
        self.lines.append(number)
        self.texts.append(line)
        self.lengths.append(len(calls))
        self.answers.append(record.final_answer if record.answer is UNSET else record.answer)
        messages = record.messages or () if fields.message_positions else ()
        self.messages += messages
        self.said.append(len(messages))
        codes = self.reader.codes.numbers
        self.tools += [codes[call.tool_name] for call in calls]
        if "steps" in fields:
            self.steps += [call.step for call in calls]
        if "arguments" in fields:
            wanted = fields.argument_tools
            self.arguments += [
                call.arguments if wanted is None or call.tool_name in wanted else ABSENT
                for call in calls
            ]
        if "results" in fields:
            self.results += [call.tool_result for call in calls]
            self.errors += [call.error for call in calls]
        if "starts" in fields:
            self.starts += [call.start for call in calls]
            self.answered.append(record.answered)
        if "ends" in fields:
            self.ends += [call.end for call in calls]
        if "agents" in fields:
            self.agents += [call.agent for call in calls]
        if "usage" in fields:
            self.usage += [call.usage for call in calls]

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def names(self) -> list[str]:
        """The names of the records."""
        return [self._name(line) for line in self.lines]

    def _name(self, line: int) -> str:
        source, first = self.named
        return f"{source}:{first + line}"

    # ── odd records ───────────────────────────────────────────────────────────────────────

    def checked(self) -> PlainBatch:
        """The batch without the records that violate the format."""
        try:
            valid = self._valid()
        except OverflowError:  # a step that does not fit into 64 bits
            valid = np.zeros(len(self), dtype=np.bool_)
        return self if valid.all() else self._only(np.flatnonzero(valid).tolist())

    def _valid(self) -> Mask:
        """Does each record name its tools, and are its steps, if it has any, in order?

        A record with messages must have all steps: they are not made up here.
        """
        tools = self._tools
        nameless, final = (self.reader.codes.numbers[name] for name in ("", FINAL_ANSWER))
        odd = _any_in((tools == nameless) | (tools == final), self._offsets)
        if "steps" in self.reader.fields:
            merged = self._merged
            steps = np.concatenate((self._recorded_steps, self._message_steps))[merged.events]
            starts, ends = merged.offsets[:-1], merged.offsets[1:]
            missing = steps == NO_STEP
            wrong = (steps > LARGEST) | ((steps < 0) & ~missing)
            wrong |= missing & np.repeat(self._said > 0, merged.lengths)
            disorder = np.zeros(len(steps), dtype=np.bool_)
            disorder[1:] = (steps[1:] < steps[:-1]) | (missing[1:] != missing[:-1])
            disorder[starts[starts < ends]] = False
            odd |= _any_in(wrong | disorder, merged.offsets)
        return ~odd

    def without(self, odd: OddRecord) -> PlainBatch:
        """The batch without an odd record, and without all others that are odd in this way.

        Each record is checked once, however many are odd.
        """
        whole = odd.record is not None
        number = self._record_of(odd.event or 0) if odd.record is None else odd.record
        return self._only(
            [n for n in range(len(self)) if n != number and self._can_be_read(n, whole=whole)]
        )

    def _record_of(self, event: int) -> int:
        """The record of a call or message."""
        calls = len(self.tools)
        offsets = self._offsets if event < calls else self._message_offsets
        return int(np.searchsorted(offsets, event if event < calls else event - calls, "right")) - 1

    def _can_be_read(self, number: int, *, whole: bool) -> bool:
        """Can the fields that rules read be decoded, or, if asked for, the whole record?"""
        try:
            calls = len(self.tools)
            for event in range(self._offsets[number], self._offsets[number + 1]):
                self._store.event(event)
            for message in range(self._message_offsets[number], self._message_offsets[number + 1]):
                self._store.event(calls + message)
            if whole:
                self.trace(number)
        except OddRecord:
            return False
        return True

    def _only(self, kept: Sequence[int]) -> PlainBatch:
        """The batch with these records; the others must be read in the ordinary way."""
        batch = PlainBatch(self.reader, self.named)
        for number in kept:
            line = self.texts[number]
            batch.add(self.lines[number], line, self.reader.decoded(line))
        batch.others = sorted({*self.others, *self.lines} - {*batch.lines})
        return batch

    # ── columns ───────────────────────────────────────────────────────────────────────────

    @cached_property
    def calls(self) -> NDArray[np.int64]:
        """The number of calls of each trace."""
        return np.array(self.lengths, dtype=np.int64)

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self.calls)))

    @cached_property
    def _tools(self) -> NDArray[np.int32]:
        return np.fromiter(self.tools, np.int32, len(self.tools))

    @cached_property
    def _recorded_steps(self) -> NDArray[np.int64]:
        return np.fromiter(self.steps, np.int64, len(self.steps))

    @cached_property
    def _call_steps(self) -> NDArray[np.int64]:
        """The step of each call; without recorded steps, its index in the record."""
        own = np.arange(len(self.tools)) - np.repeat(self._offsets[:-1], self.calls)
        if "steps" not in self.reader.fields:
            return own
        return np.where(self._recorded_steps == NO_STEP, own, self._recorded_steps)

    @cached_property
    def _said(self) -> NDArray[np.int64]:
        return np.array(self.said, dtype=np.int64)

    @cached_property
    def _message_offsets(self) -> NDArray[np.int64]:
        return np.concatenate(([0], np.cumsum(self._said)))

    @cached_property
    def _message_steps(self) -> NDArray[np.int64]:
        if "steps" not in self.reader.fields:
            return np.zeros(len(self.messages), dtype=np.int64)
        return np.fromiter((each.step for each in self.messages), np.int64, len(self.messages))

    @cached_property
    def _merged(self) -> MergedEvents:
        """Calls and messages in one order, each message before the call that it names."""
        if not self.messages:
            return MergedEvents(np.arange(len(self.tools)), self.calls, self._offsets)
        width = 2 * (int(self.calls.max()) + 1)
        records = np.arange(len(self))
        call_keys = np.repeat(records * width - 2 * self._offsets[:-1] + 1, self.calls)
        call_keys += 2 * np.arange(len(self.tools))
        before = np.fromiter((each.before for each in self.messages), np.int64, len(self.messages))
        before = np.minimum(before, np.repeat(self.calls, self._said))
        message_keys = np.repeat(records * width, self._said) + 2 * before
        order = np.argsort(np.concatenate((call_keys, message_keys)), kind="stable")
        lengths = self.calls + self._said
        return MergedEvents(order, lengths, np.concatenate(([0], np.cumsum(lengths))))

    @cached_property
    def _answer_steps(self) -> NDArray[np.int64]:
        """The step of each record's answer, after its last event."""
        steps = np.concatenate((self._call_steps, self._message_steps))[self._merged.events]
        last = np.append(steps, -1)[self._merged.offsets[1:] - 1]
        return np.where(self._merged.lengths > 0, last + 1, 0)

    @cached_property
    def _store(self) -> RawEvents:
        times = self.answered or [None] * len(self)
        answers = zip(self.answers, self._answer_steps.tolist(), times, strict=True)
        return RawEvents(
            self.reader.codes.names,
            self.tools,
            self._call_steps,
            self.arguments,
            self.results,
            self.errors,
            self.starts,
            self.ends,
            self.agents,
            self.usage,
            self.messages,
            [GivenAnswer(text, step, time) for text, step, time in answers if text is not None],
            self.reader.procedure.failed,
            self.reader.known,
        )

    def columns(self, events: Events, answer: bool) -> tuple[Columns, NDArray[np.intp]]:
        """The columns of the records that have an event, and the numbers of these records."""
        tools, steps, lengths, numbers = self._tools, self._call_steps, self.calls, None
        offsets, roles = self._offsets, None
        if events == "all" and self.messages:
            numbers, lengths, offsets = self._merged
            message = self.reader.codes.numbers[MESSAGE]
            spoken = np.fromiter((ROLE_CODES[m.role] for m in self.messages), np.int8)
            tools = np.concatenate((tools, np.full(len(spoken), message, np.int32)))[numbers]
            steps = np.concatenate((steps, self._message_steps))[numbers]
            roles = np.concatenate((np.zeros(len(self.tools), np.int8), spoken))[numbers]
        if answer:
            has = np.array([answer is not None for answer in self.answers], dtype=np.bool_)
            ends = offsets[1:][has]
            tools = np.insert(tools, ends, self.reader.codes.numbers[FINAL_ANSWER])
            steps = np.insert(steps, ends, self._answer_steps[has])
            roles = None if roles is None else np.insert(roles, ends, 0)
            others = len(self.tools) + len(self.messages)
            numbers = np.arange(len(self.tools)) if numbers is None else numbers
            numbers = np.insert(numbers, ends, np.arange(len(ends)) + others)
            lengths = lengths + has
        there = np.flatnonzero(lengths)
        segments = Segments(lengths[there])
        return Columns(
            self.reader.codes, segments, tools, steps, self._store, numbers, roles=roles
        ), there

    def trace(self, number: int) -> Trace:
        """One trace, complete, with its failures marked."""
        try:
            record = read_json(bytes(self.texts[number]).decode())
            trace = Trace.from_record(record, name=self._name(self.lines[number]), checked=True)
            return self.reader.procedure.marked(trace)
        except (JsonError, TraceError, UnicodeDecodeError):
            raise OddRecord(record=number) from None


class MergedEvents(NamedTuple):
    """The calls and messages of records in the order in which they happened."""

    events: NDArray[np.intp]
    """Numbers of calls; those of messages follow them."""
    lengths: NDArray[np.int64]
    offsets: NDArray[np.int64]


def _any_in(mask: Mask, offsets: NDArray[np.int64]) -> Mask:
    """For each record, which ends where the next one begins: is the mask true anywhere?"""
    before = np.concatenate(([0], np.cumsum(mask)))[offsets]
    return np.not_equal(before[1:], before[:-1])
