"""The corpus: 19 slots, 570 cores, 300 examples, 20 of each template; nothing leaks."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice, pairwise

import pytest
from training_examples import built

from bylaw.training.data.alias_pools import POOLS
from bylaw.training.data.augment import AUGMENTATIONS, PLAIN, Core, Extras, execute, prompt
from bylaw.training.data.corpus import CORES, TRAIN, cores, corpus, pool, quotas
from bylaw.training.data.example import Example, difficulty_of, simplified
from bylaw.training.data.rows import to_row
from bylaw.training.data.templates import HELD_OUT, TRAINING


def _of(template: str) -> list[Example]:
    return [example for example in built()[TRAIN] if example.template == template]


# ── the pool ──────────────────────────────────────────────────────────────────────────────


def test_nineteen_slots_of_thirty_cores() -> None:
    slots = Counter(
        (template, *core)
        for template in TRAINING
        for core in {(c.core.pattern.transform, c.core.numbers) for c in pool(template, 42)}
    )
    assert len(slots) == slots.total() == 570
    assert set(Counter(slot[:2] for slot in slots).values()) == {CORES}
    assert len({slot[:2] for slot in slots}) == 19


@pytest.mark.parametrize("template", TRAINING)
def test_no_trace_is_longer_than_eight_calls(template: str) -> None:
    for candidate in pool(template, 42):
        run, _ = execute(candidate.core, candidate.extras)
        assert len(run.calls) <= 8
        if candidate.core.length == 7:
            assert candidate.extras.kind in ("none", "prefix")


# ── augmentation ──────────────────────────────────────────────────────────────────────────

CORE = Core(TRAINING["chain_then_branch"][0], {"seed": 3, "j": 4, "t": 30})
BOTH = Extras(prefix=1234, suffix=12345)


def test_extra_calls_stand_first_and_last_and_are_added_to_the_answer() -> None:
    plain, answer = execute(CORE, PLAIN)
    run, augmented = execute(CORE, BOTH)
    assert run.calls[1:-1] == plain.calls
    extra = [run.calls[0], run.calls[-1]]
    assert [(call.tool, dict(call.arguments)) for call in extra] == [
        ("tool_a", {"i": 1234}),
        ("tool_a", {"i": 12345}),
    ]
    results = [(3 * i + 5) % 7 + 1 for i in (1234, 12345)]
    assert augmented == answer + sum(results)


def test_the_prompt_says_so() -> None:
    text = prompt(CORE, BOTH)
    steps = re.findall(r"^\d+\. (.*)$", text, re.MULTILINE)
    assert steps[0] == "Call tool_a(i = 1234). Let p be its result."
    assert steps[-1] == "Call tool_a(i = 12345). Let s be its result."
    assert text.endswith("where N is z plus p plus s, an integer.")


def test_steps_that_refer_to_others_count_the_extra_one() -> None:
    core = next(cores("nested_loops_fixed_2x2", 1))
    assert "Do steps 3 and 4 for each number n" in prompt(core, PLAIN)
    assert "Do steps 4 and 5 for each number n" in prompt(core, BOTH)


def test_extra_calls_change_every_structural_layer() -> None:
    plain, augmented = (simplified("x", "x", CORE, extras) for extras in (PLAIN, BOTH))
    count = {
        layer: [
            sum(rule.layer == layer for rule in example.procedure.constraints)
            for example in (plain, augmented)
        ]
        for layer in ("L2", "L4", "L6")
    }
    assert count["L2"][1] == count["L2"][0] + 2
    assert count["L4"][1] > count["L4"][0]
    assert count["L6"][1] == count["L6"][0] + 2
    rules = {rule.rule for rule in augmented.procedure.constraints}
    assert "CalledN(tool_a, = 3)" in rules
    assert any(re.fullmatch(r"InOrder\(tool_a, tool_a, .*, tool_a\)", rule) for rule in rules)


def test_seeds_of_extra_calls_are_in_the_ranges_of_the_paper() -> None:
    for example in built()[TRAIN]:
        if example.augmentation in ("prefix", "both"):
            assert 1000 <= example.gold[0].arguments["i"] <= 9999
        if example.augmentation in ("suffix", "both"):
            assert 10_000 <= example.gold[-1].arguments["i"] <= 19_999


# ── what is chosen ────────────────────────────────────────────────────────────────────────


def test_three_hundred_examples_twenty_of_each_template() -> None:
    assert len(built()[TRAIN]) == 300
    assert Counter(e.template for e in built()[TRAIN]) == dict.fromkeys(TRAINING, 20)


def test_no_call_is_made_twice() -> None:
    for examples in built().values():
        for example in examples:
            made = [(call.tool, str(call.arguments)) for call in example.gold]
            assert len(set(made)) == len(made)


def test_no_core_is_used_twice() -> None:
    used = [(e.template, tuple(e.parameters.items())) for e in built()[TRAIN]]
    assert len(set(used)) == len(used)


@pytest.mark.parametrize("template", TRAINING)
def test_buckets_are_equalised(template: str) -> None:
    examples = _of(template)
    transforms = Counter(example.transform for example in examples)
    assert set(transforms.values()) == {20 // len(TRAINING[template])}
    kinds = Counter(example.augmentation for example in examples)
    only_long = template in ("nested_loops_fixed_2x2", "fanout_then_transform")
    possible = ("none", "prefix") if only_long else AUGMENTATIONS
    assert kinds == dict.fromkeys(possible, 20 // len(possible))
    both = Counter((example.transform, example.augmentation) for example in examples)
    assert max(both.values()) - min(both.values()) <= 1


def test_no_template_comes_twice_in_a_row() -> None:
    order = [example.template for example in built()[TRAIN]]
    assert all(one != other for one, other in pairwise(order))
    assert all(len(set(order[i : i + 15])) == 15 for i in range(0, 300, 15))


def test_another_seed_gives_another_corpus() -> None:
    names = [example.prompt for example in built()[TRAIN]]
    assert sum(example.prompt in names for example in corpus(43)) < 30


@pytest.mark.parametrize(
    ("calls", "difficulty"),
    [(3, 1), (5, 1), (6, 2), (15, 2), (16, 3), (30, 3), (31, 4), (60, 4), (61, 5)],
)
def test_difficulty_is_derived_from_the_length(calls: int, difficulty: int) -> None:
    assert difficulty_of(calls) == difficulty


def test_every_example_has_the_difficulty_of_its_length() -> None:
    assert all(each.difficulty == difficulty_of(len(each.gold)) for each in built()[TRAIN])
    assert {each.difficulty for each in built()[TRAIN]} == {1, 2}


# ── quotas ────────────────────────────────────────────────────────────────────────────────


def test_equal_weights_share_equally() -> None:
    assert quotas(dict.fromkeys(TRAINING, 1.0)) == dict.fromkeys(TRAINING, 20)


@pytest.mark.parametrize(
    ("weights", "total", "expected"),
    [
        ({"a": 1, "b": 1, "c": 1}, 40, {"a": 14, "b": 13, "c": 13}),  # remainders, in order
        ({"a": 2, "b": 1, "c": 1}, 40, {"a": 16, "b": 12, "c": 12}),
        ({"a": 9, "b": 1, "c": 1}, 50, {"a": 24, "b": 13, "c": 13}),  # the ceiling
        ({"a": 9, "b": 8, "c": 1}, 60, {"a": 24, "b": 24, "c": 12}),
        ({"a": 0, "b": 1, "c": 1}, 40, {"a": 8, "b": 16, "c": 16}),  # the floor
        ({"a": 1, "b": 2, "c": 4}, 31, {"a": 9, "b": 10, "c": 12}),
    ],
)
def test_quotas(weights: dict[str, float], total: int, expected: dict[str, int]) -> None:
    assert quotas(weights, total) == expected


@pytest.mark.parametrize("total", [23, 73])
def test_impossible_quotas_are_rejected(total: int) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        quotas({"a": 1, "b": 1, "c": 1}, total)


# ── leakage ───────────────────────────────────────────────────────────────────────────────


def test_no_core_is_shared_with_a_split_or_between_splits() -> None:
    used = Counter(
        (example.template, tuple(example.parameters.items()))
        for examples in built().values()
        for example in examples
    )
    assert used.total() == 561
    assert set(used.values()) == {1}


def test_splits_use_no_unchosen_core_of_the_pool() -> None:
    held = {
        (e.template, tuple(e.parameters.values()))
        for split, examples in built().items()
        for e in examples
        if split != TRAIN
    }
    for template, patterns in TRAINING.items():
        for core in islice(cores(template, 42), CORES * len(patterns)):
            assert (template, core.numbers) not in held


def test_training_text_names_no_held_out_template_and_no_alias() -> None:
    words: set[str] = set()
    for example in built()[TRAIN]:
        text = str(to_row(example)).replace("Take every value", "")  # a rule of every prompt
        words.update(re.findall(r"\w+", text))
    aliases = [alias for pool in POOLS.values() for alias in pool]
    hidden = {*HELD_OUT, *(alias.name for alias in aliases)}
    hidden.update(key for alias in aliases for key in alias.arguments.values())
    assert words & hidden == set()
