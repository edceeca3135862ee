"""How much of what models note before their calls is true?

    python benchmarks/true_notes.py EVAL.jsonl

EVAL.jsonl is what `bylaw train eval` or `benchmarks/finetune.py` writes. Each sentence that states
a fact about numbers is found by its form, and checked.
"""

from __future__ import annotations

import argparse
import operator
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, Final

from bylaw.bench.results import read_results
from bylaw.tables import Column, Table
from bylaw.training.data.example import PRODUCTION

_SYMBOLS: Final = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "≤": operator.le,
    "≥": operator.ge,
}


def compared(one: str, negated: str, word: str, equal: str, other: str) -> bool:
    """`4 is not less than or equal to 3`, in its parts."""
    holds = operator.gt if word == "greater" else operator.lt
    found = holds(int(one), int(other)) or bool(equal and int(one) == int(other))
    return found != bool(negated)


def added(sum_of: str, result: str) -> bool:
    """`2 + 2 * 5 = 12`, in its parts."""
    terms = (prod(map(int, term.split(" * "))) for term in sum_of.split(" + "))
    return sum(terms) == int(result)


FACTS: Final[dict[str, tuple[tuple[str, Callable[..., bool]], ...]]] = {
    "larger of": (
        (
            r"larger of (\d+) and (\d+) is (\d+)",
            lambda a, b, c: max(int(a), int(b)) == int(c),
        ),
    ),
    "compared": (
        (r"(\d+) is (not )?(greater|less) than (or equal to )?(\d+)", compared),
        (
            r"(?<![*+] )\b(\d+) ([<>]=?|[≤≥]) (\d+)",
            lambda a, symbol, b: _SYMBOLS[symbol](int(a), int(b)),
        ),
    ),
    "odd, even": ((r"(\d+) is (odd|even)", lambda a, word: int(a) % 2 == (word == "odd")),),
    "divisible": (
        (
            r"(\d+) is (not )?divisible by ([1-9]\d*)",
            lambda a, negated, b: (int(a) % int(b) == 0) != bool(negated),
        ),
    ),
    "sums": ((r"\b(\d+(?: \* \d+)*(?: \+ \d+(?: \* \d+)*)+)(?: =|:) (\d+)", added),),
}
"""The sentences that notes are made of, and when they are true."""
KNOWN, UNSEEN = "known patterns", "unseen patterns"


def facts(text: str) -> Iterator[tuple[str, bool]]:
    """The facts that a text states, each with whether it is true."""
    for kind, forms in FACTS.items():
        for form, holds in forms:
            for found in re.finditer(form, text):
                yield kind, holds(*found.groups())


def told_by(result: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """The facts that a model states in a run."""
    for message in result["messages"]:
        if message["role"] == "assistant":
            yield from facts(str(message["content"]))


def patterns(result: dict[str, Any]) -> str:
    """The overlap between the task of a run and the tasks of training."""
    if result["split"] == PRODUCTION:
        return PRODUCTION
    return UNSEEN if result["split"] == "unseen-pattern" else KNOWN


def main() -> int:
    """Counts, and shows a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", metavar="EVAL.jsonl")
    results = parser.parse_args().results
    true: Counter[tuple[str, str, str]] = Counter()
    told: Counter[tuple[str, str, str]] = Counter()
    for result in read_results(results):
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
