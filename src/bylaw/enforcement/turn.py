"""One model turn: the calls that are proposed, checked, and their decisions as they are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from bylaw.enforcement.asking import Question
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.validation import unusable
from bylaw.errors import Diagnostic, UsageError, shown
from bylaw.trace.event import Call
from bylaw.values import canonical, copied, problem


def calls_of(given: object) -> list[Call]:
    """The calls of a turn. Anything else is an error."""
    if not isinstance(given, Iterable):
        help = 'A turn is a list: [Call("search", {"q": "x"})].'
        raise unusable(f"expected a list of calls, found {shown(given)}", help)
    listed = list(given)
    for call in listed:
        if not isinstance(call, Call):
            raise unusable(f"expected a Call, found {shown(call)}", 'Call("search", {"q": "x"})')
    return listed


def call_key(call: Call) -> str:
    """A call's identity: tool and canonical arguments; `1` and `1.0` differ."""
    return canonical([call.tool, dict(call.args)])


@dataclass(slots=True)
class Turn:
    """A turn while it is decided. A person may be asked in between."""

    calls: list[Call]
    number: int = -1
    warned: dict[str, set[int]] = field(default_factory=dict)
    """The calls warned about in the turn before, with the rules that were shown."""
    decisions: list[Decision] = field(default_factory=list)
    logged: int = 0
    """The number of decisions that are on record."""
    occupied: bool = False
    """Does the step already have an event?"""
    excused: set[int] = field(default_factory=set)
    """The rules that the next call is let past."""
    approved: set[int] = field(default_factory=set)
    """Those of them that a person let it past."""
    denied: tuple[Question, str] | None = None
    """The question that was not answered with yes, and the reason."""

    @classmethod
    def of(cls, given: object) -> Turn:
        """The turn with these calls. Their arguments must be JSON, and are copied."""
        calls = calls_of(given)
        for call in calls:
            if reason := problem(call.args):
                message = f"the arguments of '{call.tool}' are not JSON: {reason}"
                help = "Propose calls as the model wrote them."
                raise UsageError(Diagnostic("E413", message, help))
        return cls([replace(call, args=copied(call.args)) for call in calls])

    def approve(self, rules: Iterable[int]) -> None:
        """A person lets the next call past these rules."""
        self.approved.update(rules)
        self.excused |= self.approved

    def answer(self, question: Question, denied: str | None) -> None:
        """Takes the answer about the next call: None approves it, a reason refuses it."""
        if denied is None:
            self.approve(question.violations)
        else:
            self.denied = question, denied

    def decide(self, decision: Decision) -> None:
        """Adds the decision on the next call."""
        self.decisions.append(decision)
        self.excused, self.approved = set(), set()
