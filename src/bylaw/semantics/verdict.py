"""The values that formulas take, and how connectives combine them.

Four values: FALSE; TRUE, something was checked; VACUOUS, true because nothing was; UNKNOWN,
where an open predicate failed or an event is hidden. Every connective is one line below, so
that it can be compared with the definition.
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

    __hash__ = object.__hash__  # members are unique; Enum's own hash is slow, and tables use it

    @property
    def is_true(self) -> bool:
        """True, vacuously or not."""
        return self is TRUE or self is VACUOUS


FALSE: Final = Value.FALSE
VACUOUS: Final = Value.VACUOUS
TRUE: Final = Value.TRUE
UNKNOWN: Final = Value.UNKNOWN


class Outcome(Enum):
    """What a finished trace makes of a constraint."""

    SATISFIED = "satisfied"
    VACUOUS = "vacuous"
    """Satisfied, but nothing was checked."""
    VIOLATED = "violated"
    ERROR = "error"
    """An open predicate failed, and the verdict depends on it."""

    @classmethod
    def of(cls, value: Value) -> Outcome:
        """The outcome of a value at the start of a complete trace."""
        return {TRUE: cls.SATISFIED, VACUOUS: cls.VACUOUS, FALSE: cls.VIOLATED}.get(
            value, cls.ERROR
        )

    @property
    def passed(self) -> bool | None:
        """Was the constraint satisfied? None where that is not known."""
        return None if self is Outcome.ERROR else self is not Outcome.VIOLATED


class Verdict(Enum):
    """What a prefix makes of a constraint."""

    SATISFIED = "satisfied"
    """Satisfied, however the trace goes on."""
    VIOLATED = "violated"
    """Violated, however the trace goes on: the constraint is doomed."""
    PRESUMABLY_SATISFIED = "presumably satisfied"
    """Satisfied if the trace ended now."""
    PRESUMABLY_VIOLATED = "presumably violated"
    """Violated if the trace ended now."""

    @property
    def final(self) -> bool:
        """Is this verdict one that nothing can change?"""
        return self in (Verdict.SATISFIED, Verdict.VIOLATED)

    @property
    def holds_now(self) -> bool:
        """Does the constraint hold if the trace ends here?"""
        return self in (Verdict.SATISFIED, Verdict.PRESUMABLY_SATISFIED)


def first_present(*order: Value) -> dict[tuple[Value, Value], Value]:
    """The table of a connective that picks, of its two operands, the one earlier in `order`."""
    return {(a, b): min(a, b, key=order.index) for a in order for b in order}


MEET: Final = first_present(FALSE, UNKNOWN, TRUE, VACUOUS)
"""`&`, `G`, `H`, `forall`: false if any is, else unknown if any is, else true if any is."""
JOIN: Final = first_present(TRUE, VACUOUS, UNKNOWN, FALSE)
"""`|`, `F`, `O`, `exists`: true if any is, else vacuous if any is, else unknown if any is."""
NOT: Final = {FALSE: TRUE, TRUE: FALSE, VACUOUS: FALSE, UNKNOWN: UNKNOWN}


def implies(left: Value, right: Value) -> Value:
    """`left -> right`: vacuous if left is false, else what right is."""
    if left is FALSE:
        return VACUOUS
    if left is UNKNOWN:  # the implication holds either way if right does
        return right if right.is_true else UNKNOWN
    return right


def iff(left: Value, right: Value) -> Value:
    """`left <-> right`: true or false, never vacuous."""
    if UNKNOWN in (left, right):
        return UNKNOWN
    return TRUE if left.is_true is right.is_true else FALSE


def plain(value: Value) -> Value:
    """The value without vacuity: what `U` and `S` are made of."""
    return TRUE if value is VACUOUS else value
