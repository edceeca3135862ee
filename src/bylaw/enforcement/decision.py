"""What a gate answers: a decision for every call, with the rules that it is about."""

from __future__ import annotations

from typing import Literal, TypeAlias

from bylaw.errors import BylawError, Diagnostic
from bylaw.frozen import frozen
from bylaw.procedure.constraint import Constraint, Severity
from bylaw.trace.event import Call
from bylaw.values import Json

Action: TypeAlias = Literal["allow", "warn", "block", "stop", "ask"]
"""What happens to a proposed call. Only `allow` executes it. After `warn`, the same call in the
next turn runs; after `stop`, the run has ended; after `ask`, a person may approve it."""
ViolationKind: TypeAlias = Literal["doomed", "joint", "unmet", "error", "stopped"]
"""Why a rule speaks against a call: nothing could satisfy it any more; nothing could satisfy it
together with the others; it is still to be met and the agent wants to finish; it could not be
decided; the run has ended."""


@frozen
class Violation:
    """One rule that speaks against a call."""

    constraint: Constraint
    severity: Severity
    kind: ViolationKind = "doomed"
    reason: str = ""
    """What went wrong, where that is more than the rule."""

    def to_dict(self) -> dict[str, Json]:
        """The violation as JSON."""
        return {
            "constraint": self.constraint.name,
            "layer": self.constraint.layer,
            "severity": self.severity,
            "kind": self.kind,
            "reason": self.reason,
        }


@frozen
class Decision:
    """What a gate says to one proposed call."""

    call: Call
    action: Action
    turn: int
    index: int
    """The place of the call in its turn."""
    violations: tuple[Violation, ...] = ()
    """The rules that it would break, whether or not they keep it from running."""
    overridden: tuple[str, ...] = ()
    """The rules that were passed because the agent insisted, or a person approved."""
    message: str = ""
    """What to tell the agent; empty for a call that runs without comment."""
    named: tuple[str, ...] = ()
    """The rules that the agent may be told the names of."""
    position: int | None = None
    """Where the call stands in the trace, if it runs."""

    @property
    def allowed(self) -> bool:
        """May the call run?"""
        return self.action == "allow"

    def error(self) -> ConstraintViolationError:
        """The refusal as an exception."""
        return ConstraintViolationError(self)


class ConstraintViolationError(BylawError):
    """A call was refused. `violation_type` is `stop`, `block`, `warn` or `ask`."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(Diagnostic("E410", decision.message))
        self.args = (decision.message,)  # an agent reads the message, not a diagnostic
        self.decision = decision
        self.violation_type = decision.action

    def to_dict(self) -> dict[str, Json]:
        """The observation that an agent gets."""
        return {
            "error": "ConstraintViolationError",
            "violation_type": self.violation_type,
            "tool": self.decision.call.tool,
            "constraints": list(self.decision.named),
            "message": self.decision.message,
        }
