"""Evaluates a model on held-out examples, and records every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bylaw.agents.hf.rollouts import Rollouts, TokenizedRun
from bylaw.agents.loop import Episode
from bylaw.bench.instance import TRIALS, instances
from bylaw.bench.results import VERSION, Results
from bylaw.enforcement.severity import Setting
from bylaw.training.data.corpus import SEED
from bylaw.training.data.example import PRODUCTION, Example, production
from bylaw.training.data.splits import splits
from bylaw.training.reward.reward import Goal
from bylaw.training.run.episodes import UNGATED, rollout, start_episode
from bylaw.values import Json

_MAX_COMPLETION_TOKENS: Final = {False: 3072, True: 8192}
"""The limits of a run on the splits and on the benchmark."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """The decoding settings; models are compared under the same ones."""

    temperature: float = 0.0
    seed: int = 0
    setting: Setting = UNGATED

    @property
    def trials(self) -> int:
        """The number of trials on the benchmark; greedy decoding needs only one."""
        return TRIALS if self.temperature > 0 else 1


def examples_of(sets: Iterable[str], seed: int = SEED) -> list[Example]:
    """The examples of these sets: splits, or the production benchmark."""
    wanted = list(sets)
    held_out = splits(seed)
    found = [example for name in wanted if name != PRODUCTION for example in held_out[name]]
    return found + ([production(each) for each in instances()] if PRODUCTION in wanted else [])


def evaluate(
    rollouts: Rollouts,
    model: str,
    examples: Sequence[Example],
    results: Results,
    decoding: Decoding,
    about: Mapping[str, Json],
    step: Callable[[], None] = lambda: None,
) -> int:
    """Makes the runs that are not on record yet, and returns their number.

    `about` holds the other conditions of the results, such as a digest of the weights.
    """
    conditions = _conditions(rollouts, decoding) | dict(about)
    made = 0
    for benchmark in (False, True):
        tasks = [each for each in examples if (each.split == PRODUCTION) == benchmark]
        for trial in range(decoding.trials if benchmark else 1):
            goals = {f"{model} {each.name}/{trial}": Goal(each) for each in tasks}
            missing = {key: goal for key, goal in goals.items() if not results.has(key, conditions)}
            if not missing:
                continue

            def done(
                ended: TokenizedRun[Episode], goals: dict[str, Goal] = missing, trial: int = trial
            ) -> None:
                goal = goals[ended.run.conversation.key]
                row = result_row(model, goal, trial, ended.run) | {"conditions": conditions}
                results.append([row])
                step()

            rollouts.execute_runs(
                [
                    start_episode(goal.example, key, decoding.setting)
                    for key, goal in missing.items()
                ],
                max_completion_tokens=_MAX_COMPLETION_TOKENS[benchmark],
                sampler=rollouts.batch_sampler(decoding.temperature, decoding.seed + trial),
                done=done,
            )
            made += len(missing)
    return made


def result_row(model: str, goal: Goal, trial: int, run: Episode) -> dict[str, Json]:
    """The result row of a finished run."""
    example = goal.example
    reward = goal.reward(rollout(run))
    return {
        "bylaw": VERSION,
        "key": run.conversation.key,
        "model": model,
        "split": example.split,
        "name": example.name,
        "template": example.template,
        "difficulty": example.difficulty,
        "trial": trial,
        "compliance": reward.compliance,
        "answer": reward.answer,
        "closeness": reward.closeness,
        "reward": reward.total(),
        "correct": reward.answer == 1.0,
        "calls": len(run.executed),
        "gold_calls": len(example.gold),
        "ending": run.ending,
        "turns": run.turns,
        "malformed": run.malformed,
        "output_tokens": run.output_tokens,
        "messages": run.conversation.messages,
    }


def _conditions(rollouts: Rollouts, decoding: Decoding) -> dict[str, Json]:
    return {
        "temperature": decoding.temperature,
        "seed": decoding.seed,
        "setting": decoding.setting,
        "turn_tokens": rollouts.turn_tokens,
    }
