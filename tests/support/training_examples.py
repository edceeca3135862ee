"""The data of the published seed, made once, and rollouts that go wrong in known ways."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache

from hypothesis import strategies as st

from bylaw.agents.habits import HABITS, Plan
from bylaw.bench.instance import instances
from bylaw.trace.event import Call
from bylaw.training.data.corpus import TRAIN, corpus
from bylaw.training.data.example import Example, production
from bylaw.training.data.splits import splits


@cache
def built() -> dict[str, list[Example]]:
    """The corpus and the four splits."""
    return {TRAIN: corpus()} | splits()


@cache
def benchmark() -> list[Example]:
    """The instances of the benchmark as examples."""
    return [production(each) for each in instances()]


def everything() -> Iterator[Example]:
    for examples in built().values():
        yield from examples


def carried_out(plan: Plan) -> list[Call]:
    """The calls of a plan, one per step."""
    return [Call(each.call.tool, each.call.args, "{}", step) for step, each in enumerate(plan)]


def departed(example: Example, rng: random.Random, strikes: int) -> list[Call]:
    """The calls of an agent that follows its plan, except for a number of deviations."""
    plan = example.script.plan
    for _ in range(strikes):
        habit = rng.choice(list(HABITS.values()))
        sites = habit.sites(plan)
        if sites:
            plan = habit.apply(plan, rng.choice(list(sites)))
    return carried_out(plan)


@st.composite
def rollouts(draw: st.DrawFn, examples: Sequence[Example]) -> tuple[Example, list[Call]]:
    """An example, and calls that have something to do with it, some of them in parallel."""
    example = draw(st.sampled_from(examples))
    rng = random.Random(draw(st.integers(0, 2**32)))
    calls = departed(example, rng, draw(st.integers(0, 5)))
    if draw(st.booleans()):
        calls = rng.sample(calls, len(calls))
    step, stepped = 0, []
    for call in calls:
        step += rng.random() < 0.8
        stepped.append(Call(call.tool, call.args, call.result, step))
    return example, stepped
