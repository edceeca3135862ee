"""What an agent is told about a refusal, and how much of it.

No hint writes a rule out: a rule may hold values that the agent is supposed to find itself. An
agent reads names, the author's own words, and its own calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from bylaw.enforcement.decision import Action, Violation

Hints: TypeAlias = Literal["none", "rule", "open"]
HINTS: Final[tuple[Hints, ...]] = ("none", "rule", "open")

_OPENING: Final = {
    "warn": "Not executed. To insist, make exactly the same call again now.",
    "block": "Not executed.",
    "stop": "Not executed. The run ends here.",
    "ask": "Not executed: a person has to approve it first.",
}
TOLD_IN_FULL: Final = 3
"""How many rules a message explains; of the others it has the names."""


def message(
    action: Action,
    tool: str,
    violations: Sequence[Violation],
    hints: Hints,
    led_here: Sequence[str] = (),
    still_open: Sequence[str] | None = None,
    *,
    denied: str | None = None,
) -> str:
    """The text that an agent gets in place of a result.

    `denied` says why a call is refused that a person was to decide.
    """
    lines = [f"{tool}: {f'Not executed: {denied}.' if denied else _OPENING[action]}"]
    if hints == "none":
        return lines[0]
    for violation in violations[:TOLD_IN_FULL]:
        lines.append(f"Rule {violation.constraint.name}: {_told(violation)}")
        if violation.constraint.fix:
            lines.append(f"  What to do: {violation.constraint.fix}")
    if more := [violation.constraint.name for violation in violations[TOLD_IN_FULL:]]:
        lines.append(f"Rules that it would break as well: {', '.join(more)}.")
    if led_here:
        lines.append(f"Calls that led here: {', '.join(led_here)}.")
    if hints == "open" and still_open is not None:
        lines.append(f"Tools that can still be called: {', '.join(still_open) or 'none'}.")
    return "\n".join(lines)


def _told(violation: Violation) -> str:
    why = violation.constraint.why
    match violation.kind:
        case "joint":
            beside = f", {violation.reason}" if violation.reason else ""
            told = f"after this call it could not be met any more{beside}."
        case "unmet":
            told = "it is not met yet."
        case "error":
            told = f"it could not be decided ({violation.reason})."
        case "stopped":
            told = "the run has ended."
        case _:
            told = "this call would break it for good."
    return f"{told} {why}" if why else told
