"""`BranchCalled(taken, avoided)`"""

from bylaw.logic.terms import Tool
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.signature import Kind, Parameter, Predicate
from bylaw.vocabulary.tracker import OPEN, Hits, Outlook, Probe, State, Tracker, apart, settled
from bylaw.vocabulary.view import Kleene, Order, View


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


class Branch:
    """Has the one been called, and the other?"""

    counts_steps = False
    start: State = (False, False)

    def __init__(self, taken: Probe, avoided: Probe) -> None:
        self.probes: tuple[Probe, ...] = (taken, avoided)
        self.independent = apart(self.probes)

    def advance(self, state: State, hits: Hits, new_step: bool) -> State:
        taken, avoided = state
        avoided = avoided or hits[1]
        return (avoided or taken or hits[0], avoided)

    def holds(self, state: State) -> bool:
        return bool(state == (True, False))

    def outlook(self, state: State) -> Outlook:
        return settled(False) if state[1] else OPEN

    def distance(self, state: State, goal: bool) -> int:
        return int(self.holds(state) is not goal)


def track(order: Order, taken: Tool, avoided: Tool) -> Tracker:
    return Branch(Probe(taken), Probe(avoided))


BRANCH_CALLED = Predicate(
    "BranchCalled",
    "BranchCalled(approve, reject)",
    (Parameter("taken", Kind.TOOL), Parameter("avoided", Kind.TOOL)),
    holds,
    witness,
    sentence,
    track,
)
