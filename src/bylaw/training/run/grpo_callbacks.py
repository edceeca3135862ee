"""Trainer callbacks: metrics, a time limit, and a check for finite gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from transformers import TrainerCallback

from bylaw.agents.clock import Clock
from bylaw.training.run.metrics import TERMS, MetricsLog
from bylaw.training.run.plan import GrpoPlan
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
"""Logged in addition to the reward and its terms, if present."""


class MetricsCallback(TrainerCallback):
    """Writes TRL's logs to the metrics file."""

    def __init__(
        self, metrics: MetricsLog, clock: Clock, plan: GrpoPlan, report: Callable[[str], None]
    ) -> None:
        self._metrics: Final = metrics
        self._clock: Final = clock
        self._plan: Final = plan
        self._report: Final = report

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Mapping[str, Any], **_: Any
    ) -> None:
        """Writes an entry, and reports it if it has a reward."""
        prefix = "eval_" if any(name.startswith("eval_") for name in logs) else ""
        phase = "evaluation" if prefix else "train"
        values: dict[str, Json] = {
            name: _finite(logs.get(prefix + name))
            for name in (*TERMS, *_OTHERS)
            if prefix + name in logs
        }
        if not values:  # TRL's summary at the end of a run
            return
        seconds = round(self._clock.seconds, 2)
        after = state.global_step - (phase == "train")  # the rollouts precede the step
        rollouts = self._plan.rollouts_after(after)
        about = {"after": after, "rollouts": rollouts, "seconds": seconds}
        self._metrics.add(phase, state.global_step, {**about, **values})
        if "reward" in values:
            shown = ", ".join(f"{term} {logs[prefix + term]:.3f}" for term in TERMS)
            self._report(f"step {state.global_step}, {seconds:.0f} s, {phase}: {shown}")


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


class TimeLimitCallback(TrainerCallback):
    """Ends a run at the first end of a round after the limit; it can be resumed there."""

    def __init__(self, clock: Clock, seconds: float | None, steps: int) -> None:
        """`steps` are the optimizer steps of a round."""
        self._clock: Final = clock
        self._seconds: Final = seconds
        self._steps: Final = steps

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Stops between rounds only: checkpoints do not contain rollouts."""
        late = self._seconds is not None and self._clock.seconds > self._seconds
        if late and state.global_step % self._steps == 0:
            control.should_save = True
            control.should_training_stop = True


class FiniteGradientCallback(TrainerCallback):
    """Skips steps whose gradient is not finite: one would make all weights NaN."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report: Final = report

    def on_pre_optimizer_step(
        self, args: Any, state: Any, control: Any, model: Any, **_: Any
    ) -> None:
        """Clears such a gradient; an optimizer skips weights without one."""
        learned = [weight for weight in model.parameters() if weight.grad is not None]
        if not torch.nn.utils.get_total_norm([each.grad for each in learned]).isfinite():
            for weight in learned:
                weight.grad = None
            self._report(f"step {state.global_step + 1}: skipped, as the gradient is not finite")
