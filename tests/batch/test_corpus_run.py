"""Several processes: the same results in the same order, and no process is left at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import corpora
import pytest

from bylaw import Procedure, Vocabulary
from bylaw.batch.corpus import LocalEngine, score_corpus
from bylaw.batch.input.chunks import Cursor, Limits
from bylaw.batch.input.files import find_files, group_files
from bylaw.batch.output.summary import Summary
from bylaw.errors import UsageError
from bylaw.trace.trace import Trace
from bylaw.vocabulary.registry import Metrics

SCRIPT = Path(__file__).parents[1] / "support" / "score_corpus.py"
LIMITS = Limits(chunk=10_000)

words = Vocabulary()


@words.predicate
def deadly(trace: Trace, at: int, metrics: Metrics) -> bool:
    """Always true, but kills the process that asks it about order 666."""
    if trace.answer is not None and "Order 666:" in trace.answer:
        os.kill(os.getpid(), signal.SIGKILL)
    return True


DEADLY = Procedure.from_dict(
    {"constraints": [{"name": "deadly", "rule": "deadly()"}]}, vocabulary=words
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("corpus")
    for number, name in enumerate(("a.jsonl", "b.jsonl.gz", "c.json")):
        corpora.jsonl(folder / name, 400, number)
    return folder


def _summary(corpus: Path, jobs: int, limits: Limits = LIMITS) -> Summary:
    found = find_files([str(corpus)])
    return score_corpus(corpora.DESK, found, engine=LocalEngine(jobs), limits=limits)


def test_results_do_not_depend_on_the_number_of_processes(corpus: Path) -> None:
    assert _summary(corpus, 3).state() == _summary(corpus, 1).state()


def test_results_come_in_order(corpus: Path) -> None:
    found = group_files(find_files([str(corpus)]), LIMITS.chunk)
    results = list(LocalEngine(2)(found, Cursor(), [corpora.DESK], LIMITS))
    assert len(results) > 10
    cursors = [result.start for result in results]
    assert cursors == sorted(cursors)


def test_functions_of_a_vocabulary_are_known_in_all_processes(tmp_path: Path) -> None:
    path = corpora.jsonl(tmp_path / "runs.jsonl", 200)
    found = find_files([str(path)])
    summary = score_corpus(DEADLY, found, engine=LocalEngine(2), limits=LIMITS)
    assert summary.label_counts() == {"FULL": summary.traces}


def test_a_worker_that_dies_ends_the_run_with_an_error(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    lines = [line for line in corpora.lines(400) if line]
    lines[300] = '{"tool_calls": [], "answer": "Order 666: done"}'
    path.write_text("\n".join(lines))
    with pytest.raises(UsageError, match="a worker process died"):
        score_corpus(DEADLY, find_files([str(path)]), engine=LocalEngine(2), limits=LIMITS)


def test_functions_that_cannot_be_imported_by_name_are_reported(corpus: Path) -> None:
    here = Vocabulary()

    @here.predicate
    def hidden(trace: Trace, at: int, metrics: Metrics) -> bool:
        return True

    data = {"constraints": [{"name": "hidden", "rule": "hidden()"}]}
    procedure = Procedure.from_dict(data, vocabulary=here)
    found = find_files([str(corpus)])
    with pytest.raises(UsageError, match="--jobs 1"):
        score_corpus(procedure, found, engine=LocalEngine(2), limits=LIMITS)
    assert score_corpus(procedure, found, engine=LocalEngine(1), limits=LIMITS).traces


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_a_run(tmp_path: Path, by: signal.Signals) -> None:
    path = corpora.jsonl(tmp_path / "runs.jsonl", 5_000)
    command = [sys.executable, str(SCRIPT), "2", str(tmp_path / "s.jsonl"), str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as run:
        assert run.stdout is not None
        run.stdout.readline()
        assert len(_session(run.pid)) > 2
        os.kill(run.pid, by)
        run.stdout.read()
    until = time.monotonic() + 20
    while _session(run.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert _session(run.pid) == []


def _session(number: int) -> list[int]:
    """The processes of a session that are alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has just ended
            continue
        if int(session) == number and state != "Z":
            found.append(int(path.parent.name))
    return found
