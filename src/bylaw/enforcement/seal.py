"""Seals of saved states: an HMAC with a key, which nobody else can make, or else a plain hash."""

from __future__ import annotations

from typing import Final

from bylaw.enforcement.validation import unusable
from bylaw.values import Json, canonical

MIN_KEY: Final = 16
"""The shortest key, in bytes."""


def seal(content: str, key: bytes | None) -> Json:
    """The seal of the canonical text of a state."""
    import hashlib  # slow to import, and most states are not saved
    import hmac

    if key is None:
        return {"by": "sha256", "digest": hashlib.sha256(content.encode()).hexdigest()}
    return {"by": "hmac-sha256", "digest": hmac.new(key, content.encode(), "sha256").hexdigest()}


def check_seal(stated: Json, content: str, key: bytes | None) -> str | None:
    """The reason why a seal is not that of the state; None if it is."""
    import hmac

    right = seal(content, key)
    sealed_by = stated.get("by") if type(stated) is dict else None
    if key is None and sealed_by == "hmac-sha256":
        return "it was saved with a key, and none was given"
    if key is not None and sealed_by != "hmac-sha256":
        return "it was saved without a key, so anybody may have written it"
    if not hmac.compare_digest(canonical(stated), canonical(right)):
        return "it was changed after it was saved, or saved with another key"
    return None


def check_key(key: object) -> None:
    """Raises a UsageError unless this is None or a long enough key."""
    if key is not None and (type(key) is not bytes or len(key) < MIN_KEY):
        message = "the key cannot be text" if type(key) is str else "the key is not one"
        raise unusable(message, f"A key is at least {MIN_KEY} secret bytes.")
