"""Whole corpora: from the bytes of JSONL to scores, compared with decoding alone and with others.

    python benchmarks/corpus.py [--quick]

The corpus consists of sessions of fifty calls; every other session is shuffled, so that it violates
rules. Each comparison alternates between the two sides on the same bytes and takes the best of
several rounds. Bylaw is compared with:

- msgspec, which decodes all fields of the same lines into typed records and does nothing else: the
  least that any reader of JSONL has to do;
- agentltl 0.2.1, which scores decoded records, one at a time;
- pm4py and Declare4Py, on the DECLARE rules that both sides know, from their own file format;
- itself without columns, on rules about time: the reference judges each trace alone.

Verdicts must agree wherever both sides give them. The last part runs the command on files of
growing size and measures its memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import declare_peer
import msgspec
import peer
import table
import workload

from bylaw import Call, Constraint, Procedure, Trace, parse
from bylaw.batch.input.chunks import TextLines
from bylaw.batch.scoring.scorer import VIOLATED, Scorer, Scores
from bylaw.trace.files import read_trace

LENGTH: Final = 50
CHUNK: Final = 4 << 20
RETAIL: Final = Path(__file__).parent.parent / "examples" / "retail"
MIXED: Final = [rule for rules in workload.FAMILIES.values() for rule in rules[::3]]
"""The core procedure: thirty rules, ten of each family."""


TIMED: Final = (
    "G(b_1 -> O a_1 within 5 min)",
    "G(a_1 -> F b_1 within 5 min)",
    "G(b_1 -> let k = args.k: earlier call(a_1, k = k) within 5 min)",
    "G(length(sofar(call, 1 min)) <= 12)",
    "G(a_1 -> sum(sofar(call, 5 min).args.k) <= 150)",
    'G(a_1 -> hour(start, "Europe/Berlin") < 24)',
)


class TypedCall(msgspec.Struct, gc=False):
    """A call with all its fields."""

    tool_name: str
    arguments: dict[str, Any] = {}
    tool_result: Any = None
    step: int | None = None


class TypedRecord(msgspec.Struct, gc=False):
    """A record with all its fields."""

    tool_calls: list[TypedCall]
    bylaw: int = 1
    answer: str | None = None


def session(seed: int, *, timed: bool = False) -> list[Call]:
    """The calls of one session; with times, about one in ten seconds."""
    calls = workload.calls(LENGTH, seed)
    if seed % 2:
        random.Random(seed).shuffle(calls)
    times = accumulate(random.Random(seed).expovariate(0.1) for _ in calls)
    return [
        Call(call.tool, call.args, call.result, step, start=1.7e9 + time if timed else None)
        for step, (call, time) in enumerate(zip(calls, times, strict=True))
    ]


def lines(traces: int, *, timed: bool = False) -> list[bytes]:
    """The corpus, a record a line."""
    records = (Trace(session(seed, timed=timed)).to_record() for seed in range(traces))
    return [json.dumps(record).encode() for record in records]


def chunks(content: Sequence[bytes]) -> list[bytes]:
    """The lines in chunks of a few MiB."""
    found: list[bytes] = []
    some: list[bytes] = []
    size = 0
    for line in content:
        some.append(line)
        size += len(line) + 1
        if size >= CHUNK:
            found.append(b"\n".join(some))
            some, size = [], 0
    return [*found, b"\n".join(some)] if some else found


def procedure(rules: Sequence[str]) -> Procedure:
    """The procedure of some rules."""
    return Procedure([Constraint(rule, parse(rule)) for rule in rules])


def decoded(corpus: Sequence[bytes]) -> int:
    """The number of calls, after decoding everything into typed records."""
    decode = msgspec.json.Decoder(TypedRecord).decode
    return sum(len(decode(line).tool_calls) for chunk in corpus for line in chunk.split(b"\n"))


def scored(scorer: Scorer, corpus: Sequence[bytes]) -> Scores:
    """The scores of everything."""
    parts = [scorer.lines(TextLines("corpus", 1, chunk)) for chunk in corpus]
    return Scores.together(parts)


def best(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The shortest time of each, measured in turns."""
    found = [float("inf")] * len(works)
    for _ in range(rounds):
        for number, work in enumerate(works):
            begun = perf_counter()
            work()
            found[number] = min(found[number], perf_counter() - begun)
    return found


def over_reading(traces: int, rounds: int) -> float:
    """Prints the time of scoring over that of decoding; returns the ratio of the core procedure."""
    corpus = chunks(lines(traces))
    calls = traces * LENGTH
    rows: list[list[str]] = []
    core = 0.0
    families = {"core procedure": MIXED, **workload.FAMILIES}
    for family, rules in families.items():
        scorer = Scorer(procedure(rules))
        took, read = best(rounds, lambda: scored(scorer, corpus), lambda: decoded(corpus))  # noqa: B023 - called at once
        core = core or took / read
        rows.append(
            [
                family,
                f"{calls / took / 1e6:.2f} M/s",
                f"{calls / read / 1e6:.2f} M/s",
                table.times(took / read),
            ]
        )
    rows.append(_retail(rounds, calls))
    head = [f"30 rules, {calls:,} calls, one core", "scored", "msgspec reads", "time over reading"]
    table.show("End to end: JSONL bytes in, scores out (calls per second)", head, rows)
    table.target("core procedure over reading", core, 2.0, at_least=False)
    return core


def _retail(rounds: int, calls: int) -> list[str]:
    """The same for a procedure about data, on one conversation with a shop, repeated."""
    trace = read_trace(RETAIL / "chat.json")
    line = json.dumps(trace.to_record()).encode()
    count = max(20, calls // 2000)
    corpus = chunks([line] * count)
    scorer = Scorer(Procedure.load(RETAIL / "procedure.yaml"))
    took, read = best(rounds, lambda: scored(scorer, corpus), lambda: decoded(corpus))
    made = count * len(trace.calls)
    return [
        "retail procedure (31 rules on data)",
        f"{made / took / 1e6:.3f} M/s",
        f"{made / read / 1e6:.2f} M/s",
        table.times(took / read),
    ]


def over_agentltl(traces: int, rounds: int) -> None:
    """Prints the time of agentltl over that of Bylaw."""
    if not peer.available():
        return
    corpus, few = chunks(lines(traces)), 20
    rows: list[list[str]] = []
    ratios: dict[str, float] = {}
    for family, rules in {"core procedure": MIXED, **workload.FAMILIES}.items():
        scorer, theirs = Scorer(procedure(rules)), peer.constraints(rules)
        records = [peer.record_of(session(seed)) for seed in range(few)]
        begun = perf_counter()
        judged = [peer.verify(record, theirs) for record in records]
        other = (perf_counter() - begun) / few
        took = best(rounds, lambda: scored(scorer, corpus))[0] / traces  # noqa: B023 - called at once
        agree = judged == _passed(scored(scorer, corpus))[:few]
        ratios[family] = other / took
        rows.append(
            [
                family,
                table.duration(other),
                table.duration(took),
                table.times(ratios[family]),
                "agree" if agree else "DIFFER",
            ]
        )
    head = ["a trace of 50 calls, 30 rules", "agentltl 0.2.1", "Bylaw", "ratio", "verdicts"]
    table.show("agentltl scores decoded records; Bylaw also decodes them", head, rows)
    table.target(
        "agentltl over Bylaw, core procedure", ratios["core procedure"], 300, at_least=True
    )
    nested = ratios["nested temporal"]
    table.target("agentltl over Bylaw, nested temporal", nested, 300, at_least=True)


def over_declare(traces: int, rounds: int) -> None:
    """Prints the times of pm4py and Declare4Py over that of Bylaw."""
    if not declare_peer.available():
        return
    sessions = [[call.tool for call in session(seed)] for seed in range(traces)]
    names = sorted({name for each in sessions for name in each})
    corpus, listed = chunks(lines(traces)), declare_peer.rules(30)
    known = [rule for rule in listed if rule[0] in declare_peer.IN_DECLARE4PY]
    rows: list[list[str]] = []
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        log = str(Path(folder, "log.xes"))
        declare_peer.write(sessions, log)
        for system, rules, measured_ in (
            ("pm4py", listed, declare_peer.by_pm4py(log, listed)),
            ("Declare4Py", known, declare_peer.by_declare4py(log, known, names)),
        ):
            scorer = Scorer(procedure([declare_peer.text(rule) for rule in rules]))
            (took,) = best(rounds, lambda: scored(scorer, corpus))  # noqa: B023 - called at once
            agree = measured_.verdicts == _passed(scored(scorer, corpus))
            whole = (measured_.reading + measured_.checking) / took
            slowest = max(slowest, whole)
            rows.append(
                [
                    f"{system}, {len(rules)} rules",
                    table.duration(measured_.reading),
                    table.duration(measured_.checking),
                    table.duration(took),
                    table.times(whole),
                    table.times(measured_.checking / took),
                    "agree" if agree else "DIFFER",
                ]
            )
    head = [f"{traces:,} traces", "reads", "checks", "Bylaw", "both", "checks alone", "verdicts"]
    table.show("DECLARE rules; Bylaw's time is for reading and checking", head, rows)
    table.target("a DECLARE checker over Bylaw, from file to verdict", slowest, 30, at_least=True)


def over_reference(traces: int, rounds: int) -> None:
    """Prints the time of judging rules about time one by one over that in columns."""
    corpus = chunks(lines(traces, timed=True))
    rows: list[list[str]] = []
    ratios: list[float] = []
    for rule in TIMED:
        in_columns = Scorer(procedure([rule]))
        alone = Scorer(procedure([f"({rule}) & labels = labels"]))  # labels have no columns
        took, slow = best(rounds, lambda: scored(in_columns, corpus), lambda: scored(alone, corpus))  # noqa: B023 - called at once
        agree = _passed(scored(in_columns, corpus)) == _passed(scored(alone, corpus))
        ratios.append(slow / took)
        speed = f"{traces * LENGTH / took / 1e6:.2f} M/s"
        ratio = table.times(slow / took)
        rows.append([rule, speed, ratio, "agree" if agree else "DIFFER"])
    head = [f"{traces:,} traces of {LENGTH} calls", "scored", "one by one over it", "verdicts"]
    table.show("Rules about time: JSONL bytes in, scores out", head, rows)
    table.target("one by one over columns, least", min(ratios), 3, at_least=True)


def _passed(scores: Scores) -> list[list[bool]]:
    found: list[list[bool]] = (scores.outcomes != VIOLATED).tolist()
    return found


# ── the command, on files of growing size ─────────────────────────────────────────────────


def growing(sizes: Sequence[int]) -> None:
    """Prints time and memory of `bylaw verify`, and the speed-up by a second core."""
    content = lines(min(20_000, sizes[-1] // LENGTH))
    cores = os.cpu_count() or 1
    rows: list[list[str]] = []
    marginal: list[float] = []
    last: tuple[int, float] | None = None
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder, "rules.json")
        rules.write_text(json.dumps(procedure(MIXED).to_dict()))
        for size in sizes:
            corpus = Path(folder, "corpus.jsonl")
            with corpus.open("wb") as file:
                for number in range(size // LENGTH):
                    file.write(content[number % len(content)] + b"\n")
            # The start of the command dominates small runs, and varies.
            rounds = 3 if size <= 10**6 else 1
            took, memory = min(measured(rules, corpus, 1) for _ in range(rounds))
            cells = [f"{size:,} calls", table.duration(took), f"{memory / 2**20:.0f} MiB"]
            if cores > 1:
                shared, more = min(measured(rules, corpus, 2) for _ in range(rounds))
                cells += [
                    table.duration(shared),
                    f"{more / 2**20:.0f} MiB",
                    table.times(took / shared),
                ]
            rows.append(cells)
            if last is not None:
                marginal.append((took - last[1]) / (size - last[0]))
            last = size, took
    head = ["bylaw verify --out", "one core", "memory"]
    head += ["two cores", "memory", "gain"] if cores > 1 else []
    table.show("The command itself, start and results file included", head, rows)
    if len(marginal) > 1:
        table.target(
            "cost of a call, last size over the one before",
            marginal[-1] / marginal[-2],
            1.2,
            at_least=False,
        )
    table.target("memory at the last size", memory / 2**30, 1.0, at_least=False, unit="GiB")


def measured(rules: Path, corpus: Path, jobs: int) -> tuple[float, int]:
    """The time of the command, and the peak memory of it and its workers."""
    out = corpus.with_name(f"scores-{jobs}-{corpus.stat().st_size}.parquet")
    command = [sys.executable, "-m", "bylaw", "verify", "-p", str(rules), str(corpus)]
    command += ["--out", str(out), "--summary", "--jobs", str(jobs)]
    begun = perf_counter()
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most = 0
    while running.poll() is None:
        most = max(most, resident(running.pid))
        time.sleep(0.02)
    assert running.returncode in (0, 1), "the command failed"
    return perf_counter() - begun, most


def resident(process: int) -> int:
    """The memory of a process and its children in bytes, if the system reports it."""
    found = 0
    try:
        status = Path(f"/proc/{process}/status").read_text()
        found = sum(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line) * 1024
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return found
    return found + sum(resident(int(child)) for child in children)


def main() -> None:
    """Prints everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small corpora only")
    quick = parser.parse_args().quick
    over_reading(1_000 if quick else 20_000, 3 if quick else 5)
    over_agentltl(200 if quick else 4_000, 3)
    over_declare(200 if quick else 2_000, 3)
    over_reference(200 if quick else 2_000, 3)
    growing([10**4, 10**5] if quick else [10**5, 10**6, 10**7])


if __name__ == "__main__":
    main()
