"""Instances: the published figures, and that they are the same everywhere."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from bylaw import Procedure, verify_trace
from bylaw.bench.instance import TaskInstance, budget, instance, instances
from bylaw.bench.templates import TEMPLATES
from bylaw.cli.bench.instance import gold_record
from bylaw.cli.main import main
from bylaw.errors import UsageError

DIGEST = "7807e1c4"
"""The beginning of the hash over all 120 instances. It changes only when the benchmark does."""
_DIGEST_SCRIPT = """
import hashlib, json
from bylaw.bench.instance import instances
text = "".join(json.dumps(each.to_dict()) for each in instances())
print(hashlib.sha256(text.encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def everything() -> list[TaskInstance]:
    return list(instances())


def _structural(task: TaskInstance) -> float:
    return sum(c.weight for c in task.procedure.constraints if c.layer in ("L3", "L4", "L5"))


def _total(task: TaskInstance) -> float:
    return sum(c.weight for c in task.procedure.constraints)


# ── published figures ────────────────────────────────────────────────────────────────────────


def test_the_instance_that_the_paper_prints_in_full() -> None:
    task = instance("fan_out_fan_in", 1, 2)
    counts = Counter(constraint.layer for constraint in task.procedure.constraints)
    assert [counts[f"L{n}"] for n in range(1, 7)] == [3, 1, 1, 6, 4, 5]
    assert _total(task) == 46.5
    assert _structural(task) == 34.0
    assert round(_structural(task) / _total(task), 3) == 0.731


def test_the_run_of_the_listings() -> None:
    task = instance("fan_out_fan_in", 1, 42)
    assert task.gold.calls[0].result == '{"numbers": [8, 2, 46]}'
    assert task.answer == 33


def test_the_example_trace_of_loop_termination() -> None:
    task = instance("loop_termination", 1, 42)
    assert [(dict(c.arguments), c.result) for c in task.gold.calls] == [
        ({"i": 1}, '{"result": 2}'),
        ({"i": 2}, '{"result": 5}'),
    ]
    assert task.answer == 12


def test_the_shortest_and_the_longest_trace(everything: list[TaskInstance]) -> None:
    lengths = {task.name: len(task.gold.calls) for task in everything}
    assert min(lengths.values()) == 2
    assert max(lengths.values()) == 50
    assert lengths["nested_loops+branching/D5/42"] == 50


def test_the_structural_layers_carry_seven_tenths(everything: list[TaskInstance]) -> None:
    share = sum(map(_structural, everything)) / sum(map(_total, everything))
    assert 0.70 <= share <= 0.71


# ── all of them ──────────────────────────────────────────────────────────────────────────────


def test_there_are_120_and_each_fits_its_budget(everything: list[TaskInstance]) -> None:
    assert len(everything) == len({task.name for task in everything}) == 120
    for task in everything:
        assert 2 <= len(task.gold.calls) <= min(50, budget(task.difficulty)), task.name


def test_a_trace_that_would_be_too_long_is_of_the_largest_depth_that_fits() -> None:
    task = instance("dynamic_expansion", 5, 42)
    assert task.scheduled["max_depth"] == 6
    assert task.parameters["max_depth"] == 5
    assert "at most 5 of them" in task.prompt


def test_the_gold_trace_is_in_full_compliance(everything: list[TaskInstance]) -> None:
    for task in everything:
        report = verify_trace(gold_record(task), task.procedure)
        assert report.label == "FULL", task.name


def test_the_rules_are_an_ordinary_procedure_file(everything: list[TaskInstance]) -> None:
    for task in everything:
        assert Procedure.from_dict(task.procedure.to_dict()) == task.procedure


def test_prompts_have_three_blocks_and_never_name_the_difficulty(
    everything: list[TaskInstance],
) -> None:
    for task in everything:
        assert re.findall(r"^[A-Z ]{5,}$", task.prompt, re.MULTILINE) == [
            "PROCEDURE",
            "RULES",
            "ANSWER FORMAT",
        ]
        assert "difficult" not in task.prompt.lower()
        assert "{" not in task.prompt
        assert str(task.answer) not in re.findall(r"\d+", task.prompt.partition("RULES")[2])


def test_no_reason_holds_a_value(everything: list[TaskInstance]) -> None:
    for task in everything:
        for constraint in task.procedure.constraints:
            told = f"{constraint.why} {constraint.fix}"
            assert not re.search(r"\d", told), told


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_they_are_equal_in_every_process_and_python(hash_seed: str) -> None:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", _DIGEST_SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(DIGEST)


def test_other_seeds_make_other_instances() -> None:
    made = [instance(name, 2, seed).to_dict() for name in TEMPLATES for seed in (7, 8)]
    hashes = {hashlib.sha256(json.dumps(each).encode()).hexdigest() for each in made}
    assert len(hashes) == len(made)


# ── the command ──────────────────────────────────────────────────────────────────────────────


def test_the_command_prints_the_papers_fields(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "bench instance loop_termination --difficulty 1 --seed 42 --json"
    assert main(arguments.split()) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {
        "prompt",
        "gold_trace",
        "expected_answer",
        "constraints",
        "num_tool_calls_expected",
        "difficulty",
    } <= shown.keys()
    assert shown["gold_trace"][0] == {
        "tool_name": "tool_a",
        "args": {"i": 1},
        "result": '{"result": 2}',
    }


def test_the_output_of_the_command_can_be_verified(tmp_path: object) -> None:
    assert main(["bench", "instance", "nested_loops", "-o", f"{tmp_path}"]) == 0
    assert main(["verify", "-p", f"{tmp_path}/procedure.yaml", f"{tmp_path}/gold.json"]) == 0


def test_unknown_names_are_reported_with_a_remedy() -> None:
    with pytest.raises(UsageError, match="did you mean 'nested_loops'"):
        instance("nested_loop", 1, 42)
    with pytest.raises(UsageError, match="from 1 to 5"):
        instance("nested_loops", 6, 42)
