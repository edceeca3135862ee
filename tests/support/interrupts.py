"""Raising an exception at a chosen line, as a signal handler would."""

from __future__ import annotations

import gc
import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import bylaw

SOURCE = str(Path(bylaw.__file__).parent)


class Interrupt(BaseException):
    """As Ctrl-C, but not for pytest."""


@contextmanager
def interrupted_at(number: int) -> Iterator[list[str]]:
    """Raises at the line of this number that is executed in Bylaw's own files.

    The end of a `with` block is a line, too, but nothing can be raised between the last call in
    the block and the release of its lock: Python looks for signals only after calls and jumps.
    """
    lines: list[str] = []
    entered: set[tuple[FrameType, int]] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        file, line = frame.f_code.co_filename, frame.f_lineno
        if not file.startswith(SOURCE):
            return None
        if event == "line":
            if linecache.getline(file, line).lstrip().startswith("with "):
                if (frame, line) in entered:
                    return trace
                entered.add((frame, line))
            lines.append(f"{Path(file).name}:{line}")
            if len(lines) == number:
                sys.settrace(None)
                raise Interrupt
        return trace

    before = sys.gettrace()
    gc.disable()  # what it finalises is not what is interrupted
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)
        gc.enable()


def chosen_lines(lines: list[str], *, most: int | None = None) -> list[int]:
    """Each line where it is executed first and last; or about so many of these places."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        first.setdefault(line, number)
        last[line] = number
    numbers = sorted({*first.values(), *last.values()})
    return numbers if most is None else numbers[:: max(1, len(numbers) // most)]
