"""`InstanceBefore(a, n, b, m)`"""

from bylaw.logic.terms import Tool, ToolName
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.joint_form import JointForm, Precedence
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
from bylaw.vocabulary.predicates.sentences import order_sentence
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, first: Tool, n: int, second: Tool, m: int) -> Kleene:
    """Call n of `first` comes before call m of `second`, counted from 0; both happen."""
    return view.before(first, n, second, m)


def witness(view: View, first: Tool, n: int, second: Tool, m: int) -> list[int]:
    return sorted({*view.positions(first, index=n), *view.positions(second, index=m)})


def sentence(view: View, held: bool, first: Tool, n: int, second: Tool, m: int) -> str:
    return order_sentence(view, (first, n), (second, m))


class InstanceOrder:
    """The order of two calls.

    The state counts both tools until one of the calls is reached. If the second call comes first,
    or both at once, the order is `lost` for good. Otherwise the first call is `first` within its
    step and `earlier` after it, and the order is `won` for good when the second call follows.
    """

    def __init__(self, order: Order, first: tuple[Probe, int], second: tuple[Probe, int]) -> None:
        self.probes: tuple[Probe, ...] = (first[0], second[0])
        self.wanted = (first[1] + 1, second[1] + 1)
        self.counts_steps = order == "step"
        self.independent = apart(self.probes)
        self.start: State = (0, 0, "open")

    def advance(self, state: State, hits: Hits, new_step: bool) -> State:
        a, b, phase = state
        if phase in ("won", "lost"):
            return state
        if phase == "first" and (new_step or not self.counts_steps):
            phase = "earlier"
        a = min(a + hits[0], self.wanted[0])
        b = min(b + hits[1], self.wanted[1])
        reached = (a == self.wanted[0], b == self.wanted[1])
        if phase == "open" and reached[1]:
            return (0, 0, "lost")
        if phase == "open" and reached[0]:
            phase = "first"
        elif reached[1]:
            return (0, 0, "won" if phase == "earlier" else "lost")
        return (a, b, phase)

    def holds(self, state: State) -> bool:
        return bool(state[2] == "won")

    def outlook(self, state: State) -> Outlook:
        phase = state[2]
        return settled(phase == "won") if phase in ("won", "lost") else OPEN

    def distance(self, state: State, goal: bool) -> int:
        a, b, phase = state
        if phase in ("won", "lost") or not goal:
            return int((phase == "won") is not goal)
        return int(self.wanted[0] - a + self.wanted[1] - b)


def track(order: Order, first: Tool, n: int, second: Tool, m: int) -> Tracker:
    return InstanceOrder(order, (Probe(first), n), (Probe(second), m))


def columns(calls: CorpusCalls, first: Tool, n: int, second: Tool, m: int) -> TraceMask:
    return calls.before(calls.nth(first, n), calls.nth(second, m))


def joint(first: ToolName, n: int, second: ToolName, m: int) -> JointForm:
    return JointForm(precedence=Precedence((first.name, n), (second.name, m)))


INSTANCE_BEFORE = Predicate(
    "InstanceBefore",
    "InstanceBefore(read, 0, write, 1)",
    (
        Parameter("first", OperandKind.TOOL),
        Parameter("n", OperandKind.NUMBER),
        Parameter("second", OperandKind.TOOL),
        Parameter("m", OperandKind.NUMBER),
    ),
    holds,
    witness,
    sentence,
    track,
    columns,
    joint,
)
