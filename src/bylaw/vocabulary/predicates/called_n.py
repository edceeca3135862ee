"""`CalledN(t, <= n)`"""

from bylaw.logic.formula import Count
from bylaw.logic.terms import Tool
from bylaw.vocabulary.comparisons import COMPARE, compare_range
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.signature import Kind, Parameter, Predicate
from bylaw.vocabulary.view import Kleene, View


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


CALLED_N = Predicate(
    "CalledN",
    "CalledN(pay, <= 1)",
    (Parameter("tool", Kind.TOOL), Parameter("count", Kind.COUNT)),
    holds,
    witness,
    sentence,
)
