"""The four held-out splits of simplified examples."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle, islice
from typing import Final

from bylaw.training.data.augment import PLAIN, Core, Extras, possible
from bylaw.training.data.corpus import SEED, held_out_cores
from bylaw.training.data.example import Example, simplified
from bylaw.training.data.renaming import renamed, rotated
from bylaw.training.data.templates.pattern import POOL

UNAUGMENTED: Final = "unaugmented"
AUGMENTED: Final = "augmented"
DIVERSE: Final = "diverse-tool"
UNSEEN: Final = "unseen-pattern"
SPLITS: Final = (UNAUGMENTED, AUGMENTED, UNSEEN, DIVERSE)

_SEEN_SIZES: Final[Mapping[str, tuple[int, int, int]]] = {
    "three_call_branch_bridge": (5, 7, 2),
    "chain_then_branch": (5, 5, 2),
    "rebranch_after_c": (5, 7, 2),
    "join_then_branch": (5, 7, 2),
    "dual_branch_merge": (5, 5, 2),
    "loop2_then_branch": (5, 7, 2),
    "branch_verify_finalize": (5, 5, 2),
    "six_call_double_rebranch": (5, 7, 2),
    "fan_out_fan_in": (8, 10, 4),
    "forall_processing": (8, 10, 4),
    "exists_selection": (7, 9, 4),
    "nested_loops_fixed_2x2": (3, 2, 2),
    "filter_then_process": (7, 8, 3),
    "fanout_then_transform": (3, 2, 2),
    "branch_then_reprocess": (7, 9, 4),
}
"""Unaugmented, augmented, diverse-tool. The paper gives the sums of rows and columns."""
SIZES: Final[Mapping[str, Mapping[str, int]]] = {
    UNAUGMENTED: {template: sizes[0] for template, sizes in _SEEN_SIZES.items()},
    AUGMENTED: {template: sizes[1] for template, sizes in _SEEN_SIZES.items()},
    UNSEEN: {"branch_selection": 24, "loop_termination": 15},
    DIVERSE: {template: sizes[2] for template, sizes in _SEEN_SIZES.items()},
}
"""The number of examples per split and template."""


def splits(seed: int = SEED) -> dict[str, list[Example]]:
    """The four splits. Their cores follow those of the training pool; each is used once."""
    streams = {
        template: held_out_cores(template, seed) for sizes in SIZES.values() for template in sizes
    }
    return {split: list(_MAKERS[split](split, _cores(streams, split), seed)) for split in SPLITS}


def _cores(streams: Mapping[str, Iterator[Core]], split: str) -> dict[str, list[Core]]:
    return {
        template: list(islice(streams[template], size)) for template, size in SIZES[split].items()
    }


def _plain(split: str, cores: Mapping[str, list[Core]], seed: int) -> Iterator[Example]:
    for template, each in cores.items():
        for number, core in enumerate(each, 1):
            yield simplified(_name(split, template, number), split, core, PLAIN)


def _augmented(split: str, cores: Mapping[str, list[Core]], seed: int) -> Iterator[Example]:
    """Every core with one or two extra calls; the kinds of augmentation alternate."""
    for template, each in cores.items():
        rng = random.Random(f"{split} {seed} {template}")
        turns = {kinds: cycle(kinds[1:]) for kinds in map(possible, each)}
        for number, core in enumerate(each, 1):
            extras = Extras.sample(next(turns[possible(core)]), rng)
            yield simplified(_name(split, template, number), split, core, extras)


def _diverse(split: str, cores: Mapping[str, list[Core]], seed: int) -> Iterator[Example]:
    aliases = rotated(POOL, random.Random(f"{split} {seed}"))
    for example, names in zip(_plain(split, cores, seed), aliases, strict=False):
        yield renamed(example, names)


def _name(split: str, template: str, number: int) -> str:
    return f"{split}/{template}/{number:02d}"


_MAKERS: Final[Mapping[str, Callable[[str, Mapping[str, list[Core]], int], Iterator[Example]]]] = {
    UNAUGMENTED: _plain,
    AUGMENTED: _augmented,
    UNSEEN: _plain,
    DIVERSE: _diverse,
}
