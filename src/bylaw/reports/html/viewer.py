"""The viewer: a trace on a timeline, next to the rules and the calls that decided them.

    Path("run.html").write_text(render_trace(verify_trace(trace, procedure)), encoding="utf-8")

`trace_data` gives the page's data as plain JSON; `renderTrace(data, container)` in `viewer.js`
renders it inside any element of any page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from bylaw.enforcement.coverage import coverage
from bylaw.logic.walk import tools_in
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import LAYERS
from bylaw.reports.html.page import asset, page
from bylaw.reports.provenance import Provenance, provenance
from bylaw.scoring.across import AcrossResult
from bylaw.scoring.explain import Explanation, explain
from bylaw.scoring.repair import repair
from bylaw.scoring.verify import MAX_SENTENCES, ConstraintResult, Report
from bylaw.semantics.verdict import Outcome
from bylaw.trace.event import MISSING, Call, Event
from bylaw.trace.refusal import Refusal
from bylaw.trace.trace import Trace
from bylaw.values import Json

VERSION: Final = 1
"""The version of the data, for pages that store it."""
MAX_EXPLAINED: Final = 300
"""The maximum length of a trace, in calls, for which explanations and repairs are computed."""

STYLES: Final = (
    "theme.css",
    "viewer.css",
    "header.css",
    "rules.css",
    "cards.css",
    "timeline.css",
)
SCRIPTS: Final = (
    "dom.js",
    "values.js",
    "header.js",
    "rules.js",
    "refused.js",
    "timeline.js",
    "overview.js",
    "call_filter.js",
    "time_axis.js",
    "viewer.js",
)
"""The scripts that define `renderTrace`, in loading order."""


def render_trace(
    report: Report,
    explanations: Mapping[str, Explanation] | None = None,
    origin: Provenance | None = None,
) -> str:
    """A self-contained page that shows a trace and its verdicts.

    `explanations` are given by constraint name. Where one is missing, the page shows the result's
    witness instead. By default they are computed, unless the trace is very long. `origin` is shown
    at the foot of the page.
    """
    if explanations is None:
        explanations = _explained(report)
    names = (report.trace.name, report.procedure.name)
    data = trace_data(report, explanations)
    for rule, covered in zip(data["rules"], coverage(report.procedure), strict=True):
        rule["enforced"] = covered.place
        rule["coverage"] = covered.reason
    return page(
        "viewer.html",
        title=" · ".join(name for name in names if name) or "Trace",
        data=data,
        styles=[asset(name) for name in STYLES],
        scripts=[asset(name) for name in SCRIPTS],
        provenance=origin or provenance(procedure=report.procedure),
    )


def _explained(report: Report) -> dict[str, Explanation]:
    if len(report.trace) > MAX_EXPLAINED:
        return {}
    names = (result.name for result in report.constraints)
    return {name: explain(report.trace, report.procedure, name) for name in names}


def trace_data(
    report: Report, explanations: Mapping[str, Explanation], *, detailed: bool = True
) -> dict[str, Json]:
    """The viewer's data as plain JSON. Pages of many traces are less `detailed`.

    They lack the occurrences and the repairs of violations.

    Calls are referred to by their index in `trace.calls`; `len(trace.calls)` is the answer.
    Messages are referred to by their index in `trace.events`, and refused calls by theirs in
    `trace.refusals`. Arguments and results are given as
    JSON text, because a browser would change numbers: 12345678901234567890, or 1.0 to 1.
    """
    outcomes = [result.outcome for result in report.constraints]
    outcomes += [result.outcome for result in report.across]
    refused: dict[str, list[int]] = {}
    for number, refusal in enumerate(report.trace.refusals):
        for name in refusal.constraints:
            refused.setdefault(name, []).append(number)
    return {
        "version": VERSION,
        "procedure": report.procedure.name,
        "trace": report.trace.name,
        "labels": [[key, _readable(value)] for key, value in report.trace.labels.items()],
        "score": report.score,
        "label": report.label,
        "details": report.details,
        "reason": report.reason,
        "counts": {outcome.value: outcomes.count(outcome) for outcome in Outcome},
        "layers": [
            {
                "name": name,
                "title": LAYERS.get(name),
                "passed": layer.passed,
                "total": layer.total,
                "undecided": layer.undecided,
            }
            for name, layer in report.layers.items()
        ],
        "tools": _tools(report),
        "steps": _steps(report.trace),
        "rules": [
            _rule(result, explanations.get(result.name))
            | {"refused": refused.get(result.name, [])}
            | {"occurrences": _occurrences(result) if detailed else []}
            | {"repair": _repair(report, result) if detailed else []}
            for result in report.constraints
        ]
        + [
            _across_rule(result)
            | {"refused": refused.get(result.name, []), "occurrences": [], "repair": []}
            for result in report.across
        ],
    }


def _across_rule(result: AcrossResult) -> dict[str, Json]:
    """A rule across runs. The page has one run, so that it is judged as if there were no other."""
    alone = f"It judges all runs with one {result.label} together; here, only this one."
    shown = _rule(result.result, None)
    return shown | {"detail": f"{result.result.detail} {alone}"}


def _tools(report: Report) -> list[str]:
    """Every tool, the procedure's first, so that these have the same colours in every run."""
    known = set(report.procedure.tools or ())
    for constraint in report.procedure.constraints:
        known.update(tools_in(constraint.formula))
    trace = report.trace
    others = {call.tool for call in trace.calls} | {each.call.tool for each in trace.refusals}
    others -= known
    return [name for name in (*sorted(known), *sorted(others)) if name != FINAL_ANSWER]


def _steps(trace: Trace) -> list[Json]:
    """The events grouped by step, with the answer last; refused calls are in their places."""
    refused: dict[int, list[tuple[int | None, dict[str, Json]]]] = {}
    for number, refusal in enumerate(trace.refusals):
        at = min(refusal.events_before, len(trace.events))
        refused.setdefault(at, []).append((refusal.call.step, _refused(refusal, number)))
    placed: list[tuple[int | None, dict[str, Json]]] = []
    index = 0
    first = min((e.start for e in trace.events if e.start is not None), default=trace.answered)
    for place, event in enumerate(trace.events):
        item = _item(event, index, place) | _told(event, first)
        placed += [*refused.get(place, ()), (event.step, item)]
        index += isinstance(event, Call)
    placed += refused.get(len(trace.events), ())
    steps: list[Json] = [
        {"step": step, "items": [item for _, item in items]}
        for step, items in groupby(placed, key=lambda entry: entry[0])
    ]
    if trace.answer is not None:
        answer = {"kind": "answer", "index": len(trace.calls), "text": trace.answer}
        steps.append({"step": None, "items": [answer | _when(trace.answered, first)]})
    return steps


def _item(event: Event, index: int, place: int) -> dict[str, Json]:
    if not isinstance(event, Call):
        return {"kind": "message", "event": place, "role": event.role, "text": event.text}
    optional = {
        "result": _result(event),
        "error": event.error,
        "id": event.id,
        "seconds": _seconds(event),
    }
    return {
        "kind": "call",
        "index": index,
        "tool": event.tool,
        "status": "failed" if event.failed else "done",
        "args": readable_arguments(event.args),
    } | {key: value for key, value in optional.items() if value is not None}


def _told(event: Event, first: float | None) -> dict[str, Json]:
    """When something happened, by whom, and what it used, as far as that was recorded."""
    found = _when(event.start, first)
    if event.agent is not None:
        found["agent"] = event.agent
    if event.usage is not None:
        found["usage"] = _written(dict(event.usage))
    return found


def _when(start: float | None, first: float | None) -> dict[str, Json]:
    """A time since the beginning of the run, in words and in seconds, and as a date."""
    if start is None or first is None:
        return {}
    try:
        at = datetime.fromtimestamp(start, UTC)
    except (OverflowError, OSError, ValueError):  # no year of four digits
        return {}
    minutes, seconds = divmod(max(0, round(start - first)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    clock = f"{hours}:{minutes:02}:{seconds:02}" if days or hours else f"{minutes}:{seconds:02}"
    since = f"+{days} d {clock}" if days else f"+{clock}"
    started = f"{at:%Y-%m-%d %H:%M:%S} UTC"
    return {"since": since, "started": started, "at": round(max(0.0, start - first), 3)}


def _refused(refusal: Refusal, number: int) -> dict[str, Json]:
    return {
        "kind": "refused",
        "number": number,
        "tool": refusal.call.tool,
        "args": readable_arguments(refusal.call.args),
        "action": refusal.action,
        "message": refusal.message,
        "rules": list(refusal.constraints),
        "reasons": [list(each) for each in refusal.reasons],
    }


def _occurrences(result: ConstraintResult) -> list[dict[str, Json]]:
    """Every occurrence of a violation, if there are several."""
    found = result.occurrences
    if len(found) < 2:
        return []
    return [
        {"label": each.label(), **each.to_dict(detail=number < MAX_SENTENCES)}
        for number, each in enumerate(found)
    ]


def readable_arguments(arguments: Mapping[str, Json]) -> list[list[str]]:
    """Each argument with its value as JSON text."""
    return [[key, _written(value)] for key, value in arguments.items()]


def _result(call: Call) -> dict[str, str] | None:
    """The result as rules read it: text that encodes an object or a list is decoded."""
    if call.result is MISSING:
        return None
    if isinstance(call.result, str) and not isinstance(call.value, dict | list):
        return {"text": call.result}
    return {"json": _written(call.value)}


def _seconds(call: Call) -> float | None:
    if call.start is None or call.end is None:
        return None
    try:
        seconds = float(call.end - call.start)
    except OverflowError:  # whole numbers beyond any time
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _rule(result: ConstraintResult, explanation: Explanation | None) -> dict[str, Json]:
    constraint = result.constraint
    return {
        "name": constraint.name,
        "verdict": result.outcome.value,
        "layer": constraint.layer,
        "weight": constraint.weight,
        "severity": constraint.effective_severity,
        "rule": constraint.rule,
        "detail": result.detail,
        "why": constraint.why,
        "fix": constraint.fix,
    } | _evidence(result, explanation)


def _repair(report: Report, result: ConstraintResult) -> list[str]:
    """Sentences that describe a repair of a violated rule; empty if none is known."""
    if result.passed is not False or len(report.trace) > MAX_EXPLAINED:
        return []
    found = repair(report.trace, report.procedure, result.name)
    return [] if found is None else found.sentences()


def _evidence(result: ConstraintResult, explanation: Explanation | None) -> dict[str, Json]:
    if explanation is None:
        return {
            "explained": False,
            "minimal": False,
            "calls": [*result.witness],
            "absence": [],
            "messages": [],
            "other_messages": [],
        }
    return {
        "explained": result.outcome is not Outcome.ERROR,
        "minimal": explanation.minimal,
        "calls": _sorted(explanation.calls),
        "absence": _sorted(explanation.absence),
        "messages": _sorted(explanation.messages),
        "other_messages": _sorted(explanation.other_messages),
    }


def _sorted(indices: Iterable[int]) -> list[int]:
    return sorted(set(indices))


def _readable(value: Json) -> str:
    return value if isinstance(value, str) else _written(value)


def _written(value: Json) -> str:
    """The value on one line. Values that JSON lacks are shown as text."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> Json:
    return dict(value) if isinstance(value, Mapping) else str(value)
