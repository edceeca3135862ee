"""Tables of trained models on the benchmark, without a gate and behind one.

The input are files of `bylaw bench run` in FOLDER/gate, one per model, named by training and seed.
`form_only.py` writes the tables, and the blocks of the page.

Runs of the same task are compared, seed by seed. Prompts are resampled with replacement, each with
its runs of all seeds: 120 tasks have 55 different prompts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from page_tables import change, measured, page_table, percent, read_runs

from bylaw.bench.analysis import ANALYSES
from bylaw.bench.analysis.gate import resolution_cells, resolutions
from bylaw.bench.analysis.layers import pass_rate
from bylaw.bench.instance import instance
from bylaw.enforcement.severity import SETTINGS
from bylaw.procedure.procedure import LAYERS
from bylaw.tables import Table, as_number
from bylaw.training.data.example import PRODUCTION
from bylaw.training.run.eval_tables import gains_table, splits_table

GATE: Final = "gate"
SEEDS: Final = (42, 43, 44)
FILES: Final = {
    "base": ("base",),
    "form": tuple(f"form-{seed}" for seed in SEEDS),
    "form + GRPO": tuple(f"grpo-{seed}" for seed in SEEDS),
}
"""The files of each kind of model."""
FLOOR: Final = "floor"
"""The file of the agent that only obeys refusals."""
ENFORCED: Final = [setting for setting in SETTINGS if setting in ("block-and-warn", "soft-block")]
UNGATED: Final = "baseline"
SETS: Final = {
    PRODUCTION: PRODUCTION,
    "direct-simplification": "direct simplification",
    "motif-overlap": "motif overlap",
    "no-coverage": "no coverage",
}
WRITTEN: Final = ("overview", "effects", "layers", "reached", "templates", "enforcement", "floor")
"""The tables of `bylaw bench report` that are written."""

Run = dict[str, Any]


def tables_of(folder: Path) -> dict[str, list[Table]]:
    """The tables, by the folder in which they are written."""
    runs = [run for files in FILES.values() for file in files for run in _runs(folder, file)]
    runs += _runs(folder, FLOOR)
    trained = {kind: _rows(folder, kind, UNGATED) for kind in ("form", "form + GRPO")}
    return {
        GATE: [ANALYSES[name](runs) for name in WRITTEN],
        PRODUCTION: [splits_table(trained), gains_table(trained)],
    }


def blocks_of(folder: Path) -> dict[str, str]:
    """The blocks of the page."""
    return {
        "production": _production(folder),
        "gate": _gate(folder),
        "gate-trained": _trained(folder),
        "gate-layers": _layers(folder),
    }


def _runs(folder: Path, file: str) -> list[Run]:
    return read_runs(folder / GATE / f"{file}.jsonl.gz")


def _under(folder: Path, kind: str, setting: str) -> list[Run]:
    found = (run for file in FILES[kind] for run in _runs(folder, file))
    return [run for run in found if run["setting"] == setting]


def _rows(folder: Path, kind: str, setting: str) -> list[Run]:
    """The runs of a kind of model under a setting, as rows of an evaluation."""
    return [
        row
        for file in FILES[kind]
        for row in _evaluated(run for run in _runs(folder, file) if run["setting"] == setting)
    ]


def _evaluated(runs: Iterable[Run]) -> list[Run]:
    """The trial of a row is the file's model, so that runs of the same seed are compared."""
    return [
        {
            "split": PRODUCTION,
            "name": f"{run['template']}/D{run['difficulty']}/{run['seed']}",
            "template": run["template"],
            "trial": run["model"].rpartition("-")[2],
            "conditions": {},
            "compliance": run["score"],
            "correct": run["correct"],
            "calls": run["calls"],
            "messages": ("", {"content": _prompt(run)}),
        }
        for run in runs
    ]


def _prompt(run: Run) -> str:
    return instance(run["template"], run["difficulty"], run["seed"]).prompt


def _gain(before: Sequence[Run], after: Sequence[Run], name: str = PRODUCTION) -> list[str]:
    """The change in compliance and in points of accuracy."""
    cells = measured(gains_table({"before": before, "after": after}))
    row = cells[name, "after over before"]
    return [change(row[0], row[1], "+.3f"), change(row[2], row[3], "+.1f")]


def _production(folder: Path) -> str:
    """Without a gate: GRPO over the warm-up, by transfer group."""
    form, tuned = (_rows(folder, kind, UNGATED) for kind in ("form", "form + GRPO"))
    levels = measured(splits_table({"form": form, "tuned": tuned}))
    rows = []
    for name, shown in SETS.items():
        before, after = levels[name, "form"], levels[name, "tuned"]
        compliance, points = _gain(form, tuned, name)
        rows.append(
            [
                *(shown, f"{before[0]:.3f}", f"{after[0]:.3f}", compliance),
                *(percent(before[2]), percent(after[2]), points),
            ]
        )
    names = ("compliance: form", "+ GRPO", "difference", "accuracy: form", "+ GRPO", "points")
    return page_table(["benchmark", *names], rows, numbers=" rr rr ")


def _gate(folder: Path) -> str:
    """Each kind of model under each setting, and the changes against none."""
    rows = []
    for kind in FILES:
        without = _rows(folder, kind, UNGATED)
        for setting in (UNGATED, *ENFORCED):
            runs, evaluated = _under(folder, kind, setting), _rows(folder, kind, setting)
            changes = ["", ""] if setting == UNGATED else _gain(without, evaluated)
            shown = kind if setting == UNGATED else ""
            rows.append([shown, *_level(setting, runs, *changes)])
    for setting in ENFORCED:
        obeying = [run for run in _runs(folder, FLOOR) if run["setting"] == setting]
        rows.append(["only obeys" if setting == ENFORCED[0] else "", *_level(setting, obeying)])
    names = ("compliance", "change", "accuracy", "points", "faultless", "calls", "no answer")
    return page_table(["model", "setting", *names, "insisted"], rows, numbers="  r r rrrr")


def _level(setting: str, runs: Sequence[Run], compliance: str = "", points: str = "") -> list[str]:
    faultless = fmean(run["label"] == "FULL" for run in runs)
    silent = fmean(run["ending"] != "answered" for run in runs)
    counts = sum(resolutions(runs).values(), Counter[str]())
    rate = resolution_cells(counts)[-1]
    return [
        *(setting, f"{fmean(run['score'] for run in runs):.3f}", compliance),
        *(percent(fmean(run["correct"] for run in runs)), points),
        *(percent(faultless), f"{fmean(run['calls'] for run in runs):.1f}", percent(silent)),
        "" if rate is None or setting == UNGATED else percent(as_number(rate)),
    ]


def _trained(folder: Path) -> str:
    """GRPO over the warm-up, under each setting."""
    rows = [
        [
            setting,
            *_gain(_rows(folder, "form", setting), _rows(folder, "form + GRPO", setting)),
        ]
        for setting in (UNGATED, *ENFORCED)
    ]
    return page_table(["setting", "GRPO over form: compliance", "points"], rows)


def _layers(folder: Path) -> str:
    """The share of each layer's rules that hold."""
    rows = []
    for kind in FILES:
        for setting in (UNGATED, *ENFORCED):
            runs = _under(folder, kind, setting)
            rates = (pass_rate(runs, layer) or 0.0 for layer in LAYERS)
            shown = kind if setting == UNGATED else ""
            rows.append([shown, setting, *(f"{rate:.3f}" for rate in rates)])
    return page_table(["model", "setting", *LAYERS], rows, numbers="  rrrrrr")
