"""The definitions in a source text, and a reader of them for any language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_NUMBERED: Final = re.compile(r"^[ \t]*\d+(?:\t|[|:→] ?)", re.MULTILINE)
_LINE: Final = re.compile(r"^(?=.*\S)", re.MULTILINE)
_IMPORT: Final = re.compile(
    r"^[ \t]*(?:(?:import|use|using)(?=[ \t{])|export(?=[ \t]*\{))"
    r"(?:[^\n;{(]*[{(][^})]{0,5000}[})])?[^\n;]*",
    re.MULTILINE,
)
"""A statement that imports names; in braces it may span several lines."""
_KEYWORD: Final = re.compile(
    r"^[ \t]*(?:[\w@]+(?:\([\w ]*\))?[ \t]+){0,4}?"
    r"(?:class|struct|interface|enum|trait|type|def|fn|func|function\*?|module|namespace|const|let|"
    r"var|val|macro_rules!|object|record|protocol)[ \t]+(?:\([^)\n]*\)[ \t]*)?(?P<name>[^\W\d]\w*)",
    re.MULTILINE,
)
_SET: Final = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(?P<name>[^\W\d]\w*)[ \t]*(?::[^=\n]+)?=(?!=)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class SourceDefinitions:
    """Defined names in lower case: `session`, `session.send`."""

    names: frozenset[str] = frozenset()
    """Names with and without the enclosing class or function."""
    bases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The classes, and their base classes."""

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def has_member(self, owner: str, name: str) -> bool:
        """True if the class, or one of its bases in this text, has the member."""
        pending, tried = [owner], set[str]()
        while pending:
            current = pending.pop()
            if f"{current}.{name}" in self.names:
                return True
            tried.add(current)
            pending += [base for base in self.bases.get(current, ()) if base not in tried]
        return False


def unnumbered(text: str) -> str:
    """The text without line numbers, if a tool has put one before every line."""
    lines = len(_LINE.findall(text))
    return _NUMBERED.sub("", text) if lines and len(_NUMBERED.findall(text)) == lines else text


def by_lines(text: str) -> SourceDefinitions:
    """The definitions in a text in any language, judged by its lines."""
    own = _IMPORT.sub("", text)
    found = [match["name"] for pattern in (_KEYWORD, _SET) for match in pattern.finditer(own)]
    return SourceDefinitions(frozenset(name.casefold() for name in found))
