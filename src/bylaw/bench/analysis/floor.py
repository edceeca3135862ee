"""What a model adds to what the gate alone buys."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.bench.analysis.runs import (
    BASELINE,
    FLOOR,
    Run,
    by_model_and_setting,
    compliance,
    difference,
    pairs,
    simulated_note,
)
from bylaw.tables import Column, Table


def floor(runs: Sequence[Run]) -> Table:
    """Enforced compliance beside that of an agent that knows nothing and only obeys."""
    groups = by_model_and_setting(runs)
    rows = []
    for (model, setting), group in groups.items():
        if model == FLOOR or setting == BASELINE:
            continue
        both = pairs(group, groups.get((FLOOR, setting), []))
        own, bought = compliance(a for a, _ in both), compliance(b for _, b in both)
        rows.append([model, setting, own, bought, difference(own, bought), above(own, bought)])
    columns = [
        Column("model"),
        Column("setting"),
        Column("compliance", "share"),
        Column("floor", "share"),
        Column("above", "change"),
        Column("of the rest", "share"),
    ]
    notes = [
        (
            f"floor: the compliance of {FLOOR} on the same tasks: it knows nothing of them and "
            "only follows refusals"
        ),
        "of the rest: how much of what the floor leaves open the model fills, 1 at most",
        *([] if any(m == FLOOR for m, _ in groups) else [f"not in these results: {FLOOR}"]),
        *simulated_note(runs),
    ]
    return Table("floor", "Above the gate-only floor", columns, rows, notes)


def above(own: float | None, bought: float | None) -> float | None:
    """The share, of what the floor leaves open, that a score fills."""
    if own is None or bought is None or bought == 1:
        return None
    return (own - bought) / (1 - bought)
