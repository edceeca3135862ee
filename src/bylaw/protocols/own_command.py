"""The command that runs Bylaw from the settings of another program.

It runs in the folder that an agent works in, with the agent's environment. Python would import a
file `json.py` from there, or from a path in the environment, in place of its own. `-I` keeps both
out, and the user's own packages, too; if Bylaw is installed among these, `-P` keeps out the folder.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

_FLAGS: Final = ("-I", "-P")


def own_arguments(*words: str) -> list[str]:
    """The arguments of this Python that run a command of Bylaw."""
    return [_flag(), "-m", "bylaw", *words]


def is_own(arguments: Sequence[object], *words: str) -> bool:
    """Do these arguments run this command of Bylaw?"""
    given = list(arguments)
    return given[:1] in ([_FLAGS[0]], [_FLAGS[1]]) and given[1 : 3 + len(words)] == [
        *("-m", "bylaw"),
        *words,
    ]


@functools.cache
def _flag() -> str:
    command = [sys.executable, "-I", "-c", "import bylaw"]
    done = subprocess.run(command, capture_output=True, check=False)
    return _FLAGS[0] if done.returncode == 0 else _FLAGS[1]
