"""Does mining find rules again that were planted? Recall, precision and time, by number of runs.

    python benchmarks/mining.py [--procedures 200] [--runs 200] [--seed 0] [--results FILE]
    python benchmarks/mining.py --peers [--procedures 40] [--seed 0] [--results FILE]
    python benchmarks/mining.py --calls 1000000

Each procedure has three to eight rules of random kinds (`planted.py`). Half of the runs are good
and half are bad, and a share of the labels is wrong. A rule is found again if a mined rule has the
same verdict on 10,000 random runs and on all runs of the procedure. Each procedure adds a line to
the file of results as soon as it is measured; the same command resumes an interrupted measurement.

`--peers` compares the part about tools alone with pm4py and Declare4Py, which learn from good runs
only, and with scarlet, on the same runs: pip install pm4py declare4py scarlet-ltl. Every miner has
a process of its own and 60 seconds of processor time for each procedure. `--calls` measures time
and memory on one corpus of so many calls of twenty tools.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import mining_peers
import table
from mining_process import SECONDS, Miner, in_process
from mining_tally import ResultFile, Tally, Verdicts, compared, interval
from planted import CONTROL_FLOW, Case, mislabelled, planted_case
from planted import random_traces as random_runs

from bylaw import Trace
from bylaw.mining.mine import mine

RANDOM: Final = 10_000
"""The random runs on which rules are compared."""
RECALL: Final = 0.95
PRECISION: Final = 0.9


def ours(good: list[Trace], bad: list[Trace]) -> list[str]:
    """The certain rules that Bylaw mines."""
    return [each.rule for each in mine(good, bad).rules if each.certain]


def order_only(good: list[Trace], bad: list[Trace]) -> list[str]:
    """The same, of rules about tools alone."""
    return [each.rule for each in mine(good, bad, with_data=False).rules if each.certain]


def sample(traces: Sequence[Trace], count: int) -> list[Trace]:
    """Evenly many of the runs; those of each rule are adjacent."""
    return [traces[index * len(traces) // count] for index in range(count)]


def recovery(
    procedures: int,
    sizes: Sequence[int],
    noise: float,
    seed: int,
    known: ResultFile,
    *,
    peers: bool,
) -> None:
    """Measures planted rules, and writes what is found to the file."""
    miners: dict[str, Miner] = {"bylaw": ours}
    if peers:
        miners = {"bylaw": order_only, **mining_peers.available()}
    kinds = CONTROL_FLOW if peers else None
    pool = list(random_runs(RANDOM, random.Random(0)))
    print(f"{len(pool):,} random runs to compare rules on")
    done = 0
    while done < procedures:
        if not known.has(seed, max(sizes)):
            case = planted_case(seed, max(sizes), kinds)
            rows = [] if case is None else measured(case, sizes, noise, seed, miners, pool)
            known.add(seed, max(sizes), rows)
        done += known.has(seed, max(sizes), drawn=True)
        print(f"\r{done} of {procedures} procedures", end="", flush=True)
        seed += 1
    print()


def measured(
    case: Case,
    sizes: Sequence[int],
    noise: float,
    seed: int,
    miners: dict[str, Miner],
    pool: Sequence[Trace],
) -> list[dict[str, Any]]:
    """The results of each miner with each number of runs."""
    rules, good, bad = case
    choose = random.Random(seed + 1)
    verdicts = Verdicts([*good, *bad, *pool])
    rows = []
    for size in sizes:
        labelled = mislabelled(sample(good, size // 2), sample(bad, size // 2), noise, choose)
        for name, miner in miners.items():
            limit = SECONDS if len(miners) > 1 else None
            found, seconds = in_process(miner, *labelled, limit)
            row = {"runs": size, "miner": name, "seconds": seconds}
            row["unfinished"] = limit is not None and seconds >= limit
            rows.append(row | compared(rules, found, verdicts))
    return rows


def show(tallies: dict[str, Tally], of: str) -> None:
    """Prints a row for each tally."""
    rows = [
        (
            name,
            f"{tally.procedures}",
            f"{tally.planted.total()}",
            interval(tally.found.total(), tally.planted.total()),
            f"{tally.proposed}",
            interval(tally.right, tally.proposed),
            table.duration(median(tally.seconds)),
            table.duration(sum(tally.seconds)),
            f"{tally.unfinished}",
        )
        for name, tally in tallies.items()
    ]
    head = (of, "procedures", "planted", "recall", "proposed", "precision")
    table.show("Planted rules", (*head, "median time", "in all", "unfinished"), rows)


def show_kinds(tally: Tally) -> None:
    """Prints the recall of each kind."""
    rows = [
        (kind, f"{planted}", f"{found}", f"{found / planted:.2f}")
        for kind, planted, found in tally.by_kind()
    ]
    table.show("By kind, with most runs", ("kind", "planted", "found", "recall"), rows)


def show_results(known: ResultFile, *, peers: bool) -> None:
    """Prints the tables of a file of results."""
    if peers:
        show(known.tallies("miner"), "miner")
        return
    tallies = known.tallies("runs")
    show({f"{size:,} runs": tally for size, tally in tallies.items()}, "runs")
    show_kinds(tallies[max(tallies)])
    if wanted := tallies.get(200):
        table.target("recall at 200 runs", wanted.recall, RECALL, at_least=True, unit="")
        table.target("precision at 200 runs", wanted.precision, PRECISION, at_least=True, unit="")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--procedures", type=int, default=200)
    parser.add_argument("--runs", type=int, nargs="+", default=[200])
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peers", action="store_true")
    help = "a file of JSON lines, to which each procedure adds its results"
    parser.add_argument("--results", type=Path, help=help)
    parser.add_argument("--calls", type=int)
    options = parser.parse_args()
    if options.calls:
        from mining_corpus import large_corpus

        large_corpus(options.calls)
        return
    with tempfile.TemporaryDirectory() as folder:
        known = ResultFile(options.results or Path(folder) / "results.jsonl")
        counts = options.procedures, options.runs, options.noise, options.seed
        recovery(*counts, known, peers=options.peers)
        show_results(known, peers=options.peers)


if __name__ == "__main__":
    main()
