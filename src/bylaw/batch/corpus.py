"""A procedure on a corpus: scored, counted, written down."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bylaw.batch.journal import Journal
from bylaw.batch.pieces import Limits, Place
from bylaw.batch.pipeline import Engine, Local, Result
from bylaw.batch.scores import Scores
from bylaw.batch.sinks import Sink, sink_for
from bylaw.batch.sources import Source, fingerprint, groups
from bylaw.batch.summary import Summary
from bylaw.errors import Diagnostic
from bylaw.procedure.procedure import Procedure

SECONDS: Final = 5.0
"""How often rows are put on disk."""
ROWS: Final = 500_000
"""How many rows are held in memory, at most."""


def all_cores() -> int:
    """How many processes can work at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(slots=True)
class Output:
    """Where the rows go, and how they get there."""

    journal: Journal
    sink: Sink
    procedure: Procedure
    seconds: float
    waiting: list[Scores]
    written: float

    @classmethod
    def to(
        cls,
        path: str,
        procedure: Procedure,
        corpus: Sequence[Source],
        limits: Limits,
        *,
        restart: bool = False,
        seconds: float = SECONDS,
    ) -> Output:
        """A file for the scores of a corpus. A run that was interrupted is gone on with, unless
        `restart` says otherwise.
        """
        sink = sink_for(path)
        files = fingerprint(corpus)
        key = None if files is None else _key(procedure, files, limits)
        journal = Journal(Path(path), key, restart=restart)
        return cls(journal, sink, procedure, seconds, [], time.monotonic())

    def add(self, result: Result, size: int, summary: Summary) -> None:
        """Takes the rows of a piece; puts them on disk now and then."""
        self.waiting.append(result.scores[0])
        rows = sum(len(scores) + len(scores.unusable) for scores in self.waiting)
        if rows >= ROWS or time.monotonic() - self.written >= self.seconds:
            self._write(result.after, size, summary)

    def finish(self, after: Place, size: int, summary: Summary) -> None:
        """Puts the file in place."""
        if self.waiting:
            self._write(after, size, summary)
        self.journal.finish(self.sink.join)

    def _write(self, after: Place, size: int, summary: Summary) -> None:
        rows = self.sink.part(self.waiting, self.procedure)
        self.journal.add(rows, after, size, summary.state())
        self.waiting.clear()
        self.written = time.monotonic()


@dataclass(frozen=True, slots=True)
class Step:
    """What was done since the step before, for whoever watches."""

    traces: int
    size: int
    """In bytes of the corpus as it is stored."""
    problems: list[Diagnostic]
    """What is wrong with records; at most the first few of a run."""
    resumed: bool = False
    """It was done by an earlier run, which was interrupted."""


def score_corpus(
    procedure: Procedure,
    corpus: Sequence[Source],
    *,
    engine: Engine | None = None,
    limits: Limits | None = None,
    output: Output | None = None,
    watch: Callable[[Step], None] = lambda step: None,
) -> Summary:
    """Scores every trace of a corpus, in bounded memory; the rows go to the output."""
    engine, limits = engine or Local(all_cores()), limits or Limits()
    done = output.journal.progress if output else None
    place, size = (done.place, done.size) if done else (Place(), 0)
    summary = Summary.from_state(procedure, done.summary) if done and done.parts else None
    summary = summary or Summary(procedure)
    watch(Step(summary.traces, size, [], resumed=True))
    try:
        for result in engine(groups(corpus, limits.piece), place, [procedure], limits):
            (scores,) = result.scores
            problems = summary.add(scores, result.place)
            place, size = result.after, size + result.size
            if output:
                output.add(result, size, summary)
            watch(Step(len(scores), result.size, problems))
        if output:
            output.finish(place, size, summary)
    finally:
        if output:
            output.journal.close()
    return summary


def _key(procedure: Procedure, files: str, limits: Limits) -> dict[str, str | int | float]:
    """What a run must have in common with the one that it goes on with."""
    rules = json.dumps(procedure.to_dict(), sort_keys=True)
    return {
        "procedure": hashlib.sha256(rules.encode()).hexdigest(),
        "corpus": files,
        "piece": limits.piece,
        "max_line": limits.max_line,
    }
