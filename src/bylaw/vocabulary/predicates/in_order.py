"""`InOrder(a, b, a)`"""

from collections.abc import Sequence

from bylaw.logic.formula import ToolList
from bylaw.logic.terms import Tool
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.joint_form import JointForm
from bylaw.vocabulary.patterns import names_of, title
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


def holds(view: View, sequence: ToolList) -> Kleene:
    """Calls of these tools occur in this order, with any calls in between."""
    tools = sequence.tools
    if len(_matched(view, tools, possibly=False)) == len(tools):
        return True
    if view.hidden and len(_matched(view, tools, possibly=True)) == len(tools):
        return None
    return False


def witness(view: View, sequence: ToolList) -> list[int]:
    matched = _matched(view, sequence.tools, possibly=False)
    return [call.bit_length() - 1 for call in matched]


def sentence(view: View, held: bool, sequence: ToolList) -> str:
    matched = witness(view, sequence)
    wanted = len(sequence.tools)
    if held:
        return f"All {wanted} calls occur in order."
    done = f" after {view.mark(matched[-1])}" if matched else ""
    missing = title(sequence.tools[len(matched)])
    return f"{len(matched)} of {wanted} calls occur in order; {missing} is missing{done}."


def _matched(view: View, tools: Sequence[Tool], *, possibly: bool) -> list[int]:
    """The earliest calls that match the sequence, each as a set of one position."""
    matched: list[int] = []
    later = -1
    for tool in tools:
        found = view.calls(tool)[possibly] & later
        if not found:
            break
        earliest = found & -found
        matched.append(earliest)
        later = view.after(earliest)
    return matched


class Pointer:
    """The number of elements matched so far, each as early as possible."""

    def __init__(self, order: Order, probes: tuple[Probe, ...]) -> None:
        self.probes = probes
        self.counts_steps = order == "step"
        self.independent = all(apart([probe]) for probe in probes)  # one is hit after the other
        self.start: State = (0, False)

    def advance(self, state: State, hits: Hits, new_step: bool) -> State:
        matched, in_this_step = state
        if matched == len(self.probes):
            return (matched, False)
        blocked = self.counts_steps and in_this_step and not new_step
        if not blocked and hits[matched]:
            return (matched + 1, self.counts_steps and matched + 1 < len(self.probes))
        return (matched, blocked)

    def holds(self, state: State) -> bool:
        return bool(state[0] == len(self.probes))

    def outlook(self, state: State) -> Outlook:
        return settled(True) if self.holds(state) else OPEN

    def distance(self, state: State, goal: bool) -> int:
        left = len(self.probes) - state[0]
        return int(left) if goal else int(left == 0)


def track(order: Order, sequence: ToolList) -> Tracker:
    return Pointer(order, tuple(Probe(tool) for tool in sequence.tools))


def columns(calls: CorpusCalls, sequence: ToolList) -> TraceMask:
    reached = calls.first(sequence.tools[0])
    for tool in sequence.tools[1:]:
        reached = calls.after(tool, reached)
    return reached.exist


def joint(sequence: ToolList) -> JointForm:
    return JointForm(sequence=tuple(name for tool in sequence.tools for name in names_of(tool)))


IN_ORDER = Predicate(
    "InOrder",
    "InOrder(search, read, cite)",
    (Parameter("sequence", OperandKind.SEQUENCE),),
    holds,
    witness,
    sentence,
    track,
    columns,
    joint,
)
