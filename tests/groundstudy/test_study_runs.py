"""Runs of the study: what agents do decides the category, and each run is on record once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_repository import asked_about

from bylaw.agents.protocol import Chat, Reply
from bylaw.bench.results import Results, read_results
from bylaw.errors import TraceError, UsageError
from bylaw.grounding import REFUSAL
from bylaw.groundstudy.agents import AGENTS, SimulatedAgent
from bylaw.groundstudy.prompts import PROMPTS, Prompt
from bylaw.groundstudy.questions.questions import QuestionSet
from bylaw.groundstudy.study import BUDGET, StudyRunner, study_jobs
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.trace.trace import Trace
from bylaw.values import Json


class Scripted:
    """A model that does the same in every run; then it says nothing more."""

    name = "test:scripted"
    width = 4

    def __init__(self, *turns: Call | str, batched: bool = True) -> None:
        self.turns = turns
        self.batched = batched
        self.about: dict[str, Json] = {}

    def reply(self, conversations: Sequence[Chat]) -> list[Reply]:
        return [self._reply(each) for each in conversations]

    def _reply(self, conversation: Chat) -> Reply:
        done = sum(message["role"] == "assistant" for message in conversation.messages)
        turn = self.turns[done] if done < len(self.turns) else ""
        return Reply(text=turn) if isinstance(turn, str) else Reply(calls=(turn,))


@pytest.fixture
def asked(tmp_path: Path) -> QuestionSet:
    return asked_about(tmp_path)


def _runs(
    model: Any, asked: QuestionSet, path: Path, prompts: Sequence[Prompt] = PROMPTS, seeds: int = 1
) -> list[dict[str, Any]]:
    with Results(path) as results:
        study = StudyRunner(model, asked, results)
        study.run(study_jobs(model.name, prompts, asked.questions, seeds))
        assert study.failed == {}
    return list(read_results(path))


def _answer(text: Json) -> Call:
    return Call(FINAL_ANSWER, {"answer": text}, id="answer")


def _read(path: str, offset: int = 0) -> Call:
    return Call("read_file", {"path": path, "offset": offset}, id="read")


# ── simulated agents ──────────────────────────────────────────────────────────────────────


def test_who_reads_is_correct_and_grounded(asked: QuestionSet, tmp_path: Path) -> None:
    runs = _runs(SimulatedAgent("sim:reader", asked.questions), asked, tmp_path / "r.jsonl")
    assert {run["category"] for run in runs} == {"CG"}
    assert {run["grounding"]["verdict"] for run in runs} == {"grounded"}
    assert {run["reads"] for run in runs} == {1}


def test_who_remembers_is_never_grounded(asked: QuestionSet, tmp_path: Path) -> None:
    agent = SimulatedAgent("sim:recaller", asked.questions)
    runs = _runs(agent, asked, tmp_path / "r.jsonl", seeds=20)
    counts = Counter(run["category"] for run in runs)
    assert counts.keys() == {"CU", "IU"}
    assert 0.4 < counts["CU"] / len(runs) < 0.8


def test_who_refuses_satisfies_the_predicate_and_is_vacuous(
    asked: QuestionSet, tmp_path: Path
) -> None:
    runs = _runs(SimulatedAgent("sim:refuser", asked.questions), asked, tmp_path / "r.jsonl")
    strict = [run for run in runs if run["prompt"] == "strict"]
    assert {run["category"] for run in strict} == {"IG"}
    assert {run["grounding"]["verdict"] for run in strict} == {"vacuous"}
    default = [run for run in runs if run["prompt"] == "default"]
    assert {run["category"] for run in default} <= {"CU", "IU"}


@pytest.mark.parametrize("name", AGENTS)
def test_simulated_agents_are_labelled(asked: QuestionSet, tmp_path: Path, name: str) -> None:
    runs = _runs(SimulatedAgent(name, asked.questions), asked, tmp_path / "r.jsonl")
    assert all(run["conditions"]["about"]["simulated"] for run in runs)


def test_an_agent_that_there_is_not(asked: QuestionSet) -> None:
    with pytest.raises(UsageError, match="did you mean 'sim:reader'"):
        SimulatedAgent("sim:raeder", asked.questions)


# ── the paper's edge cases, in runs ───────────────────────────────────────────────────────

RETRY = "src/small/retry.py"


@pytest.mark.parametrize(
    ("turns", "symbol", "category", "verdict"),
    [
        ([_answer(RETRY)], "Retry", "CU", "ungrounded"),
        ([_answer("SRC/small/RETRY.py")], "Retry", "CU", "ungrounded"),
        ([_read(RETRY), _answer(f"`Retry` is in {RETRY}.")], "Retry", "CG", "grounded"),
        ([_read(RETRY), _answer(f"{RETRY}")], "Session", "IG", "grounded"),
        ([_read("README.md"), _answer(RETRY)], "Retry", "CU", "ungrounded"),
        ([_read("../small/src/small/retry.py"), _answer(RETRY)], "Retry", "CU", "ungrounded"),
        ([_read("README.md"), _answer(REFUSAL)], "Retry", "IG", "vacuous"),
        ([_answer(REFUSAL)], "Retry", "IU", "vacuous"),
        ([_read(RETRY), _answer("")], "Retry", "IU", "ungrounded"),
        ([_read(RETRY), "It is in src/small/retry.py."], "Retry", "CG", "grounded"),
        ([_read(RETRY), _answer({"file": RETRY})], "Retry", "CG", "grounded"),
        ([_read(RETRY), _answer(None)], "Retry", "IU", "ungrounded"),
    ],
)
def test_categories(
    asked: QuestionSet,
    tmp_path: Path,
    turns: list[Call | str],
    symbol: str,
    category: str,
    verdict: str,
) -> None:
    runs = _runs(Scripted(*turns), asked, tmp_path / "r.jsonl", ["default"])
    (run,) = (run for run in runs if run["symbol"] == symbol)
    assert (run["category"], run["grounding"]["verdict"]) == (category, verdict)


def test_the_right_kind_of_file_with_the_wrong_symbol_is_not_located(
    asked: QuestionSet, tmp_path: Path
) -> None:
    runs = _runs(Scripted(_read(RETRY), _answer(RETRY)), asked, tmp_path / "r.jsonl", ["default"])
    assert {run["symbol"]: (run["category"], run["located"]) for run in runs} == {
        "Retry": ("CG", True),
        "backoff": ("CG", True),
        "Session": ("IG", False),
    }


def test_the_record_holds_the_whole_run(asked: QuestionSet, tmp_path: Path) -> None:
    turns = (_read(RETRY), _read("missing.py"), _answer(RETRY))
    run = _runs(Scripted(*turns), asked, tmp_path / "r.jsonl", ["strict"])[0]
    trace = Trace.from_record(run["trace"])
    assert [call.tool for call in trace.calls] == ["read_file", "read_file"]
    assert [call.ok for call in trace.calls] == [True, False]
    assert trace.answer == RETRY
    assert run["question"] in str(run["trace"])
    assert (run["reads"], run["calls"], run["bucket"]) == (1, 2, "low")


def test_a_run_that_never_answers_ends(asked: QuestionSet, tmp_path: Path) -> None:
    endless = Scripted(*[_read("README.md")] * 1_000)
    run = _runs(endless, asked, tmp_path / "r.jsonl", ["default"])[0]
    assert run["ending"] == "truncated"
    assert run["calls"] == BUDGET
    assert run["category"] == "IU"


# ── on record ─────────────────────────────────────────────────────────────────────────────


def _comparable(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    bare = [{key: value for key, value in run.items() if key != "timing"} for run in runs]
    return sorted(bare, key=lambda run: str(run["key"]))


def test_a_study_resumes_where_it_was_interrupted(asked: QuestionSet, tmp_path: Path) -> None:
    agent = SimulatedAgent("sim:recaller", asked.questions)
    whole = _runs(agent, asked, tmp_path / "whole.jsonl", seeds=2)
    path = tmp_path / "torn.jsonl"
    path.write_bytes((tmp_path / "whole.jsonl").read_bytes()[:-2_000])
    with Results(path) as results:
        study = StudyRunner(agent, asked, results)
        wanted = list(study_jobs(agent.name, PROMPTS, asked.questions, 2))
        assert 0 < len(study.missing(wanted)) < len(wanted)
        study.run(wanted)
    assert _comparable(list(read_results(path))) == _comparable(whole)


def test_threads_make_the_same_runs(asked: QuestionSet, tmp_path: Path) -> None:
    together, alone = (
        _runs(Scripted(_read(RETRY), _answer(RETRY), batched=b), asked, tmp_path / f"{b}.jsonl")
        for b in (True, False)
    )
    assert _comparable(together) == _comparable(alone)


def test_other_questions_are_other_conditions(asked: QuestionSet, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    _runs(Scripted(_answer("x")), asked, path)
    (tmp_path / "small" / "README.md").write_text("changed")
    with pytest.raises(TraceError, match="on record under other conditions"):
        _runs(Scripted(_answer("x")), asked_again(tmp_path), path)


def asked_again(folder: Path) -> QuestionSet:
    (folder / "small" / "src" / "small" / "more.py").write_text("def more(): ...\n")
    return asked_about(folder)


class Broken(Scripted):
    """A model that cannot be reached."""

    def _reply(self, conversation: Chat) -> Reply:
        return Reply(failure="no connection")


def test_runs_that_fail_are_not_on_record(asked: QuestionSet, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Results(path) as results:
        study = StudyRunner(Broken(), asked, results)
        study.run(study_jobs("test:scripted", PROMPTS, asked.questions, 1))
    assert set(study.failed.values()) == {"no connection"}
    assert len(study.failed) == 2 * len(asked.questions)
    assert list(read_results(path)) == []
