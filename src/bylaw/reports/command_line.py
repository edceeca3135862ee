"""A command line as reports show it: without secrets.

Three things are taken out: the value of an option or variable whose name says that it is secret,
whatever looks like a token of a well-known service, and the value of every environment variable
whose name says so, in any encoding (`bylaw.agents.redaction`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Final

from bylaw.agents.redaction import redacted

REMOVED: Final = "[secret]"
_WORDS: Final = "api_?key|key|token|secret|password|passwd|credentials?|authorization"
_SECRET_NAME: Final = re.compile(rf"(?:^|_)(?:{_WORDS})$", re.IGNORECASE)
_TOKEN: Final = re.compile(
    r"\b(?:sk-|pk-|hf_|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|AKIA|eyJ)[\w.~+/=-]{8,}"
)
"""The forms of tokens that services issue."""
_IN_ADDRESS: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)")
"""The name and the password in an address."""
_SHORTEST: Final = 8
"""The length of a secret in the environment: shorter values may be ordinary words."""


def shown_command(
    arguments: Sequence[str], environment: Mapping[str, str] | None = None
) -> list[str]:
    """The arguments of a command, secrets removed."""
    known = os.environ if environment is None else environment
    secrets = [
        value
        for name, value in known.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST
    ]
    shown: list[str] = []
    follows = False
    for argument in arguments:
        name, mark, _ = argument.partition("=")
        option = argument.startswith("-")
        if follows and not option:
            shown.append(REMOVED)
            follows = False
            continue
        secret = _SECRET_NAME.search(name.lstrip("-").replace("-", "_")) is not None
        follows = option and secret and not mark
        shown.append(f"{name}={REMOVED}" if secret and mark else _without(argument, secrets))
    return shown


def _without(argument: str, secrets: Sequence[str]) -> str:
    argument = _TOKEN.sub(REMOVED, _IN_ADDRESS.sub(REMOVED, argument))
    for secret in secrets:
        argument = redacted(argument, secret)
    return argument
