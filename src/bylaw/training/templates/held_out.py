"""Two templates that no training example uses: simplified from the benchmark's, in 3 to 6 calls."""

from typing import Final

from bylaw.bench.gold import Execution
from bylaw.training.templates.pattern import SEEDS, Parameters, Pattern, Text, b, branch, c

_CALLS: Final = range(3, 7)


def _loop_text(p: Parameters) -> Text:
    return Text(
        [
            f"Begin with total = 0 and i = {p['seed']}.",
            (
                "Call tool_a(i = i) and let v be its result; add v to total if v is even, and 2 "
                "times v if v is odd."
            ),
            f"As long as total is less than {p['target']}, increase i by 1 and do the same again.",
        ],
        answer="the total",
    )


def _loop(run: Execution, p: Parameters) -> int:
    total, i = 0, p["seed"]
    run.sentence = 1
    while total < p["target"]:
        v = run.call_given("tool_a", i=i)
        total += v if v % 2 == 0 else 2 * v
        i += 1
    return total


def _selection_text(p: Parameters) -> Text:
    first, last = p["seed"], p["seed"] + p["k"] - 1
    return Text(
        [
            f"Begin with total = 0. For each i from {first} to {last}, in order:",
            "call tool_a(i = i) and let v be its result;",
            (
                f"if v is greater than {p['t']}, call tool_c(x = v), otherwise call "
                f"tool_b(i = v, j = {p['j']}); add that result to total."
            ),
        ],
        answer="the total",
    )


def _selection(run: Execution, p: Parameters) -> int:
    total = 0
    for k in range(p["k"]):
        run.sentence = 1
        v = run.call_given("tool_a", i=p["seed"] + k)
        run.sentence = 2
        total += branch(run, v > p["t"], c(v), b(v, p["j"]))
    return total


PATTERNS = (
    Pattern(
        "loop_termination",
        "a, and again, until a total has been reached",
        {"seed": SEEDS, "target": range(15, 51)},
        _loop_text,
        _loop,
        calls=_CALLS,
    ),
    Pattern(
        "branch_selection",
        "(a → branch(c | b)), k times",
        {"seed": SEEDS, "k": range(2, 4), "j": range(2, 10), "t": range(2, 6)},
        _selection_text,
        _selection,
        calls=_CALLS,
    ),
)
