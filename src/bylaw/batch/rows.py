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
_NESTED: Final = ("tool_calls", "messages", "labels")
"""Fields of a record that are lists or objects: where they are text, it is JSON."""


def whole_column(names: Sequence[str]) -> str | None:
    """The column that holds whole records, if these columns are of such a table."""
    return None if "tool_calls" in names else next((n for n in WHOLE if n in names), None)


def as_lines(batch: Any) -> bytes:
    """The rows of a record batch, a line each."""
    whole = whole_column(batch.schema.names)
    if whole is not None:
        column = batch.column(batch.schema.names.index(whole))
        lines = [_one_line(text) for text in column.to_pylist()]
    else:
        lines = [_written(_record(row)) for row in batch.to_pylist(maps_as_pydicts="lossy")]
    return b"".join(line + b"\n" for line in lines)


def _one_line(text: object) -> bytes:
    """A record's text in one line. A row without one is no record, and is reported as such."""
    if text is None:
        return b"null"
    if not isinstance(text, str | bytes):
        return _written(_present(text))
    line = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    # A line break inside a JSON string is written as an escape, so what is left is white space.
    return line.replace(b"\r", b" ").replace(b"\n", b" ").strip() or b"null"


def _written(value: object) -> bytes:
    return json.dumps(value, default=str, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _record(row: Mapping[str, object]) -> Mapping[str, object]:
    """The row with those of its fields as JSON that are, and the arguments of its calls."""
    record: dict[str, object] = {}
    for key, value in row.items():
        if value is not None:
            if key in _NESTED and isinstance(value, str):
                record[key] = _decoded(value)
            else:
                record[key] = _present(value)
    calls = row.get("tool_calls")
    if isinstance(calls, list | tuple):
        record["tool_calls"] = [_call(call) for call in calls]
    return record


def _call(call: object) -> object:
    given = call.get("arguments") if isinstance(call, Mapping) else None
    present = _present(call)
    if isinstance(given, str) and isinstance(present, dict):
        present["arguments"] = _decoded(given)
    return present


def _present(value: object) -> object:
    """The value without the nulls that only say that another row has such a field."""
    if isinstance(value, Mapping):
        return {key: _present(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_present(item) for item in value]
    return value


def _decoded(text: str) -> object:
    """What JSON text stands for; other text stays, and the record says that it is of no use."""
    try:
        return read_json(text)
    except JsonError:
        return text
