"""Each budget by example: the runs stand beside the procedure, labelled with the rule."""

from __future__ import annotations

from pathlib import Path

from runs import Pair

from bylaw import Trace, read_traces

RUNS = Path(__file__).parents[2] / "examples" / "budgets" / "runs.jsonl"


def _pairs() -> dict[str, Pair]:
    runs: dict[str, dict[bool, Trace]] = {}
    for entry in read_traces(RUNS):
        trace = entry.required()
        runs.setdefault(trace.labels["rule"], {})[trace.labels["kept"]] = trace
    return {rule: Pair(each[True], each[False]) for rule, each in runs.items()}


PAIRS = _pairs()
