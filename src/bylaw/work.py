"""A budget of work for one rule at one event, counted in steps.

Code whose work can grow with values (a quantifier over a list, a function of a text, a
search through events) says so by `spend`. Steps are counted, not seconds, so that a decision does
not depend on the machine; a step takes a microsecond or two. Without a limit, as in scoring,
everything may be spent.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Final

UNLIMITED: Final = inf
CHARACTERS: Final = 64
"""The number of characters of a text that one step reads."""


class OverBudget(Exception):
    """A rule takes more steps than it may at one event."""

    def __init__(self, limit: float) -> None:
        super().__init__(f"it takes more than the budget of {limit:,} steps")


class Meter(threading.local):
    """The steps that may still be spent in this thread. `allot` sets them."""

    limit: float = UNLIMITED
    left: float = UNLIMITED


meter: Final = Meter()


def spend(steps: float) -> None:
    """Counts steps; raises OverBudget if there are not that many left."""
    left = meter.left = meter.left - steps
    if left < 0:
        raise OverBudget(meter.limit)


def spend_on_text(*texts: str) -> None:
    """Counts the steps that reading these texts takes."""
    spend(sum(map(len, texts)) / CHARACTERS)


def allot(steps: float) -> None:
    """Sets the number of steps that may be spent from now on."""
    meter.limit = meter.left = steps


@contextmanager
def unlimited() -> Iterator[None]:
    """Work inside is not counted: an interrupted change has to be undone."""
    before = meter.limit, meter.left
    allot(UNLIMITED)
    try:
        yield
    finally:
        meter.limit, meter.left = before
