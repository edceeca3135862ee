"""Changes that can be undone, back to any mark that somebody still holds.

A mark holds the changes that were made after it, up to the next mark, and leads to that one. So
making a mark costs nothing, and changes after a mark that is no longer referenced are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias
from weakref import ref

Undo: TypeAlias = Callable[[], object]
"""Undoes one change."""


class UndoMark:
    """A point in time, with the changes since then."""

    __slots__ = ("__weakref__", "_undo", "later")

    def __init__(self) -> None:
        self._undo: list[Undo] = []
        self.later: UndoMark | None = None

    def add(self, undo: Undo) -> None:
        """Adds a change."""
        self._undo.append(undo)

    def go_back(self) -> None:
        """Undoes all changes after this mark, the latest first."""
        marks = [self]
        while marks[-1].later is not None:
            marks.append(marks[-1].later)
        for mark in reversed(marks):
            while mark._undo:
                mark._undo.pop()()
        self.later = None


class UndoLog:
    """The marks of one state. Code that changes the state records how to undo the change."""

    __slots__ = ("_latest",)

    def __init__(self) -> None:
        self._latest: Callable[[], UndoMark | None] = _nobody

    def mark(self) -> UndoMark:
        """A mark for the current state."""
        mark, before = UndoMark(), self._latest()
        if before is not None:
            before.later = mark
        self._latest = ref(mark)
        return mark

    @property
    def needed(self) -> bool:
        """Does anybody hold a mark?"""
        return self._latest() is not None

    def changed(self, undo: Undo) -> None:
        """Notes how to undo a change that is about to be made."""
        mark = self._latest()
        if mark is not None:
            mark.add(undo)

    def undo(self, mark: UndoMark) -> None:
        """Goes back to a mark."""
        mark.go_back()
        self._latest = ref(mark)


def _nobody() -> None:
    return None
