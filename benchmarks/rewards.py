"""The cost of a reward: processor time per rollout, for the score alone and for all terms.

    python benchmarks/rewards.py [--rollouts 512] [--rounds 15]

The rollouts are those of 32 prompts of the training corpus, sixteen of each: the gold trace, with
calls left out, repeated, exchanged or given other arguments. The score is that of `verify_trace`,
as for any other trace; the reward adds the answer and the distance from the gold trace. Traces are
made anew for each round, so that no round finds what an earlier one computed. Each figure is the
median of the rounds. The exit code is 1 if the score costs more than its budget.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from random import Random
from statistics import median
from typing import Final

import table

from bylaw import Call, Trace, verify_trace
from bylaw.frozen import replace
from bylaw.training.data.corpus import corpus
from bylaw.training.data.example import Example
from bylaw.training.reward.reward import Goal, Rollout

PER_PROMPT: Final = 16
BUDGET: Final = 60
"""Microseconds for the score of one rollout."""


def rollouts(number: int, seed: int = 1) -> list[tuple[Example, list[Call]]]:
    """The calls of some rollouts, with the examples that they are rollouts of."""
    random, examples = Random(seed), corpus()
    return [
        (example, _edited(list(example.calls), random))
        for example in examples[: number // PER_PROMPT]
        for _ in range(PER_PROMPT)
    ]


def _edited(calls: list[Call], random: Random) -> list[Call]:
    for _ in range(random.randrange(4)):
        if not calls:
            break
        at = random.randrange(len(calls))
        match random.randrange(4):
            case 0:
                del calls[at]
            case 1:
                calls.insert(at, calls[random.randrange(len(calls))])
            case 2:
                other = random.randrange(len(calls))
                calls[at], calls[other] = calls[other], calls[at]
            case _:
                changed = dict.fromkeys(calls[at].args, random.randrange(100))
                calls[at] = replace(calls[at], args=changed)
    return [replace(call, step=step) for step, call in enumerate(calls)]


def per_rollout(
    prepare: Callable[[], list[Callable[[], object]]], rounds: int
) -> tuple[float, list[object]]:
    """The median processor time of one of the tasks, in seconds, and their results."""
    taken: list[float] = []
    for _ in range(rounds):
        tasks = prepare()
        since = time.process_time()
        found = [task() for task in tasks]
        taken.append((time.process_time() - since) / len(tasks))
    return median(taken), found


def main() -> int:
    """Prints the table; 1 if the score costs more than its budget."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rollouts", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    made = rollouts(options.rollouts)
    goals = {example.name: Goal(example) for example, _ in made}

    def scores() -> list[Callable[[], object]]:
        traces = [(Trace(calls), example.procedure) for example, calls in made]
        return [lambda t=t, p=p: verify_trace(t, p).score for t, p in traces]  # type: ignore[misc]  # bound at once

    def rewards() -> list[Callable[[], object]]:
        return [
            lambda c=calls, g=goals[example.name]: g.reward(Rollout(c, "1"))  # type: ignore[misc]  # as above
            for example, calls in made
        ]

    rules = sum(len(example.procedure.constraints) for example, _ in made) / len(made)
    length = sum(len(calls) for _, calls in made) / len(made)
    print(f"{len(made)} rollouts, {length:.1f} calls and {rules:.1f} rules each, on average")
    score, found = per_rollout(scores, options.rounds)
    reward, _ = per_rollout(rewards, options.rounds)
    full = sum(value == 1 for value in found)
    print(f"{full} of them follow every rule")
    rows = [["score", table.duration(score)], ["reward", table.duration(reward)]]
    table.show("Processor time per rollout", ["", "median"], rows)
    table.target("score", score * 1e6, BUDGET, at_least=False, unit="µs")
    return int(score * 1e6 > BUDGET)


if __name__ == "__main__":
    sys.exit(main())
