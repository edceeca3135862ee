"""`AllBefore([a, b], c)`"""

from bylaw.logic.formula import ToolList
from bylaw.logic.terms import Tool
from bylaw.vocabulary.predicates.ordering import tell_order
from bylaw.vocabulary.signature import Kind, Parameter, Predicate
from bylaw.vocabulary.view import Kleene, View


def holds(view: View, tools: ToolList, goal: Tool) -> Kleene:
    """The first call of each listed tool comes before the first call of `goal`; all happen."""
    found = [view.first(tool) < view.first(goal) for tool in tools.tools]
    return False if False in found else None if None in found else True


def witness(view: View, tools: ToolList, goal: Tool) -> list[int]:
    return view.positions(*tools.tools, goal)


def sentence(view: View, held: bool, tools: ToolList, goal: Tool) -> str:
    late = [t for t in tools.tools if (view.first(t) < view.first(goal)) is False]
    return " ".join(tell_order(view, (tool, 0), (goal, 0)) for tool in late or tools.tools)


ALL_BEFORE = Predicate(
    "AllBefore",
    "AllBefore([lookup, verify], refund)",
    (Parameter("tools", Kind.TOOLS), Parameter("goal", Kind.TOOL)),
    holds,
    witness,
    sentence,
)
