"""Following a trace predicate call by call: small machines of counters and pointers.

A tracker names the calls it looks for, its probes, and updates its state when an event hits some
of them. `holds` is the predicate's value if the trace ended now. `outlook` gives the values it can
still end with, considered alone. `distance` estimates how many more events a value needs, to guide
searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from bylaw.frozen import frozen
from bylaw.logic.formula import Formula, Pattern
from bylaw.logic.terms import Literal, Term, Tool
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, Call, Event, Missing
from bylaw.values import Json
from bylaw.vocabulary.event_tests import local_test
from bylaw.vocabulary.patterns import fits, forms_of, is_tool, names_of
from bylaw.vocabulary.registry import EMPTY, Vocabulary

State: TypeAlias = Any
"""The state of a tracker: any hashable value that can be written as JSON."""
Hits: TypeAlias = Sequence[bool]
"""For each probe of a tracker, in order: whether the event matches it."""


class Outlook(NamedTuple):
    """The values that are still possible."""

    true: bool
    false: bool


OPEN = Outlook(True, True)


def settled(value: bool) -> Outlook:
    """The outlook of a value that nothing can change."""
    return Outlook(value, not value)


@frozen
class Probe:
    """A question about one event: is it such a call?"""

    tool: Tool | None
    patterns: tuple[Pattern, ...] = ()
    exactly: bool = False
    """Must the call have no other arguments than those of the patterns?"""
    result: Literal | None = None
    """A result that the vocabulary's comparator must accept."""
    conditions: tuple[Formula, ...] = ()
    """Other formulas that must hold at the event. They depend on this event alone."""
    of_any_event: bool = False
    """Are messages and the final answer tested too? Otherwise only calls are."""

    @property
    def bare(self) -> bool:
        """Does it test the tool only?"""
        asks = self.patterns or self.conditions or self.exactly or self.of_any_event
        return not asks and self.result is None

    def matches(self, event: Event, vocabulary: Vocabulary = EMPTY) -> bool:
        """Is the event such a call?"""
        return self.matches_call(event, vocabulary) and all(
            local_test(condition)(event) for condition in self.conditions
        )

    def matches_call(self, event: Event, vocabulary: Vocabulary = EMPTY) -> bool:
        """Is it, leaving the conditions aside?"""
        if self.of_any_event:
            return True
        if not isinstance(event, Call) or not is_tool(event, self.tool):
            return False
        if self.exactly and len(event.args) != len(self.patterns):
            return False  # if the patterns fit, more arguments are other arguments
        for pattern in self.patterns:
            if not fits(event, pattern, value_of):
                return False
        return self.result is None or vocabulary.results_match(event.result, self.result.value)


def value_of(term: Term) -> Json | Missing:
    """The value of a literal. Other terms have none while the trace is incomplete."""
    return term.value if isinstance(term, Literal) else MISSING


class Tracker(Protocol):
    """A machine as the module docstring describes it. States are compared and hashed."""

    probes: tuple[Probe, ...]
    start: State
    counts_steps: bool
    """Does it matter whether an event is in the same step as the one before?"""
    independent: bool
    """Is `outlook` exact, because each probe can be hit without hitting another?"""

    def advance(self, state: State, hits: Hits, new_step: bool) -> State: ...

    def holds(self, state: State) -> bool: ...

    def outlook(self, state: State) -> Outlook: ...

    def distance(self, state: State, goal: bool) -> int: ...


class Constant:
    """A predicate that is always false, because an operand is undefined."""

    probes: tuple[Probe, ...] = ()
    start: State = None
    counts_steps = False
    independent = True

    def advance(self, state: State, hits: Hits, new_step: bool) -> State:
        return state

    def holds(self, state: State) -> bool:
        return False

    def outlook(self, state: State) -> Outlook:
        return settled(False)

    def distance(self, state: State, goal: bool) -> int:
        return 0


class Occurred:
    """Some event has matched the probe."""

    counts_steps = False
    start: State = False

    def __init__(self, probe: Probe) -> None:
        self.probes: tuple[Probe, ...] = (probe,)
        self.independent = apart(self.probes)

    def advance(self, state: State, hits: Hits, new_step: bool) -> State:
        return state or hits[0]

    def holds(self, state: State) -> bool:
        return bool(state)

    def outlook(self, state: State) -> Outlook:
        return settled(True) if state else OPEN

    def distance(self, state: State, goal: bool) -> int:
        return int(bool(state) is not goal)


def apart(probes: Sequence[Probe]) -> bool:
    """Can each probe be hit without hitting another? False if that is not obvious."""
    seen: set[str] = set()
    for probe in probes:
        names = set(names_of(probe.tool)) if probe.tool is not None else set()
        names = set() if probe.tool is not None and forms_of(probe.tool) else names
        if not names or not probe.bare or names & seen:
            return False
        seen |= names
    return FINAL_ANSWER not in seen  # which comes once, and last
