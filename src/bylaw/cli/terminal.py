"""Terminal output: width, colour, wrapped and shortened lines, progress."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from bylaw.cli.printable_streams import own
from bylaw.semantics.verdict import Outcome

_COLOURS: Final = {"red": "31", "green": "32", "yellow": "33", "grey": "90", "bold": "1"}
WORDS: Final = {
    Outcome.SATISFIED: ("pass", "green"),
    Outcome.VACUOUS: ("vacuous", "grey"),
    Outcome.VIOLATED: ("VIOLATED", "red"),
    Outcome.ERROR: ("ERROR", "yellow"),
}
"""The word and the colour of each outcome."""
LABEL_COLOURS: Final = {"FULL": "green", "PARTIAL": "yellow", "NONE": "red", None: "yellow"}


def width() -> int:
    """The terminal's width in columns; 80 if there is no terminal."""
    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 140))


def coloured(text: str, colour: str, stream: TextIO | None = None) -> str:
    """The text in colour, if the stream is a terminal and NO_COLOR is unset."""
    target = stream or sys.stdout
    if not target.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"{own(_COLOURS[colour])}{text}{own('0')}"


def wrapped(text: str, indent: int) -> str:
    """The text, indented and wrapped to the terminal's width."""
    margin = " " * indent
    return textwrap.fill(
        text, width(), initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False
    )


def shortened(text: str) -> str:
    """The text, cut to one line of the terminal."""
    return text if len(text) <= width() else f"{text[: width() - 1]}…"


def score_text(score: float | None) -> str:
    """A score with four digits, or `none`."""
    return "none" if score is None else f"{score:.4f}"


def counted(number: int, noun: str) -> str:
    """`1 trace`, `2 traces`."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


class ProgressLine:
    """A progress line on standard error; silent unless that is a terminal."""

    def __init__(self, what: str, total: int | None = None, size: int | None = None) -> None:
        self.what = what
        self.total = total
        """The number of items, if known; then the remaining time is shown."""
        self.size = size
        """Their size in bytes, if only that is known."""
        self.done = 0
        self.read = 0
        """The bytes processed so far."""
        self.before = (0, 0)
        self.started = time.monotonic()
        self.shown = self.started
        self.visible = sys.stderr is not None and sys.stderr.isatty()

    def resume(self, done: int, read: int) -> None:
        """Counts work done before this run, which does not count towards its speed."""
        self.done, self.read = self.before = (done, read)

    def step(self, count: int = 1, read: int = 0) -> None:
        """Counts items and bytes that were processed."""
        self.done += count
        self.read += read
        now = time.monotonic()
        if self.visible and now - self.shown > 0.2:
            self.shown = now
            sys.stderr.write(f"{own('erase')}{self._line(now - self.started)}")
            sys.stderr.flush()

    def _line(self, seconds: float) -> str:
        rate = (self.done - self.before[0]) / seconds
        speed = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
        line = f"{self.done:,} {self.what}, {speed}"
        if self.total is not None and rate:
            left = _minutes((self.total - self.done) / rate)
            return f"{self.done:,} of {self.total:,} {self.what}, {speed}, {left} left"
        fresh = self.read - self.before[1]
        if self.size and fresh:
            left = _minutes((self.size - self.read) * seconds / fresh)
            return f"{min(1, self.read / self.size):.0%}, {line}, {left} left"
        return line

    def clear(self) -> None:
        """Erases the line."""
        if self.visible:
            sys.stderr.write(own("erase"))
            sys.stderr.flush()


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


@contextmanager
def progress(
    what: str, total: int | None = None, size: int | None = None
) -> Iterator[ProgressLine]:
    """A progress line for the duration of the block."""
    line = ProgressLine(what, total, size)
    try:
        yield line
    finally:
        line.clear()
