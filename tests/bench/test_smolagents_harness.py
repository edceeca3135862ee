"""The benchmark through smolagents, the paper's own harness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bylaw.agents.profiles import OBEDIENT_RANDOM
from bylaw.agents.simulated import simulated
from bylaw.bench.jobs import jobs, script_for
from bylaw.bench.results import Results, read_results
from bylaw.bench.runner import BenchRunner
from bylaw.enforcement.severity import Setting

pytestmark = pytest.mark.frameworks


@pytest.fixture(autouse=True)
def _needed() -> None:
    pytest.importorskip("smolagents", reason="NOT TESTED: smolagents is not installed")


def _runs(folder: Path, profile: str, setting: Setting, harness: Any) -> list[dict[str, Any]]:
    path = folder / f"{profile}-{setting}-{harness}.jsonl"
    wanted = list(jobs(f"sim:{profile}", [setting], difficulties=[1], trials=1))
    with Results(path) as results:
        runner = BenchRunner(simulated(profile, script_for), results, harness=harness)
        assert not runner.run(wanted).failed
    return sorted(read_results(path), key=lambda run: str(run["key"]))


SAME = ("score", "correct", "ending", "calls", "violated")


@pytest.mark.parametrize(
    ("profile", "setting"),
    [
        ("gold", "block-and-warn"),
        ("careless", "block-and-warn"),
        ("stubborn", "block-and-warn"),
        ("batcher", "soft-block"),
        (OBEDIENT_RANDOM, "block-and-warn"),
        (OBEDIENT_RANDOM, "soft-block"),
    ],
)
def test_simulated_agents_hear_what_they_hear_in_the_built_in_loop(
    tmp_path: Path, profile: str, setting: Setting
) -> None:
    built_in = _runs(tmp_path, profile, setting, "loop")
    theirs = _runs(tmp_path, profile, setting, "smolagents")
    assert len(theirs) == 24
    for one, other in zip(built_in, theirs, strict=True):
        assert other["conditions"]["harness"] == "smolagents"
        # When the steps run out, smolagents asks once more, for an answer.
        assert other["turns"] - one["turns"] == (one["ending"] == "truncated")
        for field in SAME:
            assert one[field] == other[field], (one["key"], field)
        assert _refusals(one) == _refusals(other)
        pairs = zip(one["trace"]["tool_calls"], other["trace"]["tool_calls"], strict=True)
        for a, b in pairs:
            assert (a["tool_name"], a["arguments"]) == (b["tool_name"], b["arguments"])


def _refusals(run: dict[str, Any]) -> list[Any]:
    return [(each["tool"], each["arguments"], each["message"]) for each in run["refused"]]


def test_refusals_are_on_record_and_may_end_the_run(tmp_path: Path) -> None:
    runs = _runs(tmp_path, "batcher", "soft-block", "smolagents")
    assert any(run["refused"] for run in runs)
    assert {run["ending"] for run in runs} >= {"stopped"}
    for run in runs:
        assert run["layers"]["L3"][1] == 1
