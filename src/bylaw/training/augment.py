"""Cores and what is put around them: an independent call before, behind, or both."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import PromptText, render_prompt
from bylaw.trace.event import Call
from bylaw.training.distance import keys
from bylaw.training.templates.pattern import POOL, Parameters, Pattern

Augmentation: TypeAlias = Literal["none", "prefix", "suffix", "both"]

AUGMENTATIONS: Final[tuple[Augmentation, ...]] = ("none", "prefix", "suffix", "both")
MOST_CALLS: Final = 8
"""No trace is longer; a core of seven calls leaves room for one more."""
PREFIX_SEEDS: Final = range(1000, 10_000)
SUFFIX_SEEDS: Final = range(10_000, 20_000)
_REFERENCE: Final = re.compile(r"#(\d+)")
"""How a step speaks of another, by its number within the core."""


@dataclass(frozen=True, slots=True)
class Core:
    """A pattern with its numbers."""

    pattern: Pattern
    parameters: Parameters

    @property
    def numbers(self) -> tuple[int, ...]:
        """The parameters alone; no two cores of a template share them."""
        return tuple(self.parameters.values())

    @property
    def length(self) -> int:
        """How many calls it makes."""
        return len(carried_out(self, PLAIN)[0].calls)

    @property
    def usable(self) -> bool:
        """Are its calls as many as they should be, and no two the same?

        Of a call that is made twice, the rules would miss neither one alone.
        """
        calls = carried_out(self, PLAIN)[0].calls
        distinct = set(keys(Call(call.tool, call.arguments) for call in calls))
        return len(calls) in self.pattern.calls and len(distinct) == len(calls)


@dataclass(frozen=True, slots=True)
class Extras:
    """The seeds of the calls that are put around a core."""

    prefix: int | None = None
    suffix: int | None = None

    @classmethod
    def drawn(cls, kind: Augmentation, rng: random.Random) -> Extras:
        """Seeds by chance, for those calls that the augmentation adds."""
        prefix, suffix = rng.choice(PREFIX_SEEDS), rng.choice(SUFFIX_SEEDS)
        return cls(
            prefix if kind in ("prefix", "both") else None,
            suffix if kind in ("suffix", "both") else None,
        )

    @property
    def kind(self) -> Augmentation:
        """Which augmentation this is."""
        if self.prefix is None:
            return "none" if self.suffix is None else "suffix"
        return "prefix" if self.suffix is None else "both"

    @property
    def shift(self) -> int:
        """By how much the numbers of a core's own steps grow."""
        return int(self.prefix is not None)


PLAIN: Final = Extras()


def possible(core: Core) -> tuple[Augmentation, ...]:
    """The augmentations that keep the trace within the cap."""
    return AUGMENTATIONS if core.length + 2 <= MOST_CALLS else ("none", "prefix")


def carried_out(core: Core, extras: Extras, run: Execution | None = None) -> tuple[Execution, int]:
    """The gold run and its answer; what the extra calls give is added to it."""
    run = run or Execution(core.parameters["seed"], difficulty=1)  # the tools depend on neither
    addends = [run.call_given("tool_a", i=extras.prefix)] if extras.prefix is not None else []
    answer = core.pattern.execute(run, core.parameters)
    if extras.suffix is not None:
        run.step = len(core.pattern.text(core.parameters).procedure) + 1
        addends.append(run.call_given("tool_a", i=extras.suffix))
    return run, run.answered(answer, addends)


def text_of(core: Core, extras: Extras) -> PromptText:
    """The task in its parts, with those of the extra calls."""
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
    """A step, with the numbers of those that it refers to."""
    return _REFERENCE.sub(lambda found: str(int(found[1]) + shift), step)


def prompt(core: Core, extras: Extras) -> str:
    """The task, as an agent reads it."""
    return render_prompt(text_of(core, extras), POOL)
