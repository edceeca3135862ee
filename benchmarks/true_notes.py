"""How much of what models note before their calls is true?

    python benchmarks/true_notes.py EVAL.jsonl

EVAL.jsonl is what `bylaw train eval` or `benchmarks/finetune.py` writes. Each sentence that states
a fact about numbers is found by its form, and checked.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from bylaw.bench.results import read_results
from bylaw.tables import Column, Table
from bylaw.training.example import PRODUCTION

FACTS: Final[dict[str, tuple[str, Callable[..., bool]]]] = {
    "larger of": (r"larger of (\d+) and (\d+) is (\d+)", lambda a, b, c: max(a, b) == c),
    "greater": (r"(\d+) is greater than (\d+)", lambda a, b: a > b),
    "not greater": (r"(\d+) is not greater than (\d+)", lambda a, b: a <= b),
    "less": (r"(\d+) is less than (\d+)", lambda a, b: a < b),
    "odd": (r"(\d+) is odd", lambda a: a % 2 == 1),
    "even": (r"(\d+) is even", lambda a: a % 2 == 0),
    "divisible": (r"(\d+) is divisible by ([1-9]\d*)", lambda a, b: a % b == 0),
    "not divisible": (r"(\d+) is not divisible by ([1-9]\d*)", lambda a, b: a % b != 0),
    "sums": (r"(?<!\* )\b(\d+) \+ (\d+)(?: =|:) (\d+)", lambda a, b, c: a + b == c),
}
"""The sentences that notes are made of, and when they are true."""
KNOWN, UNSEEN = "known patterns", "unseen patterns"


def facts(text: str) -> Iterator[tuple[str, bool]]:
    """The facts that a text states, each with whether it is true."""
    for kind, (form, holds) in FACTS.items():
        for found in re.finditer(form, text):
            yield kind, holds(*map(int, found.groups()))


def told_by(result: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """The facts that a model states in a run."""
    for message in result["messages"]:
        if message["role"] == "assistant":
            yield from facts(str(message["content"]))


def patterns(result: dict[str, Any]) -> str:
    """What the task of a run has in common with those that were trained on."""
    if result["split"] == PRODUCTION:
        return PRODUCTION
    return UNSEEN if result["split"] == "unseen-pattern" else KNOWN


def main() -> int:
    """Counts, and shows a table."""
    true: Counter[tuple[str, str, str]] = Counter()
    told: Counter[tuple[str, str, str]] = Counter()
    for result in read_results(sys.argv[1]):
        for kind, holds in told_by(result):
            told[patterns(result), result["model"], kind] += 1
            true[patterns(result), result["model"], kind] += holds
    groups = list(dict.fromkeys((on, model) for on, model, _ in sorted(told)))
    shown = [kind for kind in FACTS if any(told[*group, kind] for group in groups)]
    rows = [
        [*group, *(f"{true[*group, kind]}/{told[*group, kind]}" for kind in shown)]
        for group in groups
    ]
    columns = [Column("on"), Column("model"), *map(Column, shown)]
    print(Table("notes", "Facts in notes: how many are true", columns, rows).text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
