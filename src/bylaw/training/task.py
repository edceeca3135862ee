"""A rollout: one run of an agent on an example, behind a gate or not, and what it amounts to."""

from __future__ import annotations

from typing import Final

from bylaw.agents.loop import Episode
from bylaw.agents.protocol import Chat
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.open_gate import OpenGate
from bylaw.enforcement.severity import Setting
from bylaw.training.example import Example
from bylaw.training.reward import Rollout

UNGATED: Final[Setting] = "baseline"


def begun(example: Example, key: str = "", setting: Setting = UNGATED) -> Episode:
    """The run of an example, before its first turn."""
    # Without a gate, nobody needs to follow the rules along: the reward reads the finished trace.
    gate = OpenGate() if setting == UNGATED else Guard(example.procedure, setting)
    conversation = Chat(key or example.name, example.specs, list(example.opening))
    return Episode(conversation, example.functions, gate, example.budget)


def rollout(run: Episode) -> Rollout:
    """What was done in a run: the trace of its own tools, and the answer."""
    return Rollout(tuple(run.executed), run.answer)
