"""The summary of a corpus agrees with the reports on its traces."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import corpora
import pytest

from bylaw import Procedure, Vocabulary, verify_trace
from bylaw.batch.corpus import LocalEngine, score_corpus
from bylaw.batch.input.chunks import Limits
from bylaw.batch.input.files import find_files, group_files
from bylaw.batch.output.reread import reread
from bylaw.batch.output.summary import BINS, ERRORS, EXAMPLES, WORST, Summary
from bylaw.scoring.verify import Report
from bylaw.tables import WIDTH
from bylaw.trace.files import read_traces
from bylaw.trace.trace import Trace
from bylaw.vocabulary.registry import Metrics

LIMITS = Limits(chunk=10_000)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpora.jsonl(tmp_path_factory.mktemp("corpus") / "runs.jsonl", 600)


@pytest.fixture(scope="module")
def reports(corpus: Path) -> list[Report]:
    traces = [entry.trace for entry in read_traces(corpus) if entry.trace is not None]
    return [verify_trace(trace, corpora.DESK) for trace in traces]


@pytest.fixture(scope="module")
def summary(corpus: Path) -> Summary:
    return _summary(corpora.DESK, corpus)


def _summary(procedure: Procedure, *paths: Path, limits: Limits = LIMITS) -> Summary:
    return score_corpus(
        procedure, find_files(map(str, paths)), engine=LocalEngine(1), limits=limits
    )


def test_the_counts_are_those_of_all_reports(summary: Summary, reports: list[Report]) -> None:
    assert summary.traces == len(reports)
    assert summary.calls == sum(len(report.trace.calls) for report in reports)
    assert summary.label_counts() == Counter(report.label for report in reports)
    scores = [report.score for report in reports if report.score is not None]
    assert summary.mean == pytest.approx(math.fsum(scores) / len(scores), abs=1e-12)
    for number, rule in enumerate(summary.rules()):
        found = Counter(report.constraints[number].outcome.value for report in reports)
        counted = (rule.violated, rule.vacuous, rule.satisfied)
        assert counted == (found["violated"], found["vacuous"], found["satisfied"])
        assert rule.rate == pytest.approx(1 - found["violated"] / len(reports))
    assert list(summary.layers()) == ["L3", "L4", "L5", "L6"]


def test_the_worst_are_those_with_the_lowest_scores(
    summary: Summary, reports: list[Report]
) -> None:
    by_score = sorted(reports, key=lambda report: report.score or 0.0)  # stable: in order
    expected = [(report.trace.name, report.score) for report in by_score[:WORST]]
    assert [(each.name, each.score) for each in summary.worst] == expected


def test_every_rule_has_examples(summary: Summary, reports: list[Report]) -> None:
    for constraint in corpora.DESK.constraints:
        names = [
            report.trace.name
            for report in reports
            if constraint.name in {result.name for result in report.violated}
        ]
        assert [each.name for each in summary.examples[constraint.name]] == names[:EXAMPLES]


def test_the_histogram_counts_every_score_once(summary: Summary, reports: list[Report]) -> None:
    scores = [report.score for report in reports if report.score is not None]
    assert sum(summary.histogram) == len(scores)
    assert summary.histogram[BINS] == sum(score == 1 for score in scores)
    for number, count in enumerate(summary.histogram[:BINS]):
        low, high = number / BINS, (number + 1) / BINS
        inside = [score for score in scores if low - 1e-9 <= score < high - 1e-9]
        assert len([score for score in inside if score < 1]) == count, (low, high)


def test_sets_are_the_rules_that_traces_violate_together(
    summary: Summary, reports: list[Report]
) -> None:
    together = [tuple(result.name for result in report.violated) for report in reports]
    found = {
        tuple(summary.names(each.first.violated)): each.traces for each in summary.frequent_sets()
    }
    assert found == {names: count for names, count in Counter(together).items() if names}
    assert list(found.values()) == sorted(found.values(), reverse=True)
    for each in summary.frequent_sets():
        first = together.index(tuple(summary.names(each.first.violated)))
        assert reports[first].trace.name == each.first.name


def test_unusable_records_are_counted_by_file(corpus: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text("{}\n" * 50)
    summary = _summary(corpora.DESK, corpus, other, tmp_path / "missing.jsonl")
    damaged = sum(entry.trace is None for entry in read_traces(corpus))
    assert summary.unusable == {
        str(corpus): damaged,
        str(other): 50,
        str(tmp_path / "missing.jsonl"): 1,
    }
    assert len(summary.errors) == ERRORS


@pytest.mark.parametrize("size", [500, 3_000, 1_000_000])
def test_the_summary_does_not_depend_on_the_chunk_size(
    corpus: Path, summary: Summary, size: int
) -> None:
    assert _summary(corpora.DESK, corpus, limits=Limits(chunk=size)).to_dict() == summary.to_dict()


def test_a_summary_can_be_saved(summary: Summary) -> None:
    state = json.loads(json.dumps(summary.state()))
    assert Summary.from_state(corpora.DESK, state).state() == summary.state()


def test_its_tables_fit_a_terminal(summary: Summary) -> None:
    names = [table.name for table in summary.tables()]
    assert names == ["rules", "layers", "worst", "unusable"]
    lines = [line for table in summary.tables()[:3] for line in table.text().splitlines()]
    assert max(map(len, lines)) <= WIDTH


def test_undecided_rules_leave_a_trace_without_a_score(corpus: Path) -> None:
    words = Vocabulary()

    @words.predicate
    def told(trace: Trace, at: int, metrics: Metrics) -> bool:
        return "Order" in str(trace.answer) or bool(metrics["missing"])

    data = corpora.DESK.to_dict()
    rules = [{"name": "answered", "rule": "told()"}, *data["constraints"]]
    procedure = Procedure.from_dict(data | {"constraints": rules}, vocabulary=words)
    summary = _summary(procedure, corpus)
    rule = summary.rules()[0]
    assert summary.label_counts()["UNDECIDED"] == rule.undecided > 100
    assert (rule.rate, summary.traces - summary.scored) == (1.0, rule.undecided)
    assert all(each.score < 1 for each in summary.worst)


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".parquet"])
def test_notable_traces_are_read_again(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"runs{ending}"
    if ending == ".parquet":
        corpora.table(path, [{"record": line} for line in corpora.lines(600)])
    else:
        corpora.jsonl(path, 600)
    summary = _summary(corpora.DESK, path)
    found = reread(group_files(find_files([str(path)]), LIMITS.chunk), summary.worst, LIMITS)
    scores = {name: verify_trace(trace, corpora.DESK).score for name, trace in found.items()}
    assert scores == {each.name: each.score for each in summary.worst}
