"""The hyperparameters of a GRPO run; the defaults are the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Literal, TypeAlias

from bylaw.enforcement.severity import Setting
from bylaw.errors import Diagnostic, UsageError
from bylaw.training.data.example import Example
from bylaw.training.reward.reward import Rewarded
from bylaw.training.run.episodes import UNGATED

RolloutBackend: TypeAlias = Literal["environment", "batched"]
"""`environment`: TRL generates the rollouts. `batched`: Bylaw's own tool loop does."""
ROLLOUT_BACKENDS: Final[tuple[RolloutBackend, ...]] = ("environment", "batched")


@dataclass(frozen=True, slots=True)
class GrpoPlan:
    """The hyperparameters. Numbers of rollouts are per process."""

    rollouts: RolloutBackend = "environment"
    reward: Rewarded = "both"
    generations: int = 16
    """Rollouts per prompt, which are compared with each other: the paper's N."""
    prompts: int = 5
    """Prompts per round of rollouts; the weights change after each round."""
    batch: int = 40
    """Rollouts per optimizer step."""
    micro_batch_size: int = 8
    """Rollouts per forward pass, limited by memory."""
    redraws: int = 0
    """Attempts to replace prompts whose rollouts all have the same reward."""
    iterations: int = 1
    """Passes over each round of rollouts: the μ of GRPO."""
    epochs: float = 1.0
    beta: float = 1e-3
    learning_rate: float = 2e-4
    temperature: float = 1.0
    max_completion_tokens: int = 1280
    """The most tokens of a rollout after its prompt."""
    turn_tokens: int = 192
    """The most tokens of a turn. With notes, the corpus needs up to 179 of Qwen's tokens."""
    width: int = 512
    """Concurrent rollouts of the `batched` backend."""
    setting: Setting = UNGATED
    """The gate of the rollouts."""
    save_every: int = 1
    """Rounds of rollouts between checkpoints, each with an evaluation."""
    checkpointing: bool = True
    """Use gradient checkpointing: recompute activations to save memory?"""
    seed: int = 42

    @property
    def accumulation_steps(self) -> int:
        """Forward passes per optimizer step."""
        return self.batch // self.micro_batch_size

    @property
    def passes(self) -> int:
        """Forward passes per round of rollouts."""
        return self.prompts * self.generations // self.micro_batch_size

    @property
    def steps(self) -> int:
        """Optimizer steps per round of rollouts."""
        return self.passes // self.accumulation_steps * self.iterations

    def rollouts_after(self, steps: int) -> int:
        """The number of rollouts used by the first `steps` optimizer steps."""
        rounds, rest = divmod(steps, self.steps)
        per_round = self.prompts * self.generations
        return rounds * per_round + min(rest * self.batch, per_round)

    def check(self, examples: Sequence[Example]) -> None:
        """Rejects invalid settings: TRL would drop incomplete batches silently or fail later."""
        for problem, valid in (
            ("generations must be 2 or more", self.generations > 1),
            ("temperature must be above 0: rollouts must differ", self.temperature > 0),
            ("learning rate must be above 0", 0 < self.learning_rate < inf),
            ("epochs must be above 0", 0 < self.epochs < inf),
            ("beta must be 0 or more", 0 <= self.beta < inf),
            ("redraws must be 0 or more", self.redraws >= 0),
            (
                "only batched rollouts can be redrawn",
                not self.redraws or self.rollouts == "batched",
            ),
        ):
            if not valid:
                raise UsageError(Diagnostic("E402", problem))
        per_round, micro = self.prompts * self.generations, self.micro_batch_size
        for what, whole, part in (
            (f"{len(examples)} examples, {self.prompts} per round", len(examples), self.prompts),
            (f"{per_round} rollouts in batches of {self.batch}", per_round, self.batch),
            (f"batches of {self.batch} in micro-batches of {micro}", self.batch, micro),
        ):
            if whole % part:
                help = "Each number must divide the one before it."
                raise UsageError(Diagnostic("E402", f"{what}: not divisible", help))
