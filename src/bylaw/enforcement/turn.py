"""One model turn while it is being decided, and when two calls are the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from bylaw.enforcement.asking import Question
from bylaw.enforcement.decision import Decision
from bylaw.trace.event import Call
from bylaw.values import canonical


@dataclass(slots=True)
class Turn:
    """A turn while it is being decided; a person may be asked in between."""

    calls: list[Call]
    number: int = -1
    pointers: dict[str, set[int]] = field(default_factory=dict)
    """The calls that were warned about in the turn before, and the rules that were shown."""
    decisions: list[Decision] = field(default_factory=list)
    logged: int = 0
    """How many of the decisions are on record."""
    occupied: bool = False
    """Is there anything in this step already?"""
    waived: set[int] = field(default_factory=set)
    """The rules that the next call may pass."""
    approved: set[int] = field(default_factory=set)
    """Those of them that a person let it pass."""
    denied: tuple[Question, str] | None = None
    """What was not approved, and why."""

    def approve(self, rules: Iterable[int]) -> None:
        """A person lets the next call pass these rules."""
        self.approved.update(rules)
        self.waived |= self.approved

    def answer(self, question: Question, denied: str | None) -> None:
        """Takes in what came of the question about the next call: why not, or None for a yes."""
        if denied is None:
            self.approve(question.violations)
        else:
            self.denied = question, denied

    def decide(self, decision: Decision) -> None:
        """The next call is decided."""
        self.decisions.append(decision)
        self.waived, self.approved = set(), set()


def exactly(call: Call) -> str:
    """A call to the byte: its name and its arguments; `1` and `1.0` differ."""
    return canonical([call.tool, dict(call.args)])
