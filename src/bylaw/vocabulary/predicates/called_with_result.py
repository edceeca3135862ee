"""`CalledWithResult(t, {"ok": true}, amount = 5)`"""

from bylaw.logic.formula import Arguments
from bylaw.logic.terms import Literal, Term, Tool
from bylaw.trace.event import MISSING, Call
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.predicates.sentences import match_sentence
from bylaw.vocabulary.signature import OperandKind, Parameter, Predicate
from bylaw.vocabulary.tracker import Constant, Occurred, Probe, Tracker
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, tool: Tool, result: Term, arguments: Arguments) -> Kleene:
    """Some call of the tool has these arguments and a result that the comparator accepts."""
    if _matching(view, tool, result, arguments):
        return True
    return None if view.hidden else False


def witness(view: View, tool: Tool, result: Term, arguments: Arguments) -> list[int]:
    matching = _matching(view, tool, result, arguments)[:1]
    return matching or list(view.occurrences(tool).certain)


def sentence(view: View, held: bool, tool: Tool, result: Term, arguments: Arguments) -> str:
    wanted = f"the result {view.shown(result)}"
    places = witness(view, tool, result, arguments)
    return match_sentence(view, held, tool, arguments, places, wanted=wanted)


def _matching(view: View, tool: Tool, result: Term, arguments: Arguments) -> list[int]:
    expected = view.value(result)
    if expected is MISSING:
        return []
    return [
        place
        for place in view.occurrences(tool, arguments.patterns).certain
        if isinstance(event := view.events[place], Call)
        and view.vocabulary.results_match(event.result, expected)
    ]


def track(order: Order, tool: Tool, result: Term, arguments: Arguments) -> Tracker:
    if not isinstance(result, Literal):
        return Constant()
    return Occurred(Probe(tool, arguments.patterns, result=result))


def columns(calls: CorpusCalls, tool: Tool, result: Literal, arguments: Arguments) -> TraceMask:
    return calls.counts(Probe(tool, arguments.patterns, result=result)) > 0


CALLED_WITH_RESULT = Predicate(
    "CalledWithResult",
    'CalledWithResult(pay, {"ok": true}, amount = 5)',
    (
        Parameter("tool", OperandKind.TOOL),
        Parameter("result", OperandKind.VALUE),
        Parameter("arguments", OperandKind.ARGUMENTS),
    ),
    holds,
    witness,
    sentence,
    track,
    columns,
)
