"""The runner: after any interruption, each run is on record exactly once, with the same result."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bylaw.agents.driving import in_threads
from bylaw.agents.protocol import Chat, Reply
from bylaw.agents.simulated import simulated
from bylaw.bench.jobs import jobs, script_for
from bylaw.bench.results import Results, read_results
from bylaw.bench.runner import BenchRunner
from bylaw.cli.main import main
from bylaw.errors import TraceError

KILLS = 50


def _comparable(path: Path) -> list[dict[str, Any]]:
    """The runs in a file, whenever and in whatever order they were made."""
    runs = [{k: v for k, v in run.items() if k != "timing"} for run in read_results(path)]
    return sorted(runs, key=lambda run: str(run["key"]))


def _command(path: Path) -> list[str]:
    models = ["sim:careless", "sim:stubborn", "sim:batcher"]
    chosen = ["--trials", "1", "--difficulty", "2", "--difficulty", "3", "--json"]
    start = [sys.executable, "-m", "bylaw", "bench", "run", "-o", str(path)]
    return [*start, *models, *chosen]


@pytest.mark.slow
def test_fifty_kills_lose_nothing_and_do_nothing_twice(tmp_path: Path) -> None:
    undisturbed = tmp_path / "undisturbed.jsonl"
    subprocess.run(_command(undisturbed), check=True, stdout=subprocess.DEVNULL)
    expected = _comparable(undisturbed)
    rng = random.Random(5)
    kills = rounds = 0
    while kills < KILLS:
        path = tmp_path / f"killed-{rounds}.jsonl"
        rounds += 1
        finished = False
        while not finished:
            process = subprocess.Popen(_command(path), stdout=subprocess.DEVNULL)
            try:
                process.wait(rng.uniform(0.2, 1.5) if kills < KILLS else None)
                finished = True
                assert process.returncode == 0
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
        assert _comparable(path) == expected
    keys = [run["key"] for run in expected]
    assert len(set(keys)) == len(keys)


def test_a_run_with_a_torn_last_line_is_repeated(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    wanted = list(jobs("sim:gold", ["baseline"], difficulties=[1], trials=1))

    def run() -> int:
        with Results(path) as results:
            return BenchRunner(simulated("gold", script_for), results).run(wanted).made

    assert run() == len(wanted)
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    assert run() == 1
    assert len(_comparable(path)) == len(wanted)


def test_runs_under_other_conditions_are_rejected(tmp_path: Path) -> None:
    path = str(tmp_path / "results.jsonl")
    arguments = ["bench", "run", "sim:gold", "-o", path, "--difficulty", "1", "--trials", "1"]
    assert main([*arguments, "--no-floor", "--json"]) == 0
    assert main([*arguments, "--no-floor", "--json"]) == 0, "nothing is left to do"
    assert main([*arguments, "--no-floor", "--json", "--hints", "none"]) == 2


def test_one_runner_writes_at_a_time(tmp_path: Path) -> None:
    with Results(tmp_path / "results.jsonl"), pytest.raises(TraceError, match="another process"):
        Results(tmp_path / "results.jsonl")


def test_damage_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"bylaw": 1, "key": "a", "model": "m", "conditions": {}}\n{"nothing"}\n')
    with pytest.raises(TraceError, match="line 2 is not the result of a run"):
        list(read_results(path))


class _Unreliable:
    """A model that is called from threads and sometimes fails."""

    name = "sim:gold"
    batched = False
    width = 8

    def __init__(self) -> None:
        self._inner = simulated("gold", script_for)
        self.about = self._inner.about
        self._lock = threading.Lock()
        self._rng = random.Random(3)

    def reply(self, conversations: Sequence[Chat]) -> list[Reply]:
        with self._lock:
            if self._rng.random() < 0.02:
                return [Reply(failure="the server is gone") for _ in conversations]
            return self._inner.reply(conversations)


def test_failed_runs_are_repeated_later(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    wanted = list(jobs("sim:gold", ["block-and-warn"], difficulties=[1, 2], trials=1))
    model, failures = _Unreliable(), 0
    for _ in range(20):
        with Results(path) as results:
            failures += len(BenchRunner(model, results).run(wanted).failed)
    assert failures
    with Results(tmp_path / "reliable.jsonl") as results:
        BenchRunner(simulated("gold", script_for), results).run(wanted)
    assert _comparable(path) == _comparable(tmp_path / "reliable.jsonl")


def test_the_floor_is_run_for_enforced_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.jsonl"
    chosen = "--difficulty 1 --template loop_termination --trials 1 --json"
    assert main(["bench", "run", "sim:gold", "-o", str(path), *chosen.split()]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["models"]["sim:gold"]["made"] == 6
    assert told["models"]["sim:obedient-random"]["made"] == 4


@pytest.mark.parametrize("text", ["hello", "hello\n", '{"a": 1}\nmore', '{"bylaw": 1, "key'])
def test_a_file_that_is_something_else_is_left_as_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    if text.startswith('{"bylaw'):
        with Results(path) as results:
            assert results.done == {}
        assert path.read_text() == "", "a torn line of ours is cut off"
        return
    with pytest.raises(TraceError, match="not the result of a run"):
        Results(path)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "sim:gold", "--trials", "0"],
        ["run", "sim:gold", "--width", "0"],
        ["run", "sim:gold", "-o", "."],
        ["run", "sim:gold", "-o", "a-file/results.jsonl"],
        ["run", "sim:"],
        ["run", "gold"],
        ["instance", "loop_termination", "-o", "a-file"],
        ["report", "a-file"],
    ],
    ids=" ".join,
)
def test_unusable_options_are_reported(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").touch()
    assert main(["bench", *arguments]) == 2
    assert "error[E4" in capsys.readouterr().err


def test_a_model_named_twice_is_run_once(tmp_path: Path) -> None:
    once, twice = (tmp_path / name for name in ("once.jsonl", "twice.jsonl"))
    command = ["bench", "run", "sim:careless", "--trials", "1", "--no-floor", "--json"]
    tasks = ["--difficulty", "1", "--seed", "42", "--template", "nested_loops"]
    chosen = [*tasks, "--setting", "baseline"]
    assert main([*command, *chosen, "-o", str(once)]) == 0
    assert main([*command, *chosen, *chosen, "-o", str(twice)]) == 0
    assert len(_comparable(twice)) == 1
    assert _comparable(once) == _comparable(twice)


@pytest.mark.parametrize("line", ['{"bylaw": 1}', '{"bylaw": 1, "key": "k", "conditions": {}}'])
def test_a_line_with_missing_fields_is_not_a_result(tmp_path: Path, line: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(TraceError, match="line 1 is not the result of a run"):
        Results(path)
    assert main(["bench", "report", str(path)]) == 2


def test_results_that_cannot_be_written_are_reported(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="is not a regular file"):
        Results("/dev/null" if Path("/dev/null").exists() else tmp_path)
    results = Results(tmp_path / "results.jsonl")
    results.close()
    with Path("/dev/full").open("ab", 0) as full:
        results._file = full  # type: ignore[misc]  # it is final, but for a disk that fills up
        with pytest.raises(TraceError, match="cannot be written: No space left"):
            results.append([{"bylaw": 1, "key": "k", "model": "m", "conditions": {}}])


def test_active_runs_are_notified_on_abort() -> None:
    given_up = threading.Event()

    def work(job: int) -> None:
        if job == 3:
            raise KeyboardInterrupt
        assert given_up.wait(60), "nobody told"

    with pytest.raises(KeyboardInterrupt):
        in_threads(4, range(20), work, given_up.set)
    assert given_up.is_set()
