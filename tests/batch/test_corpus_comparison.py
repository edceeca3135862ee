"""Two procedures on a corpus: every trace that they judge differently is found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import corpora
import pytest

from bylaw import Procedure, verify_trace
from bylaw.batch.comparison import CorpusComparison, TraceChange, compare_on_corpus
from bylaw.batch.corpus import LocalEngine
from bylaw.batch.input.chunks import Limits
from bylaw.batch.input.files import find_files
from bylaw.trace.files import read_traces

LIMITS = Limits(chunk=10_000)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpora.jsonl(tmp_path_factory.mktemp("corpus") / "runs.jsonl", 600)


EDITED = Procedure.from_dict(
    {
        "constraints": [
            {"name": "verify-first", "rule": "G(refund -> O verify)", "weight": 3},
            {"name": "one-refund", "rule": "CalledN(refund, <= 2)"},
            {"name": "looked-up", "rule": "G(refund -> O lookup)", "weight": 2},
        ]
    }
)


def _compared(
    corpus: Path, old: Procedure, new: Procedure
) -> tuple[CorpusComparison, list[TraceChange]]:
    changes: list[TraceChange] = []
    found = compare_on_corpus(
        old,
        new,
        find_files([str(corpus)]),
        engine=LocalEngine(1),
        limits=LIMITS,
        changed=changes.append,
    )
    return found, changes


def test_a_comparison_names_every_trace_that_changed(corpus: Path) -> None:
    found, changes = _compared(corpus, corpora.DESK, EDITED)
    by_name = {change.name: change for change in changes}
    assert found.changed == len(changes) == len(by_name)
    for entry in read_traces(corpus):
        if entry.trace is None:
            assert entry.name not in by_name
            continue
        old, new = (verify_trace(entry.trace, each) for each in (corpora.DESK, EDITED))
        before, after = ({result.name for result in each.violated} for each in (old, new))
        change = by_name.get(entry.name)
        if change is None:
            assert before == after
            assert old.score == pytest.approx(new.score)
            continue
        assert (change.old, change.new) == (old.score, new.score)
        assert set(change.violated) == after - before
        assert set(change.mended) == before - after
    assert found.better + found.worse <= found.changed
    assert max(abs(change.by) for change in changes) == abs(found.most[0].by)
    counted = Counter(name for change in changes for name in change.violated)
    assert dict(zip(found.rules, found.violated, strict=True)) == {
        name: counted[name] for name in found.rules
    }


def test_a_procedure_does_not_differ_from_itself(corpus: Path) -> None:
    found, changes = _compared(corpus, corpora.DESK, corpora.DESK)
    assert (found.changed, changes) == (0, [])
    assert found.old.mean == found.new.mean
