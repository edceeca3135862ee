"""The seventeen simplified templates: what they call, and what their prompts say."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import Any

import pytest

from bylaw.bench.constraints import WEIGHTS
from bylaw.bench.gold import Execution
from bylaw.bench.instance import instance
from bylaw.training.data.augment import PLAIN, Core, execute, prompt
from bylaw.training.data.corpus import cores
from bylaw.training.data.example import simplified
from bylaw.training.data.templates import HELD_OUT, TRAINING
from bylaw.training.data.templates.pattern import POOL

SEQUENCES = {
    "three_call_branch_bridge": "a[bc]c",
    "chain_then_branch": "ab[cb]c",
    "rebranch_after_c": "ac[bc]b",
    "join_then_branch": "abcb[cb]",
    "dual_branch_merge": "a[cb][bc]b",
    "loop2_then_branch": "abbb[cb]",
    "branch_verify_finalize": "a[cb]b[cb]",
    "six_call_double_rebranch": "ab[cb]b[cb]c",
    "fan_out_fan_in": "(aa[cb]{2}|aaa[cb]{3})d",
    "forall_processing": "(aabb|aaabbb)d",
    "exists_selection": "aa(bc?){2}|aaa(bc?){3}",
    "nested_loops_fixed_2x2": "(aa|cc)bbbbd",
    "filter_then_process": "(aa|cc)bbc{0,2}d",
    "fanout_then_transform": "(aa|cc)[cb]{2}bbd",
    "branch_then_reprocess": "[ac][cb]b[cb]d",
    "loop_termination": "a{3,6}",
    "branch_selection": "(a[cb]){2,3}",
}
"""The calls of each template, by the letters of their tools."""

ALL = TRAINING | HELD_OUT


def _sample(template: str) -> list[Core]:
    return list(islice(cores(template, 1), 120))


def _letters(core: Core) -> str:
    run, _ = execute(core, PLAIN)
    return "".join(call.tool.removeprefix("tool_") for call in run.calls)


def test_fifteen_to_train_with_and_two_held_out() -> None:
    assert (len(TRAINING), len(HELD_OUT)) == (15, 2)
    assert set(HELD_OUT) == {"loop_termination", "branch_selection"}


def test_four_templates_have_a_transform_variant() -> None:
    variants = {name: [each.transform for each in patterns] for name, patterns in ALL.items()}
    assert {name for name, tools in variants.items() if tools == ["tool_a", "tool_c"]} == {
        "nested_loops_fixed_2x2",
        "filter_then_process",
        "fanout_then_transform",
        "branch_then_reprocess",
    }
    assert sum(map(len, TRAINING.values())) == 19


@pytest.mark.parametrize("template", ALL)
def test_the_calls_are_those_of_the_sketch(template: str) -> None:
    for core in _sample(template):
        assert re.fullmatch(SEQUENCES[template], _letters(core)), core.parameters


@pytest.mark.parametrize("template", ALL)
def test_lengths_stay_within_the_window(template: str) -> None:
    lengths = {core.length for core in _sample(template)}
    assert lengths <= set(range(3, 7 if template in HELD_OUT else 8))


@pytest.mark.parametrize("template", [name for name in ALL if "[" in SEQUENCES[name]])
def test_every_branch_goes_both_ways(template: str) -> None:
    taken = Counter[tuple[str, str]]()
    for core in _sample(template):
        run, _ = execute(core, PLAIN)
        taken.update((call.tool, call.instead.tool) for call in run.calls if call.instead)
    assert min(taken["tool_b", "tool_c"], taken["tool_c", "tool_b"]) > 10


@pytest.mark.parametrize("template", ALL)
def test_numbers_are_small(template: str) -> None:
    for pattern in ALL[template]:
        targets = [pattern.ranges[name] for name in ("t", "u", "target") if name in pattern.ranges]
        assert all(max(values) <= 50 for values in targets)
        assert max(pattern.ranges.get("k", [0])) <= (9 if template == "dual_branch_merge" else 6)


@pytest.mark.parametrize("template", ALL)
def test_prompts_are_short_and_name_the_numbers_that_are_given(template: str) -> None:
    for core in _sample(template)[:10]:
        text = prompt(core, PLAIN)
        assert len(text[: text.index("RULES")].split()) < 130
        calls = execute(core, PLAIN)[0].calls
        given = [n for call in calls if call.given for n in call.arguments.values()]
        named = [int(number) for number in re.findall(r"\d+", text)]
        assert given[0] in named
        # Others are named as well, or counted from the first on.
        assert all(n in named or given[0] < n == given[at - 1] + 1 for at, n in enumerate(given))


@pytest.mark.parametrize("template", ALL)
def test_prompts_are_laid_out_as_those_of_the_benchmark(template: str) -> None:
    for core in _sample(template)[:10]:
        headings = re.findall(r"^[A-Z ]{5,}$", prompt(core, PLAIN), re.MULTILINE)
        assert headings == ["PROCEDURE", "RULES", "ANSWER FORMAT"]


@pytest.mark.parametrize("template", ["branch_selection", "loop_termination"])
def test_held_out_templates_are_worded_as_in_the_benchmark(template: str) -> None:
    def procedure(text: str) -> str:
        return re.sub(r"\d+", "N", text[: text.index("RULES")])

    assert procedure(prompt(_sample(template)[0], PLAIN)) == procedure(
        instance(template, difficulty=1, seed=42).prompt
    )


@pytest.mark.parametrize("template", TRAINING)
def test_a_loop_over_one_call_is_one_sentence_or_separate_steps(
    template: str,
) -> None:
    forms = {"Do step " in prompt(core, PLAIN) for core in _sample(template)}
    loops = {"loop2_then_branch", "fan_out_fan_in", "forall_processing", "exists_selection"}
    loops |= {"filter_then_process", "fanout_then_transform"}
    assert forms == ({True, False} if template in loops else {False})


@pytest.mark.parametrize("template", ALL)
def test_every_call_belongs_to_a_step_that_speaks_of_its_tool(template: str) -> None:
    class Followed(Execution):
        def _call(self, tool: str, *given: Any) -> Any:
            assert f"{tool}(" in steps[self.step - 1]
            return super()._call(tool, *given)

    for core in _sample(template)[:20]:
        steps = core.pattern.text(core.parameters).procedure
        execute(core, PLAIN, Followed(core.parameters["seed"], 1))


@pytest.mark.parametrize("template", ALL)
def test_rules_come_from_the_compiler_of_the_benchmark(template: str) -> None:
    example = simplified("x", "x", _sample(template)[0], PLAIN)
    rules = example.procedure.constraints
    assert example.procedure.order == "step"
    assert {rule.layer: rule.weight for rule in rules} == WEIGHTS
    assert [each.name for each in example.tools] == list(POOL)
    assert sum(rule.layer == "L5" for rule in rules) == len(POOL)  # zero counts included
