"""Three templates that do something for each of a few seeds: all, some, or one way or the other.

Prompts come in two layouts: a loop of one step is told in one sentence, or it is a step that
speaks of the next.
"""

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Text
from bylaw.training.templates.pattern import (
    SEEDS,
    Parameters,
    Pattern,
    apart,
    b,
    branch,
    c,
    looped,
    seeds,
)

_NUMBERS = "call tool_a(i = i). The results are the numbers."


def _each_seed(p: Parameters) -> str:
    first, *_, last = seeds(p)
    return f"each i from {first} to {last}"


def _fan_in(step: int) -> str:
    results = f"the results of step #{step} in their order"
    return f"Call tool_d(numbers = [...]) once, with {results}. Let y be its result."


def _branching_text(p: Parameters) -> Text:
    second = 2 + apart(p)
    body = f"if n is odd, call tool_c(x = n); otherwise call tool_b(i = n, j = {p['j']})."
    return Text(
        [
            *looped(p, 1, _each_seed(p), _NUMBERS),
            *looped(p, second, "each number n", body),
            _fan_in(second + apart(p)),
        ],
        answer="y",
    )


def _branching(run: Execution, p: Parameters) -> int:
    run.step = 1
    numbers = [run.call_given("tool_a", i=i) for i in run.each("i", seeds(p), body=1 + apart(p))]
    run.step += 1
    rounds = run.each("n", numbers, body=run.step + apart(p))
    results = [branch(run, n % 2 == 1, c(n), b(n, p["j"])) for n in rounds]
    run.step += 1
    return run.call("tool_d", numbers=results)


def _forall_text(p: Parameters) -> Text:
    second = 2 + apart(p)
    return Text(
        [
            *looped(p, 1, _each_seed(p), _NUMBERS),
            *looped(p, second, "each number n", f"call tool_b(i = n, j = {p['j']})."),
            _fan_in(second + apart(p)),
        ],
        answer="y",
    )


def _forall(run: Execution, p: Parameters) -> int:
    run.step = 1
    numbers = [run.call_given("tool_a", i=i) for i in run.each("i", seeds(p), body=1 + apart(p))]
    run.step += 1
    rounds = run.each("n", numbers, body=run.step + apart(p))
    results = [run.call("tool_b", i=n, j=p["j"]) for n in rounds]
    run.step += 1
    return run.call("tool_d", numbers=results)


def _exists_text(p: Parameters) -> Text:
    each = f"Call tool_b(i = n, j = {p['j']}). Let w be its result."
    if apart(p):
        steps = [
            f"Begin with total = 0. Do step #2 for {_each_seed(p)}, in order.",
            f"{_NUMBERS[0].upper()}{_NUMBERS[1:]}",
            "Do steps #4 and #5 for each number n, in order.",
            each,
            (
                f"If w is divisible by {p['m']}, call tool_c(x = w) and add its result to total; "
                "otherwise add w to total and call nothing."
            ),
        ]
    else:
        steps = [
            "Begin with total = 0.",
            f"For {_each_seed(p)}, in order: {_NUMBERS}",
            "Do steps #4 to #6 for each number n, in order.",
            each,
            f"If w is divisible by {p['m']}, call tool_c(x = w). Let w be its result.",
            "Add w to total.",
        ]
    return Text(steps, answer="the total")


def _exists(run: Execution, p: Parameters) -> int:
    run.step = 1
    total = run.let("total", 0)
    run.step = 2 - apart(p)
    numbers = [run.call_given("tool_a", i=i) for i in run.each("i", seeds(p), body=2)]
    run.step = 3
    for n in run.each("n", numbers, body=4):
        w = run.call("tool_b", i=n, j=p["j"])
        run.step = 5
        if w % p["m"] == 0:
            w = run.call("tool_c", x=w)
        run.step = 6 - apart(p)
        total += w
    return total


PATTERNS = (
    Pattern(
        "fan_out_fan_in",
        "k fan-out a → branch(c | b) for each → aggregate d",
        {"seed": SEEDS, "k": range(2, 4), "j": range(2, 10)},
        _branching_text,
        _branching,
    ),
    Pattern(
        "forall_processing",
        "k fan-out a → b for each → aggregate d",
        {"seed": SEEDS, "k": range(2, 4), "j": range(2, 10)},
        _forall_text,
        _forall,
    ),
    Pattern(
        "exists_selection",
        "k fan-out a → b for each, and c for those that qualify → sum",
        {"seed": SEEDS, "k": range(2, 4), "j": range(2, 10), "m": range(2, 6)},
        _exists_text,
        _exists,
    ),
)
