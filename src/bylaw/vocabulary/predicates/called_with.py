"""`CalledWith(t, amount = 5)`"""

from bylaw.logic.formula import Arguments
from bylaw.logic.terms import Tool, ToolName
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.joint_form import JointForm
from bylaw.vocabulary.predicate import Occurred, OperandKind, Parameter, Predicate, Probe, Tracker
from bylaw.vocabulary.predicates.sentences import match_sentence
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, tool: Tool, arguments: Arguments) -> Kleene:
    """Some call of the tool has these arguments, and perhaps others."""
    found = view.with_arguments(tool, arguments)
    if found is None:
        return view.occurs(tool, arguments.patterns)
    return True if found else None if view.hidden else False


def witness(view: View, tool: Tool, arguments: Arguments) -> list[int]:
    matching = list(view.occurrences(tool, arguments.patterns).certain[:1])
    return matching or list(view.occurrences(tool).certain)


def sentence(view: View, held: bool, tool: Tool, arguments: Arguments) -> str:
    return match_sentence(view, held, tool, arguments, witness(view, tool, arguments))


def track(order: Order, tool: Tool, arguments: Arguments) -> Tracker:
    return Occurred(Probe(tool, arguments.patterns))


def columns(calls: CorpusCalls, tool: Tool, arguments: Arguments) -> TraceMask:
    return calls.counts(Probe(tool, arguments.patterns)) > 0


def joint(tool: ToolName, arguments: Arguments) -> JointForm:
    return JointForm(required=Probe(tool, arguments.patterns))


CALLED_WITH = Predicate(
    "CalledWith",
    "CalledWith(pay, amount = 5)",
    (Parameter("tool", OperandKind.TOOL), Parameter("arguments", OperandKind.ARGUMENTS)),
    holds,
    witness,
    sentence,
    track,
    columns,
    joint,
)
