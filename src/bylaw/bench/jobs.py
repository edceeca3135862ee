"""What there is to run: twelve templates, five difficulties, two seeds, three trials, a setting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from bylaw.bench.instance import SEEDS, TRIALS, Instance, instance
from bylaw.bench.templates import TEMPLATES
from bylaw.bench.templates.template import DIFFICULTIES
from bylaw.enforcement.severity import Setting


@dataclass(frozen=True, slots=True)
class Job:
    """One run that is to be made."""

    model: str
    setting: Setting
    template: str
    difficulty: int
    seed: int
    trial: int

    @property
    def task(self) -> str:
        """What is to be done, whoever does it under whatever setting."""
        return f"{self.template}/D{self.difficulty}/{self.seed}/{self.trial}"

    @property
    def key(self) -> str:
        """What tells this run from all others."""
        return f"{self.model} {self.setting} {self.task}"

    @property
    def instance(self) -> Instance:
        """The task itself."""
        return instance(self.template, self.difficulty, self.seed)


def jobs(
    model: str,
    settings: Iterable[Setting],
    *,
    templates: Sequence[str] = tuple(TEMPLATES),
    difficulties: Sequence[int] = DIFFICULTIES,
    seeds: Sequence[int] = SEEDS,
    trials: int = TRIALS,
) -> Iterator[Job]:
    """The runs of a model; by default 360 per setting. Long tasks come before short ones.

    That keeps a batch full to the end: what is left at last are short runs.
    """
    hardest = sorted(difficulties, reverse=True)
    order = product(range(trials), hardest, templates, seeds, settings)
    for trial, difficulty, template, seed, setting in order:
        yield Job(model, setting, template, difficulty, seed, trial)
