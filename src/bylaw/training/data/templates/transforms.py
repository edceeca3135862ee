"""Four templates that begin with a seed transform, by tool_a or tool_c."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText
from bylaw.bench.tools import TOOLS
from bylaw.training.data.templates.pattern import (
    SEEDS,
    TRANSFORMS,
    TaskPattern,
    apart,
    b,
    c,
    collected,
    fan_in,
    looped,
)

_GAPS: Final = range(1, 7)
"""Differences between two seeds; tool_a gives distinct results for differences below seven."""


def _transform_text(tool: str, seed: int) -> str:
    (argument,) = TOOLS[tool].parameters
    return f"{tool}({argument} = {seed})"


def _call_transform(run: Execution, tool: str, seed: int) -> int:
    (argument,) = TOOLS[tool].parameters
    return run.call_given(tool, **{argument: seed})


def _both_text(tool: str, p: Parameters) -> str:
    first, second = (_transform_text(tool, seed) for seed in _pair(p))
    return f"Call {first}, then {second}. The results are the numbers."


def _call_both(run: Execution, tool: str, p: Parameters) -> list[int]:
    return [_call_transform(run, tool, seed) for seed in _pair(p)]


def _pair(p: Parameters) -> tuple[int, int]:
    return p["seed"], p["seed"] + p["gap"]


def _grid_text(tool: str, p: Parameters) -> PromptText:
    return PromptText(
        [
            _both_text(tool, p),
            "Do steps #3 and #4 for each number n, in order.",
            "Call tool_b(i = n, j = 1).",
            "Call tool_b(i = n, j = 2).",
            (
                "Call tool_d(numbers = [...]) once, with the four results of steps #3 and #4 in "
                "their order. Let y be its result."
            ),
        ],
        answer="y",
    )


def _grid(tool: str, run: Execution, p: Parameters) -> int:
    run.step = 1
    numbers = _call_both(run, tool, p)
    run.step = 2
    results: list[int] = []
    for n in run.each("n", numbers, body=3):
        results.append(run.call("tool_b", i=n, j=1))
        results.append(run.at(4).call("tool_b", i=n, j=2))
    return run.at(5).call("tool_d", numbers=results)


def _filter_text(tool: str, p: Parameters) -> PromptText:
    call = f"call tool_b(i = n, j = {p['j']})."
    if apart(p):
        steps = [
            f"Begin with an empty list. {_both_text(tool, p)}",
            *looped(p, 2, "each number n", call),
            "Do steps #5 and #6 for each result w of step #3, in order.",
            f"If w is greater than {p['t']}, call tool_c(x = w). Let w be its result.",
            "Put w into the list.",
            fan_in(),
        ]
    else:
        steps = [
            _both_text(tool, p),
            *looped(p, 2, "each number n", call),
            (
                "Then go through the results of step #2, in order: for each result w that is "
                f"greater than {p['t']}, call tool_c(x = w), and put its result in the place of w."
            ),
            fan_in("the results of step #2 as changed by step #3"),
        ]
    return PromptText(steps, answer="y")


def _filter(tool: str, run: Execution, p: Parameters) -> int:
    run.step = 1
    changed: list[int] = run.let("list", []) if apart(p) else []
    numbers = _call_both(run, tool, p)
    run.step = 2
    rounds = run.each("n", numbers, body=2 + apart(p))
    results = [run.call("tool_b", i=n, j=p["j"]) for n in rounds]
    run.step += 1
    for result in run.each("w", results, body=run.step + apart(p)):
        w = run.call("tool_c", x=result) if result > p["t"] else result
        run.step += apart(p)
        run.put(changed, w)
    run.step += 1
    return run.call("tool_d", numbers=changed)


def _fan_text(tool: str, p: Parameters) -> PromptText:
    call = f"if n is even, call tool_c(x = n); otherwise call tool_b(i = n, j = {p['j']})."
    again = f"call tool_b(i = w, j = {p['j']})."
    if apart(p):
        steps = [
            f"Begin with an empty list. {_both_text(tool, p)}",
            *looped(p, 2, "each number n", call),
            *collected(4, "each result w of step #3", again),
            fan_in(),
        ]
    else:
        steps = [
            _both_text(tool, p),
            *looped(p, 2, "each number n", call),
            *looped(p, 3, "each result w of step #2", again),
            fan_in("the results of step #3 in their order"),
        ]
    return PromptText(steps, answer="y")


def _fan(tool: str, run: Execution, p: Parameters) -> int:
    run.step = 1
    last: list[int] = run.let("list", []) if apart(p) else []
    numbers = _call_both(run, tool, p)
    run.step = 2
    rounds = run.each("n", numbers, body=2 + apart(p))
    results = [run.choose(n % 2 == 0, c(n), b(n, p["j"])) for n in rounds]
    run.step += 1
    for w in run.each("w", results, body=run.step + apart(p)):
        result = run.call("tool_b", i=w, j=p["j"])
        run.step += apart(p)
        run.put(last, result)
    run.step += 1
    return run.call("tool_d", numbers=last)


def _reprocess_text(tool: str, p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call {_transform_text(tool, p['seed'])}. Let v be its result.",
            (
                "If v is even, call tool_c(x = v); otherwise call "
                f"tool_b(i = v, j = {p['j']}). Let w be the result."
            ),
            f"Call tool_b(i = w, j = {p['j']}). Let y be its result.",
            (
                f"If y is greater than {p['t']}, call tool_c(x = y); otherwise call "
                f"tool_b(i = y, j = {p['j']}). Let z be the result."
            ),
            "Call tool_d(numbers = [w, y, z]). Let r be its result.",
        ],
        answer="r",
    )


def _reprocess(tool: str, run: Execution, p: Parameters) -> int:
    v = _call_transform(run.at(1), tool, p["seed"])
    w = run.at(2).choose(v % 2 == 0, c(v), b(v, p["j"]))
    y = run.at(3).call("tool_b", i=w, j=p["j"])
    z = run.at(4).choose(y > p["t"], c(y), b(y, p["j"]))
    return run.at(5).call("tool_d", numbers=[w, y, z])


def _variants(
    name: str,
    structure: str,
    ranges: Mapping[str, range],
    text: Callable[[str, Parameters], PromptText],
    execute: Callable[[str, Execution, Parameters], int],
) -> tuple[TaskPattern, ...]:
    """The template with either tool as its seed transform."""
    return tuple(
        TaskPattern(name, structure, ranges, partial(text, tool), partial(execute, tool), tool)
        for tool in TRANSFORMS
    )


PATTERNS = (
    *_variants(
        "nested_loops_fixed_2x2",
        "two seed transforms → 2×2 grid of b → aggregate d",
        {"seed": SEEDS, "gap": _GAPS},
        _grid_text,
        _grid,
    ),
    *_variants(
        "filter_then_process",
        "two seed transforms → two b → c where a condition holds → aggregate d",
        {"seed": SEEDS, "gap": _GAPS, "j": range(2, 10), "t": range(20, 51)},
        _filter_text,
        _filter,
    ),
    *_variants(
        "fanout_then_transform",
        "two seed transforms → branch(c | b) for each → b for each → aggregate d",
        {"seed": SEEDS, "gap": _GAPS, "j": range(2, 10)},
        _fan_text,
        _fan,
    ),
    *_variants(
        "branch_then_reprocess",
        "transform → branch(c | b) → b → branch(c | b) → aggregate d",
        {"seed": SEEDS, "j": range(2, 10), "t": range(20, 51)},
        _reprocess_text,
        _reprocess,
    ),
)
