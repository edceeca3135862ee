"""The benchmark through a real HTTP server that misbehaves: no run is lost, none is made twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_server import ChatServer, Drops, Says, Sends, Status, Step, Waits

from bylaw.bench.jobs import Job, jobs
from bylaw.bench.results import Results, read_results
from bylaw.bench.runner import BenchRunner

pytest.importorskip("httpx", reason="NOT TESTED: httpx is not installed")

from bylaw.agents.openai import OpenAIModel

FAULTS: tuple[Step, ...] = (
    Status(500),
    Status(429, retry_after="0"),
    Drops(),
    Drops(midway=False),
    Sends(b'{"choices": ['),
    Waits(0.3),
    Status(400, "not now"),
)
"""Faults of a request. The last one is not retried within a run."""
REFUSED = "A tool call cannot be read"
"""The beginning of the refusal of a malformed call."""


def _call(name: str, arguments: str) -> Says:
    function = {"name": name, "arguments": arguments}
    return Says(calls=[{"id": "c", "type": "function", "function": function}])


def _script(text: str, before: int) -> Step:
    """A fault at every third request; a malformed call to some tasks, mended when it is refused.

    How often a text was asked before depends on time-outs, and so on the machine's load: what a
    conversation comes to must not depend on it.
    """
    number = sum(text.encode())
    if (number + before) % 3 == 0:
        return FAULTS[(number + before) % len(FAULTS)]
    if number % 7 == 0 and not text.startswith(REFUSED):
        return _call("final_answer", "{answer: 1}")
    return _call("final_answer", '{"answer": 1}')


def _jobs() -> Iterator[Job]:
    return jobs("openai:m", ["baseline", "soft-block"], difficulties=[1, 2])


def _run(path: Path, url: str) -> BenchRunner:
    model = OpenAIModel("m", base_url=url, timeout=0.2, backoff=0.01, tries=6, width=16)
    with model, Results(path) as results:
        return BenchRunner(model, results).run(_jobs())


def test_no_run_is_lost_and_none_is_made_twice(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    failed = 0
    with ChatServer(_script) as server:
        for _ in range(20):
            outcome = _run(path, server.url)
            failed += len(outcome.failed)
            if not outcome.failed:
                break
    runs = list(read_results(path))
    expected = {
        job.key for job in jobs("openai:m", ["baseline", "soft-block"], difficulties=[1, 2])
    }
    assert Counter(run["key"] for run in runs) == Counter(dict.fromkeys(expected, 1))
    assert {(run["ending"], run["answer"]) for run in runs} == {("answered", 1)}
    assert failed, "some could not be finished at first"
    assert any(run["malformed"] for run in runs)
