"""What sample traces show of rules (W504), of paths (W505) and of tools (W522)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, TypeAlias

from bylaw.errors import did_you_mean, listing
from bylaw.logic import formula as f
from bylaw.logic.operators import is_plain
from bylaw.logic.walk import everything, tools_in
from bylaw.procedure.constraint import Constraint
from bylaw.procedure.lint_finding import Finding
from bylaw.procedure.procedure import Procedure
from bylaw.procedure.unlisted import Listed
from bylaw.semantics.reference import evaluate, view_of
from bylaw.semantics.verdict import Outcome
from bylaw.syntax.printer import tool_text
from bylaw.trace.event import MISSING, Call
from bylaw.trace.trace import Trace
from bylaw.values import Json, write_json
from bylaw.vocabulary.domains import elements
from bylaw.vocabulary.view import View

Looked: TypeAlias = f.FromArgs | f.FromResults | f.FromMetrics
MAX_PATHS: Final = 200
"""How many paths of one tool are remembered."""


class Samples:
    """What a procedure's rules met in sample traces, taken in one at a time."""

    def __init__(self, procedure: Procedure) -> None:
        self.procedure: Final = procedure
        self.total = 0
        self.called: dict[str, None] = {}
        self._in_play: set[str] = set()
        self._domains: dict[tuple[Constraint, Looked], _Search] = {
            (constraint, part): _Search(part)
            for constraint in procedure.constraints
            for part in everything(constraint.formula)
            if isinstance(part, f.FromArgs | f.FromResults | f.FromMetrics) and not part.free
        }

    def add(self, trace: Trace) -> None:
        """Takes in a trace."""
        self.total += 1
        trace = self.procedure.marked(trace)
        for constraint in self.procedure.constraints:
            view = self._view(constraint, trace)
            self.called |= {event.tool: None for event in view.events if isinstance(event, Call)}
            if constraint.name in self._in_play:
                continue
            if evaluate(constraint.formula, view).outcome is not Outcome.VACUOUS:
                self._in_play.add(constraint.name)
        for (constraint, _), search in self._domains.items():
            if not search.found:
                search.look(self._view(constraint, trace))

    def _view(self, constraint: Constraint, trace: Trace) -> View:
        procedure = self.procedure
        events = procedure.events_of(constraint)
        return view_of(constraint.formula, trace, procedure.order, events, procedure.vocabulary)

    # ── findings ─────────────────────────────────────────────────────────────────────────

    def find_unused(self) -> Iterator[Finding]:
        """W504: rules that hold in every trace because there was nothing to check."""
        for constraint in self.procedure.constraints if self.total else ():
            if constraint.name not in self._in_play:
                yield Finding(
                    "W504",
                    "warning",
                    (constraint.name,),
                    f"None of the {self.total:,} sample traces brought this rule into play."
                    if self.total > 1
                    else "The sample trace did not bring this rule into play.",
                    self._never_called(constraint.formula),
                )

    def _never_called(self, formula: f.Formula) -> str:
        unseen = [name for name in tools_in(formula) if name not in self.called]
        if not unseen:
            return "Check that it says what is meant, or add traces in which it matters."
        close = [did_you_mean(name, self.called.keys() - set(tools_in(formula))) for name in unseen]
        hint = next((f" For '{n}': {c}" for n, c in zip(unseen, close, strict=True) if c), "")
        verb = "was" if len(unseen) == 1 else "were"
        return f"{listing(unseen)} {verb} never called: check the name, or add traces.{hint}"

    def find_unlisted(self) -> Iterator[Finding]:
        """W522: tools that traces call and the procedure does not list."""
        listed = Listed(self.procedure)
        for tool in self.called:
            if tool not in listed:
                yield Finding(
                    "W522",
                    "warning",
                    (),
                    f"A sample trace calls {tool}: {listed.told(tool)}.",
                    "If a tool goes by another name now, correct it in the rules; else list it.",
                )

    def find_empty(self) -> Iterator[Finding]:
        """W505: quantifiers whose path found nothing in any trace."""
        for (constraint, _), search in self._domains.items():
            if search.found or not self.total:
                continue
            yield Finding(
                "W505",
                "warning" if search.looked else "note",
                (constraint.name,),
                search.told(),
                search.advice(),
            )


class _Search:
    """Looks for the values of one domain, and remembers what there was instead."""

    def __init__(self, domain: Looked) -> None:
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

    def told(self) -> str:
        """What was looked for, and where."""
        path = write_json(self.domain.path)
        if self.looked:
            return f"The path {path} found nothing in {self._place} in any sample trace."
        if isinstance(self.domain, f.FromMetrics):
            raise AssertionError("every trace has a metrics record")
        tool = tool_text(self.domain.tool)
        if self.called:
            return f"No sample trace records a result of {tool}, where {path} looks."
        return f"{tool} was never called in the sample traces, so {path} found nothing."

    def advice(self) -> str:
        """What the path could have found."""
        if not self.looked:
            return "Add traces in which the path has something to look into."
        if not self.paths:
            return f"There is nothing in {self._place} to look into: remove the quantifier."
        known = list(self.paths)
        close = did_you_mean(self.domain.path, known)
        there = f"There is: {listing(known)}."
        return f"{close} {there}" if close else there


def paths_in(value: Json, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """The paths into a value, as JMESPath writes them: `order.id`, `items[].sku`."""
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
