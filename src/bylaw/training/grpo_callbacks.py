"""What happens beside a training run.

Its metrics are put on record, it ends in time, and nothing that is not a number gets into weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from transformers import TrainerCallback

from bylaw.agents.clock import Clock
from bylaw.training.curves import TERMS, Metrics
from bylaw.training.plan import Plan
from bylaw.values import Json

_OTHERS: Final = (
    "loss",
    "kl",
    "entropy",
    "grad_norm",
    "completions/mean_length",
    "frac_reward_zero_std",
    "redrawn",
)
"""What is logged beside the reward and its terms, where there is such a thing."""


class Curves(TrainerCallback):
    """Writes what TRL logs into the metrics file."""

    def __init__(
        self, metrics: Metrics, clock: Clock, plan: Plan, told: Callable[[str], None]
    ) -> None:
        self._metrics: Final = metrics
        self._clock: Final = clock
        self._plan: Final = plan
        self._told: Final = told

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Mapping[str, Any], **_: Any
    ) -> None:
        """A line of metrics, and one for people where there is a reward."""
        prefix = "eval_" if any(name.startswith("eval_") for name in logs) else ""
        phase = "evaluation" if prefix else "train"
        values: dict[str, Json] = {
            name: _finite(logs.get(prefix + name))
            for name in (*TERMS, *_OTHERS)
            if prefix + name in logs
        }
        if not values:  # the summary at the end of a run
            return
        seconds = round(self._clock.seconds, 2)
        after = state.global_step - (phase == "train")  # a step's rollouts were made before it
        rollouts = self._plan.rollouts_after(after)
        about = {"after": after, "rollouts": rollouts, "seconds": seconds}
        self._metrics.add(phase, state.global_step, {**about, **values})
        if "reward" in values:
            shown = ", ".join(f"{term} {logs[prefix + term]:.3f}" for term in TERMS)
            self._told(f"step {state.global_step}, {seconds:.0f} s, {phase}: {shown}")


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


class TimeLimit(TrainerCallback):
    """Ends a run after the first round of rollouts that is over late; it can be resumed there."""

    def __init__(self, clock: Clock, seconds: float | None, steps: int) -> None:
        """A round has so many steps."""
        self._clock: Final = clock
        self._seconds: Final = seconds
        self._steps: Final = steps

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Not within a round: what was rolled out for it is not kept in a checkpoint."""
        late = self._seconds is not None and self._clock.seconds > self._seconds
        if late and state.global_step % self._steps == 0:
            control.should_save = True
            control.should_training_stop = True


class FiniteSteps(TrainerCallback):
    """Leaves out a change whose gradient is not finite: it would spoil all weights for good."""

    def __init__(self, told: Callable[[str], None]) -> None:
        self._told: Final = told

    def on_pre_optimizer_step(
        self, args: Any, state: Any, control: Any, model: Any, **_: Any
    ) -> None:
        """Takes such a gradient away; an optimizer passes over weights that have none."""
        learned = [weight for weight in model.parameters() if weight.grad is not None]
        if not torch.nn.utils.get_total_norm([each.grad for each in learned]).isfinite():
            for weight in learned:
                weight.grad = None
            self._told(f"step {state.global_step + 1}: the gradient is not finite, left out")
