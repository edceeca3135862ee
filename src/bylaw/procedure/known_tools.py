"""The tools a procedure knows; calls of others (W522) or with unfitting arguments (W524)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bylaw.errors import Diagnostic, did_you_mean
from bylaw.logic.terms import ToolGlob
from bylaw.logic.walk import everything, tools_in
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.trace.trace import Trace
from bylaw.vocabulary.patterns import is_named


class KnownTools:
    """The tools that a procedure lists, or that its rules name. Without a list, every tool."""

    def __init__(self, procedure: Procedure) -> None:
        self.listed: Final = procedure.tools
        self._known: Final = {*(procedure.tools or ()), FINAL_ANSWER}
        self._schemas: Final = procedure.schemas
        formulas = [constraint.formula for constraint in procedure.constraints]
        self._named: Final = {name for formula in formulas for name in tools_in(formula)}
        parts = (part for formula in formulas for part in everything(formula))
        self._globs: Final = {part for part in parts if isinstance(part, ToolGlob)}

    def __contains__(self, tool: str) -> bool:
        return self.listed is None or tool in self._known or self.in_rules(tool)

    def in_rules(self, tool: str) -> bool:
        """Does some rule name the tool, or match it with a glob such as `get_*`?"""
        return tool in self._named or any(is_named(tool, glob) for glob in self._globs)

    def alternative(self, tool: str) -> str:
        """`; did you mean 'refund'?` if the procedure lists a tool of a similar name."""
        close = did_you_mean(tool, self.listed or ())
        return f"; {close}" if close else ""

    def notes(self, trace: Trace) -> Iterator[Diagnostic]:
        """A note for each tool that a trace calls and the procedure does not know, or whose schema
        a call does not fit.
        """
        noted: set[str] = set()
        for number, call in enumerate(trace.calls, 1):
            if call.tool in noted:
                continue
            code = "W522"
            message: str | None = None
            if call.tool not in self:
                message = f"the procedure does not list the tool '{call.tool}'"
                message += self.alternative(call.tool)
            elif schema := self._schemas.get(call.tool):
                code, message = "W524", schema.problem(call.args)
            if message is not None:
                noted.add(call.tool)
                yield Diagnostic(code, message, where=f"call #{number}")
