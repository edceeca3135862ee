"""Terminal output: text and streams that do a terminal no harm; width, colour, progress.

Names, arguments, files and error messages of libraries may hold sequences that a terminal obeys: to
recolour or erase what was printed, to set its title, to type into it. All that a command prints
passes through a `PrintableStream`, so no place that prints can forget to escape. The command's own
colours and its progress line carry a token that is drawn anew in every process, so no text can
imitate them.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

_TOKEN: Final = os.urandom(16).hex()
_OWN: Final = re.compile(rf"\x1b{_TOKEN}(\w*);")
_SEQUENCES: Final = {"erase": "\r\x1b[K"}
"""Sequences that are not colours."""
_COLOURS: Final = {"red": "31", "green": "32", "yellow": "33", "grey": "90", "bold": "1"}


# ── safe text ──────────────────────────────────────────────────────────────────────────


def safe(text: str) -> str:
    """The text without control characters, which could redraw a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _sequence(c) for c in text)


def _sequence(character: str) -> str:
    """An escape sequence. Those of characters that JSON leaves as they are can be read as JSON."""
    if character < "\x7f":
        return repr(character)[1:-1]
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def in_line(text: str) -> str:
    """The text on one line: a name with line breaks could pass for other lines of the output."""
    return safe(text).replace("\n", "\\n")


class PrintableStream:
    """A stream that escapes control characters, except line breaks and the command's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream: Final = stream

    def write(self, text: str) -> int:
        """Writes the text, escaped."""
        if "\x1b" in text:
            pieces = _OWN.split(text)  # texts, and between them the sequences that are our own
            pieces[::2] = map(safe, pieces[::2])
            pieces[1::2] = (_SEQUENCES.get(each, f"\x1b[{each}m") for each in pieces[1::2])
            self._stream.write("".join(pieces))
        else:
            self._stream.write(safe(text))
        return len(text)

    def writelines(self, lines: Iterator[str]) -> None:
        """Writes texts, escaped."""
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        """There is none: bytes would not be escaped."""
        raise AttributeError("text is written here, not bytes")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def own(sequence: str) -> str:
    """A sequence that passes: the number of a colour, or `erase`, which erases the line."""
    return f"\x1b{_TOKEN}{sequence};"


@contextmanager
def printable_streams() -> Iterator[None]:
    """Whatever is printed meanwhile is escaped."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_escaped, before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _escaped(stream: TextIO) -> Any:
    """Any text can be printed, whatever the encoding. A closed stream is None, and stays so."""
    if stream is None or isinstance(stream, PrintableStream):
        return stream
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    return PrintableStream(stream)


# ── layout ─────────────────────────────────────────────────────────────────────────────


def width() -> int:
    """The terminal's width in columns; 80 if there is no terminal."""
    import shutil  # slow to import

    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 140))


def coloured(text: str, colour: str, stream: TextIO | None = None) -> str:
    """The text in colour, if the stream is a terminal and NO_COLOR is unset."""
    target = stream or sys.stdout
    if not target.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"{own(_COLOURS[colour])}{text}{own('0')}"


def wrapped(text: str, indent: int) -> str:
    """The text, indented and wrapped to the terminal's width."""
    import textwrap  # slow to import

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


# ── progress ───────────────────────────────────────────────────────────────────────────


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
