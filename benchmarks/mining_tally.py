"""Mined rules compared with planted ones, and the counts of those that were found again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from math import sqrt
from pathlib import Path
from typing import Any, Final

from planted import Planted

from bylaw import Trace, parse
from bylaw.mining.mine import events_of
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.syntax.printer import to_text

_FEW: Final = 300
"""The first runs tell most rules apart."""
_Z: Final = 1.96
"""For intervals of 95 %."""


class Verdicts:
    """The verdicts of rules on many runs, for telling rules apart."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._traces = traces
        self._known: dict[str, tuple[bool, ...]] = {}

    def of(self, rule: str, first: int | None = None) -> tuple[bool, ...]:
        """The verdicts of a rule on the first runs, or on all of them."""
        known = self._known.get(rule, ())
        if len(known) < (len(self._traces) if first is None else first):
            formula, events = parse(rule), events_of(rule)
            more = islice(self._traces, len(known), first)
            views = (view_of(formula, each, events=events) for each in more)
            known = (*known, *(evaluate(formula, view).value.is_true for view in views))
            self._known[rule] = known
        return known

    def same(self, one: str, other: str) -> bool:
        """Do two rules agree everywhere?"""
        if to_text(parse(one)) == to_text(parse(other)):
            return True
        if self.of(one, _FEW)[:_FEW] != self.of(other, _FEW)[:_FEW]:
            return False
        return self.of(one) == self.of(other)


def compared(
    planted: Sequence[Planted], mined: Sequence[str], verdicts: Verdicts
) -> dict[str, Any]:
    """The planted rules, each found or not, and the mined ones, each right or not."""
    same = [[verdicts.same(each.rule, rule) for rule in mined] for each in planted]
    return {
        "planted": [
            [each.kind, each.rule, any(row)] for each, row in zip(planted, same, strict=True)
        ],
        "mined": [[rule, any(row[n] for row in same)] for n, rule in enumerate(mined)],
    }


class ResultFile:
    """A file with a line for each procedure, number of runs and miner.

    An interrupted measurement resumes after its last line.
    """

    def __init__(self, path: Path) -> None:
        self._path: Final = path
        self.rows: Final[list[dict[str, Any]]] = []
        if path.exists():
            with path.open(encoding="utf-8") as lines:
                self.rows.extend(map(json.loads, lines))

    def add(self, seed: int, drawn_with: int, rows: Sequence[dict[str, Any]]) -> None:
        """Appends the lines of a procedure; one without rules if none could be drawn."""
        about = {"seed": seed, "drawn_with": drawn_with}
        lines = [{**about, **row} for row in rows] or [{**about, "planted": []}]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        self.rows.extend(lines)

    def has(self, seed: int, drawn_with: int, *, drawn: bool = False) -> bool:
        """Was this procedure tried, or drawn, with so many runs?"""
        return any(
            (row["seed"], row["drawn_with"]) == (seed, drawn_with)
            and (not drawn or bool(row["planted"]))
            for row in self.rows
        )

    def tallies(self, by: str) -> dict[Any, Tally]:
        """The counts, by number of runs or by miner."""
        found: dict[Any, Tally] = {}
        for row in self.rows:
            if row["planted"]:
                found.setdefault(row[by], Tally()).add(row)
        return dict(sorted(found.items()))


class Tally:
    """The rules that were found again, by kind."""

    def __init__(self) -> None:
        self.procedures = 0
        self.planted: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.proposed = 0
        self.right = 0
        self.seconds: list[float] = []
        self.unfinished = 0
        """The procedures for which the time was not enough."""

    def add(self, row: dict[str, Any]) -> None:
        """Counts a line of the file."""
        self.procedures += 1
        for kind, _, found in row["planted"]:
            self.planted[kind] += 1
            self.found[kind] += found
        self.proposed += len(row["mined"])
        self.right += sum(right for _, right in row["mined"])
        self.seconds.append(row["seconds"])
        self.unfinished += row.get("unfinished", False)

    @property
    def recall(self) -> float:
        """The share of planted rules that were found."""
        return self.found.total() / max(1, self.planted.total())

    @property
    def precision(self) -> float:
        """The share of proposed rules that were planted."""
        return self.right / max(1, self.proposed)

    def by_kind(self) -> Iterator[tuple[str, int, int]]:
        """The kinds with the numbers of planted and found rules."""
        for kind in sorted(self.planted):
            yield kind, self.planted[kind], self.found[kind]


def interval(found: int, of: int) -> str:
    """A share with its interval of 95 % (Wilson's)."""
    if not of:
        return "–"
    share, scale = found / of, 1 + _Z * _Z / of
    middle = (share + _Z * _Z / (2 * of)) / scale
    spread = _Z * sqrt(share * (1 - share) / of + _Z * _Z / (4 * of * of)) / scale
    return f"{share:.3f} ({middle - spread:.2f}–{middle + spread:.2f})"
