"""`CalledWithResult(t, {"ok": true}, amount = 5)`"""

from bylaw.logic.formula import Arguments
from bylaw.logic.terms import Literal, Tool
from bylaw.trace.event import Call
from bylaw.values import Json, write_json
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.predicate import Occurred, OperandKind, Parameter, Predicate, Probe, Tracker
from bylaw.vocabulary.predicates.sentences import match_sentence
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, tool: Tool, result: Json, arguments: Arguments) -> Kleene:
    """Some call of the tool has these arguments and a result that the comparator accepts."""
    if _matching(view, tool, result, arguments):
        return True
    return None if view.hidden else False


def witness(view: View, tool: Tool, result: Json, arguments: Arguments) -> list[int]:
    matching = _matching(view, tool, result, arguments)[:1]
    return matching or list(view.occurrences(tool).certain)


def sentence(view: View, held: bool, tool: Tool, result: Json, arguments: Arguments) -> str:
    wanted = f"the result {write_json(result)}"
    places = witness(view, tool, result, arguments)
    return match_sentence(view, held, tool, arguments, places, wanted=wanted)


def _matching(view: View, tool: Tool, result: Json, arguments: Arguments) -> list[int]:
    return [
        place
        for place in view.occurrences(tool, arguments.patterns).certain
        if isinstance(event := view.events[place], Call)
        and view.vocabulary.results_match(event.result, result)
    ]


def track(order: Order, tool: Tool, result: Json, arguments: Arguments) -> Tracker:
    return Occurred(_probe(tool, result, arguments))


def columns(calls: CorpusCalls, tool: Tool, result: Json, arguments: Arguments) -> TraceMask:
    return calls.counts(_probe(tool, result, arguments)) > 0


def _probe(tool: Tool, result: Json, arguments: Arguments) -> Probe:
    return Probe(tool, arguments.patterns, result=Literal.computed(result))


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
