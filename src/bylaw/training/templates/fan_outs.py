"""Three templates that do something for each of a few seeds: all, some, or one way or the other."""

from bylaw.bench.gold import Execution
from bylaw.training.templates.pattern import (
    SEEDS,
    Parameters,
    Pattern,
    Text,
    b,
    branch,
    c,
    enumerated,
    seeds,
)


def _fan_out(p: Parameters) -> str:
    calls = enumerated([f"tool_a(i = {seed})" for seed in seeds(p)])
    return f"Call {calls}, in this order; their results are the numbers."


def _fanned_out(run: Execution, p: Parameters) -> list[int]:
    return [run.call_given("tool_a", i=seed) for seed in seeds(p)]


_FAN_IN = (
    "Call tool_d(numbers = [...]) once, with these results in the same order; let y be its result."
)


def _branching_text(p: Parameters) -> Text:
    return Text(
        [
            _fan_out(p),
            (
                "For each number n, in order: if n is odd, call tool_c(x = n), otherwise call "
                f"tool_b(i = n, j = {p['j']})."
            ),
            _FAN_IN,
        ],
        answer="y",
    )


def _branching(run: Execution, p: Parameters) -> int:
    numbers = _fanned_out(run, p)
    run.sentence = 1
    results = [branch(run, n % 2 == 1, c(n), b(n, p["j"])) for n in numbers]
    run.sentence = 2
    return run.call("tool_d", numbers=results)


def _forall_text(p: Parameters) -> Text:
    each = f"For each number n, in order, call tool_b(i = n, j = {p['j']})."
    return Text([_fan_out(p), each, _FAN_IN], answer="y")


def _forall(run: Execution, p: Parameters) -> int:
    numbers = _fanned_out(run, p)
    run.sentence = 1
    results = [run.call("tool_b", i=n, j=p["j"]) for n in numbers]
    run.sentence = 2
    return run.call("tool_d", numbers=results)


def _exists_text(p: Parameters) -> Text:
    return Text(
        [
            f"{_fan_out(p)} Begin with total = 0.",
            (
                f"For each number n, in order: call tool_b(i = n, j = {p['j']}) and let w be its "
                f"result; if w is divisible by {p['m']}, call tool_c(x = w) and add its result to "
                "total, otherwise add w."
            ),
        ],
        answer="the total",
    )


def _exists(run: Execution, p: Parameters) -> int:
    total, numbers = 0, _fanned_out(run, p)
    run.sentence = 1
    for n in numbers:
        w = run.call("tool_b", i=n, j=p["j"])
        total += run.call("tool_c", x=w) if w % p["m"] == 0 else w
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
