"""The values of formulas, the outcomes of constraints, and the verdicts on prefixes.

A formula has one of four values: FALSE; TRUE, with something checked; VACUOUS, true with nothing
checked; UNKNOWN, because an open predicate failed or an event is hidden.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Value(Enum):
    """The value of a formula at a position."""

    FALSE = "F"
    VACUOUS = "N"
    TRUE = "T"
    UNKNOWN = "?"

    __hash__ = object.__hash__  # members are unique, and Enum's own hash is slow

    @property
    def is_true(self) -> bool:
        """True, vacuously or not."""
        return self is TRUE or self is VACUOUS


FALSE: Final = Value.FALSE
VACUOUS: Final = Value.VACUOUS
TRUE: Final = Value.TRUE
UNKNOWN: Final = Value.UNKNOWN


class Outcome(Enum):
    """The outcome of a constraint on a finished trace."""

    __hash__ = object.__hash__  # as for Value

    SATISFIED = "satisfied"
    VACUOUS = "vacuous"
    """Satisfied, but nothing was checked."""
    VIOLATED = "violated"
    ERROR = "error"
    """An open predicate failed, and the verdict depends on it."""

    @property
    def passed(self) -> bool | None:
        """Was the constraint satisfied? None if that is unknown."""
        return None if self is Outcome.ERROR else self is not Outcome.VIOLATED


OUTCOMES: Final = (Outcome.VIOLATED, Outcome.VACUOUS, Outcome.SATISFIED, Outcome.ERROR)
"""The outcomes in the order of their codes, where they are counted."""


class Verdict(Enum):
    """The verdict on a constraint after a prefix of a trace."""

    SATISFIED = "satisfied"
    """Satisfied however the trace continues."""
    VIOLATED = "violated"
    """Violated however the trace continues: the constraint is doomed."""
    PRESUMABLY_SATISFIED = "presumably satisfied"
    """Satisfied if the trace ended now."""
    PRESUMABLY_VIOLATED = "presumably violated"
    """Violated if the trace ended now."""

    @property
    def final(self) -> bool:
        """Can no later event change this verdict?"""
        return self in (Verdict.SATISFIED, Verdict.VIOLATED)

    @property
    def holds_now(self) -> bool:
        """Does the constraint hold if the trace ends here?"""
        return self in (Verdict.SATISFIED, Verdict.PRESUMABLY_SATISFIED)
