"""Notes on a tool: the rules that name it, in their authors' words."""

from __future__ import annotations

from bylaw.logic.walk import tools_in
from bylaw.procedure.procedure import Procedure


def tool_notes(procedure: Procedure, tool: str) -> str:
    """The reasons for refusing a tool, and what to do; empty if no rule is about it."""
    told = [
        " ".join(filter(None, (each.why, each.fix)))
        for each in procedure.constraints
        if tool in tools_in(each.formula)
    ]
    return " ".join(["A gate checks calls of this tool.", *filter(None, told)]) if told else ""
