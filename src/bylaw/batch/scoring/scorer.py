"""Scores records in batches: in columns where a rule has such a reading, else trace by trace.

The outcomes and scores of many traces are arrays.
"""

from __future__ import annotations

import gc
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bylaw.batch.input.chunks import Loaded, SmallFiles, TextLines
from bylaw.batch.scoring.partial_decoding import FieldsRead, OddRecord
from bylaw.batch.scoring.plain_records import MARK_BYTES, PlainBatch, PlainReader
from bylaw.columnar.columns import Codes, Columns, Subject
from bylaw.columnar.evaluation import ColumnarEvaluation, unsupported_because, vacuous_by_guard
from bylaw.columnar.from_traces import columns_of
from bylaw.columnar.segments import TruthColumn
from bylaw.errors import Diagnostic
from bylaw.logic.formula import FromMetrics
from bylaw.logic.walk import is_timed, sees_answer
from bylaw.procedure.procedure import SCORE_LABELS, Constraint, Procedure, score_of
from bylaw.scoring.verify import CheckedTrace
from bylaw.semantics.verdict import OUTCOMES
from bylaw.trace.files import Entry
from bylaw.trace.trace import Events, Trace

BATCH_CALLS: Final = 1 << 16
"""The number of calls in a batch: enough to be fast, few enough for the processor's cache."""
CODES: Final = {outcome: code for code, outcome in enumerate(OUTCOMES)}
VIOLATED, VACUOUS, SATISFIED, ERROR = range(4)
PASSED: Final = (False, True, None)
"""The verdicts in the order of their codes: violated, passed, undecided."""
VERDICTS: Final = np.array([PASSED.index(each.passed) for each in OUTCOMES], dtype=np.uint8)
"""The verdict of each outcome."""
MAX_KNOWN: Final = 1 << 16
"""The largest number of rows whose scores are kept."""


# ── scores ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Unusable:
    """A record that is not a trace."""

    name: str
    diagnostics: tuple[Diagnostic, ...]


@dataclass(slots=True)
class Scores:
    """The outcomes of some traces, a row each, in the order of the records."""

    names: list[str]
    """For example `runs.jsonl:17`."""
    calls: NDArray[np.int64]
    """The number of calls of each trace."""
    outcomes: NDArray[np.int8]
    """An index into OUTCOMES, for each trace and constraint."""
    values: NDArray[np.float64]
    """The score of each trace; NaN if it has none."""
    labels: NDArray[np.int8]
    """An index into SCORE_LABELS, for each trace."""
    unusable: list[Unusable] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    """The number of notes of each code on the records."""
    alone: Counter[str] = field(default_factory=Counter)
    """For each constraint without a reading in columns, the number of traces judged one by one."""

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def together(cls, several: Sequence[Scores]) -> Scores:
        """The rows of several, one after the other."""
        return cls(
            [name for each in several for name in each.names],
            np.concatenate([each.calls for each in several]),
            np.concatenate([each.outcomes for each in several]),
            np.concatenate([each.values for each in several]),
            np.concatenate([each.labels for each in several]),
            [record for each in several for record in each.unusable],
            sum((each.notes for each in several), Counter()),
            sum((each.alone for each in several), Counter()),
        )

    def sorted(self) -> Scores:
        """The rows in the order of their lines; all must be of one file."""
        order = sorted(range(len(self)), key=lambda row: int(self.names[row].rpartition(":")[2]))
        return self._rows(order)

    def among(self, names: Set[str]) -> Scores:
        """The rows of some traces."""
        return self._rows([row for row, name in enumerate(self.names) if name in names])

    def _rows(self, rows: list[int]) -> Scores:
        return replace(
            self,
            names=[self.names[row] for row in rows],
            calls=self.calls[rows],
            outcomes=self.outcomes[rows],
            values=self.values[rows],
            labels=self.labels[rows],
        )


class RowScores:
    """Scores of rows of outcomes under a procedure. Rows with equal verdicts are scored once."""

    def __init__(self, procedure: Procedure) -> None:
        self._weights: Final = [constraint.weight for constraint in procedure.constraints]
        self._known: Final[dict[bytes, tuple[float, int]]] = {}

    def of(self, outcomes: NDArray[np.int8]) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        """The value of each row, NaN if it has none, and the code of its label."""
        if len(self._known) > MAX_KNOWN:
            self._known.clear()
        verdicts, width = VERDICTS[outcomes].tobytes(), outcomes.shape[1]
        scores = [
            self._score(verdicts[start : start + width]) for start in range(0, len(verdicts), width)
        ]
        values, labels = zip(*scores, strict=True) if scores else ((), ())
        return np.array(values, dtype=np.float64), np.array(labels, dtype=np.int8)

    def _score(self, verdicts: bytes) -> tuple[float, int]:
        found = self._known.get(verdicts)
        if found is None:
            value, label = score_of(self._weights, [PASSED[code] for code in verdicts])
            found = math.nan if value is None else value, SCORE_LABELS.index(label)
            self._known[verdicts] = found
        return found


# ── scoring ────────────────────────────────────────────────────────────────────────────


class DecodedBatch:
    """Traces that have been read completely, with their failures marked."""

    def __init__(self, traces: Sequence[Trace], codes: Codes) -> None:
        self._traces = traces
        self._codes = codes

    def __len__(self) -> int:
        return len(self._traces)

    @property
    def calls(self) -> NDArray[np.int64]:
        return np.array([len(trace.calls) for trace in self._traces], dtype=np.int64)

    def columns(self, events: Events, answer: bool) -> tuple[Columns, NDArray[np.intp]]:
        return columns_of(self._traces, self._codes, events, answer=answer)

    def trace(self, number: int) -> Trace:
        return self._traces[number]


TraceBatch: TypeAlias = DecodedBatch | PlainBatch


class Scorer:
    """Scores records against one procedure."""

    def __init__(self, procedure: Procedure, *, others: Iterable[Procedure] = ()) -> None:
        """`others` score the same records: each decodes what any of them reads, so that all
        accept the same records.
        """
        self.procedure: Final = procedure
        self._rules: Final = [BatchRule(each, procedure) for each in procedure.constraints]
        self._scores: Final = RowScores(procedure)
        self._codes: Final = Codes()
        fields = FieldsRead.by([procedure, *others])
        self._reader: Final = PlainReader(procedure, fields, self._codes)

    def content(self, content: Loaded) -> Scores:
        """The scores of the records of a chunk."""
        if isinstance(content, SmallFiles):
            return Scores.together([self.content(each) for each in content.contents()])
        if isinstance(content, TextLines) and not content.long:
            return self.lines(content)
        return self.entries(content.entries())

    def entries(self, entries: Iterable[Entry]) -> Scores:
        """The scores of records that have been read."""
        found: list[Scores] = []
        some: list[Entry] = []
        size = 0
        for entry in entries:
            some.append(entry)
            size += len(entry.trace.calls) + 1 if entry.trace else 1
            if size >= BATCH_CALLS:
                found.append(self._score_entries(some))
                some, size = [], 0
        return Scores.together([*found, self._score_entries(some)])

    def lines(self, lines: TextLines) -> Scores:
        """The scores of the records on some lines, in order."""
        with _no_collection():
            return self._score_lines(lines)

    def _score_lines(self, source: TextLines) -> Scores:
        lines = _split(source.text)
        found: list[Scores] = []
        named = (source.name, source.first_line)
        marked = MARK_BYTES in source.text
        for batch in self._reader.batches(lines, BATCH_CALLS, named, marked=marked):
            scores, batch = self._score_plain(batch)
            if batch.others:
                others = [
                    replace(source, first_line=source.first_line + n, text=bytes(lines[n]))
                    for n in batch.others
                ]
                read = [entry for line in others for entry in line.entries()]
                scores = Scores.together([scores, self._score_entries(read)]).sorted()
            found.append(scores)
        return Scores.together(found)

    def _score_plain(self, batch: PlainBatch) -> tuple[Scores, PlainBatch]:
        """The scores of a batch, and the batch without the records that turned out to be odd."""
        while True:
            try:
                return self._score(batch.names, batch), batch
            except OddRecord as odd:
                batch = batch.without(odd)

    def _score_entries(self, entries: list[Entry]) -> Scores:
        usable = [(entry.name, entry.trace) for entry in entries if entry.trace is not None]
        traces = [self.procedure.marked(trace) for _, trace in usable]
        scores = self._score([name for name, _ in usable], DecodedBatch(traces, self._codes))
        for entry in entries:
            if entry.trace is None:
                problems = entry.error.diagnostics if entry.error else ()
                scores.unusable.append(Unusable(entry.name, tuple(problems)))
            scores.notes.update(note.code for note in entry.notes)
        return scores

    def _score(self, names: list[str], batch: TraceBatch) -> Scores:
        outcomes = np.empty((len(batch), len(self._rules)), dtype=np.int8)
        alone: Counter[str] = Counter()
        undated: set[int] = set()
        views = _BatchViews(self.procedure, batch)
        for column, rule in enumerate(self._rules):
            outcomes[:, column], count = rule.outcomes(views)
            undated.update(rule.undated(views))
            if count is not None:
                alone[rule.constraint.name] += count
        notes = Counter({"W527": len(undated)} if undated else {})
        scored = self._scores.of(outcomes)
        return Scores(names, batch.calls, outcomes, *scored, alone=alone, notes=notes)


class BatchRule:
    """A constraint of a procedure, judged on batches."""

    def __init__(self, constraint: Constraint, procedure: Procedure) -> None:
        formula = constraint.formula
        self.constraint: Final = constraint
        self._procedure: Final = procedure
        self._view: Final = procedure.events_of(constraint), sees_answer(formula)
        self._columnar: Final = unsupported_because(formula, procedure.vocabulary) is None

    def outcomes(self, views: _BatchViews) -> tuple[NDArray[np.int8], int | None]:
        """The outcome code of each trace, and the number of traces judged one by one; None for a
        rule that has a reading in columns.
        """
        formula = self.constraint.formula
        over, there = views.evaluation(*self._view)
        found = np.empty(len(views.batch), dtype=np.int8)
        undecided = np.ones(len(found), dtype=np.bool_)
        if len(there) and self._columnar:
            found[there] = _codes(over.start(formula))
            undecided[there] = False
        elif len(there) and (idle := vacuous_by_guard(formula, over)) is not None:
            found[there[idle]] = VACUOUS
            undecided[there[idle]] = False
        numbers = np.flatnonzero(undecided)
        if self._columnar and numbers.size and self._when_empty is not None:
            found[numbers] = self._when_empty
        else:
            found[numbers] = [views.judge(self.constraint, number) for number in numbers.tolist()]
        return found, None if self._columnar else len(numbers)

    def undated(self, views: _BatchViews) -> Iterable[int]:
        """The traces with events without a time that a rule about time sees."""
        if not is_timed(self.constraint.formula):
            return ()
        over, there = views.evaluation(self._view[0], answer=False)
        if not len(there):
            return ()
        found: list[int] = there[over.segments.any(over.subject.columns.start_ranks == 0)].tolist()
        return found

    @cached_property
    def _when_empty(self) -> int | None:
        """The outcome on a trace without events; None if it depends on the trace's metrics."""
        if self.constraint.formula.contains(FromMetrics):
            return None
        return CODES[CheckedTrace(Trace(), self._procedure).outcome(self.constraint)]


def _codes(column: TruthColumn) -> NDArray[np.int8]:
    codes = np.where(column.true, np.int8(SATISFIED), np.int8(VIOLATED))
    if column.vacuous is not None:
        codes[column.vacuous] = VACUOUS
    return codes


class _BatchViews:
    """The views of a batch that rules share."""

    def __init__(self, procedure: Procedure, batch: TraceBatch) -> None:
        self.batch: Final = batch
        self._procedure = procedure
        self._evaluations: dict[
            tuple[Events, bool], tuple[ColumnarEvaluation, NDArray[np.intp]]
        ] = {}
        self._checked: dict[int, CheckedTrace] = {}

    def evaluation(
        self, events: Events, answer: bool
    ) -> tuple[ColumnarEvaluation, NDArray[np.intp]]:
        """The evaluation of the traces that have an event, and the numbers of these traces."""
        key = (events, answer)
        if key not in self._evaluations:
            columns, there = self.batch.columns(events, answer)
            procedure = self._procedure
            over = ColumnarEvaluation(Subject(columns, procedure.order, procedure.vocabulary))
            self._evaluations[key] = over, there
        return self._evaluations[key]

    def judge(self, constraint: Constraint, number: int) -> int:
        """The outcome code of one trace, by the reference."""
        if number not in self._checked:
            self._checked[number] = CheckedTrace(self.batch.trace(number), self._procedure)
        return CODES[self._checked[number].outcome(constraint)]


@contextmanager
def _no_collection() -> Iterator[None]:
    """Suspends garbage collection: the many objects of a batch form no cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _split(text: bytes) -> list[memoryview]:
    """The lines, without copying them."""
    whole = memoryview(text)
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")).tolist()
    if not text.endswith(b"\n"):
        ends.append(len(text))
    starts = [0, *(end + 1 for end in ends[:-1])]
    return [whole[start:end] for start, end in zip(starts, ends, strict=True)]
