"""Bearer tokens: each names a principal, an agent's host or a person.

    # role  name  token
    agent   desk  2f0c5d8e9b7a41c6a3d2
    person  ada   9d1e7c52f04b4a6c8e3b

The runs that a token opens belong to its principal. Only a person may approve and deny, and see
the runs of others: an agent that could approve its own calls would have no gate.
"""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import Final

from bylaw.errors import Diagnostic, UsageError
from bylaw.opening import read_regular
from bylaw.serve.tickets import Principal

MIN_TOKEN: Final = 16
"""The shortest token, in characters."""
ROLES: Final = ("agent", "person")


class Tokens:
    """Tokens and their principals. Only hashes are kept in memory."""

    def __init__(self, principals: dict[str, Principal]) -> None:
        self._principals: Final = {_hash(token): each for token, each in principals.items()}

    def principal(self, authorization: str | None) -> Principal | None:
        """The principal of an Authorization header; None if it names none."""
        scheme, _, token = (authorization or "").partition(" ")
        return self._principals.get(_hash(token.strip())) if scheme.lower() == "bearer" else None

    @classmethod
    def read(cls, path: str | Path) -> Tokens:
        """The tokens of a file."""
        try:
            text = read_regular(path)
        except (OSError, UnicodeDecodeError) as error:
            raise _unusable(f"{path} cannot be read: {error}") from None
        found: dict[str, Principal] = {}
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) != 3 or words[0] not in ROLES:
                raise _unusable(f"{path}:{number} is not `agent NAME TOKEN` or `person NAME TOKEN`")
            role, name, token = words
            if len(token) < MIN_TOKEN or token in found:
                raise _unusable(f"{path}:{number}: the token is used twice, or too short")
            principal = Principal(name, person=role == "person")
            if any(each.name == name and each != principal for each in found.values()):
                raise _unusable(f"{path}:{number}: '{name}' is both an agent and a person")
            found[token] = principal
        if not found:
            raise _unusable(f"{path} has no tokens")
        return cls(found)


def random_token() -> str:
    """A new token."""
    return secrets.token_urlsafe(24)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _unusable(message: str) -> UsageError:
    help = f"One token a line: a role, a name, and at least {MIN_TOKEN} random characters."
    return UsageError(Diagnostic("E458", message, help))
