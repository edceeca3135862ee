"""Work counted in function calls, so that tests can compare costs without a clock."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType


def work_of(action: Callable[[], object]) -> int:
    """The number of calls of Python and built-in functions that an action makes."""
    made = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # others (Hypothesis) have functions called when it runs, at whatever time
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(before)
        gc.enable()
    return made
