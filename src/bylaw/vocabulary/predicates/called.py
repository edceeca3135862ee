"""`Called(t)`"""

from bylaw.logic.terms import Tool, ToolName
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.joint_form import CountLimits, JointForm
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.predicate import Occurred, OperandKind, Parameter, Predicate, Probe, Tracker
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, tool: Tool) -> Kleene:
    """The tool was called."""
    return view.occurs(tool)


def witness(view: View, tool: Tool) -> list[int]:
    return view.positions(tool)


def sentence(view: View, held: bool, tool: Tool) -> str:
    if not held:
        return f"{title(tool)} was never called."
    return f"{title(tool)} was called ({view.mark(view.positions(tool)[0])})."


def track(order: Order, tool: Tool) -> Tracker:
    return Occurred(Probe(tool))


def columns(calls: CorpusCalls, tool: Tool) -> TraceMask:
    return calls.counts(Probe(tool)) > 0


def joint(tool: ToolName) -> JointForm:
    return JointForm(limits=(CountLimits(tool.name, least=1),))


CALLED = Predicate(
    "Called",
    "Called(search)",
    (Parameter("tool", OperandKind.TOOL),),
    holds,
    witness,
    sentence,
    track,
    columns,
    joint,
)
