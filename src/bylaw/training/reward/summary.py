"""A table of mean rewards, with the compliance of doing nothing as a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from bylaw.tables import Column, Table
from bylaw.training.reward.reward import NOTHING, Goal, Reward


def summary(title: str, goals: Sequence[Goal], rewards: Sequence[Reward]) -> Table:
    """The mean reward by split.

    Some rules hold in an empty trace, so the table gives its compliance as well.
    """
    groups: dict[str, list[tuple[Goal, Reward]]] = {}
    for goal, reward in zip(goals, rewards, strict=True):
        groups.setdefault(goal.example.split, []).append((goal, reward))
    return Table(
        "rewards",
        title,
        [
            Column("split"),
            Column("n", "count"),
            Column("compliance", "share"),
            Column("nothing", "share"),
            Column("answer", "share"),
            Column("closeness", "share"),
            Column("reward", "share"),
            Column("unscored", "count"),
        ],
        [_row(split, group) for split, group in groups.items()],
        [
            "nothing: the compliance of the empty trace, a baseline",
            "unscored: rollouts that could not be verified; excluded from the means",
        ],
    )


def _row(split: str, group: Sequence[tuple[Goal, Reward]]) -> list[str | int | float | None]:
    rewards = [reward for _, reward in group]
    return [
        split,
        len(group),
        _mean(reward.compliance for reward in rewards),
        _mean(goal.reward(NOTHING).compliance for goal, _ in group),
        _mean(reward.answer for reward in rewards),
        _mean(reward.closeness for reward in rewards),
        _mean(reward.total() for reward in rewards),
        sum(reward.reason is not None for reward in rewards),
    ]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
