"""`CalledExactly(t, amount = 5)`"""

from bylaw.logic.formula import Arguments
from bylaw.logic.terms import Tool, ToolName
from bylaw.trace.event import Call
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.joint_form import JointForm
from bylaw.vocabulary.predicates.sentences import match_sentence
from bylaw.vocabulary.signature import OperandKind, Parameter, Predicate
from bylaw.vocabulary.tracker import Occurred, Probe, Tracker
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, tool: Tool, arguments: Arguments) -> Kleene:
    """Some call of the tool has these arguments and no others."""
    if _exact(view, tool, arguments):
        return True
    return None if view.hidden else False


def witness(view: View, tool: Tool, arguments: Arguments) -> list[int]:
    return _exact(view, tool, arguments)[:1] or list(view.occurrences(tool).certain)


def sentence(view: View, held: bool, tool: Tool, arguments: Arguments) -> str:
    places = witness(view, tool, arguments)
    return match_sentence(view, held, tool, arguments, places, exactly="exactly ")


def _exact(view: View, tool: Tool, arguments: Arguments) -> list[int]:
    keys = {pattern.path[0] for pattern in arguments.patterns}
    found = view.occurrences(tool, arguments.patterns).certain
    return [place for place in found if _keys(view, place) == keys]


def _keys(view: View, position: int) -> set[str]:
    event = view.events[position]
    return set(event.args) if isinstance(event, Call) else set()


def track(order: Order, tool: Tool, arguments: Arguments) -> Tracker:
    return Occurred(Probe(tool, arguments.patterns, exactly=True))


def columns(calls: CorpusCalls, tool: Tool, arguments: Arguments) -> TraceMask:
    return calls.counts(Probe(tool, arguments.patterns, exactly=True)) > 0


def joint(tool: ToolName, arguments: Arguments) -> JointForm:
    return JointForm(required=Probe(tool, arguments.patterns, exactly=True))


CALLED_EXACTLY = Predicate(
    "CalledExactly",
    "CalledExactly(pay, amount = 5)",
    (
        Parameter("tool", OperandKind.TOOL),
        Parameter("arguments", OperandKind.ARGUMENTS, whole=True),
    ),
    holds,
    witness,
    sentence,
    track,
    columns,
    joint,
)
