"""Whole policies: the example procedures, which are about data, over many runs and one long one.

    python benchmarks/policies.py [--calls N] [FOLDER]

FOLDER holds recorded runs: `tau-bench/retail-*.json`, `tau-bench/airline-*.json`, and
`agent*/*.jsonl` for the assistant. Without it, runs are generated for the retail desk and the
airline. All times are processor time, and both sides of a ratio are measured in turns.

- A corpus: the runs, repeated with fresh values up to N calls, from the bytes of JSONL to scores,
  over msgspec's decoding of the same bytes into typed records.
- A run: `verify_trace` alone, and with the witness and the sentence of each violated rule. Every
  run is judged once, so that nothing about it is remembered.
- Live: the cost of an event, with its result, after a hundred events and after ten thousand of a
  session that keeps every rule open; and the memory that an event leaves behind.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from time import process_time
from typing import Any, Final

import airline
import msgspec
import retail
from corpus import TypedCall, chunks, scored
from table import duration, show, target, times

from bylaw import Call, Procedure, Trace, read_traces, verify_trace
from bylaw.batch.scoring.scorer import Scorer
from bylaw.semantics.machine.machine_cache import MachineCache
from bylaw.semantics.monitors import Monitors
from bylaw.trace.event import MISSING, Event

EXAMPLES: Final = Path(__file__).parent.parent / "examples"
RUNS: Final = {
    "retail": "tau-bench/retail-*.json",
    "airline": "tau-bench/airline-*.json",
    "assistant": "agent*/*.jsonl",
}
"""The recorded runs that an example is about."""
SESSIONS: Final[dict[str, Callable[[], Iterator[Event]]]] = {
    "retail": retail.session,
    "airline": airline.session,
}
"""The long sessions, where there is one."""
EARLY: Final = 100
LATE: Final = 10_000
TIMED: Final = 500
"""The number of events that are timed early and late."""
MEASURED: Final = 1_000
"""The number of events of which the memory is measured."""
GENERATED: Final = (200, 30)
"""The number of generated runs, and of events in each."""
CORPUS_LIMIT: Final = 12.0
RUN_LIMIT: Final = 5e-3
EVENT_LIMIT: Final = 60e-6


def runs(name: str, folder: Path | None) -> list[Trace]:
    """The recorded runs of an example, or generated ones."""
    if folder is not None:
        paths = sorted(folder.glob(RUNS[name]))
        return [entry.trace for path in paths for entry in read_traces(path) if entry.trace]
    if name not in SESSIONS:
        return []
    count, length = GENERATED
    session = SESSIONS[name]()
    return [Trace(_from_zero(islice(session, length))) for _ in range(count)]


def _from_zero(events: Iterator[Event]) -> list[Event]:
    return [replace(event, step=number) for number, event in enumerate(events)]


# ── a corpus ──────────────────────────────────────────────────────────────────────────────


class TypedMessage(msgspec.Struct, gc=False):
    """A message with all its fields."""

    role: str
    text: str = ""
    step: int | None = None


class WholeRecord(msgspec.Struct, gc=False):
    """A run with all its calls and messages."""

    tool_calls: list[TypedCall] = []
    messages: list[TypedMessage] = []
    answer: str | None = None
    labels: dict[str, Any] = {}


def repeated(traces: Sequence[Trace], calls: int) -> list[bytes]:
    """The runs as lines of JSON, again and again with other long numbers in them."""
    records = [json.dumps(trace.to_record()) for trace in traces]
    each = max(1, sum(len(trace.calls) for trace in traces))

    def fresh(record: str, turn: int) -> str:
        def other(found: re.Match[str]) -> str:
            first, rest = found.groups()
            return f"{first}{(int(rest) + 7_919 * turn) % 10 ** len(rest):0{len(rest)}}"

        return re.sub(r"\b(W?\d)(\d{5,9})\b", other, record)

    turns = range(max(1, round(calls / each)))
    return [fresh(record, turn).encode() for turn in turns for record in records]


def over_decoding(procedure: Procedure, content: Sequence[bytes], rounds: int) -> list[float]:
    """The least processor time of scoring some lines, and of decoding them."""
    corpus, scorer = chunks(content), Scorer(procedure)
    decode = msgspec.json.Decoder(WholeRecord).decode

    def decoded() -> int:
        lines = (line for chunk in corpus for line in chunk.split(b"\n"))
        return sum(len(decode(line).messages) for line in lines)

    works = (lambda: scored(scorer, corpus)), decoded
    return [min(found) for found in zip(*(map(_time, works) for _ in range(rounds)), strict=True)]


def _time(work: Callable[[], object]) -> float:
    begun = process_time()
    work()
    return process_time() - begun


# ── a run ─────────────────────────────────────────────────────────────────────────────────


def verified(procedure: Procedure, traces: Sequence[Trace]) -> tuple[float, float, float]:
    """The mean time of a run: its verdicts, with witnesses, and with sentences as well."""
    verify_trace(traces[0], procedure)  # compiles the rules
    reports = []
    begun = process_time()
    for trace in traces:
        reports.append(verify_trace(trace, procedure))
    judged = process_time() - begun
    for report in reports:
        for result in report.violated:
            _ = result.positions
    shown = process_time() - begun
    for report in reports:
        for result in report.violated:
            _ = result.detail
    said = process_time() - begun
    count = len(traces)
    return judged / count, shown / count, said / count


# ── live ──────────────────────────────────────────────────────────────────────────────────


class LongSession:
    """One session, as a gate follows it: each event is taken in, and its result recorded."""

    def __init__(self, procedure: Procedure, session: Iterator[Event]) -> None:
        rules = procedure.constraints
        self.monitors: Final = Monitors(
            [rule.formula for rule in rules],
            order=procedure.order,
            events=[procedure.events_of(rule) for rule in rules],
            vocabulary=procedure.vocabulary,
            cache=MachineCache(procedure.vocabulary),
        )
        self.session: Final = session

    def step(self) -> float:
        """Takes in the next event; the time that it took."""
        event, position = next(self.session), self.monitors.length
        proposed = replace(event, result=MISSING) if isinstance(event, Call) else event
        begun = process_time()
        self.monitors.step(proposed)
        if isinstance(event, Call):
            self.monitors.record(position, event.result)
        return process_time() - begun

    def advance(self, events: int) -> LongSession:
        """Takes in so many events."""
        for _ in range(events):
            self.step()
        return self


def live(name: str, procedure: Procedure) -> list[str]:
    """A row: the cost of an event early and late, and the memory that the session takes."""
    early = LongSession(procedure, SESSIONS[name]()).advance(EARLY)
    late = LongSession(procedure, SESSIONS[name]()).advance(LATE)
    costs = [(early.step(), late.step()) for _ in range(TIMED)]
    firsts, lasts = ([cost[side] for cost in costs] for side in (0, 1))
    verdicts = late.monitors.verdicts
    still_open = sum(not verdict.final for verdict in verdicts)
    found = median(firsts), median(lasts)
    target(f"{name}: an event, p50 late", found[1] / EVENT_LIMIT, 1, at_least=False, unit="× 60 µs")
    return [
        f"{name}, {still_open} of {len(verdicts)} rules open",
        *map(duration, (found[0], fmean(firsts), found[1], fmean(lasts))),
        times(found[1] / found[0]),
        f"{_memory(name, procedure):.2f} KiB",
    ]


def _memory(name: str, procedure: Procedure) -> float:
    """The memory that an event leaves behind, its own fields included."""
    measured = LongSession(procedure, SESSIONS[name]()).advance(EARLY)
    gc.collect()
    tracemalloc.start()
    measured.advance(MEASURED)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held / MEASURED / 1024


def main() -> None:
    """Prints the three tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="recorded runs")
    parser.add_argument("--calls", type=int, default=10_000, help="the size of the corpus")
    given = parser.parse_args()
    corpora, single, long = [], [], []
    for name in RUNS:
        procedure = Procedure.load(EXAMPLES / name / "procedure.yaml")
        traces = runs(name, given.folder)
        rules = len(procedure.constraints)
        if traces:
            judged, shown, said = verified(procedure, traces)
            events = fmean(len(trace.events) for trace in traces)
            cells = f"{name}, {rules} rules", f"{len(traces)}", f"{events:.0f}"
            single.append([*cells, *map(duration, (judged, shown, said))])
            content = repeated(traces, given.calls)
            took, read = over_decoding(procedure, content, 3)
            size = sum(map(len, content)) / 2**20
            cells = f"{name}, {rules} rules", f"{len(content):,}", f"{size:.1f} MiB"
            corpora.append([*cells, duration(took), duration(read), times(took / read)])
            target(f"{name}: a corpus", took / read, CORPUS_LIMIT, at_least=False)
            target(f"{name}: a run", shown / RUN_LIMIT, 1, at_least=False, unit="× 5 ms")
        if name in SESSIONS:
            long.append(live(name, procedure))
    head = ["a corpus", "runs", "size", "scored", "decoded", "ratio"]
    show("JSONL bytes in, scores out", head, corpora)
    head = ["a run", "runs", "events", "verdicts", "and witnesses", "and sentences"]
    show("verify_trace, each run once: means", head, single)
    head = [
        "an event",
        f"p50 at {EARLY}",
        "mean",
        f"p50 at {LATE:,}",
        "mean",
        "p50 ratio",
        "memory",
    ]
    show("Live: an event and its result", head, long)


if __name__ == "__main__":
    main()
