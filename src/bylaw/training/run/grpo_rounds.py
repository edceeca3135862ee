"""Rounds of rollouts and their rewards, as TRL's trainer requests them."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from bylaw.agents.clock import Clock
from bylaw.agents.hf.rollouts import Rollouts, TokenizedRun
from bylaw.agents.loop import Episode
from bylaw.training.data.example import Example
from bylaw.training.reward.reward import REWARDED, Goals, Reward, Rollout
from bylaw.training.run.episodes import rollout, start_episode
from bylaw.training.run.lora import Learner
from bylaw.training.run.metrics import TERMS
from bylaw.training.run.plan import GrpoPlan


class RolloutRounds:
    """Generates the rollouts that TRL requests, and computes their rewards."""

    def __init__(
        self,
        examples: Sequence[Example],
        held_out: Sequence[Example],
        plan: GrpoPlan,
        learner: Learner,
        clock: Clock,
    ) -> None:
        self._plan: Final = plan
        self._clock: Final = clock
        self._examples: Final = examples
        known = [*examples, *held_out]
        self._goals: Final = Goals(known)
        self._by_task: Final[Mapping[str, Example]] = {each.prompt: each for each in known}
        self._redrawn = 0
        """Prompts that were replaced in the latest round."""
        self._rollouts: Final = Rollouts(
            learner.model,
            learner.chat_tokenizer,
            width=plan.width,
            turn_tokens=plan.turn_tokens,
            clock=clock,
        )

    def roll_out(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """A rollout for each prompt; decoding is greedy during evaluation.

        During training, prompts whose rollouts all have the same reward are replaced by others, in
        up to `plan.redraws` attempts.
        """
        plan, step = self._plan, trainer.state.global_step
        examples = [self._by_task[prompt[-1]["content"]] for prompt in prompts]
        # A resumed run draws the same samples as an uninterrupted one.
        draw = f"{plan.seed}/{step}"
        training = trainer.model.training
        generated = self._execute(examples, plan.temperature if training else 0.0, draw)
        self._redrawn = 0
        for attempt in range(plan.redraws if training else 0):
            again = f"{draw}/{attempt}"
            with self._clock.in_own_code():
                indices = self._uninformative(examples, generated)
                others = self._others(examples, len(indices) // plan.generations, again)
            if not others:
                break
            indices = indices[: len(others)]
            for at, example, replacement in zip(
                indices, others, self._execute(others, plan.temperature, again), strict=True
            ):
                examples[at], generated[at] = example, replacement
            self._redrawn += len(others) // plan.generations
        return {
            "name": [each.name for each in examples],
            "prompt_ids": [each.prompt_ids for each in generated],
            "completion_ids": [each.completion.ids for each in generated],
            "logprobs": [each.completion.logprobs for each in generated],
            "env_mask": [each.completion.mask for each in generated],
            "rollout": [rollout(each.run) for each in generated],
        }

    def _execute(
        self, examples: Sequence[Example], temperature: float, draw: str
    ) -> list[TokenizedRun[Episode]]:
        with self._clock.in_own_code():
            runs = [start_episode(example, setting=self._plan.setting) for example in examples]
        return self._rollouts.execute_runs(
            runs,
            max_completion_tokens=self._plan.max_completion_tokens,
            sampler=self._rollouts.batch_sampler(temperature, zlib.crc32(draw.encode())),
        )

    def _uninformative(
        self, examples: Sequence[Example], generated: Sequence[TokenizedRun[Episode]]
    ) -> list[int]:
        """The indices of rollouts whose group has a single reward."""
        size = self._plan.generations
        rewards = self._totals(
            self._goals.rewards(
                [each.name for each in examples], [rollout(each.run) for each in generated]
            )
        )
        return [
            index
            for start in range(0, len(rewards), size)
            if len(set(rewards[start : start + size])) == 1
            for index in range(start, start + size)
        ]

    def _others(self, examples: Sequence[Example], count: int, draw: str) -> list[Example]:
        """Up to `count` prompts outside the round, each repeated for its rollouts."""
        names = {each.name for each in examples}
        free = [each for each in self._examples if each.name not in names]
        drawn = random.Random(draw).sample(free, min(count, len(free)))
        return [each for each in drawn for _ in range(self._plan.generations)]

    def _totals(self, rewards: Sequence[Reward]) -> list[float | None]:
        return [each.total(REWARDED[self._plan.reward]) for each in rewards]

    def reward(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        name: Sequence[str],
        log_metric: Callable[[str, float], None],
        rollout: Sequence[Rollout] | None = None,
        environments: Sequence[Any] | None = None,
        **_: Any,
    ) -> list[float | None]:
        """The reward of each rollout; its terms are logged."""
        made = rollout or [each.rollout for each in environments or ()]
        with self._clock.in_own_code():
            rewards = self._goals.rewards(name, made)
            _log(rewards, log_metric)
            if self._plan.redraws:
                log_metric("redrawn", self._redrawn)
            return self._totals(rewards)


def _log(rewards: Sequence[Reward], log_metric: Callable[[str, float], None]) -> None:
    known = [each for each in rewards if each.reason is None]
    for term in TERMS[:-1]:  # TRL logs the total itself
        for each in known:
            log_metric(term, getattr(each, term))
