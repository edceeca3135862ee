"""The names that rules are written with: which of them stand for something else after an edit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from bylaw.procedure.procedure import Procedure
from bylaw.values import Json, write_json

_WORD = re.compile(r"(?<!\.)\b[^\W\d]\w*")
"""A name of the language, perhaps inside a text; what stands behind a dot is a key."""
_Key: TypeAlias = tuple[str, str]
"""A name, and the field that gives it: a group and a constant may be called the same."""


@dataclass(frozen=True, slots=True)
class NameChange:
    """What a group, a constant or a definition was and is, as a procedure file writes it."""

    name: str
    old: str | None
    """None if it was not there; `new` likewise."""
    new: str | None

    def to_dict(self) -> dict[str, Json]:
        """The change as JSON."""
        found = {"name": self.name, "old": self.old, "new": self.new}
        return {key: value for key, value in found.items() if value is not None}


def changed_names(old: Procedure, new: Procedure, texts: Iterable[str]) -> Iterator[NameChange]:
    """The names that changed among those that rules, given as texts, may be written with."""
    before, after = (dict(_written(each)) for each in (old, new))
    used = _used(texts, [*before.items(), *after.items()])
    for key in dict.fromkeys([*before, *after]):
        if key[0] in used and before.get(key) != after.get(key):
            yield NameChange(key[0], before.get(key), after.get(key))


def _written(procedure: Procedure) -> Iterator[tuple[_Key, str]]:
    for name, members in procedure.groups.items():
        yield (name, "groups"), f"{name}: [{', '.join(members)}]"
    for name, value in procedure.constants.items():
        yield (name, "constants"), f"{name}: {write_json(value)}"
    for head, text in procedure.define.items():
        # Folded, so that a text with other line breaks is not one that changed.
        yield (head.partition("(")[0].strip(), "define"), " ".join(f"{head}: {text}".split())


def _used(texts: Iterable[str], written: Iterable[tuple[_Key, str]]) -> set[str]:
    """The words of the texts, and of the groups and definitions that they use."""
    behind: dict[str, list[str]] = {}
    for (name, field), text in written:
        if field != "constants":  # data: a text in it is no name
            behind.setdefault(name, []).append(text)
    used: set[str] = set()
    pending = list(texts)
    while pending:
        for word in set(_WORD.findall(pending.pop())) - used:
            used.add(word)
            pending += behind.get(word, [])
    return used
