"""The decisions of a guard that still wait: for a result, or for a person's approval.

A decision is recognised by identity. One that was made elsewhere, by another guard, copied or
altered, is not among them, and neither is one that has been used.
"""

from __future__ import annotations

from typing import Final

from bylaw.enforcement.decision import Decision
from bylaw.enforcement.validation import unusable
from bylaw.errors import Diagnostic, UsageError, shown
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call


class Issued:
    """The waiting decisions of one run, each with the call as it was judged."""

    def __init__(self) -> None:
        self._waiting: Final[dict[int, tuple[Decision, Call]]] = {}
        """By the identity of the decision, which is kept alive here."""

    def add(self, decision: Decision, call: Call) -> None:
        """Adds a decision that something is to follow: a result, or an approval."""
        self._waiting[id(decision)] = (decision, call)

    def allowed(self, decision: Decision) -> Call:
        """The call of a decision that waits for a result. Any other decision is an error."""
        if _checked(decision).position is None:
            message = f"the call of '{decision.call.tool}' did not run: it was refused"
            help = "Record results of allowed calls: if decision.allowed: …"
            raise UsageError(Diagnostic("E413", message, help))
        return self._found(decision, "for a result", "Record the result of each call once")

    def asked(self, decision: Decision) -> Call:
        """The call of a decision that waits for approval. Any other decision is an error."""
        if _checked(decision).action != "ask":
            message = f"the decision on the call was {decision.action}, not ask"
            raise UsageError(Diagnostic("E413", message, "Approve calls refused with ask."))
        return self._found(decision, "for approval", "Approve each call once")

    def _found(self, decision: Decision, purpose: str, advice: str) -> Call:
        if not self.awaits(decision):
            message = f"the call of '{decision.call.tool}' does not wait {purpose} here"
            help = f"{advice}, at the guard that made the decision."
            raise UsageError(Diagnostic("E413", message, help))
        return self._waiting[id(decision)][1]

    def awaits(self, decision: object) -> bool:
        """Does this decision still wait?"""
        return id(decision) in self._waiting

    def settle(self, decision: Decision) -> None:
        """Removes a decision: what it waited for has come."""
        del self._waiting[id(decision)]

    def forget_answer(self) -> None:
        """Removes the decision on the answer, which was withdrawn."""
        for decision, call in list(self._waiting.values()):
            if call.tool == FINAL_ANSWER:
                self.settle(decision)

    def waiting(self) -> list[tuple[Decision, Call]]:
        """The decisions that wait, in order, each with its call as it was judged."""
        return list(self._waiting.values())


def _checked(decision: object) -> Decision:
    if type(decision) is not Decision:
        help = "Give the decision that `propose` returned."
        if isinstance(decision, list):
            help = "`propose` returns a list: give one decision of it at a time."
        raise unusable(f"expected a decision, found {shown(decision)}", help)
    return decision
