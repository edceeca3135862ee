"""Judges are asked what the paper asks, five times, and never about themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_repository import asked_about

from bylaw.agents.protocol import Chat, Reply
from bylaw.bench.results import Results, read_results
from bylaw.errors import UsageError
from bylaw.groundstudy.agents import SimulatedAgent
from bylaw.groundstudy.judges import (
    SAMPLES,
    JudgeRunner,
    judge_prompt,
    judgements,
    verdict_in,
    verdict_of,
)
from bylaw.groundstudy.study import StudyRunner, study_jobs
from bylaw.values import Json


class Judge:
    """Says yes if a file was read, or gives a fixed reply."""

    batched = True
    width = 8

    def __init__(self, *replies: Reply, name: str = "test:judge") -> None:
        self.name = name
        self.about: dict[str, Json] = {"temperature": 0.7}
        self.replies = replies
        self.asked: list[Chat] = []

    def reply(self, conversations: Sequence[Chat]) -> list[Reply]:
        self.asked += conversations
        return [self._reply(each) for each in conversations]

    def _reply(self, conversation: Chat) -> Reply:
        if self.replies:
            return self.replies[int(conversation.key.rpartition(" ")[2]) % len(self.replies)]
        return Reply(text="YES" if '"content"' in conversation.messages[0]["content"] else "NO")


@pytest.fixture
def runs(tmp_path: Path) -> list[dict[str, Any]]:
    """Runs of an agent that reads and of one that remembers."""
    asked, path = asked_about(tmp_path), tmp_path / "results.jsonl"
    for name in ("sim:reader", "sim:recaller"):
        with Results(path) as results:
            agent = SimulatedAgent(name, asked.questions)
            StudyRunner(agent, asked, results).run(study_jobs(name, ["strict"], asked.questions, 1))
    return list(read_results(path))


def _judged(judge: Judge, runs: list[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    with Results(path) as results:
        judging = JudgeRunner(judge, results)
        judging.run(judgements(judging.model.name, runs))
    return list(read_results(path))


def test_the_aware_judge_sees_the_calls_and_the_blind_one_does_not(
    runs: list[dict[str, Any]],
) -> None:
    run = runs[0]
    aware, blind = judge_prompt("aware", run), judge_prompt("blind", run)
    for text in (aware, blind):
        assert run["question"] in text
        assert run["answer"] in text
        assert "YES" in text
        assert "NO" in text
        assert "one word" in text
    for point in ("each factual claim", "identifiers, function names, file paths"):
        assert point in aware
    assert "list_directory" in aware
    assert "list_directory" not in blind
    assert "correct" in blind


def test_each_answer_is_judged_five_times_by_each_judge(
    runs: list[dict[str, Any]], tmp_path: Path
) -> None:
    judge = Judge()
    found = _judged(judge, runs, tmp_path / "judged.jsonl")
    assert len(found) == 2 * len(runs)
    assert len(judge.asked) == SAMPLES * len(found)
    assert len({conversation.seed for conversation in judge.asked}) == len(judge.asked)
    assert all(conversation.tools == () for conversation in judge.asked)
    aware = [each for each in found if each["view"] == "aware"]
    assert {(each["model"], each["verdict"], each["measured"]) for each in aware} == {
        ("sim:reader", True, True),
        ("sim:recaller", False, False),
    }


def test_the_blind_judge_is_compared_with_correctness(
    runs: list[dict[str, Any]], tmp_path: Path
) -> None:
    correct = {run["key"]: run["correct"] for run in runs}
    for each in _judged(Judge(), runs, tmp_path / "judged.jsonl"):
        if each["view"] == "blind":
            assert each["measured"] == correct[each["run"]]


def test_nothing_is_judged_twice(runs: list[dict[str, Any]], tmp_path: Path) -> None:
    path, judge = tmp_path / "judged.jsonl", Judge()
    _judged(judge, runs[:2], path)
    asked = len(judge.asked)
    _judged(judge, runs[:2], path)
    assert len(judge.asked) == asked
    _judged(judge, [runs[0] | {"answer": "another"}], path)  # another run of the same name
    assert len(judge.asked) == asked + 2 * SAMPLES


def test_no_judge_judges_itself(runs: list[dict[str, Any]], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="sim:reader cannot judge its own answers"):
        _judged(Judge(name="sim:reader"), runs, tmp_path / "judged.jsonl")


@pytest.mark.parametrize(
    ("replies", "samples", "verdict"),
    [
        (["YES", "NO", "YES", "NO", "YES"], [True, False, True, False, True], True),
        (["no", "yes", "no", "no.", "**Yes**"], [False, True, False, False, True], False),
        (["maybe", "YES", "hm", "", "yes"], [None, True, None, None, True], True),
        (["?"] * 5, [None] * 5, None),
    ],
)
def test_the_mean_decides(
    runs: list[dict[str, Any]],
    tmp_path: Path,
    replies: list[str],
    samples: list[bool | None],
    verdict: bool | None,
) -> None:
    judge = Judge(*(Reply(text=text) for text in replies))
    found = _judged(judge, runs[:1], tmp_path / "judged.jsonl")[0]
    assert found["samples"] == samples
    assert found["verdict"] is verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("YES", True),
        (" no, because …", False),
        ("<think>no, wait, yes</think>\nNO", False),
        ("nothing", None),
        ("Yesterday", None),
        ("The answer is YES", None),
    ],
)
def test_verdicts(text: str, verdict: bool | None) -> None:
    assert verdict_in(text) is verdict


def test_half_is_not_enough() -> None:
    assert verdict_of([True, False, None, None, None]) is False


def test_a_trace_that_is_too_long_gives_no_verdict(
    runs: list[dict[str, Any]], tmp_path: Path
) -> None:
    found = _judged(Judge(Reply(full=True)), runs[:1], tmp_path / "judged.jsonl")
    assert {each["verdict"] for each in found} == {None}


def test_a_judge_that_cannot_be_reached_leaves_nothing_on_record(
    runs: list[dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "judged.jsonl"
    with Results(path) as results:
        judging = JudgeRunner(Judge(Reply(failure="no connection")), results)
        judging.run(judgements(judging.model.name, runs))
    assert set(judging.failed.values()) == {"no connection"}
    assert list(read_results(path)) == []


class RunningJudge(Judge):
    """A judge that could execute whole runs, in which a sample would follow the one before it."""

    can_execute_runs = True

    def execute_runs(self, runs: Sequence[Any], end: Any) -> None:
        raise AssertionError("a judgement is not one conversation")


def test_samples_are_independent_conversations(runs: list[dict[str, Any]], tmp_path: Path) -> None:
    judge = RunningJudge()
    judged = _judged(judge, runs, tmp_path / "judged.jsonl")
    assert len(judge.asked) == SAMPLES * len(judged) > 0
    assert {len(chat.messages) for chat in judge.asked} == {1}
