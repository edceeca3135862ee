"""Aliases: the pools, and that nothing but names changes."""

from __future__ import annotations

import json
import random
import re
from itertools import cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training_examples import benchmark, built, carried_out, everything, rollouts

from bylaw import Call, Trace, verify_trace
from bylaw.bench.tools import TOOLS
from bylaw.training.data.alias import Alias, unchanged
from bylaw.training.data.alias_pools import INDUSTRIES, POOLS
from bylaw.training.data.corpus import TRAIN
from bylaw.training.data.example import Example, rules_of
from bylaw.training.data.renaming import Renaming, renamed, rotated
from bylaw.training.data.splits import UNSEEN

PLAIN = {tool: unchanged(tool) for tool in TOOLS}
UNDER_THEIR_OWN_NAMES = [*built()[TRAIN], *built()[UNSEEN], *benchmark()]


def _aliases(seed: int) -> dict[str, Alias]:
    rng = random.Random(seed)
    return {tool: rng.choice(pool) for tool, pool in POOLS.items()}


def _signature(alias: Alias) -> str:
    return f"{alias.name}({', '.join(alias.arguments.values())})"


# ── the pools ─────────────────────────────────────────────────────────────────────────────


def test_pool_sizes() -> None:
    assert {tool: len(pool) for tool, pool in POOLS.items()} == {
        "tool_a": 17,
        "tool_a_list": 8,
        "tool_iterations": 8,
        "tool_b": 15,
        "tool_c": 16,
        "tool_d": 15,
        "tool_expand": 15,
        "tool_value": 10,
    }


def test_eight_trades() -> None:
    assert {industry.lower() for industry in INDUSTRIES} == {
        "finance",
        "healthcare",
        "devops",
        "data science",
        "logistics",
        "iot",
        "genomics",
        "law",
    }


def test_the_examples_of_the_paper_are_there() -> None:
    known = {_signature(alias) for pool in POOLS.values() for alias in pool}
    assert known >= {
        "verify_checksum(index)",
        "list_transaction_ids(batch_seed)",
        "compute_retry_budget(execution_seed)",
        "cross_reference(primary_id, secondary_id)",
        "transform_value(value)",
        "aggregate_metrics(metrics)",
        "explore_dependencies(package_id)",
        "get_node_weight(node_id)",
        "enumerate_patients(intake_seed)",
        "correlate_signals(channel_a, channel_b)",
        "normalize_reading(reading)",
        "accumulate_readings(readings)",
    }


def test_no_two_tools_share_a_name() -> None:
    names = [alias.name for pool in POOLS.values() for alias in pool]
    assert len(set(names)) == len(names)
    assert not set(names) & {*TOOLS, "final_answer"}


# ── renaming ──────────────────────────────────────────────────────────────────────────────


def test_prompt_tools_trace_and_rules_are_renamed_alike() -> None:
    example = built()[TRAIN][0]
    aliases = {
        "tool_a": POOLS["tool_a"][0],
        "tool_b": next(a for a in POOLS["tool_b"] if a.name == "cross_reference"),
        "tool_c": next(a for a in POOLS["tool_c"] if a.name == "transform_value"),
        "tool_d": next(a for a in POOLS["tool_d"] if a.name == "aggregate_metrics"),
    }
    found = renamed(example, aliases)
    seed = example.parameters["seed"]
    assert f"1. Call verify_checksum(index = {seed}). Let v be its result.\n" in found.prompt
    assert "cross_reference(primary_id = v, secondary_id = " in found.prompt
    assert found.gold[0].arguments == {"index": seed}
    assert f"CalledWith(verify_checksum, index = {seed})" in {
        rule.rule for rule in found.procedure.constraints
    }
    spec = found.specs[1].to_dict()["function"]
    assert spec["description"] == "Returns an integer for primary_id and secondary_id."
    assert list(spec["parameters"]["properties"]) == ["primary_id", "secondary_id"]
    assert found.answer == example.answer


def _mentions(example: Example) -> str:
    return json.dumps(
        [
            example.prompt,
            [spec.to_dict() for spec in example.specs],
            [(call.tool, dict(call.args)) for call in example.calls],
            [str(call.instead) for call in example.gold],
            example.procedure.to_dict()["constraints"],
        ]
    )


@pytest.mark.parametrize("number", range(17))
def test_nothing_keeps_an_old_name_and_renaming_can_be_undone(number: int) -> None:
    """Over as many rounds as the largest pool has aliases, every alias is used."""
    rounds = rotated(list(POOLS), random.Random(0))
    aliases = next(islice(rounds, number, None))
    shapes = {(example.split, example.template): example for example in UNDER_THEIR_OWN_NAMES}
    for example in shapes.values():
        found = renamed(example, aliases)
        assert not re.search(r"\btool_", _mentions(found))
        assert renamed(found, PLAIN) == example


def test_rules_of_the_benchmark_are_restated_as_they_were_compiled() -> None:
    for example in benchmark():
        names = [tool.name for tool in example.tools]
        assert rules_of(example.gold, names, example.procedure.name) == example.procedure


@given(rollouts(UNDER_THEIR_OWN_NAMES), st.integers(0, 2**32))
def test_compliance_is_invariant_under_renaming(
    rollout: tuple[Example, list[Call]], seed: int
) -> None:
    example, calls = rollout
    aliases = _aliases(seed)
    renaming = Renaming(example.tools, aliases)
    before = verify_trace(Trace(calls), example.procedure)
    after = verify_trace(Trace(map(renaming.call, calls)), renamed(example, aliases).procedure)
    assert [each.passed for each in before.constraints] == [
        each.passed for each in after.constraints
    ]
    assert before.score == after.score


@pytest.mark.parametrize("tool", POOLS)
def test_every_alias_of_every_pool_keeps_the_verdicts(tool: str) -> None:
    users = [e for e in UNDER_THEIR_OWN_NAMES if any(t.tool == tool for t in e.tools)]
    shapes = list({(e.split, e.template): e for e in users}.values())
    for alias, example in zip(POOLS[tool], cycle(shapes), strict=False):
        renaming = Renaming(example.tools, {tool: alias})
        found = renamed(example, {tool: alias})
        for plan in (example.script.plan, example.script.plan[1:], example.script.plan[::-1]):
            calls = carried_out(plan)
            before = verify_trace(Trace(calls), example.procedure)
            after = verify_trace(Trace(map(renaming.call, calls)), found.procedure)
            assert before.score == after.score


# ── the tools behind the names ────────────────────────────────────────────────────────────


def test_renamed_tools_compute_the_same() -> None:
    for example in [*everything(), *(renamed(each, _aliases(7)) for each in benchmark()[::7])]:
        for call in example.gold:
            assert example.functions[call.tool](**call.arguments) == call.result


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"i": 1, "j": 2}, "takes the arguments primary_id, secondary_id; found i, j"),
        ({"primary_id": 1}, "takes the arguments primary_id, secondary_id; found primary_id"),
        ({"primary_id": 1, "secondary_id": "2"}, "secondary_id must be an integer"),
    ],
)
def test_errors_use_the_names_of_the_alias(arguments: dict[str, int], told: str) -> None:
    alias = next(each for each in POOLS["tool_b"] if each.name == "cross_reference")
    with pytest.raises(TypeError, match="cross_reference") as error:
        alias.use(0, 1, **arguments)
    assert told in str(error.value)
    assert "tool_b" not in str(error.value)
