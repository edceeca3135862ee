"""GRPO with TRL's trainer. Only this module and the other `grpo_*` modules import TRL.

The reward is the pure function in `training/reward`, applied to the trace that the tools recorded:
the completions that TRL passes to a reward function can be truncated.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # the version is pinned and tested

import torch
from datasets import Dataset
from transformers import PrinterCallback
from transformers.trainer import TRAINER_STATE_NAME
from trl import GRPOConfig

from bylaw.agents.clock import Clock
from bylaw.agents.hf.attention import without_cudnn
from bylaw.errors import Diagnostic, UsageError
from bylaw.training.data.example import Example
from bylaw.training.run.environment import environments, tool_set
from bylaw.training.run.grpo_callbacks import (
    FiniteGradientCallback,
    MetricsCallback,
    TimeLimitCallback,
)
from bylaw.training.run.grpo_rounds import RolloutRounds
from bylaw.training.run.grpo_trainer import UnpaddedGrpoTrainer
from bylaw.training.run.lora import Learner, Precision, save_adapter
from bylaw.training.run.metrics import METRICS, MetricsLog
from bylaw.training.run.plan import GrpoPlan
from bylaw.training.run.run_settings import RunSettings
from bylaw.values import Json

ADAPTER: Final = "adapter"
CHECKPOINTS: Final = "checkpoints"


@dataclass(frozen=True, slots=True)
class Trained:
    """The state of a run after training."""

    steps: int
    """Optimizer steps so far."""
    finished: bool
    clock: Clock


def train(
    learner: Learner,
    output: Path,
    examples: Sequence[Example],
    held_out: Sequence[Example],
    plan: GrpoPlan,
    *,
    precision: Precision = "fp32",
    resume: bool = False,
    seconds: float | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Trained:
    """Trains the adapter of a model on examples, in their order.

    The adapter, checkpoints and metrics are written to `output`. With `resume`, a run continues
    from its last checkpoint. With `seconds`, it stops after the round of rollouts in progress at
    that time. Held-out examples are evaluated at every checkpoint, and never trained on.
    """
    plan.check(examples)
    _check_distinct(examples)
    held_out = _not_trained_on(held_out, examples)
    clock = Clock()
    rounds = RolloutRounds(examples, held_out, plan, learner, clock)
    checkpoints = output / CHECKPOINTS
    last = last_checkpoint(output) if resume else None
    settings = RunSettings.of(plan, precision, examples)
    if last is None:
        shutil.rmtree(checkpoints, ignore_errors=True)  # stale checkpoints would be resumed
        settings.write(output)
    else:
        settings.check(output)
    metrics = MetricsLog(output / METRICS, up_to=None if last is None else _step(last))
    source: dict[str, Any] = {"rollout_func": rounds.roll_out}
    if plan.rollouts == "environment":
        made = environments([*examples, *held_out], plan.setting, clock)
        source = {"environment_factory": made}
    try:
        trainer = UnpaddedGrpoTrainer(
            model=learner.model,
            reward_funcs=[rounds.reward],
            args=_config(plan, checkpoints, len(held_out), precision, resumed=last is not None),
            train_dataset=_dataset(examples),
            eval_dataset=_dataset(held_out) if held_out else None,
            processing_class=learner.tokenizer,
            callbacks=[
                MetricsCallback(metrics, clock, plan, report),
                TimeLimitCallback(clock, seconds, plan.steps),
                FiniteGradientCallback(report),
            ],
            **source,
        )
    except ValueError as error:
        message = f"TRL cannot train this model: {str(error).splitlines()[0]}"
        help = "TRL supports few chat templates; --rollouts batched parses calls itself."
        raise UsageError(Diagnostic("E420", message, help)) from error
    trainer.remove_callback(PrinterCallback)
    if last is not None:
        # If a checkpoint has a reference adapter, the trainer restores only that one.
        trainer.model.load_adapter(last, "default", is_trainable=True)
    if plan.rollouts == "environment":
        # TRL would describe the tools differently from how they are described in use.
        trainer._env_tools = {tool_set(each): _schemas(each) for each in [*examples, *held_out]}
    gc.collect()
    gc.freeze()  # spares the collector seconds of scanning long-lived objects
    with without_cudnn():
        trainer.train(resume_from_checkpoint=last)
    gc.unfreeze()
    save_adapter(trainer.model, output / ADAPTER)
    state = trainer.state
    return Trained(state.global_step, state.global_step >= state.max_steps, clock)


def _check_distinct(examples: Sequence[Example]) -> None:
    """Rewards are looked up by name, and TRL identifies rollouts by their prompts."""
    distinct = {each.name: each for each in examples}
    if len({each.prompt for each in distinct.values()}) < len(distinct) or any(
        distinct[each.name] != each for each in examples
    ):
        help = "Each example needs a unique name and prompt."
        raise UsageError(Diagnostic("E402", "two examples have the same name or prompt", help))


def _not_trained_on(held_out: Sequence[Example], examples: Sequence[Example]) -> list[Example]:
    """The held-out examples that are not trained on, under unique names."""
    trained_on = {each.prompt for each in examples}
    return [
        replace(each, name=f"held out: {each.name}")
        for each in held_out
        if each.prompt not in trained_on
    ]


def _schemas(example: Example) -> list[dict[str, Json]]:
    return [spec.to_dict() for spec in example.specs]


def _dataset(examples: Sequence[Example]) -> Any:
    rows = [
        {"prompt": each.opening, "name": each.name, "environment": tool_set(each)}
        for each in examples
    ]
    return Dataset.from_list(rows)


def _config(
    plan: GrpoPlan, checkpoints: Path, held_out: int, precision: Precision, *, resumed: bool
) -> Any:
    every = plan.steps * plan.save_every
    evaluation = {"eval_strategy": "steps", "eval_steps": every, "eval_on_start": not resumed}
    return GRPOConfig(
        output_dir=str(checkpoints),
        num_generations=plan.generations,
        per_device_train_batch_size=plan.micro_batch_size,
        gradient_accumulation_steps=plan.accumulation_steps,
        steps_per_generation=plan.passes,
        num_iterations=plan.iterations,
        num_train_epochs=plan.epochs,
        beta=plan.beta,
        learning_rate=plan.learning_rate,
        lr_scheduler_type="constant",
        temperature=plan.temperature,
        max_completion_length=plan.max_completion_tokens,
        generation_kwargs={"max_new_tokens": plan.turn_tokens},
        shuffle_dataset=False,  # the curriculum has an order
        num_generations_eval=1,
        per_device_eval_batch_size=max(held_out, 1),
        gradient_checkpointing=plan.checkpointing,
        bf16=precision == "bf16",
        use_cpu=not torch.cuda.is_available(),
        save_strategy="steps",
        save_steps=every,
        save_total_limit=2,
        logging_steps=1,
        report_to="none",
        disable_tqdm=True,
        seed=plan.seed,
        **(evaluation if held_out else {}),
    )


def last_checkpoint(output: Path) -> str | None:
    """The last complete checkpoint; incomplete ones are deleted."""
    found = (output / CHECKPOINTS).glob("checkpoint-*")
    for folder in sorted(found, key=lambda each: -_step(each.name)):
        if (folder / TRAINER_STATE_NAME).exists():  # written last
            return str(folder)
        shutil.rmtree(folder)
    return None


def _step(checkpoint: str) -> int:
    return int(checkpoint.rpartition("-")[2])
