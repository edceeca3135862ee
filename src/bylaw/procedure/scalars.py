"""Texts as YAML scalars."""

from __future__ import annotations

import re
from typing import Final

from bylaw.values import write_json

_PLAIN: Final = re.compile(r"[A-Za-z_][\w-]*")
_NOT_PLAIN: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off"})


def scalar(text: str) -> str:
    """The text as a YAML scalar: plain if it is a word, else quoted."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _NOT_PLAIN else quoted(text)


def quoted(text: str) -> str:
    """The text as JSON, with escapes for characters that YAML refuses or reads as line breaks."""
    return "".join(c if c.isprintable() else _escape(c) for c in write_json(text))


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"
