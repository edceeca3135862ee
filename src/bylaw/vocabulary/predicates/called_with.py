"""`CalledWith(t, amount = 5)`"""

from bylaw.logic.formula import Arguments
from bylaw.logic.terms import Tool
from bylaw.vocabulary.predicates.matching import tell_match
from bylaw.vocabulary.signature import Kind, Parameter, Predicate
from bylaw.vocabulary.tracker import Probe, Seen, Tracker
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, tool: Tool, arguments: Arguments) -> Kleene:
    """Some call of the tool has these arguments, others perhaps beside them."""
    return view.occurrences(tool, arguments.patterns).any


def witness(view: View, tool: Tool, arguments: Arguments) -> list[int]:
    matching = list(view.occurrences(tool, arguments.patterns).certain[:1])
    return matching or list(view.occurrences(tool).certain)


def sentence(view: View, held: bool, tool: Tool, arguments: Arguments) -> str:
    return tell_match(view, held, tool, arguments, witness(view, tool, arguments))


def track(order: Order, tool: Tool, arguments: Arguments) -> Tracker:
    return Seen(Probe(tool, arguments.patterns))


CALLED_WITH = Predicate(
    "CalledWith",
    "CalledWith(pay, amount = 5)",
    (Parameter("tool", Kind.TOOL), Parameter("arguments", Kind.ARGUMENTS)),
    holds,
    witness,
    sentence,
    track,
)
