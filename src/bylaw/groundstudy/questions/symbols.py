"""The public functions and classes of a repository that are defined in exactly one file.

Two independent methods must agree: the syntax tree of a module defines the symbol, and a scan of
the lines of all files finds no other line that looks like a definition of it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal, TypeAlias

from bylaw.grounding.entities.names import SHORTEST
from bylaw.groundstudy.repositories.file_tools import Repository

SymbolKind: TypeAlias = Literal["function", "class"]

_SOURCES: Final = frozenset((".py", ".pyi", ".pyx", ".pxd"))
_LOOKS_DEFINED: Final = re.compile(
    rb"^[ \t]*(?:async[ \t]+)?(?:def|class|cdef[ \t]+class|cpdef[ \t]+\w+)[ \t]+(?P<name>\w+)",
    re.MULTILINE,
)
_ELSEWHERE: Final = re.compile(
    r"(?:tests?|testing|docs?|conftest\.py|test_.*|vendor.*|third_party)"
)
"""Path components of tests, documentation and third-party code."""


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A definition at the top level of a module."""

    file: str
    name: str
    kind: SymbolKind


def symbols(repository: Repository) -> list[Symbol]:
    """The symbols that can be asked about, in order of their files."""
    contents = _sources(repository)
    places = _places(contents)
    found = (
        symbol
        for path in _unambiguous(contents)
        if _is_public(path)
        for symbol in _defined(path, contents[path])
    )
    return [symbol for symbol in found if places.get(symbol.name) == {symbol.file}]


def places_by_lines(repository: Repository) -> dict[str, set[str]]:
    """For each name that a line seems to define, the files with such lines."""
    return _places(_sources(repository))


def _sources(repository: Repository) -> dict[str, bytes]:
    paths = (path for path in repository.files() if PurePosixPath(path).suffix in _SOURCES)
    return {path: repository.contents(path) for path in paths}


def _places(contents: Mapping[str, bytes]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path, content in contents.items():
        for match in _LOOKS_DEFINED.finditer(content):
            found.setdefault(match["name"].decode(), set()).add(path)
    return found


def _defined(path: str, content: bytes) -> Iterator[Symbol]:
    """The public symbols of a module."""
    try:
        with warnings.catch_warnings(action="ignore"):  # odd escapes in the source do not matter
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return
    found: dict[str, SymbolKind] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = "class"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = "function"
    for name, kind in found.items():
        if len(name) >= SHORTEST and not name.startswith(("_", "test_")):
            yield Symbol(path, name, kind)


def _is_public(path: str) -> bool:
    """True for a public module: no leading underscore, and not a test or the like."""
    parts = path.split("/")
    hidden = (part.startswith("_") and part != "__init__.py" for part in parts)
    return path.endswith(".py") and not any(hidden) and not any(map(_ELSEWHERE.fullmatch, parts))


def _unambiguous(paths: Collection[str]) -> Iterator[str]:
    """The paths not contained in others: an answer `src/api.py` also contains `api.py`."""
    joined = "\n".join(paths).casefold()
    return (path for path in paths if joined.count(path.casefold()) == 1)
