"""The scenario for every adapter: a desk with three tools, scripted turns, and a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
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
    """The tools, and which of their calls ran."""

    def __init__(self, failure: type[Exception] = ValueError) -> None:
        self.failure = failure
        self.ran: list[Call] = []

    def lookup(self, order: int) -> dict[str, Any]:
        self.ran.append(lookup(order))
        return {"order": order, "open": order != 13}

    def fetch(self, name: str) -> str:
        self.ran.append(fetch(name))
        if name == "missing":
            raise self.failure("there is no such file")
        return "the file"

    def pay(self, amount: int) -> str:
        self.ran.append(pay(amount))
        return f"paid {amount}"


@dataclass
class Seen:
    """A run, from outside."""

    ran: list[Call]
    shown: list[str] = field(default_factory=list)
    """All that the model was shown, before each of its turns."""
    answer: object = None
    stopped: bool = False
    events: list[tuple[str, str, str]] = field(default_factory=list)
    """The events of the gate: action, tool, resolution."""
    score: float | None = None
    """The score that the gate gave the run."""
    transcript: Any = None
    """The run as the framework records it, as JSON; None if it records no calls of tools."""

    def note(self, events: Sequence[dict[str, Any]]) -> None:
        self.events = [(each["action"], each["tool"], each["resolution"]) for each in events]


class Driver(Protocol):
    """Runs a scripted agent of some framework behind a gate."""

    turns_are_decided_together: bool

    def __call__(self, procedure: Procedure, script: Script, **options: Any) -> Seen:
        """One run; the options are the guard's."""
