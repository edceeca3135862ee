r"""One entry of a log: a line of JSON with a fixed beginning and a fixed end.

    {"entry":3,"prev":"9f2c…","size":187,"time":1763305200.25,"run":"5f0c…", … ,"hash":"c4d1…"}

`entry` counts from 0. `prev` is the hash of the entry before it, and 64 zeros in the first. `size`
is the number of bytes after `"size":187,`, the newline included. `hash` is the SHA-256 of all bytes
before `,"hash"`. If the log has a key, `,"seal":"…"` follows the hash. A line is ASCII, without
control characters. So the number and the hash of the entry before determine how an entry begins,
and every proper prefix of an entry can be recognised as one; see `torn`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from bylaw.frozen import frozen
from bylaw.values import Json, JsonError, read_json

FORMAT: Final = 2
"""The version of the format, which the entry `open` states."""
FIRST: Final = "0" * 64
"""The hash that the first entry names as that of its predecessor."""
MAX_ENTRY: Final = 64 << 20
"""The longest entry, in bytes."""
OPENING: Final = b'{"entry":'
"""The first bytes of every entry."""
OWN_FIELDS: Final = frozenset({"entry", "prev", "size", "hash", "seal"})
"""The fields that make an entry a link of the chain."""

_compact: Final = json.JSONEncoder(
    separators=(",", ":"), allow_nan=False, check_circular=False
).encode
_HEAD: Final = re.compile(rb'\{"entry":(\d{1,15}),"prev":"([0-9a-f]{64})","size":(\d{1,9}),')
_TAIL: Final = re.compile(rb',"hash":"([0-9a-f]{64})"(?:,"seal":"((?:[0-9a-f]{64}){1,2})")?\}\n')
_PRINTABLE: Final = re.compile(rb"[ -~]+\n")


@frozen
class LogEntry:
    """An entry that was read, and has the right shape and hash."""

    number: int
    prev: str
    hash: str
    seal: str
    """The seal in hexadecimal digits; empty if there is none."""
    content: Mapping[str, Json]
    """The other fields."""

    @property
    def kind(self) -> str:
        """The kind of entry: `open`, `start`, `decision`, …"""
        return str(self.content.get("kind"))


class NotAnEntry(ValueError):
    """A line is not an entry; the text says what is wrong with it."""


def hash_of(body: bytes) -> str:
    """The hash of an entry, from the bytes before it."""
    import hashlib  # slow to import, and most runs keep no log

    return hashlib.sha256(body).hexdigest()


def begun(number: int, prev: str) -> bytes:
    """The bytes with which the entry of this number begins, up to its size."""
    return b'%b%d,"prev":"%b","size":' % (OPENING, number, prev.encode())


def ending(hash: str, seal: str) -> bytes:
    """The bytes with which an entry ends, from its hash on."""
    sealed = f',"seal":"{seal}"' if seal else ""
    return f',"hash":"{hash}"{sealed}}}\n'.encode()


def ending_size(seal_digits: int) -> int:
    """The length of an entry's end."""
    return len(ending(FIRST, "0" * seal_digits))


def body_of(content: Mapping[str, Json], number: int, prev: str, seal_digits: int) -> bytes:
    """The bytes of an entry before its hash. ValueError if the content is not JSON."""
    members = _compact(content)[1:-1].encode()
    size = len(members) + ending_size(seal_digits)
    return b"%b%d,%b" % (begun(number, prev), size, members)


def read_entry(line: bytes, number: int, prev: str) -> LogEntry:
    """The entry on a line, which must be the one that follows. Otherwise raises NotAnEntry."""
    head, tail = _HEAD.match(line), None
    if head is not None:
        at = line.rfind(b',"hash":"')
        tail = _TAIL.fullmatch(line, max(at, 0))
    if head is None or tail is None or not _PRINTABLE.fullmatch(line):
        raise NotAnEntry(f"entry {number} is not an entry any more")
    if int(head[1]) != number:
        raise NotAnEntry(f"entry {number} is missing: entry {int(head[1])} is in its place")
    if head[2].decode() != prev:
        raise NotAnEntry(f"entry {number} does not follow the one before it")
    if hash_of(line[: tail.start()]) != tail[1].decode() or len(line) - head.end() != int(head[3]):
        raise NotAnEntry(f"entry {number} was changed")
    try:
        value = read_json(line.decode())
    except JsonError as error:
        raise NotAnEntry(f"entry {number} is not JSON: {error.message}") from None
    content = {name: field for name, field in value.items() if name not in OWN_FIELDS}
    if not isinstance(content.get("kind"), str):
        raise NotAnEntry(f"entry {number} does not say of what kind it is")
    seal = tail[2].decode() if tail[2] else ""
    return LogEntry(number, prev, tail[1].decode(), seal, content)
