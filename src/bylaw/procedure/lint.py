"""Rules that do not mean what they seem to: what lint finds in a procedure, and why it is so.

Every finding is proven or was seen in the sample traces. Where a rule cannot be decided (it
calls Python, or needs too long a search) nothing is said about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bylaw.errors import SpecError, listing
from bylaw.logic import formula as f
from bylaw.logic.terms import Literal, ToolGlob, ToolVariable
from bylaw.logic.walk import everything, tools_in
from bylaw.procedure.lint_data import find_data_traps
from bylaw.procedure.lint_finding import Finding, Importance
from bylaw.procedure.lint_logic import find_constant, find_contradictions, find_late
from bylaw.procedure.lint_ordering import find_demands
from bylaw.procedure.lint_prover import Prover
from bylaw.procedure.lint_samples import Samples
from bylaw.procedure.lint_vacuous import MOVES, find_first_only, find_vacuous
from bylaw.procedure.procedure import Procedure
from bylaw.syntax.parser import parse
from bylaw.trace.trace import Trace
from bylaw.vocabulary.patterns import is_named

__all__ = ["Finding", "Importance", "lint"]


def lint(procedure: Procedure, traces: Iterable[Trace] = ()) -> list[Finding]:
    """What may be wrong with a procedure, rule by rule; then with pairs, then with the whole.

    Sample traces, read one at a time, tell which rules never come into play.
    """
    reading = procedure.order, procedure.events, procedure.vocabulary
    prover, quick = Prover(*reading), Prover(*reading, max_moves=MOVES)
    # Rules are compared with each other only where they see the same events.
    constraints = [c for c in procedure.constraints if procedure.events_of(c) == procedure.events]
    samples = Samples(procedure)
    for trace in traces:
        samples.add(trace)
    constant = list(find_constant(constraints, prover))
    settled = {finding.constraints for finding in constant}
    data = list(find_data_traps(procedure))
    trapped = {finding.constraints for finding in data}
    # Of a rule that can come out one way only, what follows from that is not told again.
    idle = [
        *(each for each in find_vacuous(constraints, quick) if each.constraints not in trapped),
        *find_first_only(procedure.constraints),
        *samples.find_unused(),
    ]
    found = [
        *constant,
        *data,
        *find_demands(constraints, prover),
        *(finding for finding in idle if finding.constraints not in settled),
        *samples.find_empty(),
        *samples.find_unlisted(),
        *find_late(constraints, prover),
        *find_contradictions(constraints, prover),
        *unused_groups(procedure),
        *unused_tools(procedure),
    ]
    place = {constraint.name: i for i, constraint in enumerate(procedure.constraints)}
    alone = [finding for finding in found if len(finding.constraints) == 1]
    alone.sort(key=lambda finding: place[finding.constraints[0]])
    pairs = [finding for finding in found if len(finding.constraints) > 1]
    return [*alone, *pairs, *(finding for finding in found if not finding.constraints)]


def unused_groups(procedure: Procedure) -> Iterator[Finding]:
    """W506: groups that no rule names."""
    # Groups are gone from formulas. Each rule is read again with a mark for every group: the
    # marks that come out are the groups that the parser saw, and not a word that looks alike.
    marks = {name: (f"group {name}",) for name in procedure.groups}
    used: set[str] = set()
    for constraint in procedure.constraints if marks else ():
        try:
            read = parse(
                constraint.rule,
                groups=marks,
                vocabulary=procedure.vocabulary,
                constants=procedure.constants,
                define=procedure.define,
            )
        except SpecError:
            return  # the rule was built in Python, and its text is free
        used |= set(tools_in(read))
    used |= {f"group {inner}" for name in marks for inner in procedure.groups[name]}
    for name, (mark,) in marks.items():
        if mark not in used:
            members = listing(procedure.groups[name])
            yield Finding(
                "W506",
                "warning",
                (),
                f"No rule uses the group {name} ({members}).",
                f"Use it in a rule wherever a tool may stand, as in Called({name}), or remove it.",
            )


def unused_tools(procedure: Procedure) -> Iterator[Finding]:
    """W507: tools that no rule names."""
    formulas = [constraint.formula for constraint in procedure.constraints]
    parts = [part for formula in formulas for part in everything(formula)]
    named = {name for formula in formulas for name in tools_in(formula)}
    if any(isinstance(part, ToolVariable) for part in parts):
        found_in_traces = (f.FromArgs, f.FromResults, f.FromMetrics, f.Extracted)
        if any(isinstance(part, found_in_traces) for part in parts):
            return  # a variable may name any tool that a trace mentions
        named |= {str(part.value) for part in parts if isinstance(part, Literal)}
    forms = [part for part in parts if isinstance(part, ToolGlob)]
    idle = [
        tool
        for tool in dict.fromkeys(procedure.tools or ())
        if tool not in named and not any(is_named(tool, form) for form in forms)
    ]
    if idle:
        noun = "the tool" if len(idle) == 1 else "any of the tools"
        yield Finding(
            "W507",
            "note",
            (),
            f"No rule names {noun} {listing(idle)}.",
            "Agents may call a tool that no rule names as they like: is that meant?",
        )
