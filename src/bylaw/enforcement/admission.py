"""The test that a call must pass before any rule is asked.

Its tool must be one that the procedure lists, and its arguments must fit the tool's schema. A call
that fails the test is malformed: it is refused, breaks no rule, and counts towards no escalation,
so that an agent can correct it. Nobody can insist on it or approve it.
"""

from __future__ import annotations

from typing import Final

from bylaw.errors import clipped, closest, listing
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call
from bylaw.trace.refusal import OPENING
from bylaw.trace.refusal_mark import MAX_NAME


class Admission:
    """The tools of a procedure, for all of its guards. `final_answer` is always one of them."""

    def __init__(self, procedure: Procedure) -> None:
        self._listed: Final = procedure.tools or ()
        self._closed: Final = procedure.tools is not None and procedure.unlisted == "block"
        self._known: Final = frozenset({*self._listed, FINAL_ANSWER})
        self._schemas: Final = procedure.schemas

    def problem(self, call: Call) -> str | None:
        """The fault in the call itself, as a sentence; None if the rules can judge it."""
        if self._closed and call.tool not in self._known:
            return self._unlisted(call.tool)
        schema = self._schemas.get(call.tool)
        return None if schema is None else schema.problem(call.args)

    def _unlisted(self, tool: str) -> str:
        name = clipped(tool, MAX_NAME)
        close = closest(name, self._listed)
        meant = f"Did you mean '{close}'? " if close else ""
        listed = listing([clipped(each, MAX_NAME) for each in self._listed]) or "none"
        return f"There is no tool '{name}'. {meant}The tools are: {listed}."


def malformed_message(call: Call, problem: str) -> str:
    """The text that an agent gets in place of the result of a malformed call."""
    return f"{clipped(call.tool, MAX_NAME)}{OPENING}. {problem}"
