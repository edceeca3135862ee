"""`After(a, b)`"""

from bylaw.logic.terms import Tool
from bylaw.vocabulary.predicates.instance_before import InstanceOrder
from bylaw.vocabulary.predicates.ordering import tell_order
from bylaw.vocabulary.signature import Kind, Parameter, Predicate
from bylaw.vocabulary.tracker import Probe, Tracker
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, second: Tool, first: Tool) -> Kleene:
    """The first call of `second` comes after the first call of `first`; both happen."""
    return view.first(first) < view.first(second)


def witness(view: View, second: Tool, first: Tool) -> list[int]:
    return view.positions(first, second)


def sentence(view: View, held: bool, second: Tool, first: Tool) -> str:
    return tell_order(view, (first, 0), (second, 0))


def track(order: Order, second: Tool, first: Tool) -> Tracker:
    return InstanceOrder(order, (Probe(first), 0), (Probe(second), 0))


AFTER = Predicate(
    "After",
    "After(refund, verify)",
    (Parameter("second", Kind.TOOL), Parameter("first", Kind.TOOL)),
    holds,
    witness,
    sentence,
    track,
)
