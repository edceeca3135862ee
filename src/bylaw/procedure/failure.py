"""The procedure's own test for failed calls, for tools that report failure as a result."""

from __future__ import annotations

from bylaw.frozen import frozen, replace
from bylaw.logic import formula as f
from bylaw.logic.operators import OPERATORS
from bylaw.logic.terms import Answer, Apply, At, Last, Literal, Reading, Sofar
from bylaw.logic.walk import everything
from bylaw.trace.event import MISSING, Call, Event, field_of
from bylaw.trace.trace import Trace
from bylaw.values import Json
from bylaw.vocabulary.predicate import holds_alone

_TEMPORAL = tuple(operator.node for operator in OPERATORS if operator.temporal)


@frozen
class Failure:
    """A formula that is true of the calls that failed."""

    formula: f.Formula
    rule: str
    """The formula as its author wrote it."""

    def marked(self, event: Event) -> Event:
        """The event; a call that fails the test gets its text as error."""
        if not isinstance(event, Call) or event.failed or event.result is MISSING:
            return event
        if not holds_alone(self.formula, event):
            return event
        return replace(event, error=str(field_of(event, "text")))

    def marked_trace(self, trace: Trace) -> Trace:
        """The trace with its failures marked."""
        marked = [self.marked(event) for event in trace.events]
        if all(new is old for new, old in zip(marked, trace.events, strict=True)):
            return trace
        return trace.with_events(marked)


def reads_failure(formula: f.Formula) -> bool:
    """Can the formula's value depend on which calls failed?"""
    whole = 0
    for part in everything(formula):
        match part:
            case f.OutcomeIs() | Reading("error") | f.OpenPredicate() | f.Extracted():
                return True
            case Last() | Sofar():
                whole += 1
            case At(Last() | Sofar(), Literal() as key) if _is_other_field(key.value):
                whole -= 1  # only this field of the event is read
            case Apply("length", (Sofar(),)):
                whole -= 1  # only that there are such events
    return whole > 0


def _is_other_field(key: Json) -> bool:
    """Does the key name a field other than the error? An index finds a whole event."""
    return isinstance(key, str) and key != "error"


def failure_problem(formula: f.Formula) -> str | None:
    """The reason why a formula cannot be a test for failed calls, or None if it can."""
    for part in everything(formula):
        if isinstance(part, _TEMPORAL):
            return "the test for failed calls cannot use temporal operators"
        match part:
            case Last() | Sofar() | Answer() | f.TracePredicate() | f.OpenPredicate():
                return "the test for failed calls cannot read the rest of the trace"
            case f.FromArgs() | f.FromResults() | f.FromMetrics() | f.Extracted():
                return "the test for failed calls cannot read the rest of the trace"
            case f.OutcomeIs():
                return "the test for failed calls cannot use 'ok' or 'failed'"
    return None
