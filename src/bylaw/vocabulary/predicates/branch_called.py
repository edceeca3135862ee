"""`BranchCalled(taken, avoided)`"""

from bylaw.logic.terms import Tool, ToolName
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.joint_form import CountLimits, JointForm
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.predicate import (
    OPEN,
    Hits,
    OperandKind,
    Outlook,
    Parameter,
    Predicate,
    Probe,
    State,
    Tracker,
    apart,
    settled,
)
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, taken: Tool, avoided: Tool) -> Kleene:
    """`taken` was called, and `avoided` was not."""
    right, wrong = view.occurs(taken), view.occurs(avoided)
    if right is False or wrong is True:
        return False
    return True if right is True and wrong is False else None


def witness(view: View, taken: Tool, avoided: Tool) -> list[int]:
    return view.positions(avoided) or view.positions(taken)


def sentence(view: View, held: bool, taken: Tool, avoided: Tool) -> str:
    found = [
        f"{title(tool)} was called ({view.mark(places[0])})"
        if (places := view.positions(tool))
        else f"{title(tool)} was never called"
        for tool in (taken, avoided)
    ]
    return f"{found[0]} and {found[1]}."


class Branch:
    """The tools that have been called. After the avoided one, the other no longer matters."""

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


def columns(calls: CorpusCalls, taken: Tool, avoided: Tool) -> TraceMask:
    return (calls.counts(Probe(taken)) > 0) & ~(calls.counts(Probe(avoided)) > 0)


def joint(taken: ToolName, avoided: ToolName) -> JointForm:
    return JointForm(limits=(CountLimits(taken.name, least=1), CountLimits(avoided.name, most=0)))


BRANCH_CALLED = Predicate(
    "BranchCalled",
    "BranchCalled(approve, reject)",
    (Parameter("taken", OperandKind.TOOL), Parameter("avoided", OperandKind.TOOL)),
    holds,
    witness,
    sentence,
    track,
    columns,
    joint,
)
