"""`CalledN(t, <= n)`"""

import operator
from collections.abc import Callable
from typing import Any, Final

from bylaw.logic.terms import Tool, ToolName
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.joint_form import CountLimits, JointForm
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.predicate import (
    Hits,
    OperandKind,
    Outlook,
    Parameter,
    Predicate,
    Probe,
    State,
    Tracker,
    apart,
)
from bylaw.vocabulary.view import Kleene, Order, View

COMPARE: Final[dict[str, Callable[[int, int], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def holds(view: View, tool: Tool, comparison: str, number: int) -> Kleene:
    """The number of calls of the tool satisfies the comparison."""
    certain, possible = view.calls(tool)
    compare, least, most = COMPARE[comparison], certain.bit_count(), possible.bit_count()
    if least == most:
        return compare(least, number)
    # The comparison changes its answer only around `number`, so these few counts decide for all.
    decisive = (least, most, number - 1, number, number + 1)
    answers = {compare(n, number) for n in decisive if least <= n <= most}
    return answers.pop() if len(answers) == 1 else None


def witness(view: View, tool: Tool, comparison: str, number: int) -> list[int]:
    calls = list(view.occurrences(tool).certain)
    if COMPARE[comparison](len(calls), number):
        return calls
    return calls[: number + 1]  # one more than the number is enough to exceed it


def sentence(view: View, held: bool, tool: Tool, comparison: str, number: int) -> str:
    calls = len(view.occurrences(tool).certain)
    return f"{title(tool)} called {calls} time(s); expected {comparison} {number}."


class Counter:
    """The number of calls, up to the point where one more makes no difference."""

    counts_steps = False
    start: State = 0

    def __init__(self, probe: Probe, comparison: str, number: int) -> None:
        self.probes: tuple[Probe, ...] = (probe,)
        self.compare = COMPARE[comparison]
        self.number = number
        self.independent = apart(self.probes)

    def advance(self, state: State, hits: Hits, new_step: bool) -> State:
        return min(state + hits[0], self.number + 1)

    def holds(self, state: State) -> bool:
        return self.compare(state, self.number)

    def outlook(self, state: State) -> Outlook:
        ahead = {self.compare(count, self.number) for count in self._ahead(state)}
        return Outlook(True in ahead, False in ahead)

    def distance(self, state: State, goal: bool) -> int:
        fitting = [n for n in self._ahead(state) if self.compare(n, self.number) is goal]
        return int(min(fitting, default=state) - state)

    def _ahead(self, state: State) -> list[int]:
        """Some counts that can still be reached: one for each answer."""
        return sorted({n for n in (state, self.number, self.number + 1) if n >= state})


def track(order: Order, tool: Tool, comparison: str, number: int) -> Tracker:
    return Counter(Probe(tool), comparison, number)


def columns(calls: CorpusCalls, tool: Tool, comparison: str, number: int) -> TraceMask:
    compare: Callable[[Any, int], Any] = COMPARE[comparison]  # it compares arrays as well
    found: TraceMask = compare(calls.counts(Probe(tool)), number)
    return found


def joint(tool: ToolName, comparison: str, number: int) -> JointForm:
    limits = {
        "=": CountLimits(tool.name, number, number),
        "!=": CountLimits(tool.name, excluded=number),
        "<=": CountLimits(tool.name, most=number),
        "<": CountLimits(tool.name, most=number - 1),
        ">=": CountLimits(tool.name, number),
        ">": CountLimits(tool.name, number + 1),
    }
    return JointForm(limits=(limits[comparison],))


CALLED_N = Predicate(
    "CalledN",
    "CalledN(pay, <= 1)",
    (Parameter("tool", OperandKind.TOOL), Parameter("count", OperandKind.COUNT)),
    holds,
    witness,
    sentence,
    track,
    columns,
    joint,
)
