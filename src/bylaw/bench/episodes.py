"""A run of the benchmark: set up from a job, and written down once it is over."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from bylaw import __version__
from bylaw.agents.habits import Planned
from bylaw.agents.loop import Episode, as_integer, opened
from bylaw.agents.protocol import Conversation
from bylaw.agents.simulated import Script
from bylaw.bench.instance import Instance, instance
from bylaw.bench.jobs import Job
from bylaw.bench.results import VERSION
from bylaw.bench.tools import ANSWER, TOOLS, computed, written
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.hints import Hints
from bylaw.enforcement.report import GuardReport
from bylaw.trace.event import Call
from bylaw.trace.trace import Trace
from bylaw.values import Json

Harness: TypeAlias = Literal["loop", "smolagents"]
"""Who runs the turns: our own loop, or an agent of smolagents."""

SYSTEM: Final = (
    "You are an agent that follows a procedure by calling tools. Begin with the first call. Each "
    "turn, make one tool call; its result comes with the next turn. If a call is refused, read why "
    "and go on. When the procedure is done, call the tool final_answer."
)


def episode(job: Job, hints: Hints) -> Episode:
    """The run of a job, before its first turn."""
    task = job.instance
    specs = [*(TOOLS[name].spec for name in task.template.tools), ANSWER]
    conversation = opened(job.key, job.task, SYSTEM, task.prompt, specs)
    guard = Guard(task.procedure, job.setting, hints=hints)
    return Episode(conversation, _functions(task), guard, task.budget)


def _functions(task: Instance) -> dict[str, Callable[..., str]]:
    return {name: partial(_use, name, task) for name in task.template.tools}


def _use(name: str, task: Instance, /, **arguments: Any) -> str:
    return written(name, computed(name, task.seed, task.difficulty, arguments))


def script_of(task: Instance) -> Script:
    """What an agent that makes no mistakes would do."""
    plan = tuple(
        Planned(
            Call(call.tool, call.arguments),
            call.given,
            Call(call.instead.tool, call.instead.arguments) if call.instead else None,
        )
        for call in task.gold.calls
    )
    return Script(plan, task.answer)


def recorded(
    job: Job, run: Episode, report: GuardReport, conditions: dict[str, Json], seconds: float
) -> dict[str, Json]:
    """A finished run, as results hold it."""
    task = job.instance
    trace = Trace(run.events, answer=None if run.answer is None else str(run.answer))
    return {
        "bylaw": VERSION,
        "key": job.key,
        "model": job.model,
        "setting": job.setting,
        "template": job.template,
        "structure": task.template.structure,
        "difficulty": job.difficulty,
        "seed": job.seed,
        "trial": job.trial,
        "conditions": conditions,
        "score": report.score,
        "label": report.label,
        "layers": _layers(report),
        "violated": [each.name for each in report.constraints if each.passed is False],
        "retired": {each.name: each.retired for each in report.constraints if each.retired},
        "fully_decided": report.fully_decided,
        "answer": run.answer,
        "expected": task.answer,
        "correct": as_integer(run.answer) == task.answer,
        "ending": run.ending,
        "calls": len(run.executed),
        "gold_calls": len(task.gold.calls),
        "budget": run.budget,
        "turns": run.turns,
        "malformed": run.malformed,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "trace": trace.to_record(),
        "refused": [each.to_dict() for each in run.refused],
        "events": [_without_time(event.to_dict()) for event in report.events],
        "timing": {"seconds": round(seconds, 6)},
    }


def conditions(about: dict[str, Json], hints: Hints, harness: Harness) -> dict[str, Json]:
    """What the results of a model depend on, beyond the task."""
    versions = {"bylaw": __version__, "python": platform.python_version()}
    return {"about": about, "hints": hints, "harness": harness, "versions": versions}


def _layers(report: GuardReport) -> dict[str, Json]:
    """For each layer: how many of its rules passed, of how many."""
    total, passed = Counter[str](), Counter[str]()
    for each in report.constraints:
        total[each.layer or "none"] += 1
        passed[each.layer or "none"] += bool(each.passed)
    return {layer: [passed[layer], total[layer]] for layer in sorted(total)}


def _without_time(event: dict[str, Json]) -> dict[str, Json]:
    """Results of equal runs are equal; when they were made stands apart."""
    return {key: value for key, value in event.items() if key != "time"}


def script_for(conversation: Conversation) -> Script:
    """The script of a run of the benchmark, by its conversation's seed."""
    template, difficulty, seed, _ = conversation.seed.split("/")
    return script_of(instance(template, int(difficulty[1:]), int(seed)))
