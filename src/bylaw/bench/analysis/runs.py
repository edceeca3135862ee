"""Grouping and averaging of run records, shared by all analyses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final, TypeAlias, TypeVar

from bylaw.agents.profiles import OBEDIENT_RANDOM
from bylaw.agents.simulated import PREFIX
from bylaw.bench.results import RunRecord
from bylaw.enforcement.severity import SETTINGS, Setting
from bylaw.tables import Column, Mark, Table

T = TypeVar("T")
K = TypeVar("K")
Analysis: TypeAlias = Callable[[Sequence[RunRecord]], Table]
Measure: TypeAlias = Callable[[Sequence[RunRecord]], float | None]

FLOOR: Final = f"{PREFIX}{OBEDIENT_RANDOM}"
"""The agent that only obeys: its score is the compliance that the gate achieves by itself."""
BASELINE: Final[Setting] = "baseline"
WARN: Final[Setting] = "block-and-warn"
SOFT: Final[Setting] = "soft-block"
SIMULATED: Final = "simulated agents, not models"
"""The first words of the note that lists simulated agents, in every table and figure."""
SHORT: Final[Mapping[str, str]] = {
    "as-written": "written",
    BASELINE: "base",
    WARN: "warn",
    SOFT: "soft",
}
"""Abbreviations of settings, for column titles."""
MODEL_AND_SETTING: Final = (Column("model"), Column("setting"))


def grouped(runs: Iterable[RunRecord], by: Callable[[RunRecord], T]) -> dict[T, list[RunRecord]]:
    """The runs grouped by a key, in order of first appearance."""
    found: dict[T, list[RunRecord]] = {}
    for run in runs:
        found.setdefault(by(run), []).append(run)
    return found


def by_model_and_setting(runs: Iterable[RunRecord]) -> dict[tuple[str, str], list[RunRecord]]:
    """The runs of each model under each setting. Models are sorted by name, the floor is last."""
    found = grouped(runs, lambda run: (run["model"], run["setting"]))

    def place(key: tuple[str, str]) -> tuple[bool, str, int]:
        model, setting = key
        return model == FLOOR, model, SETTINGS.index(setting)

    return {key: found[key] for key in sorted(found, key=place)}


def by_model(runs: Iterable[RunRecord]) -> dict[str, dict[str, list[RunRecord]]]:
    """The runs of each model, by setting, in the same order."""
    found: dict[str, dict[str, list[RunRecord]]] = {}
    for (model, setting), group in by_model_and_setting(runs).items():
        found.setdefault(model, {})[setting] = group
    return found


def settings_of(runs: Iterable[RunRecord]) -> list[Setting]:
    """The settings that occur, in their usual order."""
    found = {run["setting"] for run in runs}
    return [setting for setting in SETTINGS if setting in found]


def pairs(
    before: Iterable[RunRecord], after: Iterable[RunRecord]
) -> list[tuple[RunRecord, RunRecord]]:
    """The pairs of runs of the same task. Tasks that occur only once are left out."""

    def task(run: RunRecord) -> tuple[str, int, int, int]:
        return run["template"], run["difficulty"], run["seed"], run["trial"]

    others = {task(run): run for run in after}
    return [(run, others[task(run)]) for run in before if task(run) in others]


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are not None, or None if there are none."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def difference(after: float | None, before: float | None) -> float | None:
    """`after - before`, or None if either is None."""
    return None if after is None or before is None else after - before


def change(
    measure: Measure, before: Iterable[RunRecord], after: Iterable[RunRecord]
) -> float | None:
    """The change of a measure, over the tasks that occur in both."""
    both = pairs(before, after)
    return difference(measure([b for _, b in both]), measure([a for a, _ in both]))


def compliance(runs: Iterable[RunRecord]) -> float | None:
    """The mean score. Runs without a score are left out."""
    return mean(run["score"] for run in runs)


def accuracy(runs: Iterable[RunRecord]) -> float | None:
    """The share of runs with the correct answer."""
    return mean(float(run["correct"]) for run in runs)


def calls(runs: Iterable[RunRecord]) -> float | None:
    """The mean number of executed calls."""
    return mean(run["calls"] for run in runs)


def simulated(runs: Iterable[RunRecord]) -> set[str]:
    """The models that are simulated."""
    return {run["model"] for run in runs if run["conditions"]["about"].get("simulated")}


def simulated_note(runs: Iterable[RunRecord]) -> list[str]:
    """A note that lists the simulated models, if there are any."""
    names = simulated(runs)
    return [f"{SIMULATED}: {', '.join(sorted(names))}"] if names else []


def floor_note(runs: Iterable[RunRecord]) -> list[str]:
    """A note that the floor was not run, if it was not."""
    return [] if any(run["model"] == FLOOR for run in runs) else [f"not in these results: {FLOOR}"]


def averaged(runs: Sequence[RunRecord]) -> tuple[str, list[str]]:
    """The models that an average is taken over, and a noun for them.

    Simulated agents and real models are never averaged together, and the floor is never included.
    """
    names, invented = list(by_model(runs)), simulated(runs)
    models = [name for name in names if name not in invented]
    if models:
        return "models", models
    return "simulated agents", [name for name in names if name != FLOOR]


def extremes(scores: Mapping[K, float]) -> dict[K, Mark]:
    """The best and the worst of some scores; empty if all are equal."""
    if len(set(scores.values())) < 2:
        return {}
    best = max(scores, key=scores.__getitem__)
    return {best: "best", min(scores, key=scores.__getitem__): "worst"}
