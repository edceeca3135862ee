"""Mistakes of new users, as tables: what was written, and all that is said about it.

A block is some lines that begin with a mark (`>` for a text or a file, `>>>` for Python, `$` for a
command), and then the message, word for word. Blank lines end a block; a dot stands for one inside.
A directive, such as `@tools refund, verify`, holds until the next of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bylaw import BylawError
from bylaw.errors import TERMINAL_WIDTH

TABLES = Path(__file__).parent.parent / "cases" / "mistakes"
MARKS = (">>> ", "> ", "$ ")


@dataclass(frozen=True)
class Mistake:
    """One block of a table."""

    place: str
    written: str
    said: str
    directives: dict[str, str] = field(default_factory=dict)


def mistakes(name: str) -> Iterator[Mistake]:
    """The blocks of a table."""
    directives: dict[str, str] = {}
    lines = [*(TABLES / name).read_text(encoding="utf-8").split("\n"), ""]
    written: list[str] = []
    said: list[str] = []
    for number, line in enumerate(lines, start=1):
        mark = next((mark for mark in MARKS if f"{line} ".startswith(mark)), None)
        if mark and not said:
            written.append(line[len(mark) :])
        elif line.strip() and written:
            said.append("" if line == "." else line)
        elif line.startswith("@"):
            directive, _, value = line[1:].partition(" ")
            directives[directive] = value
        elif not line.strip() and written:
            place = f"{name}:{number - len(said) - len(written)}"
            yield Mistake(place, "\n".join(written), "\n".join(said), dict(directives))
            written, said = [], []


def message_of(action: Callable[[], Any]) -> str:
    """All that is said when the action is refused."""
    try:
        result = action()
    except BylawError as error:
        return error.render(TERMINAL_WIDTH)
    raise AssertionError(f"nothing was said: {result!r}")
