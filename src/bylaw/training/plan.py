"""What a GRPO run does, in numbers; the paper's are the defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Literal, TypeAlias

from bylaw.enforcement.severity import Setting
from bylaw.errors import Diagnostic, UsageError
from bylaw.training.example import Example
from bylaw.training.reward import Rewarded
from bylaw.training.task import UNGATED

Way: TypeAlias = Literal["environment", "batched"]
"""Who makes the rollouts: TRL with an environment each, or our own loop, all of them together."""
WAYS: Final[tuple[Way, ...]] = ("environment", "batched")


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train. Numbers of rollouts are those of one process."""

    rollouts: Way = "environment"
    reward: Rewarded = "both"
    generations: int = 16
    """Rollouts of each prompt, which are compared with each other: the paper's N."""
    prompts: int = 5
    """Prompts whose rollouts are made before the weights change."""
    batch: int = 40
    """Rollouts that a change of the weights is computed from."""
    at_once: int = 8
    """Rollouts that go through the model at once; memory is the limit."""
    redraws: int = 0
    """How often prompts whose rollouts all have the same reward are replaced by other prompts."""
    iterations: int = 1
    """How often a round of rollouts is learned from: the μ of GRPO."""
    epochs: float = 1.0
    beta: float = 1e-3
    learning_rate: float = 2e-4
    temperature: float = 1.0
    most_tokens: int = 1280
    """How long a rollout may get behind its prompt."""
    turn_tokens: int = 192
    """How long a turn may get; with notes, the longest of the corpus has 179 of Qwen's tokens."""
    width: int = 512
    """Rollouts that are in the making at once, when we make them ourselves."""
    setting: Setting = UNGATED
    """The gate that rollouts run behind."""
    save_every: int = 1
    """After how many rounds of rollouts there is a checkpoint, and an evaluation."""
    checkpointing: bool = True
    """Compute activations twice to save memory?"""
    seed: int = 42

    @property
    def accumulated(self) -> int:
        """Passes through the model for one change of the weights."""
        return self.batch // self.at_once

    @property
    def passes(self) -> int:
        """Passes through the model for one round of rollouts."""
        return self.prompts * self.generations // self.at_once

    @property
    def steps(self) -> int:
        """Changes of the weights for one round of rollouts."""
        return self.passes // self.accumulated * self.iterations

    def rollouts_after(self, steps: int) -> int:
        """How many rollouts so many changes of the weights were computed from."""
        rounds, rest = divmod(steps, self.steps)
        made = self.prompts * self.generations
        return rounds * made + min(rest * self.batch, made)

    def check(self, examples: Sequence[Example]) -> None:
        """Says what cannot be: TRL would leave a rest out in silence, and fail on the others."""
        for told, fits in (
            ("rollouts of a prompt are compared: make at least two", self.generations > 1),
            ("rollouts must differ: give a temperature above 0", self.temperature > 0),
            ("nothing is learned: give a learning rate above 0", 0 < self.learning_rate < inf),
            ("nothing is learned: give epochs above 0", 0 < self.epochs < inf),
            ("beta holds on to the model: give 0 or more", 0 <= self.beta < inf),
            ("redraws must be 0 or more", self.redraws >= 0),
            (
                "only batched rollouts can be redrawn",
                not self.redraws or self.rollouts == "batched",
            ),
        ):
            if not fits:
                raise UsageError(Diagnostic("E402", told))
        made = self.prompts * self.generations
        for what, whole, part in (
            (f"{len(examples)} examples, {self.prompts} at a time", len(examples), self.prompts),
            (f"{made} rollouts in batches of {self.batch}", made, self.batch),
            (f"batches of {self.batch}, {self.at_once} at once", self.batch, self.at_once),
        ):
            if whole % part:
                help = "Each number must divide the one before it."
                raise UsageError(Diagnostic("E402", f"{what}: that leaves a rest", help))
