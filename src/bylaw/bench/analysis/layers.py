"""Which kinds of rules hold, and which do not."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.bench.analysis.runs import Run, by_model_and_setting, mean, simulated_note
from bylaw.procedure.layers import LAYERS
from bylaw.tables import Column, Table


def layers(runs: Sequence[Run]) -> Table:
    """The mean share of the rules of each layer that hold."""
    rows = [
        [model, setting, *(pass_rate(group, layer) for layer in LAYERS)]
        for (model, setting), group in by_model_and_setting(runs).items()
    ]
    columns = [Column("model"), Column("setting"), *(Column(layer, "share") for layer in LAYERS)]
    notes = [*(f"{layer}: {about}" for layer, about in LAYERS.items()), *simulated_note(runs)]
    return Table("layers", "Pass rate per layer", columns, rows, notes)


def pass_rate(runs: Sequence[Run], layer: str) -> float | None:
    """The mean, over runs, of the share of a layer's rules that hold."""
    counts = (run["layers"].get(layer) for run in runs)
    return mean(passed / total for passed, total in filter(None, counts))
