"""`Called(t)`"""

from bylaw.logic.terms import Tool
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.signature import Kind, Parameter, Predicate
from bylaw.vocabulary.tracker import Probe, Seen, Tracker
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, tool: Tool) -> Kleene:
    """The tool was called."""
    return view.occurrences(tool).any


def witness(view: View, tool: Tool) -> list[int]:
    return view.positions(tool)


def sentence(view: View, held: bool, tool: Tool) -> str:
    if not held:
        return f"{title(tool)} was never called."
    return f"{title(tool)} was called ({view.mark(view.positions(tool)[0])})."


def track(order: Order, tool: Tool) -> Tracker:
    return Seen(Probe(tool))


CALLED = Predicate(
    "Called", "Called(search)", (Parameter("tool", Kind.TOOL),), holds, witness, sentence, track
)
