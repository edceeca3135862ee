"""Advice on YAML that cannot be read: the line corrected, if a known correction makes it readable.

Rules need quotes more often than other texts: they begin with `!` or `{`, and hold `: `.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

_ENTRY: Final = re.compile(r"(\s*(?:-\s+)?[\w-]+:\s+)(\S.*)")
"""A line with a key and a value."""
_OF_YAML: Final = ("*", "&", "!!")
"""The beginnings of values that are meant as YAML reads them, unless the value is a rule."""
_MAX_LINES: Final = 2_000
_GENERAL: Final = (
    "Text that begins with !, {, [, *, & or a quote, or has ': ' or ' #' inside, needs quotes "
    "around it, or a block (|)."
)


class YamlAdvice(NamedTuple):
    """The mistake, if it is known; a sentence; the line to write instead; and the text with it.

    `number` is the index of that line.
    """

    message: str | None
    help: str
    line: str | None = None
    corrected: str | None = None
    number: int = -1


_QUOTES: Final = YamlAdvice(
    "this text needs quotes", "Put it in single quotes; a single quote inside is doubled."
)


def yaml_advice(
    text: str, at: int, read_up_to: Callable[[str], int], *, first: int = 0
) -> YamlAdvice:
    """The advice for a mistake at a place of a text; lines before the first are left as they are.

    The best correction makes the whole text readable; the next best, in a text with several
    mistakes, makes it readable beyond the corrected line.
    """
    lines = text.split("\n")
    number = text.count("\n", 0, at)
    partial: YamlAdvice | None = None
    if len(lines) <= _MAX_LINES:
        for place in (number, number - 1):
            for advice, line in _corrections(lines, place) if first <= place < len(lines) else ():
                before = "\n".join([*lines[:place], line])
                corrected = "\n".join([before, *lines[place + 1 :]])
                read = read_up_to(corrected)
                if read == len(corrected):
                    return advice._replace(corrected=corrected, number=place)
                if read > max(len(before), at + 1) and partial is None:
                    partial = advice._replace(corrected=corrected, number=place)
    if partial is not None:
        return partial
    if any("\t" in line[: len(line) - len(line.lstrip())] for line in lines):
        message = "a tab stands where a line is indented"
        return YamlAdvice(message, "Indent with spaces: YAML allows no tabs there.")
    return YamlAdvice(None, _GENERAL)


def _corrections(lines: list[str], place: int) -> Iterator[tuple[YamlAdvice, str]]:
    """The lines that could stand in the place of one, each with its advice."""
    line = lines[place]
    indent = len(line) - len(line.lstrip())
    found = _ENTRY.fullmatch(line)
    if found and ("rule:" in found[1] or not found[2].startswith(_OF_YAML)):
        value = found[2].replace("'", "''")
        quoted = f"{found[1]}'{value}'"
        yield _QUOTES._replace(line=quoted.strip()), quoted
    above = next((each for each in reversed(lines[:place]) if each.strip()), "")
    if line.strip() and above.rstrip().endswith(("|", ">")):
        column = len(above) - len(above.lstrip()) + 2
        help = f"Indent it by {column} spaces: a block is indented more than its key."
        yield YamlAdvice("the block is not indented", help), " " * column + line.strip()
    if line.strip() and "\t" not in line[:indent]:
        begin = re.match(r"\s*(?:-\s+)?", above)
        column = begin.end() if begin else 0
        if column != indent:
            message = "the line is not indented like the one above it"
            help = f"Indent it by {column} spaces: the fields of a constraint stand in one column."
            yield YamlAdvice(message, help), " " * column + line.strip()
