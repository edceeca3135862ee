"""`Before(a, b)`"""

from bylaw.logic.terms import Tool, ToolName
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.joint_form import JointForm, Precedence
from bylaw.vocabulary.predicate import OperandKind, Parameter, Predicate, Probe, Tracker
from bylaw.vocabulary.predicates.instance_before import InstanceOrder
from bylaw.vocabulary.predicates.sentences import order_sentence
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, first: Tool, second: Tool) -> Kleene:
    """The first call of `first` comes before the first call of `second`; both happen."""
    return view.before(first, 0, second, 0)


def witness(view: View, first: Tool, second: Tool) -> list[int]:
    return view.positions(first, second)


def sentence(view: View, held: bool, first: Tool, second: Tool) -> str:
    return order_sentence(view, (first, 0), (second, 0))


def track(order: Order, first: Tool, second: Tool) -> Tracker:
    return InstanceOrder(order, (Probe(first), 0), (Probe(second), 0))


def columns(calls: CorpusCalls, first: Tool, second: Tool) -> TraceMask:
    return calls.before(calls.first(first), calls.first(second))


def joint(first: ToolName, second: ToolName) -> JointForm:
    return JointForm(precedence=Precedence((first.name, 0), (second.name, 0)))


BEFORE = Predicate(
    "Before",
    "Before(search, final_answer)",
    (Parameter("first", OperandKind.TOOL), Parameter("second", OperandKind.TOOL)),
    holds,
    witness,
    sentence,
    track,
    columns,
    joint,
)
