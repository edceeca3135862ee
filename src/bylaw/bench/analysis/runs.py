"""Results as analyses read them: runs, put together by what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, TypeAlias, TypeVar

from bylaw.agents.profiles import OBEDIENT_RANDOM
from bylaw.agents.simulated import PREFIX
from bylaw.enforcement.severity import SETTINGS

Run: TypeAlias = Mapping[str, Any]
"""One line of a results file."""
T = TypeVar("T")

FLOOR: Final = f"{PREFIX}{OBEDIENT_RANDOM}"
"""The agent whose score is what the gate alone buys."""
BASELINE: Final = "baseline"


def grouped(runs: Iterable[Run], by: Callable[[Run], T]) -> dict[T, list[Run]]:
    """The runs that agree on something, in order of first appearance."""
    found: dict[T, list[Run]] = {}
    for run in runs:
        found.setdefault(by(run), []).append(run)
    return found


def by_model_and_setting(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """The runs of each model under each setting: models by name, the floor last."""
    found = grouped(runs, lambda run: (run["model"], run["setting"]))

    def place(key: tuple[str, str]) -> tuple[bool, str, int]:
        model, setting = key
        return model == FLOOR, model, SETTINGS.index(setting)

    return {key: found[key] for key in sorted(found, key=place)}


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that there are; None if there is none."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def compliance(runs: Iterable[Run]) -> float | None:
    """The mean score. A run without one does not count."""
    return mean(run["score"] for run in runs)


def accuracy(runs: Sequence[Run]) -> float | None:
    """The share of runs that gave the right answer."""
    return mean(float(run["correct"]) for run in runs)


def simulated_note(runs: Iterable[Run]) -> list[str]:
    """Says which models are simulated, if any are."""
    names = {run["model"] for run in runs if run["conditions"]["about"].get("simulated")}
    return [f"simulated agents, not models: {', '.join(sorted(names))}"] if names else []
