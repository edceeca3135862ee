"""GRPO on TRL's trainer: our rollouts and our reward at its edges. Nothing else knows of TRL.

The reward is the pure function of `training/reward.py`, on the trace that the tools themselves
have kept: what TRL hands to a reward function can be cut short.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # what we use is pinned and tested

import torch
from datasets import Dataset
from transformers import PrinterCallback
from transformers.trainer import TRAINER_STATE_NAME
from trl import GRPOConfig

from bylaw.agents.clock import Clock
from bylaw.agents.hf.attention import without_cudnn
from bylaw.errors import Diagnostic, UsageError
from bylaw.training.curves import METRICS, Metrics
from bylaw.training.environment import environments, tool_set
from bylaw.training.example import Example
from bylaw.training.grpo_callbacks import Curves, FiniteSteps, TimeLimit
from bylaw.training.grpo_rounds import Rounds
from bylaw.training.grpo_trainer import Trainer
from bylaw.training.lora import Learner, Precision, save_adapter
from bylaw.training.plan import Plan
from bylaw.training.settings import Settings
from bylaw.values import Json

ADAPTER: Final = "adapter"
CHECKPOINTS: Final = "checkpoints"


@dataclass(frozen=True, slots=True)
class Trained:
    """What a run has come to."""

    steps: int
    """Changes of the weights so far."""
    finished: bool
    clock: Clock


def train(
    learner: Learner,
    output: Path,
    examples: Sequence[Example],
    held_out: Sequence[Example],
    plan: Plan,
    *,
    precision: Precision = "fp32",
    resume: bool = False,
    seconds: float | None = None,
    told: Callable[[str], None] = lambda line: None,
) -> Trained:
    """Trains the adapter of a model on examples, in their order.

    The adapter is written to `output`, with checkpoints and metrics beside it. With `resume`, a
    run goes on from its last checkpoint; with `seconds`, it stops after the round of rollouts that
    is under way then. Examples that are held out are tried at every checkpoint, and never trained
    on.
    """
    plan.check(examples)
    _check_distinct(examples)
    held_out = _apart(held_out, examples)
    clock = Clock()
    rounds = Rounds(examples, held_out, plan, learner, clock)
    checkpoints = output / CHECKPOINTS
    last = last_checkpoint(output) if resume else None
    settings = Settings.of(plan, precision, examples)
    if last is None:
        shutil.rmtree(checkpoints, ignore_errors=True)  # else they would be gone on with one day
        settings.write(output)
    else:
        settings.check(output)
    metrics = Metrics(output / METRICS, up_to=None if last is None else _step(last))
    how: dict[str, Any] = {"rollout_func": rounds.roll_out}
    if plan.rollouts == "environment":
        made = environments([*examples, *held_out], plan.setting, clock)
        how = {"environment_factory": made}
    try:
        trainer = Trainer(
            model=learner.model,
            reward_funcs=[rounds.reward],
            args=_config(plan, checkpoints, len(held_out), precision, resumed=last is not None),
            train_dataset=_dataset(examples),
            eval_dataset=_dataset(held_out) if held_out else None,
            processing_class=learner.tokenizer,
            callbacks=[
                Curves(metrics, clock, plan, told),
                TimeLimit(clock, seconds, plan.steps),
                FiniteSteps(told),
            ],
            **how,
        )
    except ValueError as error:
        message = f"TRL cannot train this model: {str(error).splitlines()[0]}"
        help = "TRL reads few chat templates; --rollouts batched reads calls itself."
        raise UsageError(Diagnostic("E420", message, help)) from error
    trainer.remove_callback(PrinterCallback)
    if last is not None:
        # Where a checkpoint has a reference adapter, the trainer would restore that one alone.
        trainer.model.load_adapter(last, "default", is_trainable=True)
    if plan.rollouts == "environment":
        # The model reads the tools as it will when it is used: TRL would describe them anew.
        trainer._env_tools = {tool_set(each): _schemas(each) for each in [*examples, *held_out]}
    gc.collect()
    gc.freeze()  # what is here by now stays: to look through it again and again takes seconds
    with without_cudnn():
        trainer.train(resume_from_checkpoint=last)
    gc.unfreeze()
    save_adapter(trainer.model, output / ADAPTER)
    state = trainer.state
    return Trained(state.global_step, state.global_step >= state.max_steps, clock)


def _check_distinct(examples: Sequence[Example]) -> None:
    """Rewards go by names, and TRL knows rollouts by their prompts."""
    distinct = {each.name: each for each in examples}
    if len({each.prompt for each in distinct.values()}) < len(distinct) or any(
        distinct[each.name] != each for each in examples
    ):
        help = "Each example needs a name and a prompt of its own."
        raise UsageError(Diagnostic("E402", "two examples have the same name or prompt", help))


def _apart(held_out: Sequence[Example], examples: Sequence[Example]) -> list[Example]:
    """What is held out from these examples, by names that none of them can have."""
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
    plan: Plan, checkpoints: Path, held_out: int, precision: Precision, *, resumed: bool
) -> Any:
    every = plan.steps * plan.save_every
    evaluation = {"eval_strategy": "steps", "eval_steps": every, "eval_on_start": not resumed}
    return GRPOConfig(
        output_dir=str(checkpoints),
        num_generations=plan.generations,
        per_device_train_batch_size=plan.at_once,
        gradient_accumulation_steps=plan.accumulated,
        steps_per_generation=plan.passes,
        num_iterations=plan.iterations,
        num_train_epochs=plan.epochs,
        beta=plan.beta,
        learning_rate=plan.learning_rate,
        lr_scheduler_type="constant",
        temperature=plan.temperature,
        max_completion_length=plan.most_tokens,
        generation_kwargs={"max_new_tokens": plan.turn_tokens},
        shuffle_dataset=False,  # the order of the curriculum is part of it
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
    """The last checkpoint that was written to its end; others are taken away."""
    found = (output / CHECKPOINTS).glob("checkpoint-*")
    for folder in sorted(found, key=lambda each: -_step(each.name)):
        if (folder / TRAINER_STATE_NAME).exists():  # it is written last
            return str(folder)
        shutil.rmtree(folder)
    return None


def _step(checkpoint: str) -> int:
    return int(checkpoint.rpartition("-")[2])
