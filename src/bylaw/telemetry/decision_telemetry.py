"""A guard's decisions and scores, on the spans of the framework that runs the agent.

Each decision is an event of the current span, and at the end of a run the score of the procedure
and that of each rule are events `gen_ai.evaluation.result`. If no span is being recorded when a run
ends, the scores get a span of their own, in the trace of the run's latest decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from bylaw.enforcement.decision import Decision
from bylaw.enforcement.run_log import procedure_hash
from bylaw.errors import clipped
from bylaw.procedure.procedure import Procedure
from bylaw.telemetry import conventions as names
from bylaw.trace.refusal_mark import unmarked
from bylaw.values import write_json
from bylaw.version import __version__

if TYPE_CHECKING:
    from bylaw.enforcement.guard import Guard
    from bylaw.enforcement.report import GuardReport
    from bylaw.scoring.verify import Report

try:
    from opentelemetry import trace as otel
except ModuleNotFoundError as error:
    missing = "opentelemetry-api is not installed: pip install 'bylaw[otel]'"
    raise ModuleNotFoundError(missing, name=error.name) from None

MAX_TEXT: Final = 4_000
"""The longest text of an attribute, in characters."""
_LABELS: Final = {True: "pass", False: "violated", None: "undecided"}


class DecisionTelemetry:
    """A guard's listener that reports to OpenTelemetry. One may serve many guards.

    `guardrail_spans` gives each decision a span `run_guardrail` instead of an event; this
    convention is a draft. `content` adds the arguments of calls and the texts of refusals, which
    may be confidential.
    """

    def __init__(
        self,
        *,
        guardrail_spans: bool = False,
        content: bool = False,
        tracer_provider: Any = None,
    ) -> None:
        self._guardrail_spans: Final = guardrail_spans
        self._content: Final = content
        self._tracer: Final = otel.get_tracer("bylaw", __version__, tracer_provider)
        self._latest: Final[WeakKeyDictionary[Guard, Any]] = WeakKeyDictionary()
        """The context of the span in which each run's latest decision was made."""

    def decided(self, guard: Guard, decisions: Sequence[Decision]) -> None:
        """Reports the decisions of a turn."""
        span = otel.get_current_span()
        if span.get_span_context().is_valid:
            self._latest[guard] = span.get_span_context()
        for decision in decisions:
            attributes = self._attributes(guard, decision)
            if self._guardrail_spans:
                self._guardrail(guard, decision, attributes)
            elif span.is_recording():
                span.add_event(names.DECISION, attributes)

    def finished(self, guard: Guard, report: GuardReport) -> None:
        """Reports the scores of a run."""
        results = [(each.name, each.passed, each.excused or "") for each in report.constraints]
        about = {names.RUN: guard.run_id, names.SETTING: guard.setting}
        scored = (report.score, report.label, report.details)
        with self._span(guard) as span:
            _evaluate(span, guard.procedure, scored, results, about)

    @contextmanager
    def _span(self, guard: Guard) -> Iterator[Any]:
        """The current span, or a new one in the trace of the latest decision."""
        current, latest = otel.get_current_span(), self._latest.pop(guard, None)
        if current.is_recording():
            yield current
            return
        context = None
        if latest is not None:
            context = otel.set_span_in_context(otel.NonRecordingSpan(latest))
        with self._tracer.start_as_current_span(_EVALUATION_SPAN, context) as span:
            yield span

    def _attributes(self, guard: Guard, decision: Decision) -> dict[str, Any]:
        call = decision.call
        found = {
            names.ACTION: decision.action,
            names.DECISION_ID: decision.id,
            names.RULES: [_text(each.constraint.name) for each in decision.violations],
            names.OVERRIDDEN: [_text(each) for each in decision.overridden],
            names.TOOL_NAME: _text(call.tool),
            names.RUN: guard.run_id,
            **_about(guard.procedure),
        }
        if call.id is not None:
            found[names.TOOL_CALL_ID] = _text(call.id)
        if self._content:
            found[names.TOOL_CALL_ARGUMENTS] = _text(write_json(dict(call.args)))
            found[names.MESSAGE] = _text(unmarked(decision.message))
        return found

    def _guardrail(self, guard: Guard, decision: Decision, attributes: dict[str, Any]) -> None:
        draft = {
            names.OPERATION_NAME: names.GUARDRAIL_OPERATION,
            names.GUARDRAIL_ACTION: decision.action,
        }
        name = f"{names.GUARDRAIL_OPERATION} {_text(guard.procedure.name, 100)}"
        with self._tracer.start_as_current_span(name, attributes=attributes | draft) as span:
            for violation in decision.violations:
                rule = {names.GUARDRAIL_RULE: _text(violation.constraint.name)}
                span.add_event(names.FINDING, rule)


_EVALUATION_SPAN: Final = "evaluate procedure"


def record_report(report: Report, *, tracer_provider: Any = None) -> None:
    """Adds the scores of a finished trace to the current span, or to a span of their own."""
    results = [(each.name, each.passed, each.detail) for each in report.constraints]
    scored = (report.score, report.label, report.details)
    current = otel.get_current_span()
    if current.is_recording():
        _evaluate(current, report.procedure, scored, results, {})
        return
    tracer = otel.get_tracer("bylaw", __version__, tracer_provider)
    with tracer.start_as_current_span(_EVALUATION_SPAN) as span:
        _evaluate(span, report.procedure, scored, results, {})


def _evaluate(
    span: Any,
    procedure: Procedure,
    scored: tuple[float | None, str | None, str],
    results: Sequence[tuple[str, bool | None, str]],
    about: dict[str, str],
) -> None:
    """Adds an event for the procedure, named after it, and one for each rule: `procedure/rule`."""
    score, label, details = scored
    rows = [(procedure.name, score, label or "UNDECIDED", details)]
    for rule, passed, detail in results:
        value = None if passed is None else float(passed)
        rows.append((f"{procedure.name}/{rule}", value, _LABELS[passed], detail))
    for name, value, shown, explanation in rows:
        attributes: dict[str, Any] = {
            names.EVALUATION_NAME: _text(name),
            names.EVALUATION_LABEL: shown,
            **_about(procedure),
            **about,
        }
        if value is not None:  # missing is not zero
            attributes[names.EVALUATION_VALUE] = value
        if explanation:
            attributes[names.EVALUATION_EXPLANATION] = _text(explanation)
        span.add_event(names.EVALUATION, attributes)


def _about(procedure: Procedure) -> dict[str, str]:
    return {
        names.PROCEDURE: _text(procedure.name),
        names.PROCEDURE_HASH: procedure.derived(procedure_hash),
    }


def _text(text: str, most: int = MAX_TEXT) -> str:
    """The text as an attribute. Protocol buffers hold no halves of surrogate pairs."""
    return clipped(text, most).encode("utf-8", "backslashreplace").decode()
