"""A trace predicate: its name, its operands, its meaning and its readings.

The parser, the printer, the JSON form and the Python form need only the name and the operands. A
new predicate is one file in `predicates/` and one row in its table.

A tracker follows a predicate call by call, with counters and pointers. It names the calls it looks
for, its probes, and updates its state when an event hits some of them. `holds` is the predicate's
value if the trace ended now. `outlook` gives the values it can still end with, considered alone.
`distance` estimates how many more events a value needs, to guide searches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from bylaw.frozen import frozen
from bylaw.logic.formula import Count, Formula, Operand, Pattern, ToolList
from bylaw.logic.terms import Literal, Term, Tool, ToolVariable
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, Call, Event, Missing
from bylaw.values import Json
from bylaw.vocabulary.local import EventContext, LocalCompiler, Test
from bylaw.vocabulary.patterns import ValueOf, fits, forms_of, is_tool, names_of, whole_number
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Kleene, Order, View

if TYPE_CHECKING:  # they ask with probes
    from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
    from bylaw.vocabulary.joint_form import JointForm

State: TypeAlias = Any
"""The state of a tracker: any hashable value that can be written as JSON."""
Hits: TypeAlias = Sequence[bool]
"""For each probe of a tracker, in order: whether the event matches it."""


# ── probes ─────────────────────────────────────────────────────────────────────────────


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


@lru_cache(maxsize=4096)
def local_test(formula: Formula) -> Callable[[Event], bool]:
    """A function that decides a formula without variables at an event, ignoring all others."""
    test, size = _compiled(formula)

    def holds(event: Event) -> bool:
        return test(EventContext(event, 0, event.step or 0, False, size)) is True

    return holds


def holds_alone(formula: Formula, event: Event) -> bool:
    """Does such a formula hold in a trace of this event alone, in which it is step 0?"""
    test, size = _compiled(formula)
    return test(EventContext(event, 0, 0, False, size)) is True


def waits_for_result(formula: Formula, proposed: Call) -> bool:
    """Does the value of such a formula at a call depend on the result, which is unknown?"""
    test, size = _compiled(formula)
    return test(EventContext(proposed, 0, proposed.step or 0, True, size)) is None


@lru_cache(maxsize=4096)
def _compiled(formula: Formula) -> tuple[Test, int]:
    compiler = LocalCompiler({})
    test = compiler.formula(formula, {})
    return test, compiler.size


# ── trackers ───────────────────────────────────────────────────────────────────────────


class Outlook(NamedTuple):
    """The values that are still possible."""

    true: bool
    false: bool


OPEN = Outlook(True, True)


def settled(value: bool) -> Outlook:
    """The outlook of a value that nothing can change."""
    return Outlook(value, not value)


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


# ── predicates ─────────────────────────────────────────────────────────────────────────


class OperandKind(Enum):
    """The kinds of operand that a predicate can take, as error messages name them."""

    TOOL = "a tool"
    TOOLS = "a list of tools, such as [a, b]"
    SEQUENCE = "one or more tools"
    """Takes all remaining operands."""
    COUNT = "a comparison with a whole number, such as <= 3"
    NUMBER = "a whole number, 0 or more"
    VALUE = "a value"
    ARGUMENTS = "arguments, such as amount = 5"
    """Takes all remaining operands."""


@frozen
class Parameter:
    """One parameter of a predicate."""

    name: str
    kind: OperandKind
    whole: bool = False
    """Must patterns name whole arguments, and not parts such as `filter.id`?"""


def _lacks_tool(operands: Iterable[object]) -> bool:
    """Is a tool undefined? A variable that nothing binds is."""
    return any(
        isinstance(operand, ToolVariable)
        or (isinstance(operand, ToolList) and _lacks_tool(operand.tools))
        for operand in operands
    )


@frozen
class Predicate:
    """A statement about the whole trace, and its readings. Every reading takes the operands last.

    Numbers and values are given as what they denote, and a count as its comparison and its number.
    If one of them is undefined, the predicate is false and no reading is asked.

    `columns` and `joint` are optional. A predicate without columns is judged trace by trace; one
    without a joint form takes no part in the test whether rules can still be satisfied together.
    """

    name: str
    example: str
    """One use in text, for error messages and the reference."""
    parameters: tuple[Parameter, ...]
    holds: Callable[..., Kleene]
    """The definition, on a `View`. Its docstring is the predicate's documentation."""
    witness: Callable[..., Sequence[int]]
    """The positions to look at to see why it holds or not, on a `View`."""
    sentence: Callable[..., str]
    """A sentence about what happened, for a `View` and the value."""
    track: Callable[..., Tracker]
    """The machine that follows the predicate call by call, for an order."""
    columns: Callable[..., TraceMask] | None = None
    """The value for each of many traces, on `CorpusCalls`."""
    joint: Callable[..., JointForm | None] | None = None
    """The form for the joint test. Tools are single ones."""

    @property
    def doc(self) -> str:
        """The docstring of the definition."""
        return (self.holds.__doc__ or "").strip()

    def judge(self, view: View, operands: Sequence[Operand]) -> Kleene:
        """Does the predicate hold of what the view shows?"""
        ready = self._defined(operands, view.value)
        return False if ready is None else self.holds(view, *ready)

    def positions(self, view: View, operands: Sequence[Operand]) -> Sequence[int]:
        """The positions to look at to see why it holds or not."""
        ready = self._defined(operands, view.value)
        return () if ready is None else self.witness(view, *ready)

    def told(self, view: View, held: bool, operands: Sequence[Operand]) -> str:
        """A sentence about what happened."""
        ready = self._defined(operands, view.value)
        if ready is None:
            return f"{self.name} is false: an operand is undefined or of the wrong kind."
        return self.sentence(view, held, *ready)

    def tracker(self, order: Order, operands: Sequence[Operand]) -> Tracker:
        """The machine that follows it. While the trace is incomplete, only literals are defined."""
        ready = self._defined(operands, value_of)
        return Constant() if ready is None else self.track(order, *ready)

    def column(self, calls: CorpusCalls, operands: Sequence[Operand]) -> TraceMask:
        """The value for each of many traces. Operands are tools and literals."""
        assert self.columns is not None, "a predicate without columns is judged trace by trace"
        ready = self.resolved(operands, value_of)
        return calls.never if ready is None else self.columns(calls, *ready)

    def joint_form(self, operands: Sequence[Operand]) -> JointForm | None:
        """The form for the joint test, if it has one. Operands are single tools and literals."""
        ready = self.resolved(operands, value_of)
        return None if ready is None or self.joint is None else self.joint(*ready)

    def _defined(self, operands: Sequence[Operand], value: ValueOf) -> tuple[Any, ...] | None:
        return None if _lacks_tool(operands) else self.resolved(operands, value)

    def resolved(self, operands: Sequence[Operand], value: ValueOf) -> tuple[Any, ...] | None:
        """The operands as the readings take them; None if a number or value is undefined."""
        ready: list[Any] = []
        for parameter, operand in zip(self.parameters, operands, strict=True):
            match parameter.kind, operand:
                case OperandKind.COUNT, Count(comparison, number):
                    ready += (comparison, whole_number(value(number)))
                case OperandKind.NUMBER, _:
                    ready.append(whole_number(value(operand)))  # type: ignore[arg-type]  # a term
                case OperandKind.VALUE, _:
                    ready.append(value(operand))  # type: ignore[arg-type]  # as above
                case _:
                    ready.append(operand)
        return None if MISSING in ready else tuple(ready)
