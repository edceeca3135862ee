"""The decision on a proposed call: the rules that it would break, the action, the agent's message.

No message writes a rule out: a rule may hold values that the agent is supposed to find itself. An
agent reads the names of rules, the author's own words, and its own calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Literal, Self, TypeAlias, get_args

from bylaw.errors import BylawError, Diagnostic
from bylaw.frozen import frozen
from bylaw.procedure.procedure import SEVERITIES, Constraint, Severity
from bylaw.saved import fields, table, whole
from bylaw.trace.event import Call
from bylaw.trace.refusal import OPENING
from bylaw.trace.refusal_mark import ERROR_NAME, OBSERVATION
from bylaw.values import Json

Action: TypeAlias = Literal["allow", "warn", "block", "stop", "ask"]
"""The action on a proposed call. Only `allow` executes it. After `warn`, the same call in the
next turn runs. After `stop`, the run has ended. After `ask`, a person may approve the call."""
ViolationKind: TypeAlias = Literal["doomed", "early", "joint", "unmet", "error", "stopped"]
"""The reason for a violation: nothing can satisfy the rule any more; the result of another call is
outstanding that may break it; nothing can satisfy it with the others; it is not met yet and the
agent wants to finish; it could not be decided; the run has ended."""
Hints: TypeAlias = Literal["none", "rule", "open"]
"""The content of a refusal: nothing, the rules, or also the tools that can still be called."""
HINTS: Final[tuple[Hints, ...]] = get_args(Hints)
SoftBlockMode: TypeAlias = Literal["same-constraint", "in-a-row", "in-total"]
"""The soft blocks that count towards the end of the run: those of one constraint, those with no
call allowed in between, or all of them."""
SOFT_BLOCK_MODES: Final[tuple[SoftBlockMode, ...]] = get_args(SoftBlockMode)


@frozen
class Violation:
    """One rule that a proposed call would break."""

    constraint: Constraint
    severity: Severity
    kind: ViolationKind = "doomed"
    reason: str = ""
    """Further details, where the kind does not say everything."""

    @property
    def enforced(self) -> bool:
        """Does the severity keep the call from running?"""
        return self.severity != "TOLERATE"

    def to_dict(self) -> dict[str, Json]:
        """The violation as JSON."""
        return {
            "constraint": self.constraint.name,
            "layer": self.constraint.layer,
            "severity": self.severity,
            "kind": self.kind,
            "reason": self.reason,
        }


class _DecisionFields:
    """The fields of a decision, while they can still be set."""

    __slots__ = (
        *("call", "action", "turn", "index", "violations", "overridden", "message", "named"),
        *("position", "decided", "problem", "id", "approved"),
    )


@frozen(init=False)
class Decision(_DecisionFields):
    """The gate's decision on one proposed call."""

    call: Call
    action: Action
    turn: int
    index: int
    """The place of the call in its turn."""
    violations: tuple[Violation, ...]
    """The rules that the call would break, whether or not they keep it from running."""
    overridden: tuple[str, ...]
    """The rules that it was let past, because the agent insisted or a person approved."""
    message: str
    """The text for the agent, with a mark that shows readers of transcripts a refusal;
    empty if the call runs without comment."""
    named: tuple[str, ...]
    """The names of rules that the agent may see."""
    position: int | None
    """The position of the call in the trace, if it runs."""
    decided: bool
    """False if the call runs although the rules may have no common continuation after it.

    The search for one would have taken too long, or some rule has no machine.
    """
    problem: str
    """The fault in the call itself, so that no rule judged it; empty if there is none."""
    id: str
    """The run, the turn and the place in the turn. A refusal's message carries it as a mark."""
    approved: tuple[str, ...]
    """The rules that it was let past because a person approved; those left were insisted on."""

    def __new__(
        cls,
        call: Call,
        action: Action,
        turn: int,
        index: int,
        violations: tuple[Violation, ...] = (),
        overridden: tuple[str, ...] = (),
        message: str = "",
        named: tuple[str, ...] = (),
        position: int | None = None,
        decided: bool = True,
        problem: str = "",
        id: str = "",
        approved: tuple[str, ...] = (),
    ) -> Self:
        # As for a call: a frozen class takes three times as long to fill.
        made: Any = _DecisionFields()
        made.call = call
        made.action = action
        made.turn = turn
        made.index = index
        made.violations = violations
        made.overridden = overridden
        made.message = message
        made.named = named
        made.position = position
        made.decided = decided
        made.problem = problem
        made.id = id
        made.approved = approved
        made.__class__ = cls
        return made  # type: ignore[no-any-return]  # it has become one

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
        observed = (
            ERROR_NAME,
            self.violation_type,
            self.decision.call.tool,
            list(self.decision.named),
            self.decision.message,
        )
        return dict(zip(OBSERVATION, observed, strict=True))


# ── the action ───────────────────────────────────────────────────────────────────────────────


class Escalation:
    """Chooses actions by severity. Counts soft blocks, and ends the run when there are too many."""

    def __init__(self, mode: SoftBlockMode, limit: int) -> None:
        self.mode: Final = mode
        self.limit: Final = limit
        self.of_constraint: Counter[str] = Counter()
        self.in_a_row = 0
        """The soft blocks since the latest call that was allowed."""
        self.in_total = 0

    def action(self, violations: Sequence[Violation]) -> Action:
        """The action of the strongest severity among these violations."""
        severities = [violation.severity for violation in violations]
        match min(severities, key=SEVERITIES.index, default="TOLERATE"):
            case "HARD_STOP":
                return "stop"
            case "SOFT_BLOCK":
                names = [v.constraint.name for v in violations if v.severity == "SOFT_BLOCK"]
                return "stop" if self._soft_block(names) else "block"
            case "ASK":
                return "ask"
            case "BLOCK_AND_WARN":
                return "warn"
            case _:
                return "allow"

    def _soft_block(self, names: Sequence[str]) -> bool:
        """Counts a call that these constraints block. True if the run must end."""
        self.of_constraint.update(names)
        self.in_a_row += 1
        self.in_total += 1
        reached: dict[SoftBlockMode, int] = {
            "same-constraint": max(self.of_constraint[name] for name in names),
            "in-a-row": self.in_a_row,
            "in-total": self.in_total,
        }
        return reached[self.mode] >= self.limit

    def save(self) -> Json:
        """The counts as JSON."""
        return {
            "of_constraint": dict(self.of_constraint),
            "in_a_row": self.in_a_row,
            "in_total": self.in_total,
        }

    def restore(self, saved: Json) -> None:
        """Resumes saved counts."""
        of_constraint, in_a_row, in_total = fields(saved, "of_constraint", "in_a_row", "in_total")
        self.of_constraint = Counter({k: whole(v) for k, v in table(of_constraint).items()})
        self.in_a_row, self.in_total = whole(in_a_row), whole(in_total)


# ── the message ──────────────────────────────────────────────────────────────────────────────

_OPENING: Final = {
    "warn": ". To insist, make exactly the same call again now.",
    "block": ".",
    "stop": ". The run ends here.",
    "ask": ": a person has to approve it first.",
}
MAX_EXPLAINED: Final = 3
"""The number of rules that a message explains; others are only named."""


def refusal_message(
    action: Action,
    tool: str,
    violations: Sequence[Violation],
    hints: Hints,
    led_here: Sequence[str] = (),
    open_tools: Sequence[str] | None = None,
    *,
    denied: str | None = None,
) -> str:
    """The text that an agent gets in place of a result.

    `denied` is the reason why a person's approval is missing, if the call needed one.
    """
    lines = [f"{tool}{OPENING}{f': {denied}.' if denied else _OPENING[action]}"]
    if hints == "none":
        return lines[0]
    for violation in violations[:MAX_EXPLAINED]:
        lines.append(f"Rule {violation.constraint.name}: {_explained(violation)}")
        if violation.constraint.fix:
            lines.append(f"  What to do: {violation.constraint.fix}")
    if more := [violation.constraint.name for violation in violations[MAX_EXPLAINED:]]:
        lines.append(f"Rules that it would break as well: {', '.join(more)}.")
    if led_here:
        lines.append(f"Calls that led here: {', '.join(led_here)}.")
    if hints == "open" and open_tools is not None:
        lines.append(f"Tools that can still be called: {', '.join(open_tools) or 'none'}.")
    return "\n".join(lines)


def _explained(violation: Violation) -> str:
    why = violation.constraint.why
    match violation.kind:
        case "early":
            text = f"it is too early to tell: the result of {violation.reason} is outstanding."
        case "joint":
            others = f", {violation.reason}" if violation.reason else ""
            text = f"after this call it could not be met any more{others}."
        case "unmet":
            text = "it is not met yet."
        case "error":
            text = f"it could not be decided ({violation.reason})."
        case "stopped":
            text = "the run has ended."
        case _:
            text = "this call would break it for good."
    if violation.constraint.across is not None:
        text += f" It judges all runs with this {violation.constraint.across} together."
    return f"{text} {why}" if why else text
