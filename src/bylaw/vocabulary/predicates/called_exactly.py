"""`CalledExactly(t, amount = 5)`"""

from bylaw.logic.formula import Arguments
from bylaw.logic.terms import Tool, ToolName
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.joint_form import JointForm
from bylaw.vocabulary.predicate import Occurred, OperandKind, Parameter, Predicate, Probe, Tracker
from bylaw.vocabulary.predicates.sentences import match_sentence
from bylaw.vocabulary.view import Kleene, Order, View, positions_of


def holds(view: View, tool: Tool, arguments: Arguments) -> Kleene:
    """Some call of the tool has these arguments and no others."""
    found = view.with_exactly(tool, arguments)
    if found or (found is None and _exact(view, tool, arguments)):
        return True
    return None if view.hidden else False


def witness(view: View, tool: Tool, arguments: Arguments) -> list[int]:
    return _exact(view, tool, arguments)[:1] or list(view.occurrences(tool).certain)


def sentence(view: View, held: bool, tool: Tool, arguments: Arguments) -> str:
    places = witness(view, tool, arguments)
    return match_sentence(view, held, tool, arguments, places, exactly="exactly ")


def _exact(view: View, tool: Tool, arguments: Arguments) -> list[int]:
    found = view.calls(tool, arguments.patterns)[0]
    if not found:
        return []
    named = len({pattern.path[0] for pattern in arguments.patterns})
    return [at for at in positions_of(found) if len(view.events[at].args) == named]  # type: ignore[union-attr]  # only calls are found


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
