"""A small Ray cluster gives the same results as one machine, even if workers are killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpora
import pytest

from bylaw.batch.corpus import CorpusEngine, LocalEngine, score_corpus
from bylaw.batch.input.chunks import Limits
from bylaw.batch.input.files import find_files
from bylaw.batch.output.results_file import ResultsFile
from bylaw.batch.output.summary import Summary
from bylaw.batch.ray_engine import RayEngine
from bylaw.errors import UsageError

# Ray leaves sockets and files open, and says so when Python looks for them.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

LIMITS = Limits(chunk=60_000)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    ray = pytest.importorskip(
        "ray", reason="THE RAY ENGINE IS NOT TESTED: pip install 'bylaw[ray]'"
    )
    ray.init(num_cpus=2, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("corpus")
    for number, name in enumerate(("a.jsonl", "b.jsonl.gz", "c.jsonl")):
        corpora.jsonl(folder / name, 4_000, number)
    (folder / "d.json").write_text('{"tool_calls": []}')
    return folder


def _score(corpus: Path, out: Path, engine: CorpusEngine) -> Summary:
    found = find_files([str(corpus), str(corpus / "missing.jsonl")])
    output = ResultsFile(str(out), corpora.DESK, found, LIMITS, seconds=0.5)
    return score_corpus(corpora.DESK, found, engine=engine, limits=LIMITS, output=output)


def _workers() -> list[int]:
    """The processes of Ray that are scoring chunks."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes()
        except OSError:  # it has just ended
            continue
        if command.startswith(b"ray::") and b"_score" in command:
            found.append(int(path.parent.name))
    return found


def test_results_are_those_of_one_machine(cluster: Any, corpus: Path, tmp_path: Path) -> None:
    here = _score(corpus, tmp_path / "here.jsonl", LocalEngine(1))
    there = _score(corpus, tmp_path / "there.jsonl", RayEngine())
    assert there.state() == here.state()
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()


def test_a_worker_that_is_killed_mid_run_changes_nothing(
    cluster: Any, corpus: Path, tmp_path: Path
) -> None:
    here = _score(corpus, tmp_path / "here.jsonl", LocalEngine(1))
    killed: list[int] = []
    done = threading.Event()

    def kill() -> None:
        while not done.is_set() and len(killed) < 2:
            for worker in _workers()[:1]:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)
                time.sleep(1)
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    there = _score(corpus, tmp_path / "there.jsonl", RayEngine())
    done.set()
    killer.join()
    assert killed, "one was at work"
    assert there.state() == here.state()
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()


def test_a_cluster_does_not_read_standard_input() -> None:
    with pytest.raises(UsageError, match="standard input"):
        score_corpus(corpora.DESK, find_files(["-"]), engine=RayEngine())
