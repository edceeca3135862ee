"""Names that the procedure declares and no rule uses: groups (W506) and tools (W507)."""

from __future__ import annotations

from collections.abc import Iterator

from bylaw.errors import SpecError, listing
from bylaw.logic import formula as f
from bylaw.logic.terms import Literal, ToolVariable
from bylaw.logic.walk import everything, tools_in
from bylaw.procedure.known_tools import KnownTools
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.lint.subject import LintSubject
from bylaw.syntax.parser import parse


def find_unused_groups(subject: LintSubject) -> Iterator[Finding]:
    """W506: groups that no rule uses."""
    procedure = subject.procedure
    # Formulas no longer hold groups. Each rule is parsed again with a marker for every group, so
    # the markers that come out are the groups that the parser saw, not words that look like them.
    markers = {name: (f"group {name}",) for name in procedure.groups}
    used: set[str] = set()
    for constraint in procedure.constraints if markers else ():
        try:
            formula = parse(
                constraint.rule,
                groups=markers,
                vocabulary=procedure.vocabulary,
                constants=procedure.constants,
                define=procedure.define,
            )
        except SpecError:
            return  # the rule was built in Python, and its text is arbitrary
        used |= set(tools_in(formula))
    used |= {f"group {inner}" for name in markers for inner in procedure.groups[name]}
    for name, (marker,) in markers.items():
        if marker not in used:
            message = f"No rule uses the group {name} ({listing(procedure.groups[name])})."
            advice = f"Use it where a rule names a tool, as in Called({name}), or remove it."
            yield Finding("W506", (), message, advice)


def find_unused_tools(subject: LintSubject) -> Iterator[Finding]:
    """W507: tools that no rule names."""
    procedure = subject.procedure
    parts = [part for rule in procedure.constraints for part in everything(rule.formula)]
    ranged: set[str] = set()
    if any(isinstance(part, ToolVariable) for part in parts):
        found_in_traces = (f.FromArgs, f.FromResults, f.FromMetrics, f.Extracted)
        if any(isinstance(part, found_in_traces) for part in parts):
            return  # a variable may name any tool that a trace mentions
        ranged = {str(part.value) for part in parts if isinstance(part, Literal)}
    known = KnownTools(procedure)
    unused = [
        tool
        for tool in dict.fromkeys(procedure.tools or ())
        if tool not in ranged and not known.in_rules(tool)
    ]
    if unused:
        noun = "the tool" if len(unused) == 1 else "any of the tools"
        message = f"No rule names {noun} {listing(unused)}."
        advice = "An agent may call such tools freely. Is that intended?"
        yield Finding("W507", (), message, advice, severity="note")
