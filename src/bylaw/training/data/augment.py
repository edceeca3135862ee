"""Cores, and their augmentation: an independent call before the core, after it, or both."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText, render_prompt
from bylaw.training.data.templates.pattern import POOL, TaskPattern
from bylaw.values import canonical

Augmentation: TypeAlias = Literal["none", "prefix", "suffix", "both"]

AUGMENTATIONS: Final[tuple[Augmentation, ...]] = ("none", "prefix", "suffix", "both")
MAX_CALLS: Final = 8
"""The longest trace; a core of seven calls has room for one more."""
PREFIX_SEEDS: Final = range(1000, 10_000)
SUFFIX_SEEDS: Final = range(10_000, 20_000)
_REFERENCE: Final = re.compile(r"#(\d+)")
"""A reference to a step of the core, by its number."""


@dataclass(frozen=True, slots=True)
class Core:
    """A pattern with its parameters."""

    pattern: TaskPattern
    parameters: Parameters

    @property
    def numbers(self) -> tuple[int, ...]:
        """The values of the parameters; unique among the cores of a template."""
        return tuple(self.parameters.values())

    @property
    def length(self) -> int:
        """The number of calls."""
        return len(execute(self, PLAIN)[0].calls)

    @property
    def usable(self) -> bool:
        """Is the number of calls within the pattern's range, and is each call unique?

        If a call occurred twice, no rule would require its second occurrence.
        """
        calls = execute(self, PLAIN)[0].calls
        distinct = {canonical([call.tool, dict(call.arguments)]) for call in calls}
        return len(calls) in self.pattern.calls and len(distinct) == len(calls)


@dataclass(frozen=True, slots=True)
class Extras:
    """The seeds of the calls added to a core."""

    prefix: int | None = None
    suffix: int | None = None

    @classmethod
    def sample(cls, kind: Augmentation, rng: random.Random) -> Extras:
        """Random seeds for the calls that the augmentation adds."""
        prefix, suffix = rng.choice(PREFIX_SEEDS), rng.choice(SUFFIX_SEEDS)
        return cls(
            prefix if kind in ("prefix", "both") else None,
            suffix if kind in ("suffix", "both") else None,
        )

    @property
    def kind(self) -> Augmentation:
        """The augmentation."""
        if self.prefix is None:
            return "none" if self.suffix is None else "suffix"
        return "prefix" if self.suffix is None else "both"

    @property
    def shift(self) -> int:
        """The offset of the core's step numbers."""
        return int(self.prefix is not None)


PLAIN: Final = Extras()


def possible(core: Core) -> tuple[Augmentation, ...]:
    """The augmentations that keep the trace within `MAX_CALLS`."""
    return AUGMENTATIONS if core.length + 2 <= MAX_CALLS else ("none", "prefix")


def execute(core: Core, extras: Extras, run: Execution | None = None) -> tuple[Execution, int]:
    """The gold run and its answer, to which the results of the extra calls are added."""
    run = run or Execution(core.parameters["seed"], difficulty=1)  # these tools depend on neither
    extra_results = [run.call_given("tool_a", i=extras.prefix)] if extras.prefix is not None else []
    answer = core.pattern.execute(run, core.parameters)
    if extras.suffix is not None:
        run.step = len(core.pattern.text(core.parameters).procedure) + 1
        extra_results.append(run.call_given("tool_a", i=extras.suffix))
    return run, run.answered(answer, extra_results)


def text_of(core: Core, extras: Extras) -> PromptText:
    """The text of the task, including the steps for the extra calls."""
    text = core.pattern.text(core.parameters)
    steps, answer = list(text.procedure), text.answer
    if extras.prefix is not None:
        steps.insert(0, f"Call tool_a(i = {extras.prefix}). Let p be its result.")
        answer += " plus p"
    if extras.suffix is not None:
        steps.append(f"Call tool_a(i = {extras.suffix}). Let s be its result.")
        answer += " plus s"
    return PromptText([_numbered(step, extras.shift) for step in steps], answer)


def _numbered(step: str, shift: int) -> str:
    """A step with its references replaced by step numbers."""
    return _REFERENCE.sub(lambda found: str(int(found[1]) + shift), step)


def prompt(core: Core, extras: Extras) -> str:
    """The prompt of the task."""
    return render_prompt(text_of(core, extras), POOL)
