"""Times and durations: compared in whole microseconds, so that decimals compare as written.

A time is a number of seconds since 1970, UTC. As a binary fraction, today's times are exact to a
quarter of a microsecond; 0.3 seconds between two of them may come out as 0.2999999.
"""

from __future__ import annotations

from typing import overload


@overload
def microseconds(seconds: float) -> int: ...
@overload
def microseconds(seconds: None) -> None: ...
def microseconds(seconds: float | None) -> int | None:
    """The nearest number of microseconds; None for None."""
    return None if seconds is None else round(seconds * 1_000_000)
