"""Listeners: objects that learn what a guard has decided, for telemetry. They decide nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from bylaw.enforcement.decision import Decision
    from bylaw.enforcement.guard import Guard
    from bylaw.enforcement.report import GuardReport


class GuardListener(Protocol):
    """Learns what a guard decides. It is called without the guard's lock, in the agent's thread."""

    def decided(self, guard: Guard, decisions: Sequence[Decision]) -> None:
        """The calls of a turn, or of a round of one, were decided."""
        ...

    def finished(self, guard: Guard, report: GuardReport) -> None:
        """The run has ended."""
        ...


def notify(listener: Callable[..., None], *arguments: Any) -> None:
    """Calls a listener. If it fails, that is logged: the decision stands."""
    try:
        listener(*arguments)
    except Exception:  # whatever a telemetry library raises
        import logging  # slow to import

        logging.getLogger("bylaw").exception("a listener of a guard failed")
