"""Keeping a secret out of what is shown, in any form in which a server sends it back."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import quote, unquote, unquote_plus

_NOT_HEX: Final = re.compile(r"0x|\\x|[^0-9a-f]", re.IGNORECASE)
"""Whatever may stand between the digits of a text in hexadecimal."""
_PIECE: Final = 1 << 18
_WIDEST: Final = 20
"""The most characters that a nested encoding takes for one."""
SHOWN: Final = "[key]"
WITHHELD: Final = "[a message that contained the key]"
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\(.)", re.DOTALL)


def redacted(text: str, secret: str) -> str:
    """The text without the secret.

    The usual encodings of the secret are replaced. If it can still be decoded from the text, the
    whole text is withheld.
    """
    if not secret:
        return text
    for form in _forms(secret):
        text = re.sub(re.escape(form), SHOWN, text, flags=re.IGNORECASE)
    return WITHHELD if reveals(text, secret) else text


def reveals(text: str, secret: str) -> bool:
    """Can the secret be read from the text, perhaps through several encodings?"""
    forms = [form.lower() for form in _forms(secret)]
    margin = _WIDEST * len(secret)
    return any(
        form in reading.lower()
        for start in range(0, len(text) + 1, _PIECE)  # in pieces: memory stays bounded
        for reading in _readings(text[start : start + _PIECE + margin])
        for form in forms
    )


def _forms(secret: str) -> list[str]:
    """The secret in the encodings of URLs, JSON, HTML, base64 and hexadecimal; longest first."""
    raw = secret.encode()
    forms = {
        secret,
        quote(secret, safe=""),
        quote(secret),
        "".join(f"%{byte:02x}" for byte in raw),
        json.dumps(secret)[1:-1],
        json.dumps(secret)[1:-1].replace("/", r"\/"),
        "".join(f"\\u{ord(character):04x}" for character in secret),
        html.escape(secret),
        "".join(f"&#{ord(character)};" for character in secret),
        raw.hex(),
        base64.b32encode(raw).decode().rstrip("="),
        ",".join(map(str, raw)),
        *_in_base64(raw),
    }
    return sorted(filter(None, forms), key=len, reverse=True)


def _in_base64(raw: bytes) -> Iterator[str]:
    """The characters that stand for the secret, wherever it begins in a longer text."""
    for offset in range(3):
        # The characters at the edges also encode the bytes before and after.
        first, last = -(-offset * 8 // 6), (offset + len(raw)) * 8 // 6
        encoded = base64.b64encode(b"\0" * offset + raw + b"\0\0").decode()
        yield encoded[first:last]
        yield encoded[first:last].translate(str.maketrans("+/", "-_"))


def _readings(text: str) -> Iterator[str]:
    """The text in every decoding: each encoding, nested, broken into lines, or backwards."""
    readings = {text}
    for _ in range(_NESTING):
        readings |= {decode(each) for each in readings for decode in _DECODERS}
    for each in readings:
        yield each
        yield "".join(each.split())
        yield each[::-1]
        yield _NOT_HEX.sub("", each)


_WHITE: Final = {"n": "\n", "r": "\r", "t": "\t"}
"""The letters that stand for white space after a backslash."""


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _WHITE.get(match[3], match[3])


_DECODERS: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: _ESCAPE.sub(_unescaped, text),
    unquote,
    unquote_plus,
    html.unescape,
)
_NESTING: Final = 3
"""The number of encodings that are undone, one inside the other."""
