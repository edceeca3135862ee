"""`BranchCalled(taken, avoided)`"""

from bylaw.logic.terms import Tool
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.signature import Kind, Parameter, Predicate
from bylaw.vocabulary.view import Kleene, View


def holds(view: View, taken: Tool, avoided: Tool) -> Kleene:
    """`taken` was called, and `avoided` was not."""
    right, wrong = view.occurrences(taken).any, view.occurrences(avoided).any
    if right is False or wrong is True:
        return False
    return True if right is True and wrong is False else None


def witness(view: View, taken: Tool, avoided: Tool) -> list[int]:
    return view.positions(avoided) or view.positions(taken)


def sentence(view: View, held: bool, taken: Tool, avoided: Tool) -> str:
    told = []
    for tool in (taken, avoided):
        places = view.positions(tool)
        told.append(
            f"{title(tool)} was called ({view.mark(places[0])})"
            if places
            else f"{title(tool)} was never called"
        )
    return f"{told[0]} and {told[1]}."


BRANCH_CALLED = Predicate(
    "BranchCalled",
    "BranchCalled(approve, reject)",
    (Parameter("taken", Kind.TOOL), Parameter("avoided", Kind.TOOL)),
    holds,
    witness,
    sentence,
)
