"""All or nothing: a change of a run that does not complete ends the run.

Anything may be raised anywhere: Ctrl-C in a slow rule, a full disk, a function of the user's. The
checks of a change come first, and what they raise leaves the run as it was. Then the change marks
the run, and only its end removes the mark. A run that still has it was interrupted in
the middle. Its rules may have seen half a call, so it allows nothing any more.
"""

from __future__ import annotations

from typing import Final, Protocol

from bylaw.errors import Diagnostic, UsageError


class Changeable(Protocol):
    """A run that can be marked."""

    inside: str | None
    """The change that is under way, or that was interrupted."""

    @property
    def interrupted(self) -> str | None:
        """The same; or that of rules which the run shares with others."""


class AtomicChange:
    """One change of a run, made under its lock.

    `with lock, AtomicChange(run) as intact:`, on one line, so that nothing can be raised between
    the end of the change and the release of the lock. `intact` is False if an earlier change was
    interrupted, or is under way: the functions of a vocabulary must not use the guard that calls
    them.
    """

    __slots__ = ("_intact", "_run")

    def __init__(self, run: Changeable) -> None:
        self._run: Final = run
        self._intact: Final = run.interrupted is None

    def __enter__(self) -> bool:
        return self._intact

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._intact:
            self._run.inside = None


def interruption(inside: str) -> str:
    """The reason why a run has ended, for messages."""
    return f"`{inside}` was interrupted, so the state of the rules is not known"


def interrupted(inside: str) -> UsageError:
    """The error for a change of a run that was interrupted."""
    help = "The run has ended: make a new guard."
    return UsageError(Diagnostic("E418", interruption(inside), help))
