"""The harness's overhead on a tool call: the gate, the results file, and bookkeeping.

    python benchmarks/bench_overhead.py [--quick]

Runs the whole benchmark with an agent that makes no mistakes and one that is refused often, and
takes away the time that the agents themselves need; all in processor time, which other work on the
machine disturbs least. The first round also makes the rules of all
tasks ready; later rounds find them so.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Final

import table

from bylaw.agents.protocol import Chat, Reply
from bylaw.agents.simulated import simulated
from bylaw.bench.instance import instances
from bylaw.bench.jobs import jobs, script_for
from bylaw.bench.results import Results, read_results
from bylaw.bench.runner import BenchRunner
from bylaw.enforcement.severity import Setting

TARGET: Final = 200
SETTINGS: Final[tuple[Setting, ...]] = ("baseline", "block-and-warn", "soft-block")


class Timed:
    """A simulated agent that notes how long it takes itself."""

    batched, width = True, 64

    def __init__(self, profile: str) -> None:
        self._agent = simulated(profile, script_for)
        self.name, self.about = self._agent.name, self._agent.about
        self.seconds = 0.0

    def reply(self, conversations: Sequence[Chat]) -> list[Reply]:
        """As the agent replies."""
        begun = process_time()
        replies = self._agent.reply(conversations)
        self.seconds += process_time() - begun
        return replies


def round_of(profile: str, trials: int, folder: Path, number: int) -> tuple[int, int, float]:
    """One round: calls that ran, calls that were refused, seconds of the harness."""
    path = folder / f"{profile}-{number}.jsonl"
    agent = Timed(profile)
    wanted = list(jobs(agent.name, SETTINGS, trials=trials))
    begun = process_time()
    with Results(path) as results:
        BenchRunner(agent, results).run(wanted)
    seconds = process_time() - begun - agent.seconds
    runs = list(read_results(path))
    return sum(r["calls"] for r in runs), sum(len(r["refused"]) for r in runs), seconds


def main() -> None:
    """Prints the cost per call, and the target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one trial instead of three")
    trials = 1 if parser.parse_args().quick else 3
    begun = process_time()
    list(instances())
    made = process_time() - begun
    rows, costs = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for number, what in enumerate(("first round", "second round")):
            for profile in ("gold", "stubborn"):
                ran, refused, seconds = round_of(profile, trials, Path(folder), number)
                costs[profile, number] = cost = seconds / (ran + refused) * 1e6
                rows.append((f"sim:{profile}", what, f"{ran:,}", f"{refused:,}", f"{cost:.0f} µs"))
    print(f"120 instances with their rules: {made:.2f} s")
    head = ("agent", "", "ran", "refused", "per call")
    table.show("The harness per tool call", head, rows)
    print("\nTargets")
    table.target("per call, rules ready", costs["gold", 1], TARGET, at_least=False, unit="µs")


if __name__ == "__main__":
    main()
