"""Gold transcripts with notes: where a run is, what leads to a call, the words it carries out."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from training_examples import built

from bylaw import BylawError
from bylaw.training.data.clauses import clauses
from bylaw.training.data.corpus import TRAIN
from bylaw.training.data.example import Example
from bylaw.training.data.notes import notes
from bylaw.training.data.splits import AUGMENTED, DIVERSE, UNSEEN
from bylaw.training.data.transcripts import transcript

SIGNS = {"+": operator.add, "*": operator.mul}
WORKED_OUT = re.compile(r"(?<!\* )\b(\d+) ([+*]) (\d+) = (\d+)\.")
CONDITIONS: dict[str, Callable[[int, int], bool]] = {
    "greater than": operator.gt,
    "less than": operator.lt,
    "divisible by": lambda number, by: number % by == 0,
}
ASKED = re.compile(rf"(\d+) is (not )?({'|'.join(CONDITIONS)}) (\d+)\.")
LARGER = re.compile(r"The larger of (\d+) and (\d+) is (\d+)\.|(\d+) equals (\d+)\.")
LEFT_OVER = re.compile(r"(\d+) = (\d+) \* (\d+) \+ (\d+)\.")
PARITY = re.compile(r"(\d+) is (even|odd)\.")
ROUND = re.compile(r"for (\w) = (\d+), (?:then (\d+(?:, \d+)*)|the last)[.:]")
SIMPLIFIED = [each for split, all in built().items() if split != DIVERSE for each in all]


def first(split: str, template: str, augmentation: str = "none") -> Example:
    return next(
        each
        for each in built()[split]
        if (each.template, each.augmentation) == (template, augmentation)
    )


@pytest.mark.parametrize("split", [TRAIN, AUGMENTED, UNSEEN])
def test_notes_are_true(split: str) -> None:
    said = " ".join(note for each in built()[split] for note in notes(each))
    for left, sign, right, result in WORKED_OUT.findall(said):
        assert SIGNS[sign](int(left), int(right)) == int(result)
    for number, negated, condition, other in ASKED.findall(said):
        assert CONDITIONS[condition](int(number), int(other)) == (not negated)
    for one, other, larger, same, equal in LARGER.findall(said):
        assert same == equal
        assert (one == other == "") or (one != other and int(larger) == max(int(one), int(other)))
    for number, parity in PARITY.findall(said):
        assert int(number) % 2 == (parity == "odd")
    for whole, by, times, rest in LEFT_OVER.findall(said):
        assert divmod(int(whole), int(by)) == (int(times), int(rest))


def test_nothing_is_said_that_these_tests_do_not_look_at() -> None:
    known = (ASKED, LARGER, LEFT_OVER, PARITY, WORKED_OUT, re.compile(r"\d+\."))
    facts = {
        sentence
        for example in SIMPLIFIED
        for note in notes(example)
        for sentence in re.split(r"(?<=[.:]) ", note)
        if sentence[0].isdigit() or sentence.startswith("The ")
    }
    assert [fact for fact in facts if not any(kind.fullmatch(fact) for kind in known)] == []
    assert all(any(kind.fullmatch(fact) for fact in facts) for kind in known)


def test_a_note_gives_the_reason_before_a_condition() -> None:
    said = " ".join(note for each in SIMPLIFIED for note in notes(each))
    decided = [*LARGER.findall(said), *LEFT_OVER.findall(said)]
    assert len(decided) == len(ASKED.findall(said)) > 0
    for found in ASKED.finditer(said):
        before = said[: found.start()].rpartition(". ")[0].rpartition(". ")[2]
        assert found[1] in before


@pytest.mark.parametrize("split", [TRAIN, UNSEEN])
def test_conditions_are_worded_as_in_the_prompt(split: str) -> None:
    for example in built()[split]:
        for _, _, condition, other in ASKED.findall(" ".join(notes(example))):
            assert f" is {condition} {other}" in example.prompt


def test_a_round_of_a_loop_says_which_are_left() -> None:
    for example in SIMPLIFIED:
        rounds = [
            (name, [value, *re.findall(r"\d+", later)])
            for note in notes(example)
            for name, value, later in ROUND.findall(note)
        ]
        for (name, values), following in pairwise(rounds):
            assert len(values) == 1 or following == (name, values[1:])
        assert not rounds or len(rounds[-1][1]) == 1


def test_there_is_a_note_for_each_call_and_one_for_the_answer() -> None:
    assert all(len(notes(each)) == len(each.gold) + 1 for each in SIMPLIFIED)


def test_a_note_stands_before_the_call_that_it_leads_to() -> None:
    example = first(TRAIN, "three_call_branch_bridge")
    threshold, seed = (example.parameters[name] for name in ("t", "seed"))
    before, branch, *after = notes(example)
    v, w, y = (json.loads(call.result)["result"] for call in example.gold)
    taken = {
        "tool_b": f"{v} is greater than {threshold}. tool_b(i = v, j = {example.parameters['j']})",
        "tool_c": f"{v} is not greater than {threshold}. tool_c(x = v)",
    }
    assert before == f"Step 1: tool_a(i = {seed})."
    assert branch == (
        f"v = {v}. Step 2: The larger of {v} and {threshold} is {max(v, threshold)}. "
        f"{taken[example.gold[1].tool]}, v = {v}."
    )
    assert after == [f"w = {w}. Step 3: tool_c(x = w), w = {w}.", f"y = {y}. N is y: {y}."]


def test_every_step_that_a_note_names_is_a_step_of_the_prompt() -> None:
    for example in SIMPLIFIED:
        steps = dict(re.findall(r"^(\d+)\. (.*)$", example.prompt, re.MULTILINE))
        for note, call in zip(notes(example), example.gold, strict=False):
            *_, at = re.findall(r"Step (\d+)", note)
            assert f"{call.tool}(" in steps[at]


def test_a_loop_of_several_steps_is_begun_at_the_step_that_speaks_of_it() -> None:
    example = first(UNSEEN, "branch_selection")
    i = example.parameters["seed"]
    assert example.parameters["k"] == 2
    begun = f"Step 1: total = 0. Do steps 2 and 3 for i = {i}, then {i + 1}."
    assert notes(example)[0] == f"{begun} Step 2: tool_a(i = i), i = {i}."
    assert f" Step 1: Do steps 2 and 3 for i = {i + 1}, the last. Step 2:" in notes(example)[2]


def test_each_call_carries_out_the_words_that_its_note_quotes() -> None:
    for example in SIMPLIFIED:
        for note, call in zip(notes(example), example.gold, strict=False):
            (clause,) = clauses(note)
            assert clause.text in example.prompt
            assert clause.fits(call.tool, call.arguments)
            for name, worded in clause.worded.items():
                if worded.isalpha():
                    assert f"{worded} = {call.arguments[name]}" in note


def test_names_of_several_numbers_are_all_noted() -> None:
    example = first(TRAIN, "branch_then_reprocess")
    numbers = example.gold[-1].arguments["numbers"]
    assert isinstance(numbers, list)
    told = ", ".join(f"{name} = {value}" for name, value in zip("wyz", numbers, strict=True))
    assert notes(example)[-2].endswith(f" Step 5: tool_d(numbers = [w, y, z]), {told}.")


def test_a_running_total_is_carried_along() -> None:
    example = first(UNSEEN, "branch_selection")
    said = " ".join(notes(example))
    assert said.startswith("Step 1: total = 0. ")
    sums = re.findall(r"total = (\d+) \+ (\d+) = (\d+)\.", said)
    assert said.count("total = ") == 1 + len(sums) == 1 + example.parameters["k"]
    assert [before for before, _, _ in sums] == ["0", *(total for *_, total in sums[:-1])]
    assert int(sums[-1][-1]) == example.answer


def test_a_list_is_carried_along_until_it_is_handed_over() -> None:
    filled = [each for each in SIMPLIFIED if "Begin with an empty list." in each.prompt]
    assert {each.template for each in filled} == {
        "fan_out_fan_in",
        "forall_processing",
        "filter_then_process",
        "fanout_then_transform",
    }
    for example in filled:
        lists = [
            json.loads(found)
            for note in notes(example)
            for found in re.findall(r"\blist = (\[.*?\])\.", note)
        ]
        (handed_over,) = [call for call in example.gold if call.tool == "tool_d"]
        assert lists == [lists[-1][:length] for length in range(len(lists))]
        assert lists[-1] == handed_over.arguments["numbers"]


def test_results_of_extra_calls_are_added_at_the_end() -> None:
    example = first(AUGMENTED, "chain_then_branch", "both")
    z, p, s = (json.loads(example.gold[at].result)["result"] for at in (-2, 0, -1))
    assert notes(example)[-1] == (
        f"s = {s}. N is z plus p plus s: {z} + {p} = {z + p}. {z + p} + {s} = {example.answer}."
    )


def test_a_transcript_with_notes_makes_the_same_calls() -> None:
    for example in SIMPLIFIED[::20]:
        plain, noted = transcript(example), transcript(example, "notes")
        bare = [{**message, "content": ""} for message in plain.rest]
        assert [{**message, "content": ""} for message in noted.rest] == bare
        assert [each["content"] for each in noted.rest if each["role"] == "tool"] == [
            call.result for call in example.gold
        ]


def test_where_tools_have_other_names_there_are_no_notes() -> None:
    with pytest.raises(BylawError, match="other names"):
        notes(built()[DIVERSE][0])


@pytest.mark.parametrize("change", [{"template": "unheard-of"}, {"transform": "unheard-of"}])
def test_there_are_no_notes_for_a_pattern_that_is_unknown(change: dict[str, Any]) -> None:
    with pytest.raises(BylawError, match="its pattern is unknown"):
        notes(replace(first(TRAIN, "exists_selection"), **change))


def test_without_notes_the_agent_only_calls() -> None:
    rest = transcript(first(TRAIN, "exists_selection")).rest
    assert {each["content"] for each in rest if each["role"] == "assistant"} == {""}
