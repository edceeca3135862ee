"""A turn while it is decided: its calls, rebuilt as plain JSON, and the decisions so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from bylaw.enforcement.asking import Question
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.events import EnforcementEvent
from bylaw.enforcement.validation import checked_time, not_json, unusable
from bylaw.errors import UsageError, clipped, shown
from bylaw.frozen import record
from bylaw.plain import NotJson, OversizedValue, rebuilt
from bylaw.trace.event import MISSING, Call
from bylaw.values import LARGEST, canonical, copied
from bylaw.work import UNLIMITED

MAX_NAME: Final = 256
"""The length of the name of a tool or an agent, or of a call's id, in characters."""
_FEW: Final = 20


def calls_of(given: object) -> list[Call]:
    """The calls of a turn. Anything else is an error."""
    if not isinstance(given, Iterable):
        help = 'Write [Call("search", {"q": "x"})]: a turn is a list of calls.'
        raise unusable(f"expected a list of calls, found {shown(given)}", help)
    if isinstance(given, str | Mapping):  # its characters, or its keys, are not meant
        raise _not_a_call(given, "a list of calls")
    listed = list(given)
    for call in listed:
        if type(call) is not Call:
            raise _not_a_call(call)
    return listed


def plain_call(
    call: Call, max_text: float = UNLIMITED, step: int | None = None, start: float | None = None
) -> Call:
    """A proposed call, rebuilt: plain strings, and arguments that are exactly JSON.

    Nothing can change it any more, and comparing it runs no code but Python's own. OversizedValue
    is raised if it has more text, or more parts, than is judged.
    """
    if type(call) is not Call:  # a subclass may show the gate another call than the tool
        raise _not_a_call(call)
    tool, id, agent = call.tool, call.id, call.agent
    if type(tool) is not str or len(tool) > MAX_NAME:
        _reject_name(tool, "tool")
    if id is not None and (type(id) is not str or len(id) > MAX_NAME):
        _reject_name(id, "id")
    if agent is not None and (type(agent) is not str or len(agent) > MAX_NAME):
        _reject_name(agent, "agent")
    if type(call.args) is not dict:
        help = 'Arguments have names: Call("pay", {"amount": 5}).'
        raise not_json(
            f"the arguments of '{call.tool}' are", f"{shown(call.args)} is not a dictionary", help
        )
    arguments: Any = dict(call.args)
    if not _is_flat(arguments, max_text):
        try:
            arguments = rebuilt(arguments, max_text=max_text)
        except OversizedValue:
            raise
        except NotJson as error:
            raise _not_json(call, str(error)) from None
    return Call(tool, arguments, MISSING, step, None, id, start, None, agent)


def stated_start(call: object) -> float | None:
    """The time at which a call started, as it says itself."""
    start = call.start if type(call) is Call else None
    return None if start is None else checked_time("the start of a call", start)


def _not_a_call(given: object, expected: str = "a Call") -> UsageError:
    from bylaw.enforcement.call_advice import call_advice  # only mistakes need it

    return unusable(f"expected {expected}, found {shown(given)}", call_advice(given))


def _reject_name(given: object, name: str) -> NoReturn:
    if type(given) is not str:
        raise unusable(f"the {name} of a call cannot be {shown(given)}", "It is a string.")
    what = name if name == "id" else f"{name}'s name"
    raise OversizedValue(f"its {what} has more than {MAX_NAME} characters")


def _not_json(call: Call, reason: str) -> UsageError:
    return not_json(f"the arguments of '{call.tool}' are", reason)


def _is_flat(arguments: dict[Any, Any], max_text: float) -> bool:
    """Are these a few short texts and small numbers, as most arguments are? Then they are JSON."""
    if len(arguments) > _FEW:
        return False
    for key, item in arguments.items():
        kind = type(item)
        if kind is str:
            max_text -= len(item)
        elif kind is int:
            if not -LARGEST < item < LARGEST:
                return False
        elif kind is not bool and item is not None:
            return False
        if type(key) is not str:
            return False
        max_text -= len(key)
    return max_text >= 0


def handed_out(call: Call) -> Call:
    """A copy of a call for the caller, who may change its arguments."""
    arguments: Any = dict(call.args)
    for item in arguments.values():
        if type(item) is list or type(item) is dict:
            arguments = copied(arguments)
            break
    return Call(
        call.tool, arguments, MISSING, call.step, None, call.id, call.start, None, call.agent
    )


def at_step(call: Call, step: int, start: float | None) -> Call:
    """A call of the guard's own, in another step or at another time."""
    return Call(call.tool, call.args, step=step, id=call.id, start=start, agent=call.agent)


def call_key(call: Call) -> str:
    """A call's identity: tool and canonical arguments; `1` and `1.0` differ."""
    return canonical([call.tool, dict(call.args)])


@record
class LatestTurn:
    """The latest turn. Until the next message or turn, calls can be added to it."""

    number: int
    size: int
    """The number of its calls."""
    warned: dict[str, set[int]]
    """The calls warned about in the turn before it that it has not repeated so far."""
    resolved: list[EnforcementEvent]
    """The earlier events that it resolved."""


class Turn:
    """A turn while it is decided. A person may be asked in between."""

    number = -1
    continues = False
    """Do its calls belong to the turn before, if that is still open?"""
    joined = False
    """Did they?"""
    warned: dict[str, set[int]]
    """The calls warned about in the turn before, with the rules that were shown."""
    resolved: Sequence[EnforcementEvent] = ()
    """The earlier events that this turn resolved."""
    spoke = False
    """Did the assistant say something that belongs to this turn?"""
    waits = False
    """May a call wait for results of the same turn?"""
    rounds = 0
    """The number of rounds so far; see `Guard.rounds`."""
    before = 0
    """The number of decisions before the latest round."""
    excused: frozenset[int] = frozenset()
    """The rules that the next call is let past."""
    approved: frozenset[int] = frozenset()
    """Those of them that a person let it past."""
    denied: tuple[Question, str] | None = None
    """The question that was not answered with yes, and the reason."""

    def __init__(
        self,
        given: object,
        max_text: float = UNLIMITED,
        step: int | None = None,
        start: float | None = None,
    ) -> None:
        """The turn with these calls, probably in this step and at this time.

        If one call cannot be judged, none is. Without a time, calls start when they say.
        """
        self.start: Final = start
        self.calls: dict[int, Call] = {}
        """The calls as they are judged, by place: plain, and the guard's own."""
        self.oversized: dict[int, str] = {}
        """The reasons why calls are too large to be judged, by place; they lose their arguments."""
        for place, call in enumerate(given if type(given) is list else calls_of(given)):
            try:
                begun = stated_start(call) if start is None else start
                self.calls[place] = plain_call(call, max_text, step, begun)
            except OversizedValue as error:
                self.oversized[place] = str(error)
                self.calls[place] = Call(clipped(call.tool, MAX_NAME), step=step, start=start)
        self.todo: Final = deque(self.calls)
        """The calls to decide next, by their places."""
        self.decided: Final[dict[int, Decision]] = {}
        """The decisions so far, by the place of the call in the turn."""
        self.waiting: list[int] = []
        """The calls that wait for results of the same turn."""
        self.unlogged: list[int] = []
        """The calls whose decisions are not on record yet."""
        self.queued: tuple[int, list[int]] | None = None
        """The number of log entries that must be on disk before these decisions may be acted on."""

    def join(self, size: int) -> None:
        """Becomes a part of a turn that has so many calls already."""
        self.joined = True
        self.calls = {size + place: call for place, call in self.calls.items()}
        self.oversized = {size + place: why for place, why in self.oversized.items()}
        self.todo.clear()
        self.todo.extend(self.calls)

    @property
    def decisions(self) -> list[Decision]:
        """The decisions so far, in the order in which they were made."""
        return list(self.decided.values())

    @property
    def latest(self) -> list[Decision]:
        """The decisions of the latest round, in the order of the calls."""
        return self.decisions[self.before :]

    def approve(self, rules: Iterable[int]) -> None:
        """A person lets the next call past these rules."""
        self.approved |= frozenset(rules)
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
        if self.excused:
            self.excused = self.approved = frozenset()

    def wait(self) -> None:
        """Leaves the next call undecided until results of the turn are in."""
        self.waiting.append(self.todo.popleft())
        self.excused = self.approved = frozenset()

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
