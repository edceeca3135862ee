"""Plain records straight from their bytes into columns: only what some rule reads is decoded.

A line that is not a plain record of the current version, or is odd in a way that matters, is
handed back and read in the ordinary way, which also knows what to say about it. Fields that no
rule reads are skipped, so a mistake in one of them goes unnoticed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from bylaw.columnar.segments import Segments
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
        self._decode: Final = msgspec.json.Decoder(_record_type(needs)).decode

    def chunks(self, lines: Sequence[bytes], size: int) -> Iterator[NativeChunk]:
        """The lines in portions of about so many calls."""
        chunk, calls = NativeChunk(self), 0
        for number, line in enumerate(lines):
            record = self._record(line)
            if record is None:
                chunk.others.append(number)
                calls += 1
            else:
                chunk.lines.append(number)
                chunk.contents.append(line)
                chunk.records.append(record)
                calls += len(record.tool_calls) + 1
            if calls >= size:
                yield chunk.settled()
                chunk, calls = NativeChunk(self), 0
        yield chunk.settled()

    def _record(self, line: bytes) -> Any:
        """The record on a line; None if it is to be read in the ordinary way."""
        if self.needs.metrics:
            return None
        try:
            record = self._decode(line)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return None
        if record.bylaw != VERSION:
            return None
        if self.needs.places_messages and bytes(record.messages) not in NO_MESSAGES:
            return None
        return record


def _record_type(needs: Needs) -> type:
    """The fields of a record that matter, as a type to decode."""
    call: list[Any] = [("tool_name", str), ("step", int, NO_STEP)]
    if needs.arguments:
        call.append(("arguments", Raw, ABSENT))
    if needs.results:
        call += [("tool_result", Raw, ABSENT), ("error", str | None, None)]
    # Not tracked by the collector: a record holds no cycles, and there are millions of them.
    calls = msgspec.defstruct("Call", call, gc=False)
    answer = str | None | UnsetType
    record: list[Any] = [
        ("tool_calls", list[calls]),  # type: ignore[valid-type]
        ("bylaw", int, VERSION),
        ("answer", answer, UNSET),
        ("final_answer", answer, UNSET),
    ]
    if needs.places_messages:
        record.append(("messages", Raw, ABSENT))
    return msgspec.defstruct("Record", record, gc=False)


@dataclass
class NativeChunk:
    """Some records, and the lines that are not plain records."""

    reader: NativeReader
    lines: list[int] = field(default_factory=list)
    """The number of each record's line, counted from 0."""
    contents: list[bytes] = field(default_factory=list)
    records: list[Any] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    """The numbers of the lines that are to be read in the ordinary way."""

    def __len__(self) -> int:
        return len(self.records)

    def settled(self) -> NativeChunk:
        """The chunk without the records that break a rule of the format."""
        try:
            fine = self._fine()
        except OverflowError:  # a step beyond all bounds
            fine = np.zeros(len(self), dtype=np.bool_)
        if fine.all():
            return self
        kept = np.flatnonzero(fine).tolist()
        return NativeChunk(
            self.reader,
            [self.lines[number] for number in kept],
            [self.contents[number] for number in kept],
            [self.records[number] for number in kept],
            sorted({*self.others, *(self.lines[n] for n in np.flatnonzero(~fine).tolist())}),
        )

    def _fine(self) -> NDArray[np.bool_]:
        """Whether each record names its tools, and counts its steps upwards if it counts them."""
        tools, steps = self._tools, self._steps
        starts, ends = self._offsets[:-1], self._offsets[1:]
        nameless, final = (self.reader.codes.numbers[name] for name in ("", FINAL_ANSWER))
        odd = (tools == nameless) | (tools == final) | (steps > LARGEST)
        odd |= (steps < 0) & (steps != NO_STEP)
        later = np.zeros(len(steps), dtype=np.bool_)
        later[1:] = (steps[1:] < steps[:-1]) | ((steps[1:] == NO_STEP) != (steps[:-1] == NO_STEP))
        later[starts[starts < ends]] = False
        before = np.concatenate(([0], np.cumsum(odd | later)))
        return before[ends] == before[starts]

    # ── what the records hold, flat ───────────────────────────────────────────────────────

    @cached_property
    def calls(self) -> NDArray[np.int64]:
        """How many calls each trace has."""
        return np.array([len(record.tool_calls) for record in self.records], dtype=np.int64)

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self.calls)))

    @cached_property
    def _flat(self) -> list[Any]:
        return [call for record in self.records for call in record.tool_calls]

    @cached_property
    def _names(self) -> list[str]:
        return [call.tool_name for call in self._flat]

    @cached_property
    def _tools(self) -> NDArray[np.int32]:
        return self.reader.codes.of(self._names, len(self._names))

    @cached_property
    def _steps(self) -> NDArray[np.int64]:
        return np.fromiter([call.step for call in self._flat], np.int64, len(self._flat))

    @cached_property
    def _counted(self) -> NDArray[np.int64]:
        """The steps; where none are recorded, each call is one."""
        own = np.arange(len(self._flat)) - np.repeat(self._offsets[:-1], self.calls)
        return np.where(self._steps == NO_STEP, own, self._steps)

    # ── what rules see ────────────────────────────────────────────────────────────────────

    def trace(self, number: int) -> Trace:
        """One of them, as a whole."""
        try:
            record = read_json(self.contents[number].decode())
            return self.reader.procedure.marked(Trace.from_record(record, checked=True))
        except (JsonError, TraceError, UnicodeDecodeError):
            raise Unreadable from None

    def columns(self, events: Events, answer: bool) -> tuple[Columns, NDArray[np.intp]]:
        """What rules see of the records; there are no messages in them, or none that matter."""
        tools, steps, lengths, numbers = self._tools, self._counted, self.calls, None
        if answer:
            has = np.array([_answer(record) is not None for record in self.records], dtype=np.bool_)
            ends = self._offsets[1:][has]
            code = self.reader.codes.numbers[FINAL_ANSWER]
            tools = np.insert(tools, ends, code)
            steps = np.insert(steps, ends, self._answer_steps[has])
            places, answers = np.arange(len(self._flat)), np.arange(len(ends)) + len(self._flat)
            numbers = np.insert(places, ends, answers)
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
        needs, failed = self.reader.needs, self.reader.procedure.failed
        steps = zip(self.records, self._answer_steps.tolist(), strict=True)
        return RawEvents(
            self._names,
            self._counted,
            [call.arguments for call in self._flat] if needs.arguments else (),
            [call.tool_result for call in self._flat] if needs.results else (),
            [call.error for call in self._flat] if needs.results else (),
            [(answer, step) for record, step in steps if (answer := _answer(record)) is not None],
            *([failed.marked] if failed is not None else []),
            known=self.reader.known,
        )


def _answer(record: Any) -> str | None:
    answer: str | None | UnsetType = record.answer
    if answer is UNSET:
        answer = record.final_answer
    return None if isinstance(answer, UnsetType) else answer
