"""What the gate did, and what agents made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bylaw.bench.analysis.runs import BASELINE, Run, by_model_and_setting, simulated_note
from bylaw.enforcement.events import NO_CHOICE
from bylaw.procedure.layers import LAYERS
from bylaw.tables import Cell, Column, Table

COLUMNS = (
    Column("layer"),
    Column("events", "count"),
    Column("resolved", "count"),
    Column("insisted", "count"),
    Column("listened", "count"),
    Column("insist rate", "percent"),
)


def enforcement(runs: Sequence[Run]) -> Table:
    """Events by model, setting and layer. What was tolerated is not an intervention."""
    rows = []
    for (model, setting), group in by_model_and_setting(runs).items():
        if setting == BASELINE:
            continue
        counts = resolutions(group)
        for layer in LAYERS:
            if counts[layer]:
                rows.append([model, setting, layer, *row(counts[layer])])
        total = sum(counts.values(), Counter[str]())
        rows.append([model, setting, "all", *row(total)])
    columns = [Column("model"), Column("setting"), *COLUMNS]
    return Table("enforcement", "Interventions of the gate", columns, rows, simulated_note(runs))


def resolutions(runs: Sequence[Run]) -> dict[str, Counter[str]]:
    """For each layer, how many events were resolved in which way."""
    counts = {layer: Counter[str]() for layer in LAYERS}
    for run in runs:
        for event in run["events"]:
            if event["action"] not in ("tolerate", *NO_CHOICE):
                counts[event["layer"]][event["resolution"]] += 1
    return counts


def row(counts: Counter[str]) -> list[Cell]:
    """Events, resolved, insisted, listened, insist rate."""
    insisted, listened = counts["insisted"], counts["listened"]
    events = counts.total()
    rate = insisted / events if events else None
    return [events, insisted + listened, insisted, listened, rate]
