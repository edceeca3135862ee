"""The files of a corpus: found, opened, recognised by their first bytes, and cut at line ends.

Files are found by path, folder, pattern or address. Small files are grouped, so that a folder of a
million of them is not a million chunks.
"""

from __future__ import annotations

import glob
import hashlib
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal, NamedTuple, TypeAlias, cast

from bylaw.batch.input.decompression import GZIP, ZSTD, decompressed
from bylaw.errors import Diagnostic, did_you_mean, listing
from bylaw.opening import open_regular
from bylaw.trace.files import MEGABYTE, is_jsonl

STANDARD_INPUT: Final = "-"
COMPRESSED: Final = (".gz", ".zst")
TRACE_SUFFIXES: Final = (
    *(f"{text}{packed}" for text in (".json", ".jsonl", ".ndjson") for packed in ("", *COMPRESSED)),
    *(".parquet", ".arrow", ".arrows", ".feather"),
)
"""The files of a folder that are read end in one of these."""
PROCEDURE_SUFFIXES: Final = (".yaml", ".yml")
_OTHER_SUFFIXES: Final = frozenset({".csv", ".tsv", ".xlsx", ".html", ".md", ".toml", ".py"})
_CONVERT: Final = (
    "Traces are JSON, one record a file or a line: "
    '{"tool_calls": [{"tool_name": "search", "arguments": {}}]}.'
)
PARTS_SUFFIX: Final = ".parts"
"""The folder of an unfinished run ends in this; its files are not traces."""
CHUNK_SIZE: Final = 4 * MEGABYTE
MAX_GROUP: Final = 256
"""The largest number of files in a group."""
WILDCARDS: Final = "*?["
FileKind: TypeAlias = Literal["lines", "document", "parquet", "arrow file", "arrow stream"]

_TABLES: Final[dict[bytes, FileKind]] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow file",
    b"\xff\xff\xff\xff": "arrow stream",
}
_HEAD: Final = 4 * MEGABYTE
"""The most that is read of a file to recognise its kind."""
_READ: Final = MEGABYTE // 4
"""The most that is read at once, and so the most that is lost before damage in a file."""


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """One file of a corpus, or the reason why it cannot be used."""

    path: str
    """A path, an address, or `-`."""
    size: int | None = None
    """In bytes; None for standard input and pipes, which can be read only once."""
    modified: int = 0
    """In nanoseconds."""
    problem: Diagnostic | None = None

    @property
    def once(self) -> bool:
        """Can it be read only once, and by one process?"""
        return self.size is None

    @property
    def name(self) -> str:
        """The name that traces and errors give it."""
        return "standard input" if self.path == STANDARD_INPUT else self.path


FileGroups: TypeAlias = list[tuple[CorpusFile, ...]]


# ── finding ───────────────────────────────────────────────────────────────────────────────


def find_files(paths: Iterable[str], without: str | None = None) -> list[CorpusFile]:
    """The files that the paths stand for, in order, except the file `without`."""
    return [file for path in paths for file in _find(path, without)]


def _find(path: str, without: str | None) -> Iterator[CorpusFile]:
    if path == STANDARD_INPUT:
        yield CorpusFile(path)
        return
    if not path:  # a variable that a script did not set; it would be the current folder
        yield _unusable(path, "the name of a trace is empty")
        return
    try:
        if _is_address(path):
            from bylaw.batch.input.storage import find_stored  # only for addresses

            found = find_stored(path)
        else:
            found = _local(path)
    except OSError as error:
        yield _unusable(path, f"cannot be read: {error.strerror or error}")
        return
    if found is None:
        yield _unusable(path, "cannot be read: No such file or directory", _nearby(path))
        return
    folder = path.endswith("/") if _is_address(path) else Path(path).is_dir()
    kept = [file for file in found if not folder or _belongs(file.path, path, without)]
    if not kept:
        message = "the folder holds no .json, .jsonl, .ndjson, .parquet or .arrow file"
        names = sorted({Path(file.path).name for file in found})
        help = f"It holds: {listing(names, 5)}." if names else "It is empty."
        yield _unusable(path, message, help)
    for file in kept:
        if file.path.endswith(PROCEDURE_SUFFIXES):
            yield _procedure(file.path)
        elif (suffix := Path(file.path).suffix.lower()) in _OTHER_SUFFIXES:
            yield _unusable(file.path, f"a {suffix[1:].upper()} file is not a trace", _CONVERT)
        else:
            yield file


def _nearby(path: str) -> str | None:
    """The file that may be meant."""
    if _is_address(path):
        return None
    try:
        names = [each.name for each in Path(path).parent.iterdir()]
    except OSError:
        return None
    return did_you_mean(Path(path).name, names)


def _belongs(path: str, folder: str, without: str | None) -> bool:
    """Is a file of a folder a part of the corpus?"""
    if without is not None and Path(path).resolve() == Path(without).resolve():
        return False
    below = Path(path).parts[len(Path(folder).parts) : -1]
    return path.endswith(TRACE_SUFFIXES) and not any(each.endswith(PARTS_SUFFIX) for each in below)


def _unusable(path: str, message: str, help: str | None = None) -> CorpusFile:
    return CorpusFile(path, 0, problem=Diagnostic("E310", message, help, source=path))


def _procedure(path: str) -> CorpusFile:
    """One error, instead of one for each line that is not JSON."""
    help = "Traces are JSON, one record a file or a line. A procedure is named with --procedure."
    return _unusable(path, "a YAML file is not a trace", help)


def _is_address(path: str) -> bool:
    return "://" in path


def _local(path: str) -> list[CorpusFile] | None:
    """The file, the files below the folder, or those that match the pattern, sorted by name."""
    if Path(path).is_dir():
        return [_file(each) for each in sorted(map(str, Path(path).rglob("*"))) if _is_file(each)]
    if os.path.lexists(path) or not any(mark in path for mark in WILDCARDS):
        return [_file(path)] if Path(path).exists() else None
    matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  (Path takes no whole patterns)
    return [_file(each) for each in matches if _is_file(each)] or None


def _is_file(path: str) -> bool:
    return Path(path).is_file()


def _file(path: str) -> CorpusFile:
    about = Path(path).stat()
    size = about.st_size if stat.S_ISREG(about.st_mode) else None
    return CorpusFile(path, size, about.st_mtime_ns)


def group_files(files: Iterable[CorpusFile], chunk_size: int = CHUNK_SIZE) -> FileGroups:
    """The files in order; consecutive small ones form a group."""
    groups: FileGroups = []
    room = 0
    for file in files:
        size = chunk_size + 1 if file.size is None else file.size
        if groups and size <= room and len(groups[-1]) < MAX_GROUP:
            groups[-1] = (*groups[-1], file)
            room -= size
        else:
            groups.append((file,))
            room = chunk_size - size
    return groups


def total_size(files: Iterable[CorpusFile]) -> int | None:
    """The number of bytes to read; None if it is not known."""
    sizes = [file.size for file in files]
    return None if None in sizes else sum(size or 0 for size in sizes)


def fingerprint(files: Iterable[CorpusFile]) -> str | None:
    """A digest of names, sizes and times; None if the corpus cannot be read a second time."""
    digest = hashlib.sha256()
    for file in files:
        if file.once:
            return None
        about = f"{file.path}\0{file.size}\0{file.modified}\n"
        digest.update(about.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


# ── opening ────────────────────────────────────────────────────────────────────────────


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """The file, open for reading. Files and addresses are seekable; standard input may not be."""
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise OSError("it is closed")
        yield sys.stdin.buffer
    elif not _is_address(path):
        with open_regular(path) as file:
            yield file
    else:
        from bylaw.batch.input.storage import open_stored

        with open_stored(path) as stored:
            yield stored


@contextmanager
def open_file(file: CorpusFile) -> Iterator[OpenedFile]:
    """The file from its start. Tables are only recognised: their content is the file as stored."""
    with opened(file.path) as raw:
        seeks = not file.once
        start = raw.read(8) if seeks else raw.peek(8)[:8]  # type: ignore[attr-defined]  # buffered
        if seeks:
            raw.seek(0)
        table = next((kind for mark, kind in _TABLES.items() if start.startswith(mark)), None)
        if table is not None:
            yield OpenedFile(raw, table, raw, compressed=False)
            return
        compressed = start.startswith((GZIP, ZSTD))
        content = decompressed(raw, start) if compressed else raw
        head = _head(content)
        name = file.name.removesuffix(".gz").removesuffix(".zst")
        kind: FileKind = "lines" if is_jsonl(io.BytesIO(head), name) else "document"
        if content is raw and seeks:
            raw.seek(0)
        else:
            content = cast(BinaryIO, io.BufferedReader(_Rejoined(head, content), MEGABYTE))
        yield OpenedFile(content, kind, raw, compressed)


def _head(content: BinaryIO) -> bytes:
    """The first two lines, if they are not too long."""
    found: list[bytes] = []
    size = lines = 0
    try:
        while size < _HEAD and lines < 2 and (data := _read1(content, MEGABYTE)):
            found.append(data)
            size += len(data)
            lines += data.count(b"\n")
    except Exception:  # the next read fails again
        if not found:
            raise
    return b"".join(found)


def _read1(file: BinaryIO, size: int) -> bytes:
    """At most `size` bytes, in one read of the underlying file."""
    data: bytes = file.read1(size)  # type: ignore[attr-defined]  # buffered
    return data


class _Rejoined(io.RawIOBase):
    """The head of a file, which was read already, and the rest of it."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        into = memoryview(cast(bytearray, buffer)).cast("B")
        data = self._head.read(len(into)) or _read1(self._rest, len(into))
        into[: len(data)] = data
        return len(data)


# ── lines ──────────────────────────────────────────────────────────────────────────────


class LineBlock(NamedTuple):
    """Whole lines of a file."""

    text: bytes
    length: int
    """In bytes of the file; more than `text` has if that is the start of an overlong line."""
    lines: int
    long: bool = False
    """Is it a single line, longer than an ordinary block?"""


@dataclass(slots=True)
class OpenedFile:
    """A file and its content, decompressed."""

    content: BinaryIO
    kind: FileKind
    raw: BinaryIO
    """The file as it is stored."""
    compressed: bool

    @property
    def can_seek(self) -> bool:
        """Can another process read it from any offset?"""
        return not self.compressed and self.raw is self.content

    @property
    def position(self) -> int:
        """The number of stored bytes that have been read; 0 if it is not known."""
        return self.raw.tell() if self.raw.seekable() else 0

    def skip(self, offset: int) -> None:
        """Moves from the start of the content to an offset."""
        if self.can_seek:
            self.content.seek(offset)
            return
        while offset > 0 and (data := self.content.read(min(offset, MEGABYTE))):
            offset -= len(data)

    def line_blocks(self, size: int, max_line: int) -> Iterator[LineBlock]:
        """The rest of the content in blocks of at most `size` bytes; a longer line is a block.

        Of a line that exceeds `max_line`, one byte more than that is kept. If reading fails, the
        lines before the failure come first, then the exception.
        """
        rest = b""
        while True:
            more, problem = self._read(size - len(rest))
            ended = len(rest) + len(more) < size
            text = rest + more
            end = len(text) if ended and problem is None else text.rfind(b"\n") + 1
            if end:
                lines = text.count(b"\n", 0, end) + (text[end - 1] != ord("\n"))
                yield LineBlock(text[:end], end, lines)
                rest = text[end:]
            if problem is not None:
                raise problem
            if ended:
                return
            if not end:
                yield self._long_line(text, max_line)
                rest = b""

    def _read(self, size: int) -> tuple[bytes, Exception | None]:
        """The next bytes, fewer only at the end or before the failure that is given with them."""
        found: list[bytes] = []
        try:
            while size > 0 and (data := _read1(self.content, min(size, _READ))):
                found.append(data)
                size -= len(data)
        except Exception as error:  # each decompressor has its own exceptions
            return b"".join(found), error
        return b"".join(found), None

    def _long_line(self, start: bytes, max_line: int) -> LineBlock:
        found, kept, length = [start], len(start), len(start)
        while data := self.content.readline(MEGABYTE):
            length += len(data)
            if kept <= max_line:
                found.append(data[: max_line + 1 - kept])
                kept += len(found[-1])
            if data.endswith(b"\n"):
                break
        return LineBlock(b"".join(found), length, 1, long=True)
