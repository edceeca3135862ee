"""File paths: finding them in text, and bringing them into a normal form."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from typing import Final

from bylaw.grounding.entities.names import PRODUCT_FILES
from bylaw.texts.text import Findings, TextSpan

EXTENSIONS: Final = (
    *("py", "pyi", "pyx", "pxd", "ipynb"),
    *("c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "inl", "cu", "cuh"),
    *("js", "jsx", "mjs", "cjs", "ts", "tsx", "vue", "svelte"),
    *("go", "rs", "java", "kt", "kts", "scala", "swift", "cs", "fs", "rb", "php", "pl", "lua"),
    *("jl", "hs", "ml", "exs", "erl", "clj", "dart", "zig", "nim", "sol"),
    *("sh", "bash", "zsh", "ps1", "bat", "sql", "proto", "thrift", "graphql", "cmake", "gradle"),
    *("md", "rst", "txt", "html", "htm", "css", "scss", "xml", "json", "jsonl", "yaml", "yml"),
    *("toml", "ini", "cfg", "csv", "tsv", "tex"),
)
"""File extensions, except those that prose and attributes end in: `p.m.`, `self.lock`."""
_EXTENSION: Final = rf"\.(?:{'|'.join(sorted(EXTENSIONS, key=len, reverse=True))})"
_END: Final = r"(?![\w\\/(])(?!\.\w)"
# Possessive quantifiers, so that a long run of any character is scanned once, not once from each
# position. Folders use a lookahead and a backreference instead, because the first releases of
# Python 3.11 match possessive groups incorrectly.
_FOLDERS: Final = r"(?=(?P<folders>(?:[\w.@+-]++[\\/]++)*))(?P=folders)"
_FILE: Final = re.compile(
    rf"(?<![\w./\\@+~-])(?:[A-Za-z]:[\\/])?~?[./\\]*+{_FOLDERS}"
    rf"[\w.@+-]*[\w@+-]{_EXTENSION}{_END}"
    r"(?P<line>(?::\d+(?:[-:]\d+)?|\#L\d+(?:-L?\d+)?)?)"
)
_ADDRESS: Final = re.compile(r"(?<![a-z+])[a-z][a-z+]*+://[^\s<>\"'`)\]]+", re.IGNORECASE)
_PATTERN: Final = re.compile(r"(?<![\w./\\-])[\w./\\-]*+\*(?:\.\w+|\*?/[\w./\\*-]*)")
_FOLDER_IN_CODE: Final = re.compile(
    r"(?:\.{0,2}/)?[\w.@+-]+(?:[\\/][\w.@+-]+)+[\\/]?|[\w.@+-]{2,}/"
)
_FOLDER_IN_PROSE: Final = re.compile(
    r"(?<![\w./\\<@+-])(?=(?P<folders>(?:[\w.@+-]{2,}+/)+))(?P=folders)(?![\w/\\>*])"
)
_NO_PARTS: Final = ("", ".", "..", "~")
_FILE_ENDING: Final = re.compile(rf".*[^/]{_EXTENSION}", re.DOTALL)


def names_file(text: str) -> bool:
    """True if the text ends with a file extension."""
    return _FILE_ENDING.fullmatch(text) is not None


def is_address(text: str) -> bool:
    """True if the text is a URL."""
    return _ADDRESS.fullmatch(text) is not None


def addresses(text: str) -> Findings:
    """URLs, and patterns such as `*.py`.

    Only URLs of source files are entities. The others are consumed, so that no part of them is
    mistaken for a path.
    """
    for found in _ADDRESS.finditer(text):
        address = found[0].rstrip(".,;:!?*_")
        file = re.split(r"[?#]", address)[0]
        page = "/" not in file.partition("://")[2] or file.endswith((".html", ".htm"))
        span = TextSpan(found.start(), found.start() + len(address), address)
        yield span, file if names_file(file) and not page else None
    for found in _PATTERN.finditer(text):
        yield TextSpan(*found.span(), found[0]), None


def files(text: str) -> Findings:
    """File paths in their normal form, without a line number that follows."""
    for found in _FILE.finditer(text):
        path = found[0].removesuffix(found["line"])
        product = path.lower() in PRODUCT_FILES
        yield TextSpan(*found.span(), found[0]), None if product else normalized_path(path)


def folders(text: str, code: list[TextSpan]) -> Findings:
    """Folders and module paths: any between backticks; in prose, those that end in a slash."""
    for span in code:
        if _FOLDER_IN_CODE.fullmatch(span.text):
            yield span, normalized_path(span.text)
    for found in _FOLDER_IN_PROSE.finditer(text):
        yield TextSpan(*found.span(), found[0]), normalized_path(found[0])


@lru_cache(maxsize=10_000)
def normalized_path(path: str) -> str:
    """The normal form of a path: forward slashes, no `./`, no redundant `..`."""
    slashed = path.replace("\\", "/")
    if "://" in slashed:
        return slashed
    return posixpath.normpath(re.sub("/+", "/", slashed)) if slashed else slashed


def parts_of(path: str) -> list[str]:
    """The folders and the file name of a path. URLs and bare names have no parts."""
    if "://" in path or "/" not in path.strip("/"):
        return []
    return [part for part in path.split("/") if part not in _NO_PARTS and part[-1] != ":"]


def stem_of(path: str) -> str:
    """The path without its extension."""
    folder, slash, name = path.rpartition("/")
    stem, dot, _ = name.rpartition(".")
    return folder + slash + (stem if dot and stem else name)


@lru_cache(maxsize=10_000)
def module_of(path: str) -> tuple[str, ...]:
    """The components of a module's name: `src/requests/api.py` gives src, requests, api."""
    parts = [part for part in stem_of(path).split("/") if part not in ("", ".", "..")]
    if len(parts) > 1 and parts[-1] == "__init__":
        parts.pop()
    return tuple(part.casefold() for part in parts)
