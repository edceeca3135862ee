"""How much non-compliance can be mended on the spot: where retries are free, and where not."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.bench.analysis.runs import (
    BASELINE,
    SOFT,
    WARN,
    Run,
    accuracy,
    by_model,
    change,
    compliance,
    mean,
    simulated_note,
)
from bylaw.tables import Column, Table


def gap(runs: Sequence[Run]) -> Table:
    """Block-and-warn less soft-block, for each model that was run under both."""
    rows = []
    for model, by_setting in by_model(runs).items():
        if WARN not in by_setting or SOFT not in by_setting:
            continue
        unaided, warned, blocked = (by_setting.get(each, []) for each in (BASELINE, WARN, SOFT))
        rows.append(
            [
                model,
                change(compliance, unaided, warned),
                change(compliance, unaided, blocked),
                change(compliance, blocked, warned),
                change(accuracy, blocked, warned),
                mean(float(run["ending"] == "stopped") for run in blocked),
            ]
        )
    columns = [
        Column("model"),
        Column("C warn", "change", {"measure": "compliance change", "setting": WARN}),
        Column("C soft", "change", {"measure": "compliance change", "setting": SOFT}),
        Column("gap C", "change", {"measure": "compliance gap"}),
        Column("gap A", "change", {"measure": "accuracy gap"}),
        Column("stopped", "share"),
    ]
    notes = [
        "C warn, C soft: the change in compliance against baseline",
        (
            "gap: block-and-warn less soft-block, in compliance and in accuracy. What a model "
            "gains only where retries are free are mistakes that it can mend"
        ),
        "stopped: the share of soft-block runs that the gate ended",
        *simulated_note(runs),
    ]
    return Table("gap", "The gap between block-and-warn and soft-block", columns, rows, notes)
