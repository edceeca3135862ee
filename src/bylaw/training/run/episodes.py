"""Episodes of examples, with or without a gate, and their rollouts."""

from __future__ import annotations

from typing import Final

from bylaw.agents.loop import Episode
from bylaw.agents.protocol import Chat
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.open_gate import OpenGate
from bylaw.enforcement.severity import Setting
from bylaw.training.data.example import Example
from bylaw.training.reward.reward import Rollout

UNGATED: Final[Setting] = "baseline"


def start_episode(example: Example, key: str = "", setting: Setting = UNGATED) -> Episode:
    """The episode of an example, before its first turn."""
    # Without a gate, no monitor is needed: the reward is computed from the finished trace.
    gate = (
        OpenGate() if setting == UNGATED else Guard(example.procedure, setting, outstanding="hope")
    )
    conversation = Chat(key or example.name, example.specs, list(example.opening))
    return Episode(conversation, example.functions, gate, example.budget)


def rollout(run: Episode) -> Rollout:
    """The executed calls and the answer of an episode."""
    return Rollout(tuple(run.executed), run.answer)
