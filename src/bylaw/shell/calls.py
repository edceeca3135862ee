"""`shell(x)`: the commands that a text, or a list of words, makes a shell run."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from bylaw.shell.commands import Commands, plain_run
from bylaw.shell.script import Unparsed
from bylaw.values import Json, is_list, is_object, is_text

MAX_TEXT: Final = 65_536
"""A longer text is opaque."""
_KEYS: Final = ("command", "cmd")
"""The arguments in which tools take a command."""


def commands_of(value: Json) -> list[Json] | None:
    """The commands of a text, a list of words, or an object with a `command` or `cmd`.

    None if it is none of these. The list is shared: read it, never change it.
    """
    if is_object(value):
        given = [value[key] for key in _KEYS if key in value]
        return commands_of(given[0]) if given and not is_object(given[0]) else None
    if is_text(value):
        return _of_text(value) if len(value) <= MAX_TEXT else _too_long()
    if is_list(value) and value and all(map(is_text, value)):
        words = tuple(value)
        return _of_words(words) if sum(map(len, words)) <= MAX_TEXT else _too_long()
    return None


def _too_long() -> list[Json]:
    return [opaque("too long", f"more than {MAX_TEXT:,} characters", "")]


def opaque(why: str, detail: str, source: str) -> dict[str, Json]:
    """The entry of something that cannot be read."""
    return {"kind": "opaque", "why": why, "detail": detail, "source": source, "within": []}


@lru_cache(maxsize=1024)
def _of_text(text: str) -> list[Json]:
    return _listed(text, None)


@lru_cache(maxsize=256)
def _of_words(words: tuple[str, ...]) -> list[Json]:
    return _listed(" ".join(words), words)


def _listed(source: str, words: tuple[str, ...] | None) -> list[Json]:
    commands = Commands()
    try:
        if words is None:
            commands.script(source)
        else:
            plain_run(commands, words)
    except Unparsed as error:
        return [*commands.found, opaque(error.why, error.detail, source)]
    except RecursionError:
        return [opaque("too deep", "commands nest too deeply", source)]
    return [*commands.found]
