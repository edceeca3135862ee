"""`After(a, b)`"""

from bylaw.logic.terms import Tool, ToolName
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.joint_form import JointForm, Precedence
from bylaw.vocabulary.predicate import OperandKind, Parameter, Predicate, Probe, Tracker
from bylaw.vocabulary.predicates.instance_before import InstanceOrder
from bylaw.vocabulary.predicates.sentences import order_sentence
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, second: Tool, first: Tool) -> Kleene:
    """The first call of `second` comes after the first call of `first`; both happen."""
    return view.before(first, 0, second, 0)


def witness(view: View, second: Tool, first: Tool) -> list[int]:
    return view.positions(first, second)


def sentence(view: View, held: bool, second: Tool, first: Tool) -> str:
    return order_sentence(view, (first, 0), (second, 0))


def track(order: Order, second: Tool, first: Tool) -> Tracker:
    return InstanceOrder(order, (Probe(first), 0), (Probe(second), 0))


def columns(calls: CorpusCalls, second: Tool, first: Tool) -> TraceMask:
    return calls.before(calls.first(first), calls.first(second))


def joint(second: ToolName, first: ToolName) -> JointForm:
    return JointForm(precedence=Precedence((first.name, 0), (second.name, 0)))


AFTER = Predicate(
    "After",
    "After(refund, verify)",
    (Parameter("second", OperandKind.TOOL), Parameter("first", OperandKind.TOOL)),
    holds,
    witness,
    sentence,
    track,
    columns,
    joint,
)
