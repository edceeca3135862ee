"""A run over a corpus: its chunks, scored on several processes, in order.

Few chunks are in progress at any time, so memory does not grow with the corpus. Worker processes
end when this one does; if one of them dies, the run ends with an error.
"""

from __future__ import annotations

import heapq
import math
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import get_all_start_methods, get_context, parent_process
from typing import Final, Protocol

import numpy as np

from bylaw.batch.input.chunks import Chunk, Content, Cursor, Limits, chunks, load
from bylaw.batch.input.files import CorpusFile, FileGroups, group_files
from bylaw.batch.output.results_file import ResultsFile, RunState
from bylaw.batch.output.summary import (
    BINS,
    ERRORS,
    EXAMPLES,
    SETS,
    WORST,
    NotableTrace,
    Summary,
    ViolatedSet,
)
from bylaw.batch.scoring.scorer import VIOLATED, Scorer, Scores
from bylaw.errors import Diagnostic, UsageError
from bylaw.procedure.procedure import SCORE_LABELS, Procedure
from bylaw.semantics.verdict import OUTCOMES

_AHEAD: Final = 3
"""The number of chunks in progress for each process."""
# A process forked off this one would inherit the locks of its threads, but not the threads. The
# fork server has loaded what the workers need and nothing else, and they share its memory.
_START_METHOD: Final = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"


def core_count() -> int:
    """The number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class CorpusProgress:
    """The progress since the last report."""

    traces: int
    size: int
    """In bytes of the corpus as it is stored."""
    problems: list[Diagnostic]
    """Errors in records; only the first few of a run are reported."""
    resumed: bool = False
    """Was it made by an earlier, interrupted run?"""


@dataclass(frozen=True, slots=True)
class ChunkScores:
    """The scores of a chunk under each procedure."""

    start: Cursor
    next: Cursor
    size: int
    scores: tuple[Scores, ...]

    @classmethod
    def of(cls, chunk: Chunk, scores: tuple[Scores, ...]) -> ChunkScores:
        """The scores of this chunk."""
        return cls(chunk.start, chunk.next, chunk.size, scores)


class CorpusEngine(Protocol):
    """Scores a corpus from a cursor on, under each procedure; the chunks come in order."""

    def __call__(
        self, groups: FileGroups, start: Cursor, procedures: Sequence[Procedure], limits: Limits
    ) -> Iterator[ChunkScores]: ...


def score_corpus(
    procedure: Procedure,
    corpus: Sequence[CorpusFile],
    *,
    engine: CorpusEngine | None = None,
    limits: Limits | None = None,
    output: ResultsFile | None = None,
    watch: Callable[[CorpusProgress], None] = lambda progress: None,
) -> Summary:
    """Scores every trace of a corpus, in bounded memory. Rows are written to `output`.

    Rules across runs are left out: they judge no single trace.
    """
    procedure = procedure.of_one_run()
    engine, limits = engine or LocalEngine(core_count()), limits or Limits()
    done = output.state if output else RunState()
    cursor, size = done.cursor, done.size
    summary = Summary.from_state(procedure, done.summary) if done.parts else Summary(procedure)
    watch(CorpusProgress(summary.traces, size, [], resumed=True))
    try:
        for chunk in engine(group_files(corpus, limits.chunk), cursor, [procedure], limits):
            (scores,) = chunk.scores
            problems = add_scores(summary, scores, chunk.start)
            cursor, size = chunk.next, size + chunk.size
            if output:
                output.add(scores, cursor, size, summary)
            watch(CorpusProgress(len(scores), chunk.size, problems))
        if output:
            output.finish(cursor, size, summary)
    finally:
        if output:
            output.close()
    return summary


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Scores on this machine; with one job, in this process."""

    jobs: int

    def __call__(
        self, groups: FileGroups, start: Cursor, procedures: Sequence[Procedure], limits: Limits
    ) -> Iterator[ChunkScores]:
        """The chunks, in order."""
        work = chunks(groups, start, limits)
        first = list(islice(work, 2))
        work = chain(first, work)
        if self.jobs > 1 and len(first) > 1:
            yield from self._in_parallel(work, procedures)
            return
        scorers = scorers_for(procedures)
        for chunk in work:
            yield ChunkScores.of(chunk, score_content(chunk.content, scorers))

    def _in_parallel(
        self, work: Iterator[Chunk], procedures: Sequence[Procedure]
    ) -> Iterator[ChunkScores]:
        context = get_context(_START_METHOD)
        if _START_METHOD == "forkserver":
            context.set_forkserver_preload([__name__])
        pool = ProcessPoolExecutor(self.jobs, context, _start_worker, (packed(procedures),))
        waiting: deque[tuple[Chunk, Future[tuple[Scores, ...]]]] = deque()

        def oldest() -> ChunkScores:
            chunk, future = waiting.popleft()
            return ChunkScores.of(chunk, future.result())

        try:
            for chunk in work:
                waiting.append((chunk, pool.submit(_score_here, chunk.content)))
                if len(waiting) >= self.jobs * _AHEAD:
                    yield oldest()
            while waiting:
                yield oldest()
        except BrokenProcessPool:
            message = "a worker process died"
            help = (
                "It may have run out of memory: use fewer --jobs. With --out, the same command "
                "resumes this run."
            )
            raise UsageError(Diagnostic("E430", message, help)) from None
        finally:
            pool.shutdown(cancel_futures=True)


def score_content(content: Content, scorers: Sequence[Scorer]) -> tuple[Scores, ...]:
    """The scores of a chunk's content under each procedure."""
    loaded = load(content)
    return tuple(scorer.content(loaded) for scorer in scorers)


def scorers_for(procedures: Sequence[Procedure]) -> list[Scorer]:
    """A scorer for each procedure; all accept the same records."""
    return [Scorer(procedure, others=procedures) for procedure in procedures]


# ── other processes ───────────────────────────────────────────────────────────────────────

_scorers: list[Scorer] = []


def packed(procedures: Sequence[Procedure]) -> bytes:
    """The procedures, for another process: the rules as in files, and the functions by name."""
    try:
        return pickle.dumps([(each.to_dict(), each.vocabulary) for each in procedures])
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        message = f"the vocabulary cannot be sent to another process: {error}"
        help = "Define its functions at the top level of a module, or use --jobs 1."
        raise UsageError(Diagnostic("E430", message, help)) from None


def unpacked(procedures: bytes) -> list[Scorer]:
    """A scorer for each of the packed procedures."""
    return scorers_for(
        [
            Procedure.from_dict(data, vocabulary=vocabulary)
            for data, vocabulary in pickle.loads(procedures)
        ]
    )


def _start_worker(procedures: bytes) -> None:
    signal.signal(signal.SIGINT, _exit)  # Ctrl-C reaches every process of a terminal
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    _scorers[:] = unpacked(procedures)


def _score_here(content: Content) -> tuple[Scores, ...]:
    return score_content(content, _scorers)


def _exit_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "this is a worker process"
    parent.join()
    _exit()


def _exit(*_: object) -> None:
    os._exit(1)  # no cleanup: the parent is ending, or has ended


# ── counting ──────────────────────────────────────────────────────────────────────────────────


def add_scores(summary: Summary, scores: Scores, cursor: Cursor) -> list[Diagnostic]:
    """Adds a chunk; returns the errors in its records that are kept."""
    summary.notes += scores.notes
    summary.alone += scores.alone
    if len(scores):
        _count(summary, scores)
        _remember(summary, scores, cursor)
    problems = [problem for each in scores.unusable for problem in each.diagnostics]
    problems = problems[: max(0, ERRORS - len(summary.errors))]
    summary.errors += [problem.render() for problem in problems]
    for each in scores.unusable:
        source = each.diagnostics[0].source if each.diagnostics else None
        summary.unusable[source or each.name] += 1
    return problems


def _count(summary: Summary, scores: Scores) -> None:
    summary.traces += len(scores)
    summary.calls += int(scores.calls.sum())
    for code, count in enumerate(np.bincount(scores.labels, minlength=len(SCORE_LABELS))):
        summary.labels[code] += int(count)
    for code in range(len(OUTCOMES)):
        for row, count in zip(summary.outcomes, (scores.outcomes == code).sum(axis=0), strict=True):
            row[code] += int(count)
    known = scores.values[~np.isnan(scores.values)]
    # Rounding would put 0.15 into the bin below it: 0.15 * 20 is 2.9999999999999996.
    bins = np.bincount((known * BINS + 1e-9).astype(np.int64), minlength=BINS + 1)
    summary.histogram = [old + int(new) for old, new in zip(summary.histogram, bins, strict=True)]
    decided = scores.outcomes[scores.labels != SCORE_LABELS.index(None)]
    found = (decided == VIOLATED).sum(axis=0)
    summary.lost = [old + int(new) for old, new in zip(summary.lost, found, strict=True)]


def _remember(summary: Summary, scores: Scores, cursor: Cursor) -> None:
    """Keeps the traces to look at: the worst, and the first of each rule and each set of rules."""
    values = scores.values
    broken = scores.outcomes == VIOLATED

    def notable(row: int) -> NotableTrace:
        value = float(values[row])
        score = 1.0 if math.isnan(value) else value  # one without a score is not the worst
        violated = tuple(map(int, np.flatnonzero(broken[row])))
        return NotableTrace(score, cursor, row, scores.names[row], violated)

    limit = summary.worst[-1].score if len(summary.worst) == WORST else 1.0
    low = np.flatnonzero(values < limit)
    if len(low):
        lowest = low[np.argsort(values[low], kind="stable")[:WORST]]
        found = [notable(int(row)) for row in lowest]
        summary.worst = heapq.nsmallest(WORST, [*summary.worst, *found])
    for number, constraint in enumerate(summary.procedure.constraints):
        kept = summary.examples.setdefault(constraint.name, [])
        if len(kept) < EXAMPLES:
            rows = np.flatnonzero(broken[:, number])[: EXAMPLES - len(kept)]
            kept += [notable(int(row)) for row in rows]
    different, firsts, counts = np.unique(
        np.packbits(broken, axis=1), axis=0, return_index=True, return_counts=True
    )
    for place in np.argsort(firsts, kind="stable"):
        if different[place].any():
            first, traces = notable(int(firsts[place])), int(counts[place])
            together = summary.sets.get(first.violated)
            if together is not None:
                together.traces += traces
            elif len(summary.sets) < SETS:
                summary.sets[first.violated] = ViolatedSet(traces, first)
