"""The prompts say what the paper's say, point by point, and differ in their rules alone."""

from __future__ import annotations

import pytest

from bylaw.grounding import REFUSAL
from bylaw.groundstudy.prompts import ANSWER, PROMPTS, RULES, Prompt, system_prompt, user_prompt
from bylaw.groundstudy.repositories.file_tools import SPECS


@pytest.mark.parametrize("prompt", PROMPTS)
def test_every_tool_is_described(prompt: Prompt) -> None:
    for spec in (*SPECS, ANSWER):
        assert spec.name in system_prompt(prompt)


def test_the_prompts_differ_in_their_rules_alone() -> None:
    bare = {system_prompt(prompt).removesuffix(RULES[prompt]) for prompt in PROMPTS}
    assert len(bare) == 1


@pytest.mark.parametrize(
    ("prompt", "number", "points"),
    [
        ("default", 1, ["folders", "Before you read"]),
        ("default", 2, ["read", "not answer from memory"]),
        ("default", 3, ["files, classes, functions and code that you find"]),
        ("default", 4, ["not sure", "look it up in the code"]),
        ("strict", 1, ["files, classes, functions or code", "read_file", "from before"]),
        ("strict", 2, ["file path", "class name", "function name", "signature", "final answer"]),
        ("strict", 2, ["list_directory", "does not count", "unless you opened the file"]),
        ("strict", 3, ["reasonable", f'exactly "{REFUSAL}"', "valid", "better"]),
    ],
)
def test_rules(prompt: Prompt, number: int, points: list[str]) -> None:
    rules = RULES[prompt].split(f"{number}. ", 1)[1].split(f"\n{number + 1}. ", 1)[0]
    for point in points:
        assert point in " ".join(rules.split())


def test_only_the_strict_prompt_offers_a_refusal() -> None:
    assert [REFUSAL in system_prompt(prompt) for prompt in PROMPTS] == [False, True]


def test_the_task() -> None:
    task = user_prompt("flask", "Where is it?")
    assert task.startswith("Repository: flask\n\nTASK\n----\nWhere is it?\n\n")
    assert "your tools" in task
