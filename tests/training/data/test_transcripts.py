"""Transcripts that teach the form alone: valid calls and an answer, but no procedure."""

from __future__ import annotations

import json

import pytest
from training_examples import built

from bylaw.training.data.corpus import TRAIN
from bylaw.training.data.example import Example
from bylaw.training.data.splits import DIVERSE
from bylaw.training.data.transcripts import transcript

EXAMPLES = (*built()[TRAIN][:40], *built()[DIVERSE][:5])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_calls_are_executed_and_the_answer_is_the_one_that_the_prompt_states(
    example: Example,
) -> None:
    shown = transcript(example, "form")
    calls = [
        message["tool_calls"][0]["function"]
        for message in shown.rest
        if message["role"] == "assistant"
    ]
    results = [message["content"] for message in shown.rest if message["role"] == "tool"]
    *made, answer = [(call["name"], json.loads(call["arguments"])) for call in calls]
    assert results == [example.functions[tool](**arguments) for tool, arguments in made]
    assert answer[0] == "final_answer"
    prompt = (
        f"Make {len(made)} calls: any tools, with any arguments. Then answer {answer[1]['answer']}."
    )
    assert shown.opening[-1]["content"] == prompt
    assert shown.opening[0] == example.opening[0]
    assert shown.tools == example.specs
    assert all(not message["content"] for message in shown.rest if message["role"] == "assistant")


def test_an_example_gives_one_transcript_and_others_give_others() -> None:
    for example in EXAMPLES[:3]:
        assert transcript(example, "form") == transcript(example, "form")
    shown = [transcript(example, "form") for example in EXAMPLES]
    assert len({str(each.rest) for each in shown}) == len(EXAMPLES)


def test_no_gold_run_is_shown() -> None:
    for example in EXAMPLES:
        assert transcript(example, "form").rest != example.transcript
