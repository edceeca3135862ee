"""The splits: 83, 100, 39 and 39 examples, as many of each template as the paper reports."""

from __future__ import annotations

from collections import Counter

import pytest
from training_examples import built

from bylaw.bench.templates import TEMPLATES
from bylaw.training.data.alias_pools import POOLS
from bylaw.training.data.splits import AUGMENTED, DIVERSE, SIZES, SPLITS, UNAUGMENTED, UNSEEN
from bylaw.training.data.templates import TRAINING
from bylaw.training.data.templates.pattern import POOL
from bylaw.training.data.transfer_groups import COVERAGE, GROUPS

REPORTED = {
    "three_call_branch_bridge": 14,
    "dual_branch_merge": 12,
    "rebranch_after_c": 14,
    "exists_selection": 20,
    "loop2_then_branch": 14,
    "join_then_branch": 14,
    "forall_processing": 22,
    "chain_then_branch": 12,
    "branch_selection": 24,
    "fan_out_fan_in": 22,
    "branch_then_reprocess": 20,
    "loop_termination": 15,
    "branch_verify_finalize": 12,
    "six_call_double_rebranch": 14,
    "filter_then_process": 18,
    "fanout_then_transform": 7,
    "nested_loops_fixed_2x2": 7,
}
"""The column n of the paper's table of gains by template, over all four splits."""


def test_sizes() -> None:
    assert {split: len(built()[split]) for split in SPLITS} == {
        UNAUGMENTED: 83,
        AUGMENTED: 100,
        UNSEEN: 39,
        DIVERSE: 39,
    }


def test_sizes_by_template() -> None:
    found = Counter(example.template for split in SPLITS for example in built()[split])
    assert found == REPORTED
    assert found.total() == 261


@pytest.mark.parametrize("split", SPLITS)
def test_each_split_has_the_sizes_that_were_settled(split: str) -> None:
    assert Counter(example.template for example in built()[split]) == SIZES[split]
    assert {example.split for example in built()[split]} == {split}


def test_every_training_template_is_in_every_split_of_seen_patterns() -> None:
    for split in (UNAUGMENTED, AUGMENTED, DIVERSE):
        assert {example.template for example in built()[split]} == set(TRAINING)


def test_both_transforms_are_in_every_split_of_seen_patterns() -> None:
    for split in (UNAUGMENTED, AUGMENTED, DIVERSE):
        found = {(example.template, example.transform) for example in built()[split]}
        assert len(found) == 19


def test_augmentation() -> None:
    kinds = {split: Counter(e.augmentation for e in built()[split]) for split in SPLITS}
    assert {split: set(kinds[split]) for split in SPLITS} == {
        UNAUGMENTED: {"none"},
        AUGMENTED: {"prefix", "suffix", "both"},
        UNSEEN: {"none"},
        DIVERSE: {"none"},
    }
    assert all(len(example.gold) <= 8 for example in built()[AUGMENTED])


def test_the_diverse_split_uses_every_alias_and_no_tool_by_its_name() -> None:
    used = {tool.name for example in built()[DIVERSE] for tool in example.tools}
    assert used == {alias.name for tool in POOL for alias in POOLS[tool]}
    assert not any("tool_" in example.prompt for example in built()[DIVERSE])


def test_transfer_groups() -> None:
    assert set(COVERAGE) == set(TRAINING)
    assert set(GROUPS) == set(TEMPLATES)
    assert Counter(GROUPS.values()) == {
        "direct-simplification": 4,
        "motif-overlap": 7,
        "no-coverage": 1,
    }
    assert GROUPS["dynamic_expansion"] == "no-coverage"
    assert GROUPS["nested_loops"] == "direct-simplification"
    assert {GROUPS["loop_termination"], GROUPS["branch_selection"]} == {"motif-overlap"}
