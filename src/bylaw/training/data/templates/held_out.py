"""Two templates of the benchmark, in 3 to 6 calls, that no training example uses."""

from typing import Final

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText
from bylaw.training.data.templates.pattern import (
    SEEDS,
    TaskPattern,
    b,
    c,
    seeds,
)

_CALLS: Final = range(3, 7)


def _loop_text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Begin with total = 0 and i = {p['seed']}.",
            "Call tool_a(i = i). Let v be its result.",
            "If v is even, add v to total. If v is odd, add 2 times v to total.",
            f"If total is less than {p['target']}, increase i by 1 and go back to step #2.",
            f"Once total is {p['target']} or more, stop calling tools and answer.",
        ],
        answer="the total",
    )


def _loop(run: Execution, p: Parameters) -> int:
    run.step = 1
    total, i = run.let("total", 0), run.let("i", p["seed"])
    while True:
        v = run.at(2).call_given("tool_a", i=i)
        run.step = 3
        total += v if v % 2 == 0 else 2 * v
        run.step = 4
        if not total < p["target"]:
            return total
        i += 1


def _selection_text(p: Parameters) -> PromptText:
    first, *_, last = seeds(p)
    return PromptText(
        [
            (
                f"Begin with total = 0. Do steps #2 and #3 for each i from {first} to {last}, "
                "in order."
            ),
            "Call tool_a(i = i). Let v be its result.",
            (
                f"If v is greater than {p['t']}, call tool_c(x = v); otherwise call "
                f"tool_b(i = v, j = {p['j']}). Add the result to total."
            ),
        ],
        answer="the total",
    )


def _selection(run: Execution, p: Parameters) -> int:
    total = run.at(1).let("total", 0)
    for i in run.each("i", seeds(p), body=2):
        v = run.call_given("tool_a", i=i)
        run.step = 3
        total += run.choose(v > p["t"], c(v), b(v, p["j"]))
    return total


PATTERNS = (
    TaskPattern(
        "loop_termination",
        "a, and again, until a total has been reached",
        {"seed": SEEDS, "target": range(15, 51)},
        _loop_text,
        _loop,
        calls=_CALLS,
    ),
    TaskPattern(
        "branch_selection",
        "(a → branch(c | b)), k times",
        {"seed": SEEDS, "k": range(2, 4), "j": range(2, 10), "t": range(2, 6)},
        _selection_text,
        _selection,
        calls=_CALLS,
    ),
)
