"""Numbers that say what is done to them, in words that a small model can follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import SupportsInt, TypeAlias

Say: TypeAlias = Callable[[str], None]


class Noted(int):
    """A number that came from a tool, or from such numbers. It says what is worked out from it."""

    say: Say

    def __new__(cls, value: SupportsInt, say: Say) -> Noted:
        made = super().__new__(cls, int(value))
        made.say = say
        return made

    def _sum(self, left: int, right: int) -> Noted:
        total = Noted(int(left) + int(right), self.say)
        self.say(f"{left:d} + {right:d} = {total:d}.")
        return total

    def _product(self, left: int, right: int) -> Noted:
        self.say(f"{left:d} * {right:d} = {int(left) * int(right):d}.")
        return Noted(int(left) * int(right), self.say)

    def _compared(self, other: int) -> None:
        """Says which is larger: a small model tells that more reliably than whether one is."""
        larger = f"The larger of {self:d} and {other:d} is {max(int(self), int(other))}."
        self.say(larger if int(self) != int(other) else f"{self:d} equals {other:d}.")

    def _is(self, condition: str, holds: bool) -> bool:
        self.say(f"{self:d} is {condition if holds else f'not {condition}'}.")
        return holds

    def __add__(self, other: int) -> Noted:
        return self._sum(self, other)

    def __radd__(self, other: int) -> Noted:
        return self._sum(other, self)

    def __mul__(self, other: int) -> Noted:
        return self._product(self, other)

    def __rmul__(self, other: int) -> Noted:
        return self._product(other, self)

    def __gt__(self, other: int) -> bool:
        self._compared(other)
        return self._is(f"greater than {other:d}", int(self) > int(other))

    def __lt__(self, other: int) -> bool:
        self._compared(other)
        return self._is(f"less than {other:d}", int(self) < int(other))

    def __mod__(self, other: int) -> int:
        return Remainder(self, other)


class Remainder(int):
    """What is left of a number. Procedures only ask whether there is something left, or nothing."""

    _of: Noted
    _by: int

    def __new__(cls, of: Noted, by: int) -> Remainder:
        made = super().__new__(cls, int(of) % by)
        made._of, made._by = of, by
        return made

    def __eq__(self, other: object) -> bool:
        of, by = self._of, self._by
        if by == 2:
            of.say(f"{of:d} is {'odd' if self else 'even'}.")
            return int(self) == other
        of.say(f"{of:d} = {by:d} * {of // by:d} + {self:d}.")
        return of._is(f"divisible by {by:d}", int(self) == other)

    __hash__ = int.__hash__
