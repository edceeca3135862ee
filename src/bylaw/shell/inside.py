"""The things that a command can run besides itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from bylaw.frozen import frozen
from bylaw.shell.expansion import KnownWord

Words: TypeAlias = Sequence[KnownWord]


@frozen
class RunsWords:
    """The words of another command."""

    words: tuple[KnownWord, ...]
    replaces: bool = True
    """Does it stand for the whole command? Otherwise the command is listed as well."""
    assigned: tuple[KnownWord, ...] = ()
    """The assignments before it, `A=1`, that are in its environment."""


@frozen
class RunsScript:
    """A text that a shell runs."""

    text: KnownWord
    replaces: bool = True
    remote: bool = False


@frozen
class RunsUnknown:
    """Something that cannot be read here."""

    why: str
    detail: str


Inside: TypeAlias = RunsWords | RunsScript | RunsUnknown
