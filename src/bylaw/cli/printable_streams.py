"""Standard output and standard error while a command runs: control characters are escaped.

Names, arguments, files and error messages of libraries may hold sequences that a terminal obeys: to
recolour or erase what was printed, to set its title, to type into it. All that a command prints
passes through here, so no place that prints can forget to escape. The command's own colours and its
progress line carry a token that is drawn anew in every process, so no text can imitate them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

from bylaw.printable import safe

_TOKEN: Final = os.urandom(16).hex()
_OWN: Final = re.compile(rf"\x1b{_TOKEN}(\w*);")
_SEQUENCES: Final = {"erase": "\r\x1b[K"}
"""Sequences that are not colours."""


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
