r"""The text that replaces a match: `\1` and `\g<name>` insert groups."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from bylaw.regex.linear import RegexError

_ESCAPE: Final = r"(?s)\\(?:g<([^>]*)>|([1-9][0-9]?)|(.))"
_CHARACTERS: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\",
}  # fmt: skip


def template_parts(new: str, groups: int, names: Mapping[str, int]) -> list[str | int]:
    """The texts and group numbers of a replacement. As in Python, an unknown letter is an error."""
    if "\\" not in new:
        return [new] if new else []
    parts: list[str | int] = []
    reached = 0
    for found in re.finditer(_ESCAPE, new):
        parts.append(new[reached : found.start()])
        name, number, character = found.groups()
        if character is None:
            parts.append(_group(name or number, groups, names))
        elif character in _CHARACTERS:
            parts.append(_CHARACTERS[character])
        elif character.isascii() and character.isalnum():
            raise RegexError(f"the replacement has an unknown escape: \\{character}")
        else:
            parts.append(found[0])
        reached = found.end()
    if new.endswith("\\") and (reached < len(new)):
        raise RegexError("the replacement ends with a backslash")
    parts.append(new[reached:])
    return [part for part in parts if part != ""]


def _group(name: str, groups: int, names: Mapping[str, int]) -> int:
    number = int(name) if name.isascii() and name.isdigit() else names.get(name, -1)
    if not 0 <= number <= groups:
        raise RegexError(f"the expression has no group {name}")
    return number
