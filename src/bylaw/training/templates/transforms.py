"""Four templates that begin with a seed transform, which tool_a or tool_c can perform."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from bylaw.bench.gold import Execution
from bylaw.bench.tools import TOOLS
from bylaw.training.templates.pattern import (
    SEEDS,
    TRANSFORMS,
    Parameters,
    Pattern,
    Text,
    b,
    branch,
    c,
)

_GAPS: Final = range(1, 7)
"""How far two seeds are apart; tool_a tells apart what is less than seven apart."""


def _transform(tool: str, seed: int) -> str:
    (argument,) = TOOLS[tool].parameters
    return f"{tool}({argument} = {seed})"


def _transformed(run: Execution, tool: str, seed: int) -> int:
    (argument,) = TOOLS[tool].parameters
    return run.call_given(tool, **{argument: seed})


def _both(tool: str, p: Parameters) -> str:
    first, second = (_transform(tool, seed) for seed in (p["seed"], p["seed"] + p["gap"]))
    return f"Call {first} and {second}, in this order; their results are the numbers."


def _both_made(run: Execution, tool: str, p: Parameters) -> list[int]:
    return [_transformed(run, tool, seed) for seed in (p["seed"], p["seed"] + p["gap"])]


def _grid_text(tool: str, p: Parameters) -> Text:
    return Text(
        [
            _both(tool, p),
            "For each number n, in order: call tool_b(i = n, j = 1), then tool_b(i = n, j = 2).",
            "Call tool_d(numbers = [...]) with the four results in order; let y be its result.",
        ],
        answer="y",
    )


def _grid(tool: str, run: Execution, p: Parameters) -> int:
    numbers = _both_made(run, tool, p)
    run.sentence = 1
    results = [run.call("tool_b", i=n, j=j) for n in numbers for j in (1, 2)]
    run.sentence = 2
    return run.call("tool_d", numbers=results)


def _filter_text(tool: str, p: Parameters) -> Text:
    return Text(
        [
            _both(tool, p),
            f"For each number n, in order, call tool_b(i = n, j = {p['j']}).",
            (
                f"Then for each of these results w, in order: if w is greater than {p['t']}, call "
                "tool_c(x = w) and put its result in the place of w."
            ),
            "Call tool_d(numbers = [...]) with the two results in order; let y be its result.",
        ],
        answer="y",
    )


def _filter(tool: str, run: Execution, p: Parameters) -> int:
    numbers = _both_made(run, tool, p)
    run.sentence = 1
    results = [run.call("tool_b", i=n, j=p["j"]) for n in numbers]
    run.sentence = 2
    results = [run.call("tool_c", x=w) if w > p["t"] else w for w in results]
    run.sentence = 3
    return run.call("tool_d", numbers=results)


def _fan_text(tool: str, p: Parameters) -> Text:
    return Text(
        [
            _both(tool, p),
            (
                "For each number n, in order: if n is even, call tool_c(x = n), otherwise call "
                f"tool_b(i = n, j = {p['j']})."
            ),
            f"Then for each of these results w, in order, call tool_b(i = w, j = {p['j']}).",
            "Call tool_d(numbers = [...]) with the last two results in order; let y be its result.",
        ],
        answer="y",
    )


def _fan(tool: str, run: Execution, p: Parameters) -> int:
    numbers = _both_made(run, tool, p)
    run.sentence = 1
    results = [branch(run, n % 2 == 0, c(n), b(n, p["j"])) for n in numbers]
    run.sentence = 2
    results = [run.call("tool_b", i=w, j=p["j"]) for w in results]
    run.sentence = 3
    return run.call("tool_d", numbers=results)


def _reprocess_text(tool: str, p: Parameters) -> Text:
    return Text(
        [
            f"Call {_transform(tool, p['seed'])} and let v be its result.",
            (
                "If v is even, call tool_c(x = v), otherwise call "
                f"tool_b(i = v, j = {p['j']}); let w be that result."
            ),
            f"Call tool_b(i = w, j = {p['j']}) and let y be its result.",
            (
                f"If y is greater than {p['t']}, call tool_c(x = y), otherwise call "
                f"tool_b(i = y, j = {p['j']}); let z be that result."
            ),
            "Call tool_d(numbers = [w, y, z]) and let r be its result.",
        ],
        answer="r",
    )


def _reprocess(tool: str, run: Execution, p: Parameters) -> int:
    v = _transformed(run, tool, p["seed"])
    run.sentence = 1
    w = branch(run, v % 2 == 0, c(v), b(v, p["j"]))
    run.sentence = 2
    y = run.call("tool_b", i=w, j=p["j"])
    run.sentence = 3
    z = branch(run, y > p["t"], c(y), b(y, p["j"]))
    run.sentence = 4
    return run.call("tool_d", numbers=[w, y, z])


def _variants(
    name: str,
    structure: str,
    ranges: Mapping[str, range],
    text: Callable[[str, Parameters], Text],
    execute: Callable[[str, Execution, Parameters], int],
) -> tuple[Pattern, ...]:
    """The template with either tool as its seed transform."""
    return tuple(
        Pattern(name, structure, ranges, partial(text, tool), partial(execute, tool), tool)
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
