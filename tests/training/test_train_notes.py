"""Gold transcripts with notes: true sums and comparisons, each where it leads to a call."""

from __future__ import annotations

import operator
import re

import pytest
from training_examples import built

from bylaw import BylawError
from bylaw.training.corpus import TRAIN
from bylaw.training.example import Example
from bylaw.training.notes import notes
from bylaw.training.splits import AUGMENTED, DIVERSE, UNSEEN
from bylaw.training.transcripts import transcript

SIGNS = {
    "+": operator.add,
    "*": operator.mul,
    ">": operator.gt,
    "<": operator.lt,
}
WRITTEN = re.compile(r"(\d+) ([+*<>]) (\d+)(?: = (\d+)|: (yes|no))")
SIMPLIFIED = [each for split, all in built().items() if split != DIVERSE for each in all]


def first(split: str, template: str, augmentation: str = "none") -> Example:
    return next(
        each
        for each in built()[split]
        if (each.template, each.augmentation) == (template, augmentation)
    )


@pytest.mark.parametrize("split", [TRAIN, AUGMENTED, UNSEEN])
def test_what_a_note_says_is_true(split: str) -> None:
    said = [found for each in built()[split] for found in WRITTEN.finditer(" ".join(notes(each)))]
    assert said
    for left, sign, right, result, verdict in (found.groups() for found in said):
        worked_out = SIGNS[sign](int(left), int(right))
        assert worked_out == (int(result) if result else verdict == "yes")


def test_there_is_a_note_for_each_call_and_one_for_the_answer() -> None:
    assert all(len(notes(each)) == len(each.gold) + 1 for each in SIMPLIFIED)


def test_a_note_stands_before_the_call_that_it_leads_to() -> None:
    example = first(TRAIN, "three_call_branch_bridge")
    seed, (before, branch, *after) = example.parameters["t"], notes(example)
    taken = example.gold[1].tool
    assert before == ""
    assert branch.endswith(f"> {seed}: {'yes' if taken == 'tool_b' else 'no'}.")
    assert after == ["", ""]


def test_a_running_total_is_carried_along() -> None:
    example = first(UNSEEN, "branch_selection")
    sums = [int(found[4]) for found in WRITTEN.finditer(" ".join(notes(example))) if found[4]]
    assert sums == sorted(sums)
    assert sums[-1] == example.answer


def test_what_an_extra_call_gives_is_added_at_the_end() -> None:
    example = first(AUGMENTED, "chain_then_branch", "both")
    assert notes(example)[-1].endswith(f"= {example.answer}.")
    assert notes(example)[-1].count("+") == 2


def test_a_transcript_with_notes_makes_the_same_calls() -> None:
    for example in SIMPLIFIED[::20]:
        plain, noted = transcript(example), transcript(example, with_notes=True)
        bare = [{**message, "content": ""} for message in plain.rest]
        assert [{**message, "content": ""} for message in noted.rest] == bare
        assert [each["content"] for each in noted.rest if each["role"] == "tool"] == [
            call.result for call in example.gold
        ]


def test_where_tools_have_other_names_there_are_no_notes() -> None:
    with pytest.raises(BylawError, match="other names"):
        notes(built()[DIVERSE][0])


def test_without_notes_the_agent_only_calls() -> None:
    rest = transcript(first(TRAIN, "exists_selection")).rest
    assert {each["content"] for each in rest if each["role"] == "assistant"} == {""}
