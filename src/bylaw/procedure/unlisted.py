"""W522: calls of tools that a procedure does not list, so that a renamed tool is not overlooked."""

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


class Listed:
    """The tools that a procedure lists, or that its rules name."""

    def __init__(self, procedure: Procedure) -> None:
        self.tools: Final = procedure.tools
        formulas = [constraint.formula for constraint in procedure.constraints]
        self._names: Final = {
            *(procedure.tools or ()),
            *(name for formula in formulas for name in tools_in(formula)),
            FINAL_ANSWER,
        }
        # A form such as get_* speaks of tools in traces, listed or not.
        parts = (part for formula in formulas for part in everything(formula))
        self._forms: Final = {part for part in parts if isinstance(part, ToolGlob)}

    def __contains__(self, tool: str) -> bool:
        if self.tools is None or tool in self._names:
            return True
        return any(is_named(tool, form) for form in self._forms)

    def told(self, tool: str) -> str:
        """That a tool is not listed, in a sentence without its full stop."""
        close = did_you_mean(tool, self.tools or ())
        return f"'{tool}' is none of the procedure's tools" + (f"; {close}" if close else "")

    def notes(self, trace: Trace) -> Iterator[Diagnostic]:
        """A note for each tool that a trace calls and the procedure does not list."""
        told: set[str] = set()
        for number, call in enumerate(trace.calls, 1):
            if call.tool not in told and call.tool not in self:
                told.add(call.tool)
                yield Diagnostic("W522", self.told(call.tool), where=f"call #{number}")
