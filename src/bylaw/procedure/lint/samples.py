"""Findings from sample traces: rules not in play (W504), empty paths (W505), other tools (W522)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from bylaw.errors import did_you_mean, listing
from bylaw.logic import formula as f
from bylaw.logic.operators import is_plain
from bylaw.logic.walk import everything, tools_in
from bylaw.procedure.known_tools import KnownTools
from bylaw.procedure.lint.finding import Finding, Importance
from bylaw.procedure.procedure import Constraint, Procedure
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.semantics.verdict import Outcome
from bylaw.syntax.printer import tool_text
from bylaw.trace.event import MISSING, Call
from bylaw.trace.trace import Trace
from bylaw.values import Json, write_json
from bylaw.vocabulary.domains import elements
from bylaw.vocabulary.view import View

if TYPE_CHECKING:
    from bylaw.procedure.lint.subject import LintSubject

PathDomain: TypeAlias = f.FromArgs | f.FromResults | f.FromMetrics
MAX_PATHS: Final = 200
"""The number of paths that are remembered for one tool."""


class Samples:
    """The encounters of a procedure's rules with sample traces. Traces are not kept."""

    def __init__(self, procedure: Procedure, traces: Iterable[Trace]) -> None:
        self.total = 0
        self.called: dict[str, None] = {}
        """The tools that some trace calls, in order of appearance."""
        self.in_play: set[str] = set()
        """The names of the rules that some trace brought into play."""
        self.paths: Final = {
            (constraint, part): _PathSearch(part)
            for constraint in procedure.constraints
            for part in everything(constraint.formula)
            if isinstance(part, f.FromArgs | f.FromResults | f.FromMetrics) and not part.free
        }
        for trace in traces:
            self._add(procedure, procedure.marked(trace))

    def _add(self, procedure: Procedure, trace: Trace) -> None:
        self.total += 1
        for constraint in procedure.constraints:
            view = _view(procedure, constraint, trace)
            self.called |= {event.tool: None for event in view.events if isinstance(event, Call)}
            if constraint.name in self.in_play:
                continue
            if evaluate(constraint.formula, view).outcome is not Outcome.VACUOUS:
                self.in_play.add(constraint.name)
        for (constraint, _), search in self.paths.items():
            if not search.found:
                search.look(_view(procedure, constraint, trace))


def _view(procedure: Procedure, constraint: Constraint, trace: Trace) -> View:
    events = procedure.events_of(constraint)
    return view_of(constraint.formula, trace, procedure.order, events, procedure.vocabulary)


# ── findings ──────────────────────────────────────────────────────────────────────────────


def find_not_in_play(subject: LintSubject) -> Iterator[Finding]:
    """W504: rules that every trace satisfies because there was nothing to check."""
    samples = subject.samples
    for constraint in subject.procedure.constraints if samples.total else ():
        if constraint.name not in samples.in_play:
            message = (
                f"None of the {samples.total:,} sample traces brought this rule into play."
                if samples.total > 1
                else "The sample trace did not bring this rule into play."
            )
            advice = _advice(constraint.formula, samples.called)
            yield Finding("W504", (constraint.name,), message, advice)


def _advice(formula: f.Formula, called: Mapping[str, None]) -> str:
    """The reason why a rule may not have come into play: a tool that was never called."""
    unseen = [name for name in tools_in(formula) if name not in called]
    if not unseen:
        return "Check that the rule says what is meant, or add traces in which it matters."
    close = [did_you_mean(name, called.keys() - set(tools_in(formula))) for name in unseen]
    hint = next((f" For '{n}': {c}" for n, c in zip(unseen, close, strict=True) if c), "")
    verb = "was" if len(unseen) == 1 else "were"
    return f"{listing(unseen)} {verb} never called: check the name, or add traces.{hint}"


def find_empty(subject: LintSubject) -> Iterator[Finding]:
    """W505: quantifiers whose path found nothing in any trace."""
    for (constraint, _), search in subject.samples.paths.items():
        if not search.found and subject.samples.total:
            severity: Importance = "warning" if search.looked else "note"
            found = search.message(), search.advice()
            yield Finding("W505", (constraint.name,), *found, severity=severity)


def find_unlisted(subject: LintSubject) -> Iterator[Finding]:
    """W522: tools that traces call and the procedure does not list."""
    known = KnownTools(subject.procedure)
    for tool in subject.samples.called:
        if tool not in known:
            message = f"A sample trace calls '{tool}', which the procedure does not list"
            advice = "If the tool was renamed, correct the rules. Otherwise add it to the list."
            yield Finding("W522", (), message + (known.alternative(tool) or "."), advice)


# ── paths ─────────────────────────────────────────────────────────────────────────────────


class _PathSearch:
    """Looks for the values of one domain, and remembers the paths that it could have found."""

    def __init__(self, domain: PathDomain) -> None:
        self.domain: Final = domain
        self.found = False
        self.called = False
        self.looked = False
        """Was there anything for the path to look into?"""
        self.paths: dict[str, None] = {}

    def look(self, view: View) -> None:
        self.found = bool(elements(self.domain, view).values)
        for value in self._values(view):
            self.looked = True
            if len(self.paths) < MAX_PATHS:
                self.paths |= dict.fromkeys(islice(paths_in(value), MAX_PATHS))

    def _values(self, view: View) -> Iterator[Json]:
        if isinstance(self.domain, f.FromMetrics):
            yield dict(view.trace.metrics)
            return
        for position in view.occurrences(self.domain.tool).certain:
            event = view.events[position]
            assert isinstance(event, Call), "only calls occur as tools"
            self.called = True
            if isinstance(self.domain, f.FromArgs):
                yield dict(event.args)
            elif event.result is not MISSING:
                yield event.value

    @property
    def _place(self) -> str:
        match self.domain:
            case f.FromArgs(tool, _):
                return f"the arguments of {tool_text(tool)}"
            case f.FromResults(tool, _):
                return f"the results of {tool_text(tool)}"
            case f.FromMetrics():
                return "the metrics record"

    def message(self) -> str:
        """The place where the path found nothing."""
        path = write_json(self.domain.path)
        if self.looked:
            return f"The path {path} found nothing in {self._place} in any sample trace."
        assert not isinstance(self.domain, f.FromMetrics), "every trace has a metrics record"
        tool = tool_text(self.domain.tool)
        if self.called:
            return f"No sample trace records a result of {tool} for the path {path}."
        return f"No sample trace calls {tool}, so the path {path} found nothing."

    def advice(self) -> str:
        """The paths that would have found something."""
        if not self.looked:
            return "Add traces in which the path has something to look into."
        if not self.paths:
            return f"Remove the quantifier: there is nothing in {self._place}."
        known = list(self.paths)
        close = did_you_mean(self.domain.path, known)
        there = f"The paths there are: {listing(known)}."
        return f"{close} {there}" if close else there


def paths_in(value: Json, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """The JMESPath expressions that lead into a value, such as `order.id` and `items[].sku`."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            written = key if is_plain(key) else write_json(key)
            path = f"{prefix}.{written}" if prefix else written
            yield path + ("[]" if isinstance(below, list) else "")
            if depth < 3:
                yield from paths_in(below, path, depth + 1)
    elif isinstance(value, list):
        if not prefix:
            yield "[]"
        for item in islice(value, 20):
            if isinstance(item, Mapping):
                yield from paths_in(item, f"{prefix}[]", depth)
    elif not prefix:
        yield "@"
