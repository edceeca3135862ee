"""An event that waits for the results of earlier ones."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.frozen import field, record
from bylaw.semantics.past.memories import Memory
from bylaw.semantics.undo import Undo
from bylaw.trace.event import Event
from bylaw.vocabulary.local import Test
from bylaw.vocabulary.view import Kleene


@record
class UnsettledEvent:
    """An event that was taken in while a result was unknown."""

    event: Event
    position: int
    step: int
    bodies: Sequence[Test]
    """The bodies that can be false at it."""
    memories: Sequence[Memory]
    """The memories that take it in."""
    answer: Kleene = True
    """Do the bodies hold at it?"""
    undo: list[Undo] = field(default_factory=list)
    """Takes it out of the memories again."""
    remembered: bool = False
    """Do the memories depend on its result, which is unknown?"""

    @property
    def settled(self) -> bool:
        """Is everything known that it decides?"""
        return self.answer is not None and not self.remembered

    def take_back(self) -> None:
        """Takes it out of the memories."""
        while self.undo:
            self.undo.pop()()
