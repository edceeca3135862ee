"""The training corpus: 570 cores, augmented, and 300 of them chosen so that nothing is rare."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice, zip_longest
from typing import Final

from bylaw.training.augment import Augmentation, Core, Extras, possible
from bylaw.training.example import Example, simplified
from bylaw.training.templates import HELD_OUT, TRAINING

TRAIN: Final = "train"
SEED: Final = 42
"""The seed of the published corpus."""
CORES: Final = 30
"""How many cores each slot has in the pool."""
SIZE: Final = 300
FLOOR: Final = 8
CEILING: Final = 24


@dataclass(frozen=True, slots=True)
class Candidate:
    """A core of the pool, with its augmentation."""

    core: Core
    extras: Extras

    @property
    def bucket(self) -> tuple[str, Augmentation]:
        """What the sampler equalises."""
        return self.core.pattern.transform, self.extras.kind


def cores(template: str, seed: int) -> Iterator[Core]:
    """Cores of a template without end, its variants in turn; no two have the same parameters."""
    rng = random.Random(f"cores {seed} {template}")
    used: set[tuple[int, ...]] = set()
    for pattern in cycle((TRAINING | HELD_OUT)[template]):
        while True:
            core = Core(pattern, pattern.drawn(rng))
            if core.numbers not in used and core.usable:
                break
        used.add(core.numbers)
        yield core


def pool(template: str, seed: int) -> list[Candidate]:
    """The cores of a template that are there to train with, each in all its augmentations."""
    rng = random.Random(f"extras {seed} {template}")
    return [
        Candidate(core, Extras.drawn(kind, rng))
        for core in islice(cores(template, seed), CORES * len(TRAINING[template]))
        for kind in possible(core)
    ]


def fresh(template: str, seed: int) -> Iterator[Core]:
    """Cores of a template that are not in the pool."""
    return islice(cores(template, seed), CORES * len(TRAINING.get(template, ())), None)


def corpus(seed: int = SEED) -> list[Example]:
    """The training examples, in the order in which to train on them."""
    chosen = {
        template: equalised(pool(template, seed), quota)
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
    """How many examples each template gets: the floor, and a share of the rest by its weight.

    Shares are rounded by largest remainder. What a template may not have, because of the
    ceiling, goes to the others.
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
    """What is left, shared among those that are not settled."""
    unsettled = {name: weight for name, weight in weights.items() if name not in settled}
    total = sum(unsettled.values())
    return {name: rest * weight / total for name, weight in unsettled.items()}


def equalised(candidates: Sequence[Candidate], quota: int) -> list[Candidate]:
    """So many of the candidates that no transform and no augmentation is there more than others.

    The next one always comes from the bucket that has given least; among those, from the
    transform and then the augmentation that has. No core is used twice while there are others.
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
    """One of each group, again and again: no group comes twice in a row while others are left."""
    rounds = zip_longest(*groups)
    return [example for each in rounds for example in each if example is not None]
