"""The training corpus: a balanced choice of 300 from 570 augmented cores."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice, zip_longest
from typing import Final

from bylaw.training.data.augment import Augmentation, Core, Extras, possible
from bylaw.training.data.example import Example, simplified
from bylaw.training.data.templates import HELD_OUT, TRAINING

TRAIN: Final = "train"
SEED: Final = 42
"""The seed of the published corpus."""
CORES: Final = 30
"""Cores per slot in the pool."""
SIZE: Final = 300
FLOOR: Final = 8
CEILING: Final = 24


@dataclass(frozen=True, slots=True)
class Candidate:
    """A core of the pool with its augmentation."""

    core: Core
    extras: Extras

    @property
    def bucket(self) -> tuple[str, Augmentation]:
        """The group whose frequency is balanced."""
        return self.core.pattern.transform, self.extras.kind


def cores(template: str, seed: int) -> Iterator[Core]:
    """An endless stream of cores of a template; variants alternate, parameters are unique."""
    rng = random.Random(f"cores {seed} {template}")
    used: set[tuple[int, ...]] = set()
    for pattern in cycle((TRAINING | HELD_OUT)[template]):
        while True:
            core = Core(pattern, pattern.sample_parameters(rng))
            if core.numbers not in used and core.usable:
                break
        used.add(core.numbers)
        yield core


def pool(template: str, seed: int) -> list[Candidate]:
    """The training cores of a template, each with all its augmentations."""
    rng = random.Random(f"extras {seed} {template}")
    return [
        Candidate(core, Extras.sample(kind, rng))
        for core in islice(cores(template, seed), CORES * len(TRAINING[template]))
        for kind in possible(core)
    ]


def held_out_cores(template: str, seed: int) -> Iterator[Core]:
    """Cores of a template outside the training pool."""
    return islice(cores(template, seed), CORES * len(TRAINING.get(template, ())), None)


def corpus(seed: int = SEED) -> list[Example]:
    """The training examples, in the order of the curriculum."""
    chosen = {
        template: balanced(pool(template, seed), quota)
        for template, quota in quotas(dict.fromkeys(TRAINING, 1.0)).items()
    }
    made = {
        template: [
            simplified(f"{TRAIN}/{template}/{number:02d}", TRAIN, each.core, each.extras)
            for number, each in enumerate(candidates, 1)
        ]
        for template, candidates in chosen.items()
    }
    return round_robin(list(made.values()))


def quotas(
    weights: Mapping[str, float], total: int = SIZE, floor: int = FLOOR, ceiling: int = CEILING
) -> dict[str, int]:
    """The number of examples per template: the floor, plus a share of the rest by weight.

    Shares are rounded by largest remainder. The excess over the ceiling goes to other templates.
    """
    if not floor * len(weights) <= total <= ceiling * len(weights):
        raise ValueError(f"{total} examples do not fit {len(weights)} templates")
    rest, room = total - floor * len(weights), ceiling - floor
    extra: dict[str, int] = {}
    while full := [
        name
        for name, share in _shares(weights, extra, rest - sum(extra.values())).items()
        if share > room
    ]:
        extra |= dict.fromkeys(full, room)
    shares = _shares(weights, extra, rest - sum(extra.values()))
    extra |= {name: int(share) for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: int(shares[name]) - shares[name])
    for name in by_remainder[: rest - sum(extra.values())]:
        extra[name] += 1
    return {name: floor + extra[name] for name in weights}


def _shares(
    weights: Mapping[str, float], settled: Mapping[str, int], rest: int
) -> dict[str, float]:
    """The shares of the rest among templates that are not settled."""
    unsettled = {name: weight for name, weight in weights.items() if name not in settled}
    total = sum(unsettled.values())
    return {name: rest * weight / total for name, weight in unsettled.items()}


def balanced(candidates: Sequence[Candidate], quota: int) -> list[Candidate]:
    """A choice of candidates in which transforms and augmentations are equally frequent.

    Each one comes from the bucket used least so far; ties are broken by transform, then by
    augmentation. No core is used twice while unused ones remain.
    """
    buckets: dict[tuple[str, Augmentation], list[Candidate]] = {}
    for candidate in candidates:
        buckets.setdefault(candidate.bucket, []).append(candidate)
    taken: Counter[object] = Counter()
    chosen: list[Candidate] = []
    while len(chosen) < quota:
        left = [bucket for bucket, members in buckets.items() if members]
        bucket = min(left, key=lambda each: (taken[each], taken[each[0]], taken[each[1]]))
        candidate = min(buckets[bucket], key=lambda each: taken[each.core.numbers])
        buckets[bucket].remove(candidate)
        chosen.append(candidate)
        taken.update([bucket, *bucket, candidate.core.numbers])
    return chosen


def round_robin(groups: Sequence[Sequence[Example]]) -> list[Example]:
    """One example of each group in turn, so that groups alternate while others are left."""
    rounds = zip_longest(*groups)
    return [example for each in rounds for example in each if example is not None]
