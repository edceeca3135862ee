"""A procedure file that must not change: its digest stands where the gate is installed.

An agent that works in the folder of the file could edit it otherwise, and choose its own rules.
"""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

from bylaw.errors import Diagnostic, UsageError


def digest_of(path: Path) -> str:
    """The digest of a file's content."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(Diagnostic("E474", f"cannot read {path}: {error.strerror}")) from None


def check_pinned(path: Path, digest: str) -> None:
    """Raises a UsageError if the file is not the one that the gate was installed with."""
    if not hmac.compare_digest(digest_of(path).encode(), digest.encode()):
        help = "If the edit is meant, install the gate again: `bylaw install …`."
        message = f"{path} has changed since the gate was installed"
        raise UsageError(Diagnostic("E474", message, help))
