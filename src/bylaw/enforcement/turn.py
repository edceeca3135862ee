"""One model turn while it is being decided, and when two calls are the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from bylaw.enforcement.asking import Question
from bylaw.enforcement.decision import Decision
from bylaw.errors import Diagnostic, UsageError, shown
from bylaw.trace.event import Call
from bylaw.values import canonical, copied, problem


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
    denied: Question | None = None
    """What a person did not approve."""

    def answer(self, question: Question, *, approved: bool) -> None:
        """Takes in what a person said about the next call."""
        if approved:
            self.waived |= question.violations.keys()
        else:
            self.denied = question

    def decide(self, decision: Decision) -> None:
        """The next call is decided."""
        self.decisions.append(decision)
        self.waived = set()


def checked(calls: Iterable[Call]) -> list[Call]:
    """The calls, if their arguments can be compared and written down; nobody can change them."""
    listed = list(calls)
    for call in listed:
        if not isinstance(call, Call):
            raise unusable(f"expected a Call, found {shown(call)}", 'Call("search", {"q": "x"})')
        if reason := problem(call.args):
            message = f"the arguments of '{call.tool}' are not JSON: {reason}"
            raise UsageError(Diagnostic("E413", message, "Propose calls as the model wrote them."))
    return [replace(call, args=copied(call.args)) for call in listed]


def one_of(choices: Sequence[object]) -> str:
    """What may stand there, in words."""
    return f"It is one of: {', '.join(map(str, choices))}."


def unusable(message: str, help: str) -> UsageError:
    """The error for something that a guard does not know."""
    return UsageError(Diagnostic("E414", message, help))


def exactly(call: Call) -> str:
    """A call to the byte: its name and its arguments; `1` and `1.0` differ."""
    return canonical([call.tool, dict(call.args)])
