"""Agreement of the judges with the grounding predicate and with correctness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bylaw.bench.analysis.runs import grouped
from bylaw.groundstudy.judges import VIEWS
from bylaw.groundstudy.prompts import PROMPTS
from bylaw.tables import Cell, Column, Table

ALL: Final = "all"


def judges(judgements: Sequence[Mapping[str, Any]]) -> Table:
    """Agreement by view, prompt and model; rows named `all` pool the models."""
    found = grouped(judgements, lambda each: (each["judge"], each["view"], each["prompt"]))
    order = sorted(found, key=lambda key: (key[0], VIEWS.index(key[1]), PROMPTS.index(key[2])))
    rows: list[list[Cell]] = []
    for key in order:
        models = grouped(found[key], lambda each: str(each["model"]))
        for model in sorted(models):
            rows.append([*key, model, *_figures(models[model])])
        if len(models) > 1:
            rows.append([*key, ALL, *_figures(found[key])])
    columns = [
        Column("judge"),
        Column("view"),
        Column("prompt"),
        Column("model"),
        Column("runs", "count"),
        Column("yes", "percent"),
        Column("measured", "percent"),
        Column("agree", "percent"),
        Column("precision", "percent"),
        Column("recall", "percent"),
        Column("κ", "change"),
    ]
    notes = [
        "aware: the judge sees the calls, and is compared with the grounding predicate",
        "blind: the judge does not see the calls, and is compared with correctness",
        "yes: the share of answers that the judge says yes to",
        "measured: the share of answers that are grounded, or correct",
        "precision: the share of the judge's yeses that are grounded, or correct",
        "recall: the share of grounded, or correct, answers that the judge says yes to",
        *_unreadable(judgements),
    ]
    return Table("judges", "Judges", columns, rows, notes)


def confusion(judgements: Iterable[Mapping[str, Any]]) -> Confusion:
    """The judge's verdicts compared with the measured ones; undecided ones are left out."""
    decided = (each for each in judgements if each["verdict"] is not None)
    return Confusion.of((each["verdict"], each["measured"]) for each in decided)


def _figures(judgements: Sequence[Mapping[str, Any]]) -> list[Cell]:
    found = confusion(judgements)
    rates = [found.first_rate, found.second_rate]
    return [found.total, *rates, found.agreement, found.precision, found.recall, found.kappa]


def _unreadable(judgements: Sequence[Mapping[str, Any]]) -> list[str]:
    count = sum(each["verdict"] is None for each in judgements)
    return [f"left out, because they could not be read: {count:,} judgements"] if count else []


@dataclass(frozen=True, slots=True)
class Confusion:
    """Agreement of two yes-or-no verdicts: a prediction and a reference.

    A figure that is undefined is None, never zero.
    """

    both: int
    only_first: int
    only_second: int
    neither: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Confusion:
        """The counts of some pairs: prediction, reference."""
        found = Counter(pairs)
        kinds = ((True, True), (True, False), (False, True), (False, False))
        return cls(*(found[kind] for kind in kinds))

    @property
    def total(self) -> int:
        """The number of pairs."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def agreement(self) -> float | None:
        """The share of pairs that agree."""
        return _ratio(self.both + self.neither, self.total)

    @property
    def first_rate(self) -> float | None:
        """The share of positive predictions."""
        return _ratio(self.both + self.only_first, self.total)

    @property
    def second_rate(self) -> float | None:
        """The share of positive references."""
        return _ratio(self.both + self.only_second, self.total)

    @property
    def precision(self) -> float | None:
        """The share of positive predictions whose reference is positive."""
        return _ratio(self.both, self.both + self.only_first)

    @property
    def recall(self) -> float | None:
        """The share of positive references that are predicted."""
        return _ratio(self.both, self.both + self.only_second)

    @property
    def kappa(self) -> float | None:
        """Cohen's κ: agreement beyond chance; None if chance alone gives full agreement."""
        if not self.total:
            return None
        first = (self.both + self.only_first) / self.total
        second = (self.both + self.only_second) / self.total
        by_chance = first * second + (1 - first) * (1 - second)
        observed = (self.both + self.neither) / self.total
        return None if by_chance == 1 else (observed - by_chance) / (1 - by_chance)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
