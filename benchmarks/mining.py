"""Does mining find rules again that were planted? Recall, precision and time, by number of runs.

    python benchmarks/mining.py [--procedures 200] [--runs 20 50 200] [--noise 0.05] [--peers]
    python benchmarks/mining.py --calls 1000000

Each procedure has three to eight rules of random kinds (`planted.py`). Half of the runs are good
and half are bad, and a share of the labels is wrong. A rule is found again if a mined rule has the
same verdict on 10,000 random runs and on all runs of the procedure.

`--peers` compares the part about tools alone with pm4py and Declare4Py, which learn from good runs
only, and with scarlet, on the same runs: pip install pm4py declare4py scarlet-ltl. `--calls`
measures time and memory on one corpus of so many calls of twenty tools.
"""

from __future__ import annotations

import argparse
import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

import mining_peers
import table
from planted import CONTROL_FLOW, Planted, mislabelled, planted_case
from planted import random_traces as random_runs

from bylaw import Trace, parse
from bylaw.mining.mine import events_of, mine
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.syntax.printer import to_text

RANDOM: Final = 10_000
"""The random runs on which rules are compared."""
RECALL: Final = 0.95
PRECISION: Final = 0.9


class Verdicts:
    """The verdicts of rules on many runs, for telling rules apart."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._traces = traces
        self._known: dict[str, tuple[bool, ...]] = {}

    def of(self, rule: str, first: int | None = None) -> tuple[bool, ...]:
        """The verdicts of a rule on the first runs, or on all of them."""
        if rule not in self._known or (
            first is None and len(self._known[rule]) < len(self._traces)
        ):
            formula = parse(rule)
            events = events_of(rule)
            known = self._known.get(rule, ())
            more = islice(self._traces, len(known), first)
            self._known[rule] = (
                *known,
                *(
                    evaluate(formula, view_of(formula, each, events=events)).value.is_true
                    for each in more
                ),
            )
        return self._known[rule]

    def same(self, one: str, other: str) -> bool:
        """Do two rules agree everywhere? The first few runs tell most apart."""
        if to_text(parse(one)) == to_text(parse(other)):
            return True
        few = 300
        if self.of(one, few)[:few] != self.of(other, few)[:few]:
            return False
        return self.of(one) == self.of(other)


class Tally:
    """The rules that were found again, by kind."""

    def __init__(self) -> None:
        self.planted: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.proposed = 0
        self.right = 0
        self.seconds: list[float] = []

    def add(self, planted: Iterable[Planted], mined: Sequence[str], verdicts: Verdicts) -> None:
        """Compares mined rules with planted ones."""
        planted = list(planted)
        for each in planted:
            self.planted[each.kind] += 1
            self.found[each.kind] += any(verdicts.same(each.rule, rule) for rule in mined)
        self.proposed += len(mined)
        self.right += sum(any(verdicts.same(each.rule, rule) for each in planted) for rule in mined)

    @property
    def recall(self) -> float:
        """The share of planted rules that were found."""
        return self.found.total() / max(1, self.planted.total())

    @property
    def precision(self) -> float:
        """The share of proposed rules that were planted."""
        return self.right / max(1, self.proposed)


def sample(traces: Sequence[Trace], count: int) -> list[Trace]:
    """Evenly many of the runs; those of each rule are adjacent."""
    return [traces[index * len(traces) // count] for index in range(count)]


def measured(
    miner: Callable[[list[Trace], list[Trace]], list[str]],
    good: list[Trace],
    bad: list[Trace],
    tally: Tally,
) -> list[str]:
    """The rules of a miner, with its time."""
    begun = perf_counter()
    rules = miner(good, bad)
    tally.seconds.append(perf_counter() - begun)
    return rules


def ours(good: list[Trace], bad: list[Trace]) -> list[str]:
    """The certain rules that Bylaw mines."""
    return [each.rule for each in mine(good, bad).rules if each.certain]


def order_only(good: list[Trace], bad: list[Trace]) -> list[str]:
    """The same, of rules about tools alone."""
    return [each.rule for each in mine(good, bad, with_data=False).rules if each.certain]


def kept_case(keep: Path | None, seed: int, runs: int, kinds: frozenset[str] | None) -> Any:
    """Planted rules and their runs, from the folder if they are there."""
    path = keep / f"{'order' if kinds else 'all'}-{runs}-{seed}.pickle" if keep else None
    if path is not None and path.exists():
        return pickle.loads(path.read_bytes())
    case = planted_case(seed, runs, kinds)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(case))
    return case


def recovery(
    procedures: int,
    sizes: Sequence[int],
    noise: float,
    seed: int,
    *,
    peers: bool,
    keep: Path | None,
) -> None:
    """Prints the tables of planted rules."""
    pool = list(random_runs(RANDOM, random.Random(0)))
    print(f"{len(pool):,} random runs to compare rules on")
    tallies = {size: Tally() for size in sizes}
    others = {name: Tally() for name in mining_peers.available()} if peers else {}
    own = Tally()
    done = 0
    while done < procedures:
        case = kept_case(keep, seed, max(sizes), CONTROL_FLOW if peers else None)
        seed += 1
        if case is None:
            continue
        rules, good, bad = case
        choose = random.Random(seed)
        done += 1
        verdicts = Verdicts([*good, *bad, *pool])
        for size in sizes:
            labelled = mislabelled(sample(good, size // 2), sample(bad, size // 2), noise, choose)
            if peers:
                tally = own
                tally.add(rules, measured(order_only, *labelled, tally), verdicts)
                for name, other in others.items():
                    found = measured(mining_peers.MINERS[name], *labelled, other)
                    other.add(rules, found, verdicts)
            else:
                tally = tallies[size]
                tally.add(rules, measured(ours, *labelled, tally), verdicts)
        print(f"\r{done} of {procedures} procedures", end="", flush=True)
    print()
    if peers:
        show({"bylaw": own, **others}, "miner")
    else:
        show({f"{size:,} runs": tally for size, tally in tallies.items()}, "runs")
        show_kinds(tallies[max(sizes)])
        wanted = tallies.get(200)
        if wanted is not None:
            table.target("recall at 200 runs", wanted.recall, RECALL, at_least=True, unit="")
            table.target(
                "precision at 200 runs", wanted.precision, PRECISION, at_least=True, unit=""
            )


def show(tallies: dict[str, Tally], of: str) -> None:
    """Prints a row for each tally."""
    rows = [
        (
            name,
            f"{tally.planted.total()}",
            f"{tally.recall:.3f}",
            f"{tally.precision:.3f}",
            table.duration(median(tally.seconds)),
        )
        for name, tally in tallies.items()
    ]
    table.show("Planted rules", (of, "planted", "recall", "precision", "median time"), rows)


def show_kinds(tally: Tally) -> None:
    """Prints the recall of each kind."""
    rows = [
        (kind, f"{tally.planted[kind]}", f"{tally.found[kind] / tally.planted[kind]:.2f}")
        for kind in sorted(tally.planted)
    ]
    table.show("By kind, with most runs", ("kind", "planted", "recall"), rows)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--procedures", type=int, default=200)
    parser.add_argument("--runs", type=int, nargs="+", default=[20, 50, 200])
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peers", action="store_true")
    help = "a folder for the planted runs, which are then made only once"
    parser.add_argument("--keep", type=Path, help=help)
    parser.add_argument("--calls", type=int)
    options = parser.parse_args()
    if options.calls:
        from mining_corpus import large_corpus

        large_corpus(options.calls)
        return
    sizes = [200] if options.peers else options.runs
    counts = options.procedures, sizes, options.noise, options.seed
    recovery(*counts, peers=options.peers, keep=options.keep)


if __name__ == "__main__":
    main()
