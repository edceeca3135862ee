"""Transcripts of looking a definition up: what they show is what the study asks for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import small_repository

from bylaw.agents.call_grammar import call_grammar
from bylaw.grounding import REFUSAL, Grounding
from bylaw.grounding.predicate import READ_FILE
from bylaw.groundstudy.prompts import PROMPTS, Prompt
from bylaw.groundstudy.questions.questions import SymbolQuestion
from bylaw.groundstudy.repositories.file_tools import PAGE, Repository
from bylaw.groundstudy.study import is_correct
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call, Message
from bylaw.trace.trace import Trace
from bylaw.training.data.lookups import LONGEST, lookup, lookups
from bylaw.training.data.transcripts import Transcript
from bylaw.values import read_json

FILES = {
    **{f"src/big/part_{letter}.py": f"def {letter * 4}(): ...\n" for letter in "abcdefgh"},
    "src/big/late.py": "# a long comment\n" * (PAGE // 10) + "\n\nclass LateComer: ...\n",
    "src/big/endless.py": "# a long comment\n" * (LONGEST // 10) + "\n\nclass TooLate: ...\n",
    "docs/index.md": "# big\n",
    "tools/release.py": "def release_it(): ...\n",
}
QUESTIONS = [
    *(
        SymbolQuestion("big", each * 4, "function", f"src/big/part_{each}.py")
        for each in "abcdefgh"
    ),
    SymbolQuestion("big", "LateComer", "class", "src/big/late.py"),
    SymbolQuestion("big", "release_it", "function", "tools/release.py"),
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return small_repository.write(tmp_path_factory.mktemp("big"), FILES)


def _made(repository: Repository) -> list[tuple[SymbolQuestion, Prompt, Transcript]]:
    made = []
    for question in QUESTIONS:
        for prompt in PROMPTS:
            found = lookup(repository, question, prompt)
            assert found is not None
            made.append((question, prompt, found))
    return made


def _calls(transcript: Transcript) -> list[tuple[str, dict[str, Any], str | None]]:
    """Each call with its result; the answer has none."""
    results: list[Any] = [each["content"] for each in transcript.rest if each["role"] == "tool"]
    own = [each for each in transcript.rest if each["role"] == "assistant"]
    functions = [each["tool_calls"][0]["function"] for each in own]
    return [
        (function["name"], read_json(function["arguments"]), result)
        for function, result in zip(functions, [*results, None], strict=True)
    ]


def _trace(question: SymbolQuestion, transcript: Transcript) -> Trace:
    *made, (last, arguments, _) = _calls(transcript)
    assert last == FINAL_ANSWER
    calls = [Call(tool, args, result) for tool, args, result in made]
    return Trace([Message("user", question.text, 0), *calls], answer=arguments["answer"])


def test_the_results_are_those_of_the_tools(repository: Repository) -> None:
    for _, _, transcript in _made(repository):
        for tool, arguments, result in _calls(transcript)[:-1]:
            assert result == repository.tools[tool](**arguments)


def test_answers_are_correct_grounded_and_located(repository: Repository) -> None:
    """By the study's own measures; refusals claim nothing."""
    answers = 0
    for question, _, transcript in _made(repository):
        trace = _trace(question, transcript)
        report = Grounding(location=True).check(trace)
        assert report.satisfied
        if trace.answer != REFUSAL:
            answers += 1
            assert is_correct(trace.answer or "", question.truth)
    assert answers > len(QUESTIONS)


def test_no_file_is_read_that_was_not_listed(repository: Repository) -> None:
    for _, _, transcript in _made(repository):
        listed = {""}
        for tool, arguments, result in _calls(transcript)[:-1]:
            assert arguments["path"] in listed
            found = read_json(result or "")
            before = f"{found['path']}/" if found["path"] else ""
            if tool != READ_FILE:
                listed |= {before + entry.rstrip("/") for entry in found["entries"]}


def test_a_file_is_read_page_by_page_until_the_definition(repository: Repository) -> None:
    transcript = lookup(repository, QUESTIONS[-2], "default")
    assert transcript is not None
    *_, first, second, answer = _calls(transcript)
    assert (first[1]["offset"], second[1]["offset"]) == (
        0,
        read_json(first[2] or "")["next_offset"],
    )
    assert "class LateComer" not in (first[2] or "")
    assert "class LateComer" in (second[2] or "")
    assert "src/big/late.py" in answer[1]["answer"]


def test_a_file_that_is_too_long_gives_no_transcript(repository: Repository) -> None:
    question = SymbolQuestion("big", "TooLate", "class", "src/big/endless.py")
    assert lookup(repository, question, "default") is None


def test_some_read_other_files_first_and_some_refuse_where_the_prompt_allows_it(
    repository: Repository,
) -> None:
    reads, refused = set(), set()
    for number in range(40):
        question = SymbolQuestion(f"copy {number}", "aaaa", "function", "src/big/part_a.py")
        for prompt in PROMPTS:
            transcript = lookup(repository, question, prompt)
            assert transcript is not None
            calls = _calls(transcript)
            reads.add(sum(tool == READ_FILE for tool, _, _ in calls))
            if calls[-1][1]["answer"] == REFUSAL:
                refused.add(prompt)
    assert reads == {1, 2, 3}
    assert refused == {"strict"}


def test_the_lines_before_calls_fit_the_grammar_of_constrained_turns(
    repository: Repository,
) -> None:
    made = _made(repository)
    line = re.search(r"line\[max_tokens=32\]: /(.+)/", call_grammar(made[0][2].tools, 32))
    assert line is not None
    for _, _, transcript in made:
        for message in transcript.rest:
            text = message["content"] if message["role"] == "assistant" else ""
            assert not text or re.fullmatch(line[1], text)


def test_the_questions_of_a_file_are_mixed_and_shared_between_the_prompts(tmp_path: Path) -> None:
    asked = small_repository.asked_about(tmp_path)
    made = lookups(asked)
    assert made == lookups(asked)
    assert len(made) == len(asked.questions) > 2
    systems = [each.opening[0]["content"] for each in made]
    assert {REFUSAL in each for each in systems} == {True, False}
