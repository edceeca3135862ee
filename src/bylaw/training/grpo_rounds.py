"""Rounds of rollouts and their rewards, as TRL's trainer asks for them."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from bylaw.agents.clock import Clock
from bylaw.agents.hf.rollouts import Rollouts, TokenizedRun
from bylaw.agents.loop import Episode
from bylaw.training.curves import TERMS
from bylaw.training.example import Example
from bylaw.training.lora import Learner
from bylaw.training.plan import Plan
from bylaw.training.reward import REWARDED, Goals, Reward, Rollout
from bylaw.training.task import begun, rollout


class Rounds:
    """Makes the rollouts that TRL asks for, and rewards them."""

    def __init__(
        self,
        examples: Sequence[Example],
        held_out: Sequence[Example],
        plan: Plan,
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
            learner.chat,
            width=plan.width,
            turn_tokens=plan.turn_tokens,
            clock=clock,
        )

    def roll_out(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """A rollout for each prompt; while evaluating, with the most likely tokens.

        While training, prompts whose rollouts all have the same reward are replaced by others, as
        often as the plan says.
        """
        plan, step = self._plan, trainer.state.global_step
        examples = [self._by_task[prompt[-1]["content"]] for prompt in prompts]
        # A run that is resumed draws what it would have drawn.
        draw = f"{plan.seed}/{step}"
        training = trainer.model.training
        written = self._carry_out(examples, plan.temperature if training else 0.0, draw)
        self._redrawn = 0
        for attempt in range(plan.redraws if training else 0):
            again = f"{draw}/{attempt}"
            with self._clock.in_own_code():
                places = self._uninformative(examples, written)
                others = self._others(examples, len(places) // plan.generations, again)
            if not others:
                break
            places = places[: len(others)]
            for at, example, made in zip(
                places, others, self._carry_out(others, plan.temperature, again), strict=True
            ):
                examples[at], written[at] = example, made
            self._redrawn += len(others) // plan.generations
        return {
            "name": [each.name for each in examples],
            "prompt_ids": [each.prompt_ids for each in written],
            "completion_ids": [each.completion.ids for each in written],
            "logprobs": [each.completion.logprobs for each in written],
            "env_mask": [each.completion.mask for each in written],
            "rollout": [rollout(each.run) for each in written],
        }

    def _carry_out(
        self, examples: Sequence[Example], temperature: float, draw: str
    ) -> list[TokenizedRun[Episode]]:
        with self._clock.in_own_code():
            runs = [begun(example, setting=self._plan.setting) for example in examples]
        return self._rollouts.execute_runs(
            runs,
            max_completion_tokens=self._plan.most_tokens,
            sampler=self._rollouts.batch_sampler(temperature, zlib.crc32(draw.encode())),
        )

    def _uninformative(
        self, examples: Sequence[Example], written: Sequence[TokenizedRun[Episode]]
    ) -> list[int]:
        """The places of rollouts whose whole group has one reward, group by group."""
        size = self._plan.generations
        rewards = self._totals(
            self._goals.rewards(
                [each.name for each in examples], [rollout(each.run) for each in written]
            )
        )
        return [
            place
            for start in range(0, len(rewards), size)
            if len(set(rewards[start : start + size])) == 1
            for place in range(start, start + size)
        ]

    def _others(self, examples: Sequence[Example], count: int, draw: str) -> list[Example]:
        """Prompts that are not in the round, if there are so many, each as often as it is rolled
        out.
        """
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
        """The reward of each rollout; its terms go to the log."""
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
