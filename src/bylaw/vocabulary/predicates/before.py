"""`Before(a, b)`"""

from bylaw.logic.terms import Tool
from bylaw.vocabulary.predicates.instance_before import InstanceOrder
from bylaw.vocabulary.predicates.ordering import tell_order
from bylaw.vocabulary.signature import Kind, Parameter, Predicate
from bylaw.vocabulary.tracker import Probe, Tracker
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, first: Tool, second: Tool) -> Kleene:
    """The first call of `first` comes before the first call of `second`; both happen."""
    return view.first(first) < view.first(second)


def witness(view: View, first: Tool, second: Tool) -> list[int]:
    return view.positions(first, second)


def sentence(view: View, held: bool, first: Tool, second: Tool) -> str:
    return tell_order(view, (first, 0), (second, 0))


def track(order: Order, first: Tool, second: Tool) -> Tracker:
    return InstanceOrder(order, (Probe(first), 0), (Probe(second), 0))


BEFORE = Predicate(
    "Before",
    "Before(search, final_answer)",
    (Parameter("first", Kind.TOOL), Parameter("second", Kind.TOOL)),
    holds,
    witness,
    sentence,
    track,
)
