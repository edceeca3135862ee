"""Text that can be printed without harm to a terminal."""

from __future__ import annotations


def safe(text: str) -> str:
    """The text without control characters, which could redraw a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def in_line(text: str) -> str:
    """The text on one line: a name with line breaks could pass for other lines of the output."""
    return safe(text).replace("\n", "\\n")
