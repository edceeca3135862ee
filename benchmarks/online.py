"""Call by call: Bylaw's monitors and agentltl's enforcer on the same rules and calls.

    python benchmarks/online.py [--quick]

One step is: take in a call, and know which of the thirty constraints it newly violates. The two
systems take turns in one process, so that noise hits both; numbers are medians over calls and
rounds. Every round starts with new monitors, so what they remember is what they have seen.

A second part follows the airline's procedure (`examples/airline`) through a long session of
messages, calls and results. Rules whose evidence is a piece of text must keep the texts and look
through them; they are listed apart.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, median
from time import perf_counter
from typing import Final

import airline
import peer
import table
import workload

from bylaw import Call, parse
from bylaw.semantics.monitors import Monitors
from bylaw.trace.event import MISSING, Event

SHORT: Final = (50, 200)
"""The positions at which the two are compared."""
LONG: Final = (100, 1_000, 10_000, 100_000)
"""The positions at which Bylaw runs alone."""
WINDOW: Final = 20
"""The number of calls timed at a position in the comparison."""
LONG_WINDOW: Final = 500
"""The same where Bylaw runs alone."""
PATIENCE: Final = 10.0
"""After so many seconds on one line of the comparison, no more calls are timed for it."""


def timed(
    step: Callable[[Call], object], calls: Sequence[Call], patience: float = math.inf
) -> list[float]:
    """The cost of each call, in seconds; of fewer calls, but one at least, if time runs out."""
    costs: list[float] = []
    for call in calls:
        begun = perf_counter()
        step(call)
        costs.append(perf_counter() - begun)
        patience -= costs[-1]
        if patience < 0:
            break
    return costs


def bylaw_at(position: int, rules: Sequence[str], calls: Sequence[Call]) -> list[float]:
    """The cost of the calls from a position on, for monitors that have seen all before it."""
    monitors = Monitors([parse(rule) for rule in rules])
    for call in calls[:position]:
        monitors.step(call)
    return timed(monitors.step, calls[position : position + WINDOW])


def agentltl_at(
    position: int, rules: Sequence[str], calls: Sequence[Call], patience: float
) -> list[float]:
    """The same for agentltl. The calls before are only recorded: it judges by replaying them."""
    checker = peer.enforcer(rules)
    for call in calls[:position]:
        peer.take_in(checker, call)
    return timed(partial(peer.step, checker), calls[position : position + WINDOW], patience)


def compare(rounds: int, patience: float) -> dict[tuple[str, int], tuple[float, float]]:
    """Both systems in turns: the median cost per call, by family and position."""
    found: dict[tuple[str, int], tuple[float, float]] = {}
    rows = []
    for family, rules in workload.FAMILIES.items():
        for position in SHORT:
            ours: list[float] = []
            theirs: list[float] = []
            for seed in range(rounds):
                calls = workload.calls(position + WINDOW, seed)
                ours += bylaw_at(position, rules, calls)
                theirs += agentltl_at(position, rules, calls, patience - sum(theirs))
                if sum(theirs) > patience:
                    break
            found[family, position] = a, b = median(ours), median(theirs)
            means = fmean(ours), fmean(theirs)
            shown = map(table.duration, (a, b, *means))
            ratios = map(table.times, (b / a, means[1] / means[0]))
            rows.append((family, str(position), *shown, *ratios, str(len(theirs))))
    head = ("30 rules", "at call", "Bylaw", "agentltl", "(mean)", "(mean)", "ratio", "(mean)")
    table.show("Cost per call, both systems: medians", (*head, "calls timed"), rows)
    return found


def alone(positions: Sequence[int]) -> dict[str, list[float]]:
    """Bylaw on a long session: the median cost per call at each position, by family."""
    found: dict[str, list[float]] = {}
    rows = []
    calls = workload.calls(positions[-1] + LONG_WINDOW)
    for family, rules in workload.FAMILIES.items():
        begun = perf_counter()
        monitors = Monitors([parse(rule) for rule in rules])
        built = perf_counter() - begun
        costs, means, reached, worst = [], [], 0, 0.0
        for position in positions:
            worst = max(worst, *timed(monitors.step, calls[reached:position]))
            window = timed(monitors.step, calls[position : position + LONG_WINDOW])
            reached = position + LONG_WINDOW
            costs.append(median(window))
            means.append(fmean(window))
        found[family] = costs
        undecided = sum(not verdict.final for verdict in monitors.verdicts)
        rows.append(
            (
                family,
                *map(table.duration, [built, *costs, fmean(means), worst]),
                f"{undecided} of {len(rules)}",
            )
        )
    head = ("rules", "build", *(f"at {p:,}" for p in positions), "mean", "worst", "open")
    table.show("Cost per call, Bylaw alone: medians", head, rows)
    return found


POLICY: Final = (100, 1_000, 10_000)
"""At which calls the airline's procedure is timed."""


def policy(positions: Sequence[int]) -> dict[str, list[float]]:
    """The airline's procedure on a long session: the mean cost per event at each position.

    An event is taken in, and the result of a call is recorded after it, as a gate does.
    """
    procedure = airline.procedure()
    rules = [(c.name, c.formula, procedure.events_of(c)) for c in procedure.constraints]
    trial = Monitors([rule for _, rule, _ in rules], events=[kind for *_, kind in rules])
    _follow(trial, airline.session(), 200)
    kept = trial.keeps_events
    parts = {
        "by memory": [rule for rule, keeps in zip(rules, kept, strict=True) if not keeps],
        "by text": [rule for rule, keeps in zip(rules, kept, strict=True) if keeps],
    }
    found: dict[str, list[float]] = {}
    rows = []
    for part, chosen in parts.items():
        monitors = Monitors([rule for _, rule, _ in chosen], events=[kind for *_, kind in chosen])
        session = airline.session()
        costs: list[float] = []
        reached = 0
        for position in positions:
            _follow(monitors, session, position - reached)
            costs.append(fmean(_follow(monitors, session, LONG_WINDOW)))
            reached = position + LONG_WINDOW
        found[part] = costs
        open_rules = sum(not verdict.final for verdict in monitors.verdicts)
        rows.append(
            (
                f"{len(chosen)} rules {part}",
                *map(table.duration, costs),
                f"{costs[-1] / costs[0]:.2f}",
                f"{open_rules} of {len(chosen)}",
            )
        )
    head = ("airline", *(f"at {p:,}" for p in positions), "ratio", "open")
    table.show("Cost per event, the airline's procedure: means", head, rows)
    print("by text:", ", ".join(name for name, *_ in parts["by text"]))
    return found


def _follow(monitors: Monitors, session: Iterator[Event], calls: int) -> list[float]:
    """Takes in events until the given number of calls has been made; the cost of each event."""
    costs: list[float] = []
    while calls > 0:
        event = next(session)
        position = monitors.length
        proposed = replace(event, result=MISSING) if isinstance(event, Call) else event
        begun = perf_counter()
        monitors.step(proposed)
        if isinstance(event, Call):
            monitors.record(position, event.result)
            calls -= 1
        costs.append(perf_counter() - begun)
    return costs


def main() -> None:
    """Runs both parts and prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter sessions")
    quick = parser.parse_args().quick
    compared = compare(2 if quick else 7, 2.0 if quick else PATIENCE) if peer.available() else {}
    positions = LONG[:-1] if quick else LONG
    long = alone(positions)
    airline_costs = policy(POLICY)

    print("\nRatios")
    for family, costs in long.items():
        what = f"{family}: cost per call at {positions[-1]:,} over that at {positions[0]:,}"
        table.target(what, costs[-1] / costs[0], 1.3, at_least=False)
    flat = airline_costs["by memory"]
    what = f"airline: cost per event at call {POLICY[-1]:,} over that at {POLICY[0]:,}"
    table.target(what, flat[-1] / flat[0], 1.5, at_least=False)
    for family, position, least in (("flat temporal", 200, 200), ("plain predicates", 50, 20)):
        if (family, position) in compared:
            ours, theirs = compared[family, position]
            what = f"{family}: agentltl over Bylaw at {position} calls"
            table.target(what, theirs / ours, least, at_least=True)
    for family, costs in long.items():
        what = f"{family}: median cost per call"
        table.target(what, median(costs) * 1e6, 20, at_least=False, unit="µs")


if __name__ == "__main__":
    main()
