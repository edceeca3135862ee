"""Results as analyses read them: runs, put together by what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, TypeAlias, TypeVar

from bylaw.agents.profiles import OBEDIENT_RANDOM
from bylaw.agents.simulated import PREFIX
from bylaw.enforcement.severity import SETTINGS, Setting

RunRecord: TypeAlias = Mapping[str, Any]
"""One line of a results file."""
T = TypeVar("T")

FLOOR: Final = f"{PREFIX}{OBEDIENT_RANDOM}"
"""The agent whose score is what the gate alone buys."""
BASELINE: Final[Setting] = "baseline"
WARN: Final[Setting] = "block-and-warn"
SOFT: Final[Setting] = "soft-block"
SIMULATED: Final = "simulated agents, not models"
"""How every table and figure marks them."""
SHORT: Final[Mapping[str, str]] = {
    "as-written": "written",
    BASELINE: "base",
    WARN: "warn",
    SOFT: "soft",
}
"""Settings, where columns are narrow."""


def grouped(runs: Iterable[RunRecord], by: Callable[[RunRecord], T]) -> dict[T, list[RunRecord]]:
    """The runs that agree on something, in order of first appearance."""
    found: dict[T, list[RunRecord]] = {}
    for run in runs:
        found.setdefault(by(run), []).append(run)
    return found


def by_model_and_setting(runs: Iterable[RunRecord]) -> dict[tuple[str, str], list[RunRecord]]:
    """The runs of each model under each setting: models by name, the floor last."""
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
    """The runs of the same tasks, side by side; a task that only one has is left out."""

    def task(run: RunRecord) -> tuple[str, int, int, int]:
        return run["template"], run["difficulty"], run["seed"], run["trial"]

    others = {task(run): run for run in after}
    return [(run, others[task(run)]) for run in before if task(run) in others]


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that there are; None if there is none."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def difference(after: float | None, before: float | None) -> float | None:
    """How much more the first is; None where one is missing."""
    return None if after is None or before is None else after - before


def change(
    measure: Callable[[Sequence[RunRecord]], float | None],
    before: Iterable[RunRecord],
    after: Iterable[RunRecord],
) -> float | None:
    """How much more a measure is afterwards, over the tasks that were run both times."""
    both = pairs(before, after)
    return difference(measure([b for _, b in both]), measure([a for a, _ in both]))


def compliance(runs: Iterable[RunRecord]) -> float | None:
    """The mean score. A run without one does not count."""
    return mean(run["score"] for run in runs)


def accuracy(runs: Iterable[RunRecord]) -> float | None:
    """The share of runs that gave the right answer."""
    return mean(float(run["correct"]) for run in runs)


def calls(runs: Iterable[RunRecord]) -> float | None:
    """How many calls a run executed, on average."""
    return mean(run["calls"] for run in runs)


def simulated(runs: Iterable[RunRecord]) -> set[str]:
    """The models that are simulated."""
    return {run["model"] for run in runs if run["conditions"]["about"].get("simulated")}


def simulated_note(runs: Iterable[RunRecord]) -> list[str]:
    """Says which models are simulated, if any are."""
    names = simulated(runs)
    return [f"{SIMULATED}: {', '.join(sorted(names))}"] if names else []


def averaged(runs: Sequence[RunRecord]) -> tuple[str, list[str]]:
    """The models that a mean is taken over, and what they are.

    Simulated agents and models are never averaged together, and the floor with nobody.
    """
    names, invented = list(by_model(runs)), simulated(runs)
    models = [name for name in names if name not in invented]
    if models:
        return "models", models
    return "simulated agents", [name for name in names if name != FLOOR]
