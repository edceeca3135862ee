"""Three fan-out templates: they process all seeds, some of them, or each by a branch."""

from collections.abc import Callable

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText
from bylaw.training.data.templates.pattern import (
    SEEDS,
    TaskPattern,
    apart,
    b,
    c,
    collected,
    fan_in,
    looped,
    seeds,
)


def _fan_out(p: Parameters) -> list[str]:
    first, *_, last = seeds(p)
    call = "call tool_a(i = i). The results are the numbers."
    return looped(p, 1, f"each i from {first} to {last}", call)


def _fanned_text(p: Parameters, process: str) -> PromptText:
    """A fan-out, a process for each number, and a fan-in."""
    if apart(p):
        loop, call = _fan_out(p)
        steps = [f"Begin with an empty list. {loop}", call]
        return PromptText([*steps, *collected(3, "each number n", process), fan_in()], answer="y")
    each = f"For each number n, in order: {process}"
    last = fan_in("the results of step #2 in their order")
    return PromptText([*_fan_out(p), each, last], answer="y")


def _fanned(run: Execution, p: Parameters, process: Callable[[int], int]) -> int:
    run.step = 1
    results: list[int] = run.let("list", []) if apart(p) else []
    numbers = [run.call_given("tool_a", i=i) for i in run.each("i", seeds(p), body=1 + apart(p))]
    run.step += 1
    for n in run.each("n", numbers, body=run.step + apart(p)):
        result = process(n)
        run.step += apart(p)
        run.put(results, result)
    run.step += 1
    return run.call("tool_d", numbers=results)


def _branching_text(p: Parameters) -> PromptText:
    call = f"if n is odd, call tool_c(x = n); otherwise call tool_b(i = n, j = {p['j']})."
    return _fanned_text(p, call)


def _branching(run: Execution, p: Parameters) -> int:
    return _fanned(run, p, lambda n: run.choose(n % 2 == 1, c(n), b(n, p["j"])))


def _forall_text(p: Parameters) -> PromptText:
    return _fanned_text(p, f"call tool_b(i = n, j = {p['j']}).")


def _forall(run: Execution, p: Parameters) -> int:
    return _fanned(run, p, lambda n: run.call("tool_b", i=n, j=p["j"]))


def _exists_text(p: Parameters) -> PromptText:
    each = f"Call tool_b(i = n, j = {p['j']}). Let w be its result."
    if apart(p):
        loop, call = _fan_out(p)
        steps = [
            f"Begin with total = 0. {loop}",
            call,
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
            *_fan_out(p),
            "Do steps #4 to #6 for each number n, in order.",
            each,
            f"If w is divisible by {p['m']}, call tool_c(x = w). Let w be its result.",
            "Add w to total.",
        ]
    return PromptText(steps, answer="the total")


def _exists(run: Execution, p: Parameters) -> int:
    total = run.at(1).let("total", 0)
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
    TaskPattern(
        "fan_out_fan_in",
        "k fan-out a → branch(c | b) for each → aggregate d",
        {"seed": SEEDS, "k": range(2, 4), "j": range(2, 10)},
        _branching_text,
        _branching,
    ),
    TaskPattern(
        "forall_processing",
        "k fan-out a → b for each → aggregate d",
        {"seed": SEEDS, "k": range(2, 4), "j": range(2, 10)},
        _forall_text,
        _forall,
    ),
    TaskPattern(
        "exists_selection",
        "k fan-out a → b for each, and c for those that qualify → sum",
        {"seed": SEEDS, "k": range(2, 4), "j": range(2, 10), "m": range(2, 6)},
        _exists_text,
        _exists,
    ),
)
