"""The causes that doom a formula, and what they mean for a gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from bylaw.semantics.machine.search import Path
from bylaw.trace.event import Call
from bylaw.trace.trace import Events

DoomingEvent: TypeAlias = Literal["call", "answer", "result", "time"]
"""The cause that dooms a formula: a proposed call; a proposed answer, and no other call; only a
result or a message, when it is too late to refuse a call; or a deadline that passes."""


@dataclass(frozen=True, slots=True)
class Enforceability:
    """The answer to whether some prefix dooms a formula, with the reason."""

    doomed_by: DoomingEvent | None
    """None if no prefix dooms it."""
    reason: str
    prefix: Path | None = None
    """A shortest prefix that dooms it; one that ends in a dooming call, if there is one."""
    exact: bool = True
    """False if the search was incomplete, so that the answer is not proved."""
    can_be_lost: bool = False
    """Can a result doom it, although the call did not?"""
    can_be_unmet: bool = False
    """Can a trace end while it is violated, although a continuation could still satisfy it?"""
    undecided: str = ""
    """The reason why no prefix decides it, if none does: it depends on what is known only at the
    end, or its search exceeds the budget."""
    breaks_unseen: bool = False
    """Can a call then make it false for good, without a monitor knowing?"""

    @property
    def enforceable(self) -> bool:
        """Does some prefix doom it?"""
        return self.doomed_by is not None

    @property
    def too_late(self) -> bool:
        """Do only results and messages doom it, or time? Then no call is refused for it."""
        return self.doomed_by in ("result", "time")


def doom_reason(prefix: Path) -> str:
    """The reason why a formula is enforceable: a prefix that dooms it."""
    if not prefix:
        return "nothing can satisfy this: it is violated from the start"
    shown = " ".join(event_title(event) for event, _ in prefix)
    return f"after `{shown}` nothing can satisfy it any more"


def too_late(
    prefix: Path,
    events: Events,
    *,
    sure: str = "can",
    exact: bool = True,
    can_be_unmet: bool = False,
) -> Enforceability:
    """The answer if no call dooms the formula by itself."""
    what = "a result" if events == "calls" else "a result or a message"
    reason = f"{doom_reason(prefix)}, but only {what} {sure} do that: too late to refuse a call"
    return Enforceability("result", reason, prefix, exact, True, can_be_unmet)


def event_title(event: object) -> str:
    """An event in a reason: the tool, or `a message`."""
    return event.tool if isinstance(event, Call) else "a message"
