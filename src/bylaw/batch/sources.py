"""What a corpus is made of: the files that paths, folders, patterns and `-` amount to.

Small files are taken together, so that a folder of a million of them is not a million errands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bylaw.batch.storage import files, is_folder
from bylaw.errors import Diagnostic
from bylaw.trace.files import MEGABYTE

STANDARD_INPUT: Final = "-"
PACKED: Final = (".gz", ".zst")
"""What compressed files end in."""
ENDINGS: Final = (
    *(f"{text}{packed}" for text in (".json", ".jsonl", ".ndjson") for packed in ("", *PACKED)),
    *(".parquet", ".arrow", ".arrows", ".feather"),
)
"""What the files of a folder end in, for those that are read."""
PROCEDURES: Final = (".yaml", ".yml")
"""What procedures end in; no trace is written so."""
PARTS: Final = ".parts"
"""What the folder of an unfinished run ends in; its files are no traces."""
SMALL: Final = 4 * MEGABYTE
"""How large files may be, together, to be read as one piece of work."""
MANY: Final = 256
"""How many files are read as one piece of work, at most."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a corpus, or the reason why there is none."""

    path: str
    """A path, an address, or `-`."""
    size: int | None = None
    """In bytes; None for what can be read only once: standard input, a pipe."""
    changed: int = 0
    problem: Diagnostic | None = None

    @property
    def once(self) -> bool:
        """Can it be read only once, and by one process?"""
        return self.size is None

    @property
    def name(self) -> str:
        """What traces and errors call it."""
        return "standard input" if self.path == STANDARD_INPUT else self.path


def sources(paths: Iterable[str], without: str | None = None) -> list[Source]:
    """The files that these amount to, in order. `without` is a file that is no part of it."""
    return [source for path in paths for source in _sources(path, without)]


def _sources(path: str, without: str | None) -> Iterator[Source]:
    if path == STANDARD_INPUT:
        yield Source(path)
        return
    try:
        found = files(path)
    except OSError as error:
        yield _missing(path, f"cannot be read: {error.strerror or error}")
        return
    if found is None:
        reason = "No such file or directory"
        yield _missing(path, f"cannot be read: {reason}")
        return
    kept = [
        _procedure(each.path)
        if each.path.endswith(PROCEDURES)
        else Source(each.path, each.size, each.changed)
        for each in found
        if not is_folder(path) or _belongs(each.path, path, without)
    ]
    if not kept:
        yield _missing(path, "the folder holds no .json, .jsonl, .ndjson, .parquet or .arrow file")
    yield from kept


def _belongs(path: str, folder: str, without: str | None) -> bool:
    """Is a file of a folder a part of the corpus?"""
    if without is not None and Path(path).resolve() == Path(without).resolve():
        return False
    below = Path(path).parts[len(Path(folder).parts) : -1]
    return path.endswith(ENDINGS) and not any(part.endswith(PARTS) for part in below)


def _missing(path: str, message: str, help: str | None = None) -> Source:
    return Source(path, 0, problem=Diagnostic("E310", message, help, source=path))


def _procedure(path: str) -> Source:
    """One error, and not one for each line that is not JSON."""
    help = "Traces are JSON, one record a file or a line. A procedure is named with --procedure."
    return _missing(path, "a YAML file is no trace", help)


def groups(found: Iterable[Source], small: int = SMALL) -> list[tuple[Source, ...]]:
    """The files in order, small ones taken together."""
    together: list[tuple[Source, ...]] = []
    room = 0
    for source in found:
        size = small + 1 if source.size is None else source.size
        if together and size <= room and len(together[-1]) < MANY:
            together[-1] = (*together[-1], source)
            room -= size
        else:
            together.append((source,))
            room = small - size
    return together


def total_size(found: Iterable[Source]) -> int | None:
    """How many bytes there are to read; None if that is not known."""
    total = 0
    for source in found:
        if source.size is None:
            return None
        total += source.size
    return total


def fingerprint(found: Iterable[Source]) -> str | None:
    """Tells a corpus from one with other files; None if it cannot be read a second time."""
    digest = hashlib.sha256()
    for source in found:
        if source.once:
            return None
        digest.update(
            f"{source.path}\0{source.size}\0{source.changed}\n".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()
