"""Every template tells mistakes apart: a mutation of the gold trace drops the layers it should."""

from __future__ import annotations

import pytest

from bylaw import Call, Trace, verify_trace
from bylaw.agents.habits import HABITS, Plan
from bylaw.bench.instance import TaskInstance, instance
from bylaw.bench.jobs import script_of
from bylaw.bench.templates import TEMPLATES
from bylaw.bench.templates.template import DIFFICULTIES

DROPS: dict[str, list[set[str]]] = {
    "skip": [{"L3"}, {"L5"}],
    "swap": [{"L3"}],
    "duplicate": [{"L5"}],
    "misroute": [{"L1", "L5"}],
    "misread": [{"L2"}],
    "miscompute": [{"L6"}],
    "batch": [{"L3"}, {"L4"}],
    "stop early": [{"L5"}],
}
"""For each mutation: of each set of layers at least one must drop."""

NOT_THERE = {
    ("loop_termination", "swap"): "it has one tool",
    ("loop_termination", "misroute"): "it has no branch between tools",
    ("loop_termination", "miscompute"): "all arguments follow from the prompt",
    ("forall_processing", "misroute"): "it has no branch between tools",
    ("exists_selection", "misroute"): "its branch is between a call and none",
    ("nested_loops", "misroute"): "it has no branch between tools",
    ("dynamic_expansion", "misroute"): "its branch is between going on and not",
    ("forall_exists_combined", "misroute"): "its branch is between a call and none",
    ("fan_out+loop", "misroute"): "its branch is between a call and none",
    ("loop+expansion", "misroute"): "it has no branch between tools",
}
"""The mutations that do not apply to a template, and why."""


def _passed(task: TaskInstance, calls: list[Call]) -> dict[str, float]:
    report = verify_trace(Trace(calls), task.procedure)
    return {layer: rate.passed / rate.total for layer, rate in report.layers.items()}


def _mutations(plan: Plan, name: str) -> list[list[Call]]:
    """The gold trace with a mutation at each place where it applies, one call per step."""
    if name == "batch":
        return [[Call(p.call.tool, p.call.args, step=0) for p in plan]] if len(plan) > 1 else []
    habit = HABITS[name]
    return [
        [Call(p.call.tool, p.call.args, step=i) for i, p in enumerate(habit.apply(plan, site))]
        for site in habit.sites(plan)
    ]


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("mutation", DROPS)
def test_a_mutation_drops_its_layers(template: str, mutation: str) -> None:
    applied = 0
    for difficulty in DIFFICULTIES[:3]:  # the longer ones repeat the same places
        for seed in (42, 123):
            task = instance(template, difficulty, seed)
            for calls in _mutations(script_of(task).plan, mutation):
                applied += 1
                rates = _passed(task, calls)
                for layers in DROPS[mutation]:
                    assert any(rates[layer] < 1 for layer in layers), (task.name, calls, rates)
    assert (applied == 0) == ((template, mutation) in NOT_THERE)


@pytest.mark.parametrize("template", TEMPLATES)
def test_at_least_five_mutations_apply(template: str) -> None:
    assert sum((template, mutation) not in NOT_THERE for mutation in DROPS) >= 5
