"""The number of random cases that a law is tried on.

`make test` and `make test-rest` take a third of them. `make test-all` sets BYLAW_CASES=all.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

ALL = os.environ.get("BYLAW_CASES") == "all"


def share(number: int) -> int:
    """The part of the cases that this run takes."""
    return number if ALL else max(20, number // 3)


def chosen_number(variable: str, number: int) -> int:
    """The number of cases that an environment variable states; otherwise this run's part."""
    return int(os.environ.get(variable, share(number)))


def cases(number: int, **others: Any) -> settings:
    """Tries a law on the number of random cases, or on a third of them."""
    return settings(max_examples=share(number), **others)
