"""Counts what models do at the first condition of a task: one branch, the other, both or neither.

    python benchmarks/decisions.py eval.jsonl

The file has the runs of `bylaw train eval`, and may be compressed with gzip. Runs on the four
splits are counted. Counted as well are runs that write a sum where an integer is due (such a call
is refused as unreadable), and those of them that then answer with that sum.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from bylaw.bench.results import read_results
from bylaw.names import FINAL_ANSWER
from bylaw.training.data.example import Example
from bylaw.training.data.splits import splits
from bylaw.values import canonical

_SUM: Final = re.compile(r'"answer": (\d+(?: \+ \d+)+)')
_COLUMNS: Final = ("right", "other", "both", "neither", "sum written", "then answered")


def runs(path: Path) -> Iterator[dict[str, Any]]:
    """The runs in a file."""
    if path.suffix != ".gz":
        yield from read_results(path)
        return
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def calls(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The calls of a run that could be read: tool and canonical arguments."""
    return [
        (call["function"]["name"], canonical(json.loads(call["function"]["arguments"])))
        for message in run["messages"]
        for call in message.get("tool_calls", ())
    ]


def decision(example: Example, run: Mapping[str, Any]) -> str | None:
    """The action of a run at the first condition; None if the task has no branch."""
    gold = next((call for call in example.gold if call.instead), None)
    if gold is None or gold.instead is None:
        return None
    made = calls(run)
    right = (gold.tool, canonical(dict(gold.arguments))) in made
    other = (gold.instead.tool, canonical(dict(gold.instead.arguments))) in made
    return {(1, 0): "right", (0, 1): "other", (1, 1): "both", (0, 0): "neither"}[right, other]


def sums(run: Mapping[str, Any]) -> Iterator[str]:
    """Two facts: the run writes a sum as its answer; it then answers with that sum."""
    said = [str(message.get("content")) for message in run["messages"]]
    written = next((found[1] for text in said if (found := _SUM.search(text))), None)
    if written is not None:
        yield "sum written"
        if (FINAL_ANSWER, canonical({"answer": sum(map(int, written.split(" + ")))})) in calls(run):
            yield "then answered"


def main() -> int:
    """Prints a table with a row for each model."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    examples = {each.name: each for split in splits().values() for each in split}
    counts: dict[str, Counter[str]] = {}
    for run in runs(Path(sys.argv[1])):
        if example := examples.get(run["name"]):
            count = counts.setdefault(run["model"], Counter())
            count.update(filter(None, [decision(example, run)]))
            count.update(sums(run))
    width = max(map(len, counts))
    print(" " * width, *(f"{column:>13}" for column in _COLUMNS))
    for model, count in counts.items():
        print(f"{model:{width}}", *(f"{count[column]:13}" for column in _COLUMNS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
