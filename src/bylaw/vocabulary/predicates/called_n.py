"""`CalledN(t, <= n)`"""

from bylaw.logic.formula import Count
from bylaw.logic.terms import Tool
from bylaw.vocabulary.comparisons import COMPARE, compare_range
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.signature import Kind, Parameter, Predicate
from bylaw.vocabulary.tracker import Constant, Hits, Outlook, Probe, State, Tracker, apart, whole
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, tool: Tool, count: Count) -> Kleene:
    """The number of calls of the tool compares so."""
    number = view.number(count.number)
    if number is None:
        return False
    found = view.occurrences(tool)
    return compare_range(len(found.certain), len(found.possible), count.comparison, number)


def witness(view: View, tool: Tool, count: Count) -> list[int]:
    calls = list(view.occurrences(tool).certain)
    number = view.number(count.number)
    if number is None or number < 0 or COMPARE[count.comparison](len(calls), number):
        return calls
    return calls[: number + 1]  # one more than the number is enough to exceed it


def sentence(view: View, held: bool, tool: Tool, count: Count) -> str:
    calls = len(view.occurrences(tool).certain)
    expected = f"{count.comparison} {view.shown(count.number)}"
    return f"{title(tool)} called {calls} time(s); expected {expected}."


class Counter:
    """How often the tool was called, as far as the comparison can tell."""

    counts_steps = False
    start: State = 0

    def __init__(self, probe: Probe, comparison: str, number: int) -> None:
        self.probes: tuple[Probe, ...] = (probe,)
        self.compare = COMPARE[comparison]
        self.number = number
        self.independent = apart(self.probes)

    def advance(self, state: State, hits: Hits, new_step: bool) -> State:
        return min(state + hits[0], self.number + 1)  # beyond that nothing changes any more

    def holds(self, state: State) -> bool:
        return self.compare(state, self.number)

    def outlook(self, state: State) -> Outlook:
        ahead = {self.compare(count, self.number) for count in self._ahead(state)}
        return Outlook(True in ahead, False in ahead)

    def distance(self, state: State, goal: bool) -> int:
        fitting = [n for n in self._ahead(state) if self.compare(n, self.number) is goal]
        return int(min(fitting, default=state) - state)

    def _ahead(self, state: State) -> list[int]:
        """The counts still to come that tell all the others."""
        return sorted({n for n in (state, self.number, self.number + 1) if n >= state})


def track(order: Order, tool: Tool, count: Count) -> Tracker:
    number = whole(count.number)
    return Constant() if number is None else Counter(Probe(tool), count.comparison, number)


CALLED_N = Predicate(
    "CalledN",
    "CalledN(pay, <= 1)",
    (Parameter("tool", Kind.TOOL), Parameter("count", Kind.COUNT)),
    holds,
    witness,
    sentence,
    track,
)
