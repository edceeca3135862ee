"""Rows of Parquet and Arrow as the lines that they would be in JSONL.

A table either has a text column `record` (or `trace`) that holds a whole record, in any format
that is read, or it has the fields of a record as columns. Lists and objects may be nested columns
or JSON text. Where a column, or a field inside one, is null, the record has no such field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bylaw.values import JsonError, read_json

WHOLE: Final = ("record", "trace")
"""Columns that hold whole records as text."""
_NESTED: Final = frozenset({"tool_calls", "messages", "labels", "arguments"})
"""Fields that are lists or objects: where they are text, it is JSON."""


def whole_column(names: Sequence[str]) -> str | None:
    """The column that holds whole records, if these columns are of such a table."""
    return None if "tool_calls" in names else next((n for n in WHOLE if n in names), None)


def as_lines(batch: Any) -> bytes:
    """The rows of a record batch, a line each."""
    whole = whole_column(batch.schema.names)
    if whole is not None:
        lines = [_one_line(text) for text in batch.column(whole).to_pylist()]
    else:
        lines = [_written(row) for row in batch.to_pylist(maps_as_pydicts="lossy")]
    return b"".join(line + b"\n" for line in lines)


def _one_line(text: object) -> bytes:
    """A record's text in one line. A row without one is no record, and is reported as such."""
    if text is None:
        return b"null"
    if not isinstance(text, str | bytes):
        return _written(text)
    line = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    # A line break inside a JSON string is written as an escape, so what is left is white space.
    return line.replace(b"\r", b" ").replace(b"\n", b" ").strip() or b"null"


def _written(value: object) -> bytes:
    return json.dumps(_present(value), default=str, ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def _present(value: object) -> object:
    """The value without the nulls that only say that another row has such a field."""
    if isinstance(value, Mapping):
        return {
            key: _decoded(item) if key in _NESTED and isinstance(item, str) else _present(item)
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, list | tuple):
        return [_present(item) for item in value]
    return value


def _decoded(text: str) -> object:
    """What JSON text stands for; other text stays, and the record says that it is of no use."""
    try:
        return read_json(text)
    except JsonError:
        return text
