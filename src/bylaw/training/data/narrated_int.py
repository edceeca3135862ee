"""Integers that narrate the arithmetic done with them, in sentences for small models."""

from __future__ import annotations

from collections.abc import Callable
from typing import SupportsInt, TypeAlias

Teller: TypeAlias = Callable[[str], None]


class NarratedInt(int):
    """A number from a tool, or computed from such numbers. It narrates further computations."""

    say: Teller

    def __new__(cls, value: SupportsInt, say: Teller) -> NarratedInt:
        made = super().__new__(cls, int(value))
        made.say = say
        return made

    def _sum(self, left: int, right: int) -> NarratedInt:
        total = NarratedInt(int(left) + int(right), self.say)
        self.say(f"{left:d} + {right:d} = {total:d}.")
        return total

    def _product(self, left: int, right: int) -> NarratedInt:
        self.say(f"{left:d} * {right:d} = {int(left) * int(right):d}.")
        return NarratedInt(int(left) * int(right), self.say)

    def _narrate_comparison(self, other: int) -> None:
        """Names the larger number first: small models find that easier than a yes or no."""
        larger = f"The larger of {self:d} and {other:d} is {max(int(self), int(other))}."
        self.say(larger if int(self) != int(other) else f"{self:d} equals {other:d}.")

    def _narrate_condition(self, condition: str, holds: bool) -> bool:
        self.say(f"{self:d} is {condition if holds else f'not {condition}'}.")
        return holds

    def __add__(self, other: int) -> NarratedInt:
        return self._sum(self, other)

    def __radd__(self, other: int) -> NarratedInt:
        return self._sum(other, self)

    def __mul__(self, other: int) -> NarratedInt:
        return self._product(self, other)

    def __rmul__(self, other: int) -> NarratedInt:
        return self._product(other, self)

    def __gt__(self, other: int) -> bool:
        self._narrate_comparison(other)
        return self._narrate_condition(f"greater than {other:d}", int(self) > int(other))

    def __lt__(self, other: int) -> bool:
        self._narrate_comparison(other)
        return self._narrate_condition(f"less than {other:d}", int(self) < int(other))

    def __mod__(self, other: int) -> int:
        return NarratedRemainder(self, other)


class NarratedRemainder(int):
    """A remainder. Procedures only compare it, to test divisibility."""

    _of: NarratedInt
    _by: int

    def __new__(cls, of: NarratedInt, by: int) -> NarratedRemainder:
        made = super().__new__(cls, int(of) % by)
        made._of, made._by = of, by
        return made

    def __eq__(self, other: object) -> bool:
        of, by = self._of, self._by
        if by == 2:
            of.say(f"{of:d} is {'odd' if self else 'even'}.")
            return int(self) == other
        of.say(f"{of:d} = {by:d} * {of // by:d} + {self:d}.")
        return of._narrate_condition(f"divisible by {by:d}", int(self) == other)

    __hash__ = int.__hash__
