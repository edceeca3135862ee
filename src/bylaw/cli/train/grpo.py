"""`bylaw train grpo`: fine-tunes a model with GRPO, with compliance in the reward."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bylaw.cli.main import OK
from bylaw.cli.model_runs import RUN_SETTINGS
from bylaw.cli.options import add_choice, add_json, add_number, add_output, at_least_one
from bylaw.cli.outputs import write_file
from bylaw.cli.train.options import (
    add_adapter_options,
    add_base,
    add_examples,
    examples_from,
    lora_from,
    printer,
    with_libraries,
    within_memory,
)
from bylaw.errors import Diagnostic, UsageError
from bylaw.reports.figures import curves_svg
from bylaw.training.data.example import Example
from bylaw.training.data.splits import splits
from bylaw.training.reward.reward import REWARDED
from bylaw.training.run.metrics import METRICS, curves, read_metrics
from bylaw.training.run.plan import ROLLOUT_BACKENDS, GrpoPlan

_DEFAULTS: Final = GrpoPlan()
_NUMBERS: Final[tuple[tuple[str, Callable[[str], float], str], ...]] = (
    ("generations", at_least_one, "rollouts per prompt"),
    ("prompts", at_least_one, "prompts per round of rollouts"),
    ("batch", at_least_one, "rollouts per weight update"),
    ("micro_batch_size", at_least_one, "rollouts per forward pass"),
    ("redraws", int, "times to replace prompts whose rollouts all have the same reward"),
    ("iterations", at_least_one, "passes over a round of rollouts"),
    ("epochs", float, "passes over the examples"),
    ("beta", float, "weight of the KL divergence from the initial model"),
    ("learning_rate", float, "constant learning rate"),
    ("temperature", float, "sampling temperature of the rollouts"),
    ("max_completion_tokens", at_least_one, "longest rollout, in tokens"),
    ("turn_tokens", at_least_one, "longest turn, in tokens"),
    ("width", at_least_one, "number of concurrent rollouts, if batched"),
    ("save_every", at_least_one, "rounds between checkpoints"),
)

EPILOG: Final = """\
Trains a LoRA adapter with TRL's GRPOTrainer. The defaults are the paper's: 300
prompts in the order of the curriculum, 16 rollouts of each, one epoch, beta
0.001, rank 8 on q_proj and v_proj.

  bylaw train grpo models/qwen3-4b-instruct-2507 -o run
  bylaw train grpo models/qwen-0.5b --adapter warm/adapter -o run \\
      --rollouts batched --precision bf16
  bylaw train grpo models/qwen-0.5b -o run --resume \\
      --rollouts batched --precision bf16                 resume
  bylaw train eval models/qwen-0.5b --adapter run/adapter -o eval.jsonl

Rollouts: `environment` uses TRL's rollouts, with one environment each. With
`batched`, the benchmark's tool loop decodes all rollouts together, and none
waits for another. With --setting, a gate checks their calls.

Rewards: `both` is the paper's reward of compliance, answer and distance from
the gold trace; `answer` and `compliance` are single terms. A prompt whose
rollouts all have the same reward teaches nothing: with --redraws, batched
rollouts of another prompt replace them.

The output folder holds adapter/ in peft's format, checkpoints/, metrics.jsonl,
and curves.svg with the terms of the reward, on training and held-out examples.
"""

STOPPED: Final = "stopped after --seconds: add --resume to continue"
"""Printed when a run has steps left."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_base(parser)
    add_output(
        parser, "-o", "--output", help="output folder", mark=METRICS, folder=True, required=True
    )
    parser.add_argument("--resume", action="store_true", help="resume from the last checkpoint")
    parser.add_argument(
        "--seconds", type=float, metavar="N", help="stop after N seconds, at the end of a round"
    )
    add_choice(parser, "--rollouts", ROLLOUT_BACKENDS, _DEFAULTS.rollouts, "what makes them")
    add_choice(parser, "--reward", REWARDED, _DEFAULTS.reward, "the terms to train on")
    add_choice(parser, "--setting", RUN_SETTINGS, _DEFAULTS.setting, "the gate of the rollouts")
    for name, kind, help in _NUMBERS:
        add_number(parser, f"--{name.replace('_', '-')}", getattr(_DEFAULTS, name), help, kind)
    parser.add_argument(
        "--no-checkpointing",
        action="store_true",
        help="keep activations in memory: faster, but needs more of it",
    )
    add_number(parser, "--held-out", 64, "held-out examples to evaluate at each checkpoint", int)
    add_examples(parser)
    add_adapter_options(parser)
    add_json(parser, "what was done as JSON")


def _check_checkpoints(options: argparse.Namespace) -> None:
    """A new run discards the checkpoints of the old one, which may have taken a day to make."""
    old = Path(options.output, "checkpoints").glob("checkpoint-*")
    if not (options.resume or options.force) and any(old):
        message = f"{options.output} holds the checkpoints of a run"
        help = "Add --resume to continue it, or --force to discard it."
        raise UsageError(Diagnostic("E403", message, help))


def run(options: argparse.Namespace) -> int:
    """Trains the adapter, and draws its curves."""
    show = printer(options)
    _check_checkpoints(options)
    plan = plan_from(options)
    examples = examples_from(options)
    plan.check(examples)
    output = Path(options.output)
    with with_libraries():
        from bylaw.training.run.grpo import ADAPTER, last_checkpoint, train
        from bylaw.training.run.lora import learner

        learns = learner(
            options.base,
            options.adapter or (last_checkpoint(output) if options.resume else None),
            lora_from(options),
            precision=options.precision,
            seed=options.seed,
        )
    with within_memory("--micro-batch-size or --width"):
        trained = train(
            learns,
            output,
            examples,
            spread(options.held_out),
            plan,
            precision=options.precision,
            resume=options.resume,
            seconds=options.seconds,
            report=show,
        )
    table = curves({output.name: read_metrics(output / METRICS)})
    if svg := curves_svg(table):
        write_file(output / "curves.svg", svg)
    if options.json:
        done = {"steps": trained.steps, "finished": trained.finished}
        print(json.dumps({**done, "clock": trained.clock.to_dict(), "curves": table.to_dict()}))
    show(f"\n{table.text()}\n\n{trained.clock.summary()}")
    state = "finished" if trained.finished else STOPPED
    show(f"{trained.steps} steps, {state}. The adapter: {output / ADAPTER}")
    return OK


def plan_from(options: argparse.Namespace) -> GrpoPlan:
    """The plan that the options describe."""
    return GrpoPlan(
        rollouts=options.rollouts,
        reward=options.reward,
        setting=options.setting,
        checkpointing=not options.no_checkpointing,
        seed=options.seed,
        **{name: getattr(options, name) for name, _, _ in _NUMBERS},
    )


def spread(count: int) -> list[Example]:
    """Held-out examples, spread evenly over the four splits."""
    everything = [example for each in splits().values() for example in each]
    return [everything[at * len(everything) // count] for at in range(count)]
