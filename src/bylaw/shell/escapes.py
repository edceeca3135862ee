r"""The escapes of `$'…'`: `\n`, `\x41`, `\101`, `\u00e9`."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_LETTERS: Final = {
    **dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True)),
    **dict(zip("\\'\"?", "\\'\"?", strict=True)),
}


def unescaped(text: str) -> str | None:
    """The text that `$'…'` stands for, or None if it is none in UTF-8. It ends at a null."""
    pieces: list[bytes] = []
    at = 0
    for found in _ESCAPE.finditer(text):
        pieces.append(_bytes(text[at : found.start()]))
        at = found.end()
        byte, short, long, octal, control, letter = found.groups()
        if byte or octal:
            pieces.append(bytes([int(byte, 16) if byte else int(octal, 8) & 0xFF]))
        elif short or long:
            number = int(short or long, 16)
            if number > 0x10FFFF or 0xD800 <= number < 0xE000:
                return None
            pieces.append(chr(number).encode())
        elif control:
            return None
        else:
            pieces.append(_bytes(_LETTERS.get(letter, "\\" + letter)))
    pieces.append(_bytes(text[at:]))
    try:
        return b"".join(pieces).partition(b"\0")[0].decode()
    except UnicodeDecodeError:
        return None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
