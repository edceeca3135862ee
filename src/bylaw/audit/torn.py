"""The end of a log whose writer was interrupted: is it really what an interrupted write leaves?

The write of an entry may stop at any byte, so its beginning remains: a *torn tail*. Only a proper
prefix of the entry that would come next counts as one. It begins as that entry begins, is shorter
than its own size says, and reads as JSON that is not finished yet; of a hash that is already there,
the digits are right. Anything else was not left by a writer.

If the machine fails, parts of the file that were not synced may be missing although the file is
longer: file systems then have zeros there, in whole sectors. After such a hole anything may follow.
"""

from __future__ import annotations

import json
import re
from typing import Final

from bylaw.audit.entry import begun, ending, ending_size, hash_of

SECTOR: Final = 512
"""The smallest unit that a disk writes, in bytes."""

_SIZE: Final = re.compile(rb"[1-9]\d{0,8}")
_SIZED: Final = re.compile(rb"([1-9]\d{0,8}),")
_TEXT: Final = re.compile(rb"[ -~]*")
_HEX: Final = re.compile(rb"[0-9a-f]*")

_VALUES: Final = ("", "0", "null", '"', '0"', '00"', '000"', '0000"', 'n"', 'u0000"')
_WORDS: Final = ("rue", "ue", "e", "alse", "lse", "se", "ull", "ll", "l")
_COMPLETIONS: Final = (
    *_VALUES,
    *_WORDS,
    '"":0',
    ":0",
    *(f"{value}:0" for value in _VALUES if value.endswith('"')),
)
"""The possible rest of the value, or of the key and its value, at which a text stops."""


def is_torn(tail: bytes, number: int, prev: str, seal_digits: int | None, offset: int) -> bool:
    """Can an interrupted write of the entry of this number have left these bytes?

    They begin at this offset of the file. `seal_digits` is the length of the log's seals, None
    if that is not known.
    """
    whole, zero, _ = tail.partition(b"\0")
    if zero:
        hole = len(tail) - len(whole) - len(tail[len(whole) :].lstrip(b"\0"))
        end = offset + len(whole) + hole
        if end % SECTOR and end != offset + len(tail):
            return False
    return not whole or _is_prefix(whole, number, prev, seal_digits)


def _is_prefix(tail: bytes, number: int, prev: str, seal_digits: int | None) -> bool:
    """Is this a proper prefix of the entry?"""
    head = begun(number, prev)
    if len(tail) <= len(head):
        return head.startswith(tail)
    rest = tail[len(head) :]
    if not tail.startswith(head) or not _TEXT.fullmatch(rest):
        return False
    sized = _SIZED.match(rest)
    if sized is None:
        return _SIZE.fullmatch(rest) is not None
    size, start = int(sized[1]), len(head) + sized.end()
    if len(tail) - start >= size:
        return False  # it would be complete, newline included
    return any(
        _fits(tail, start + size - ending_size(digits), start, digits)
        for digits in ((0, 64, 128) if seal_digits is None else (seal_digits,))
    )


def _fits(tail: bytes, body_size: int, start: int, seal_digits: int) -> bool:
    """Is this the prefix of an entry of which the first `body_size` bytes precede the hash?"""
    if len(tail) <= body_size:
        return _is_unfinished_json(tail[start:].decode())
    if body_size < start or not _is_unfinished_json(tail[start:body_size].decode()):
        return False
    end = tail[body_size:]
    whole = ending(hash_of(tail[:body_size]), "0" * seal_digits)
    seal = slice(len(whole) - len('"}\n') - seal_digits, len(whole) - len('"}\n'))
    masked = end[: seal.start] + b"0" * len(end[seal]) + end[seal.stop :]
    return whole.startswith(masked) and _HEX.fullmatch(end[seal]) is not None


def _is_unfinished_json(text: str) -> bool:
    """Can these members of an object be continued, so that the object is JSON?"""
    if not text:
        return True
    closing = _closing(text)
    for completion in _COMPLETIONS:
        try:
            json.loads("{" + text + completion + closing)
        except (ValueError, RecursionError):
            continue
        return True
    return False


def _closing(text: str) -> str:
    """The brackets that are still open, closed."""
    open_ones = ["}"]
    outside = re.sub(r'"(?:[^"\\]++|\\.)*+"?', "", text)
    for bracket in re.findall(r"[][{}]", outside):
        if bracket in "[{":
            open_ones.append("]" if bracket == "[" else "}")
        elif len(open_ones) > 1:
            open_ones.pop()
    return "".join(reversed(open_ones))
