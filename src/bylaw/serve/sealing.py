"""Seals: entries of a run are chained by hashes, so that none can be changed, moved or left out.

With a key the hash is an HMAC, which only those who have the key can make. Without one, damage is
found, but not forgery. The end of a chain cannot be missed: whoever can write to the store can also
bring back an old copy of it.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from bylaw.errors import Diagnostic
from bylaw.store.store import StoreError

DIGITS: Final = 32
"""The length of a seal, in hexadecimal digits."""


class Sealer:
    """Makes and checks seals with one key, or with none."""

    def __init__(self, key: bytes | None) -> None:
        self.key: Final = key

    def seal(self, *parts: str) -> str:
        """The seal of some texts, in order."""
        content = "\0".join(parts).encode("ascii", "backslashreplace")
        if self.key is None:
            return hashlib.sha256(content).hexdigest()[:DIGITS]
        return hmac.new(self.key, content, hashlib.sha256).hexdigest()[:DIGITS]

    def sealed(self, body: str, *context: str) -> str:
        """A text with its seal in front."""
        return f"{self.seal(*context, body)} {body}"

    def opened(self, text: str, stream: str, *context: str) -> tuple[str, str]:
        """The seal and the text behind it. A StoreError is raised if they do not belong together.

        `context` is what the text was sealed in: its stream, its number, the seal before it.
        """
        stated, _, body = text.partition(" ")
        if not hmac.compare_digest(stated.encode(), self.seal(stream, *context, body).encode()):
            raise unrecoverable(stream, "it was changed in the store, or sealed with another key")
        return stated, body


def unrecoverable(stream: str, reason: str) -> StoreError:
    """The error for a run that cannot be resumed from the store."""
    help = "Open a new run. Nothing of this one can be allowed any more."
    return StoreError(Diagnostic("E452", f"{stream} cannot be recovered: {reason}", help))
