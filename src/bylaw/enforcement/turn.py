"""A turn while it is decided: its calls, rebuilt as plain JSON, and the decisions so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from bylaw.enforcement.asking import Question
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.events import EnforcementEvent
from bylaw.enforcement.validation import not_json, unusable
from bylaw.errors import clipped, shown
from bylaw.plain import NotJson, OversizedValue, rebuilt
from bylaw.trace.event import MISSING, Call
from bylaw.values import canonical, copied
from bylaw.work import UNLIMITED

MAX_NAME: Final = 256
"""The length of the name of a tool or an agent, or of a call's id, in characters."""


def calls_of(given: object) -> list[Call]:
    """The calls of a turn. Anything else is an error."""
    if not isinstance(given, Iterable):
        help = 'A turn is a list: [Call("search", {"q": "x"})].'
        raise unusable(f"expected a list of calls, found {shown(given)}", help)
    listed = list(given)
    for call in listed:
        if type(call) is not Call:  # a subclass may show the gate another call than the tool
            raise unusable(f"expected a Call, found {shown(call)}", 'Call("search", {"q": "x"})')
    return listed


def plain_call(call: Call, max_text: float = UNLIMITED) -> Call:
    """A proposed call, rebuilt: plain strings, and arguments that are exactly JSON.

    Nothing can change it any more, and comparing it runs no code but Python's own. OversizedValue
    is raised if it has more text, or more parts, than is judged.
    """
    for given, name in ((call.tool, "tool"), (call.id, "id"), (call.agent, "agent")):
        if type(given) is not str and (given is not None or name == "tool"):
            raise unusable(f"the {name} of a call cannot be {shown(given)}", "It is a string.")
        if given is not None and len(given) > MAX_NAME:
            what = name if name == "id" else f"{name}'s name"
            raise OversizedValue(f"its {what} has more than {MAX_NAME} characters")
    subject = f"the arguments of '{call.tool}' are"
    if type(call.args) is not dict:
        raise not_json(subject, f"{shown(call.args)} is not a dictionary")
    try:
        return _with_arguments(call, rebuilt(call.args, max_text=max_text))
    except OversizedValue:
        raise
    except NotJson as error:
        raise not_json(subject, str(error)) from None


def handed_out(call: Call) -> Call:
    """A copy of a call for the caller, who may change its arguments."""
    return _with_arguments(call, copied(call.args))


def _with_arguments(call: Call, arguments: object) -> Call:
    times = call.start, call.end
    return Call(call.tool, arguments, MISSING, call.step, None, call.id, *times, call.agent)  # type: ignore[arg-type]  # JSON


def call_key(call: Call) -> str:
    """A call's identity: tool and canonical arguments; `1` and `1.0` differ."""
    return canonical([call.tool, dict(call.args)])


@dataclass(slots=True)
class Turn:
    """A turn while it is decided. A person may be asked in between."""

    calls: list[Call]
    """The calls as they are judged: plain, and the guard's own."""
    oversized: dict[int, str]
    """The reasons why calls are too large to be judged, by place; they lose their arguments."""
    todo: deque[int]
    """The calls to decide next, by their places."""
    number: int = -1
    warned: dict[str, set[int]] = field(default_factory=dict)
    """The calls warned about in the turn before, with the rules that were shown."""
    resolved: list[EnforcementEvent] = field(default_factory=list)
    """The earlier events that this turn resolved."""
    spoke: bool = False
    """Did the assistant say something that belongs to this turn?"""
    decided: dict[int, Decision] = field(default_factory=dict)
    """The decisions so far, by the place of the call in the turn."""
    waits: bool = False
    """May a call wait for results of the same turn?"""
    waiting: list[int] = field(default_factory=list)
    """The calls that do."""
    rounds: int = 0
    """The number of rounds so far; see `Guard.rounds`."""
    before: int = 0
    """The number of decisions before the latest round."""
    unlogged: list[int] = field(default_factory=list)
    """The calls whose decisions are not on record yet."""
    excused: set[int] = field(default_factory=set)
    """The rules that the next call is let past."""
    approved: set[int] = field(default_factory=set)
    """Those of them that a person let it past."""
    denied: tuple[Question, str] | None = None
    """The question that was not answered with yes, and the reason."""

    @classmethod
    def of(cls, given: object, max_text: float = UNLIMITED) -> Turn:
        """The turn with these calls. If one of them cannot be judged, none is."""
        calls: list[Call] = []
        oversized: dict[int, str] = {}
        for place, call in enumerate(calls_of(given)):
            try:
                calls.append(plain_call(call, max_text))
            except OversizedValue as error:
                oversized[place] = str(error)
                calls.append(Call(clipped(call.tool, MAX_NAME)))
        return cls(calls, oversized, deque(range(len(calls))))

    @property
    def decisions(self) -> list[Decision]:
        """The decisions, in the order of the calls."""
        return [self.decided[place] for place in sorted(self.decided)]

    @property
    def latest(self) -> list[Decision]:
        """The decisions of the latest round, in the order of the calls."""
        return list(self.decided.values())[self.before :]

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
        place = self.todo.popleft()
        self.decided[place] = decision
        self.unlogged.append(place)
        self.excused, self.approved = set(), set()

    def wait(self) -> None:
        """Leaves the next call undecided until results of the turn are in."""
        self.waiting.append(self.todo.popleft())
        self.excused, self.approved = set(), set()

    def next_round(self) -> bool:
        """Takes up the calls that wait; False if there are none, and all is decided."""
        if self.rounds and not self.waiting:
            return False
        # If no call of the round before ran, there is nothing to wait for.
        self.waits = self.waits and (not self.rounds or any(d.allowed for d in self.latest))
        self.rounds, self.before = self.rounds + 1, len(self.decided)
        self.todo.extend(self.waiting)
        self.waiting = []
        return True
