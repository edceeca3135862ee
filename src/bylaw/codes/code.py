"""The description of a diagnostic code."""

from __future__ import annotations

from bylaw.frozen import frozen


@frozen
class Code:
    """The description of one diagnostic code."""

    title: str
    meaning: str
    wrong: str
    """An example that causes the diagnostic."""
    right: str
    """The example corrected."""
