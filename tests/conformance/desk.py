"""The scenario for every adapter: a desk with three tools, scripted turns, and a record."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call

Script: TypeAlias = Sequence[Sequence[Call]]
"""The turns of a scripted model. It answers last, unless the gate ends the run."""

WITHOUT_CALLS = "Let me think."


def lookup(order: int = 7) -> Call:
    return Call("lookup", {"order": order})


def fetch(name: str = "file") -> Call:
    return Call("fetch", {"name": name})


def pay(amount: int = 5) -> Call:
    return Call("pay", {"amount": amount})


def answer(text: str = "done") -> Call:
    return Call(FINAL_ANSWER, {"answer": text})


class Desk:
    """The tools, and which of their calls ran. Odd orders above 100 are never found."""

    def __init__(self, failure: type[Exception] = ValueError, delay: float = 0.0) -> None:
        self.failure = failure
        self.delay = delay
        """The longest time that a tool takes, in seconds. It is random."""
        self.ran: list[Call] = []
        self.received: list[Any] = []
        """The amounts as the tool received them."""
        self.begun = threading.Event()
        """Has a tool begun that does not return?"""

    def lookup(self, order: int) -> dict[str, Any]:
        self.ran.append(lookup(order))
        if order > 100 and order % 2:
            raise self.failure("there is no such order")
        return {"order": order, "open": order != 13}

    def fetch(self, name: str) -> str:
        self.ran.append(fetch(name))
        if name == "missing":
            raise self.failure("there is no such file")
        if name == "endless":
            self.begun.set()
            raise KeyboardInterrupt
        return "the file"

    def pay(self, amount: int) -> str:
        self.received.append(amount)
        self.ran.append(pay(amount))
        return f"paid {amount}"

    def functions(self, *, asynchronous: bool) -> list[Callable[..., Any]]:
        """The tools as functions that any framework can describe to a model."""
        return self._async_functions() if asynchronous else self._functions()

    def _functions(self) -> list[Callable[..., Any]]:
        def lookup(order: int) -> str:
            """Looks an order up.

            Args:
                order: its number
            """
            time.sleep(random.uniform(0, self.delay))
            return json.dumps(self.lookup(order))

        def fetch(name: str) -> str:
            """Fetches a file.

            Args:
                name: its name
            """
            return self.fetch(name)

        def pay(amount: int) -> str:
            """Pays.

            Args:
                amount: how much
            """
            time.sleep(random.uniform(0, self.delay))
            return self.pay(amount)

        return [lookup, fetch, pay]

    def _async_functions(self) -> list[Callable[..., Any]]:
        async def lookup(order: int) -> str:
            """Looks an order up.

            Args:
                order: its number
            """
            await asyncio.sleep(random.uniform(0, self.delay))
            return json.dumps(self.lookup(order))

        async def fetch(name: str) -> str:
            """Fetches a file.

            Args:
                name: its name
            """
            await asyncio.sleep(0)
            if name == "endless":
                self.ran.append(Call("fetch", {"name": name}))
                self.begun.set()
                await asyncio.sleep(60)
            return self.fetch(name)

        async def pay(amount: int) -> str:
            """Pays.

            Args:
                amount: how much
            """
            await asyncio.sleep(random.uniform(0, self.delay))
            return self.pay(amount)

        return [lookup, fetch, pay]


@dataclass
class Seen:
    """A run, from outside."""

    ran: list[Call]
    shown: list[str] = field(default_factory=list)
    """All that the model was shown, before each of its turns."""
    answer: object = None
    """The answer that was accepted."""
    final: str = ""
    """The last text that the caller gets: the answer, or why there is none."""
    question: Any = None
    """The question to a person, if the run waits for one."""
    stopped: bool = False
    events: list[tuple[str, str, str]] = field(default_factory=list)
    """The events of the gate: action, tool, resolution."""
    score: float | None = None
    """The score that the gate gave the run."""
    transcript: Any = None
    """The run as the framework records it, as JSON; None if it records no calls of tools."""

    def note(self, events: Sequence[dict[str, Any]]) -> None:
        self.events = [(each["action"], each["tool"], each["resolution"]) for each in events]
