"""A driver runs scripted agents of one framework behind the gate, for the conformance suite.

A framework needs two files: a driver with the class that `agent` and `run` are written in, and a
declaration in `adapters/` that says what it cannot do, and why.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from desk import Desk, Script, Seen

from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call

TASK = "go"
"""The user's message, unless there are several runs."""
ASSIST = "assist"
"""The task of the helper, to whom the agent can hand over by calling `helper`."""


@contextmanager
def own_loop() -> Iterator[None]:
    """An event loop for functions that leave the one of their thread open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        asyncio.set_event_loop(None)
        loop.close()


class Turns:
    """The turns of scripted models, by task, and everything that each of them was shown.

    A model finds its task in the conversation, so that one model serves runs that happen at once.
    """

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        self._left = {task: iter(script) for task, script in scripts.items()}
        self.shown: dict[str, list[str]] = {task: [] for task in scripts}
        self._lock = threading.Lock()

    def next(self, shown: str, task: str | None = None) -> list[Call]:
        """The calls of the next turn of a conversation; none means `WITHOUT_CALLS`."""
        with self._lock:
            if task is None:  # the task of a helper is also in the conversation of who called it
                task = next(each for each in self._left if each in shown)
            self.shown[task].append(shown)
            return list(next(self._left[task]))


@dataclass
class Setup:
    """The parts of an agent."""

    procedure: Procedure
    scripts: Mapping[str, Script]
    """The model's turns for each task."""
    options: dict[str, Any] = field(default_factory=dict)
    """The guard's options."""
    desk: Desk = field(default_factory=Desk)
    helper: bool = False
    """Has the agent a helper, with the same tools, whose task is ASSIST?"""
    storage: Path | None = None
    """The folder in which the framework keeps conversations."""

    def __post_init__(self) -> None:
        self.turns = Turns(self.scripts)


class Driver(ABC):
    """Runs scripted agents of one framework, by its synchronous or its asynchronous functions."""

    turns_are_decided_together = True
    text_is_the_answer = True
    """Does a turn without calls end the run? Otherwise the answer is a call."""
    races = 200
    """The runs that race with each other. Fewer are for frameworks that cannot win the race."""

    def __init__(self, asynchronous: bool = False) -> None:
        self.asynchronous = asynchronous

    @abstractmethod
    def agent(self, setup: Setup) -> Any:
        """An agent with the tools of the desk and a scripted model, behind the gate."""

    def run(self, agent: Any, task: str) -> Seen:
        """One run of the agent."""
        raise NotImplementedError

    async def run_async(self, agent: Any, task: str) -> Seen:
        """As `run`, by the framework's asynchronous functions."""
        raise NotImplementedError

    def reply(self, agent: Any, task: str, yes: bool) -> Seen:
        """Continues a run that waits for a person, as the framework lets people approve calls."""
        raise NotImplementedError

    async def reply_async(self, agent: Any, task: str, yes: bool) -> Seen:
        """As `reply`."""
        raise NotImplementedError

    # ── for the suite ────────────────────────────────────────────────────────────────────

    def start(self, agent: Any, task: str = TASK) -> Seen:
        """A run, in the driver's mode."""
        if self.asynchronous:
            return asyncio.run(self.run_async(agent, task))
        return self.run(agent, task)

    def answer_person(self, agent: Any, yes: bool, task: str = TASK) -> Seen:
        """The rest of a run, in the driver's mode."""
        if self.asynchronous:
            return asyncio.run(self.reply_async(agent, task, yes))
        return self.reply(agent, task, yes)

    def __call__(self, procedure: Procedure, script: Script, **options: Any) -> Seen:
        """One run of an agent of its own; the options are the guard's."""
        return self.start(self.agent(Setup(procedure, {TASK: script}, options)))
