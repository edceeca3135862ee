"""An instance: a pure function of template, difficulty and seed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bylaw.bench.constraints import compile_procedure
from bylaw.bench.gold import Execution
from bylaw.bench.templates import TEMPLATES
from bylaw.bench.templates.template import DIFFICULTIES, Template, render_prompt
from bylaw.errors import Diagnostic, UsageError, did_you_mean
from bylaw.procedure.procedure import Procedure
from bylaw.values import Json

SEEDS: Final = (42, 123)
TRIALS: Final = 3
_NUMBER: Final = re.compile(r"\d+")
MAX_GOLD_CALLS: Final = 50
"""The maximum length of a gold trace."""


@dataclass(frozen=True, slots=True)
class TaskInstance:
    """One task: its prompt, its gold trace, its answer and its rules."""

    template: Template
    difficulty: int
    seed: int
    parameters: Mapping[str, int]
    scheduled: Mapping[str, int]
    """The parameters that the difficulty asks for, before any shrinking."""
    prompt: str
    gold: Execution
    answer: int
    procedure: Procedure

    @property
    def name(self) -> str:
        """`loop_termination/D1/42`."""
        return f"{self.template.name}/D{self.difficulty}/{self.seed}"

    @property
    def guessable(self) -> bool:
        """Is the answer 0, or a number in the prompt? Then it can be right without the work."""
        return self.answer == 0 or str(self.answer) in _NUMBER.findall(self.prompt)

    @property
    def budget(self) -> int:
        """The number of calls that an agent may execute."""
        return budget(self.difficulty)

    def to_dict(self) -> dict[str, Json]:
        """The instance as JSON: the paper's fields and some more."""
        return {
            "template": self.template.name,
            "difficulty": self.difficulty,
            "seed": self.seed,
            "prompt": self.prompt,
            "gold_trace": [call.to_dict() for call in self.gold.calls],
            "expected_answer": self.answer,
            "constraints": self.procedure.to_dict()["constraints"],
            "num_tool_calls_expected": len(self.gold.calls),
            "tools": list(self.template.tools),
            "order": self.procedure.order,
            "budget": self.budget,
            "parameters": dict(self.parameters),
            "scheduled_parameters": dict(self.scheduled),
            "branches": [
                {"taken": taken, "other": other, "times": times}
                for (taken, other), times in self.gold.taken.items()
            ],
            "iterations": dict(self.gold.iterations),
        }


def budget(difficulty: int) -> int:
    """The number of calls that an agent may execute at a difficulty."""
    return 10 * difficulty + 10


@lru_cache(maxsize=1024)
def instance(template: str, difficulty: int, seed: int) -> TaskInstance:
    """The instance of a template at a difficulty, for a seed."""
    pattern = template_named(template)
    if difficulty not in DIFFICULTIES:
        help = "Difficulties are numbers from 1 to 5."
        raise UsageError(Diagnostic("E420", f"unknown difficulty {difficulty}", help))
    scheduled = pattern.parameters(seed, difficulty)
    parameters, run, answer = _fitting(pattern, scheduled, difficulty)
    name = f"{pattern.name} D{difficulty} seed {seed}"
    return TaskInstance(
        pattern,
        difficulty,
        seed,
        parameters,
        scheduled,
        render_prompt(pattern.text(parameters), pattern.tools),
        run,
        answer,
        compile_procedure(run, pattern.tools, name),
    )


def _fitting(
    pattern: Template, scheduled: Mapping[str, int], difficulty: int
) -> tuple[dict[str, int], Execution, int]:
    """The parameters, gold run and answer, shrunk until the trace is short enough."""
    parameters = dict(scheduled)
    while True:
        run = Execution(parameters["seed"], difficulty)
        answer = pattern.execute(run, parameters)
        if pattern.shrinks is None or len(run.calls) <= min(MAX_GOLD_CALLS, budget(difficulty)):
            return parameters, run, answer
        parameters[pattern.shrinks] -= 1


def template_named(template: str) -> Template:
    """The template of this name."""
    if template not in TEMPLATES:
        help = did_you_mean(template, TEMPLATES) or f"The templates are: {', '.join(TEMPLATES)}."
        raise UsageError(Diagnostic("E420", f"unknown template '{template}'", help))
    return TEMPLATES[template]


def instances() -> Iterator[TaskInstance]:
    """All instances of the benchmark, template by template."""
    for template in TEMPLATES:
        for difficulty in DIFFICULTIES:
            for seed in SEEDS:
                yield instance(template, difficulty, seed)
