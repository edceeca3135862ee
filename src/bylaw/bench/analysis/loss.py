"""Which layers the lost points were lost in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bylaw.bench.analysis.runs import Run, by_model_and_setting, mean, simulated_note
from bylaw.bench.constraints import WEIGHTS
from bylaw.procedure.layers import LAYERS
from bylaw.tables import Column, Table


def loss(runs: Sequence[Run]) -> Table:
    """What is missing to full compliance, and how much of it each layer takes."""
    rows = []
    for (model, setting), group in by_model_and_setting(runs).items():
        losses = {layer: mean(lost(run)[layer] for run in group) or 0.0 for layer in LAYERS}
        parts = shares(losses)
        rows.append([model, setting, sum(losses.values()), *(parts[layer] for layer in LAYERS)])
    columns = [
        Column("model"),
        Column("setting"),
        Column("loss", "share"),
        *(Column(layer, "share") for layer in LAYERS),
    ]
    notes = [
        "loss: 1 less the mean compliance; behind it, the share of each layer in it, by weight",
        *simulated_note(runs),
    ]
    return Table("loss", "Share of the weighted loss per layer", columns, rows, notes)


def lost(run: Run) -> dict[str, float]:
    """What each layer takes from the score of a run: together, what is missing to 1."""
    weight = sum(total * WEIGHTS[layer] for layer, (_, total) in run["layers"].items())
    found = dict.fromkeys(LAYERS, 0.0)
    for layer, (passed, total) in run["layers"].items():
        found[layer] = (total - passed) * WEIGHTS[layer] / weight
    return found


def expected_losses(
    weights: Mapping[str, float], pass_rates: Mapping[str, float]
) -> dict[str, float]:
    """The losses that pass rates amount to, where a layer weighs the same in every task."""
    return {layer: weights[layer] * (1 - pass_rates[layer]) for layer in pass_rates}


def shares(losses: Mapping[str, float]) -> dict[str, float | None]:
    """Each layer's share in the whole loss; None where nothing was lost."""
    whole = sum(losses.values())
    return {layer: value / whole if whole else None for layer, value in losses.items()}
