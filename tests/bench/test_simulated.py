"""Simulated agents: they do what their profile says, and the same every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bylaw.agents.profiles import PROFILES
from bylaw.agents.simulated import simulated
from bylaw.bench.jobs import jobs, script_for
from bylaw.bench.results import Results, read_results
from bylaw.bench.runner import BenchRunner
from bylaw.enforcement.severity import Setting
from bylaw.errors import UsageError

SETTINGS: tuple[Setting, ...] = ("baseline", "block-and-warn", "soft-block")


EASY_AND_HARD = pytest.mark.parametrize(
    "difficulties", [(1, 2), pytest.param((3, 4, 5), marks=pytest.mark.slow)]
)


def _runs(folder: Path, profile: str, *settings: Setting, **chosen: Any) -> list[dict[str, Any]]:
    path = folder / f"{profile}.jsonl"
    path.unlink(missing_ok=True)
    with Results(path) as results:
        chosen = {"trials": 1} | chosen
        wanted = list(jobs(f"sim:{profile}", settings, **chosen))
        outcome = BenchRunner(simulated(profile, script_for), results).run(wanted)
    assert outcome.made == len(wanted)
    assert not outcome.failed
    return list(read_results(path))


@EASY_AND_HARD
def test_gold_is_never_refused(tmp_path: Path, difficulties: tuple[int, ...]) -> None:
    runs = _runs(tmp_path, "gold", *SETTINGS, difficulties=difficulties)
    assert len(runs) == 72 * len(difficulties)
    for run in runs:
        assert (run["score"], run["correct"], run["refused"], run["events"]) == (1.0, True, [], [])


@EASY_AND_HARD
def test_a_batching_agent_that_listens_keeps_the_order(
    tmp_path: Path, difficulties: tuple[int, ...]
) -> None:
    for run in _runs(tmp_path, "batcher", "block-and-warn", difficulties=difficulties):
        assert run["layers"]["L3"] == [1, 1], run["key"]


@EASY_AND_HARD
def test_a_batching_agent_without_a_gate_breaks_the_order(
    tmp_path: Path, difficulties: tuple[int, ...]
) -> None:
    for run in _runs(tmp_path, "batcher", "baseline", difficulties=difficulties):
        assert run["layers"]["L3"] == [0, 1], run["key"]


def test_the_gate_alone_buys_something_but_not_answers(tmp_path: Path) -> None:
    runs = _runs(tmp_path, "obedient-random", "block-and-warn", difficulties=[1, 2])
    assert 0.1 < sum(run["score"] for run in runs) / len(runs) < 0.9
    assert sum(run["correct"] for run in runs) < len(runs) / 10


def test_stubborn_insists_and_careless_listens(tmp_path: Path) -> None:
    def insisted(profile: str) -> float:
        runs = _runs(tmp_path, profile, "block-and-warn", difficulties=[2])
        ways = [event["resolution"] for run in runs for event in run["events"]]
        return ways.count("insisted") / len(ways)

    assert insisted("stubborn") > 0.5 > 0.2 > insisted("careless")


@pytest.mark.parametrize("profile", [*PROFILES, "obedient-random"])
def test_the_same_seed_gives_the_same_run(profile: str, tmp_path: Path) -> None:
    def runs() -> list[dict[str, Any]]:
        chosen = {"difficulties": [2], "seeds": [42]}
        return [
            {key: value for key, value in run.items() if key != "timing"}
            for run in _runs(tmp_path, profile, "block-and-warn", **chosen)
        ]

    assert runs() == runs()


def test_results_say_that_an_agent_is_simulated(tmp_path: Path) -> None:
    (run, *_) = _runs(tmp_path, "gold", "baseline", difficulties=[1])
    assert run["conditions"]["about"]["simulated"] is True


def test_an_unknown_agent_is_an_error() -> None:
    with pytest.raises(UsageError, match="did you mean 'gold'"):
        simulated("gould", script_for)
