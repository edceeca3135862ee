"""Parquet and Arrow tables: batches of rows, and rows as the lines that they would be in JSONL.

A table either has a text column `record` (or `trace`) that holds a whole record, in any format
that is read, or it has the fields of a record as columns. Lists and objects may be nested columns
or JSON text. Where a column, or a field inside one, is null, the record has no such field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bylaw.batch.input.files import OpenedFile
from bylaw.batch.optional import import_extra
from bylaw.values import JsonError, read_json

_WHOLE_RECORDS: Final = ("record", "trace")
"""Columns that hold whole records as text."""
_NESTED: Final = ("tool_calls", "messages", "labels")
"""Fields of a record that are lists or objects: where they are text, it is JSON."""

_NOT_UTF8: Final = "UTF8"
"""A word of Arrow's message about text that is not UTF-8."""


def row_batches(table: OpenedFile, first: int, size: int) -> Iterator[tuple[int, Any]]:
    """Record batches of about `size` bytes from row `first` on, each with its first row."""
    import_extra("pyarrow", "reading Parquet and Arrow")
    row = 0
    for rows, batch in (_parquet if table.kind == "parquet" else _arrow)(table, first, size):
        done = max(0, first - row)
        if done < rows:
            yield row + done, batch.slice(done)
        row += rows


def _parquet(table: OpenedFile, first: int, size: int) -> Iterator[tuple[int, Any]]:
    """Batches with their numbers of rows. A row group before row `first` is not read: None."""
    parquet = import_extra("pyarrow.parquet", "reading Parquet")
    file = parquet.ParquetFile(table.raw)
    whole = _whole_record(file.schema_arrow.names)
    columns = None if whole is None else [whole]
    row = 0
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        row += group.num_rows
        if row <= first:
            yield group.num_rows, None
            continue
        width = max(1, group.total_byte_size // max(1, group.num_rows))
        rows = max(1, size // width)
        for batch in file.iter_batches(rows, row_groups=[number], columns=columns):
            yield batch.num_rows, batch


def _arrow(table: OpenedFile, _: int, size: int) -> Iterator[tuple[int, Any]]:
    """The batches of an Arrow file or stream with their numbers of rows; large ones are split."""
    ipc = import_extra("pyarrow.ipc", "reading Arrow")
    if table.kind == "arrow stream":
        batches = iter(ipc.open_stream(table.raw))
    else:
        file = ipc.open_file(table.raw)
        batches = (file.get_batch(number) for number in range(file.num_record_batches))
    for batch in batches:
        _check_structure(batch)
        rows = max(1, batch.num_rows * size // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            some = batch.slice(start, rows)
            yield some.num_rows, some


def _check_structure(batch: Any) -> None:
    """Raises ArrowInvalid if Arrow would read beyond its buffers. Text is checked row by row."""
    arrow = import_extra("pyarrow", "reading Arrow")
    try:
        batch.validate(full=True)
    except arrow.ArrowInvalid as error:
        if _NOT_UTF8 not in str(error):
            raise


def _whole_record(names: Sequence[str]) -> str | None:
    """The column that holds whole records, if there is one."""
    return None if "tool_calls" in names else next((n for n in _WHOLE_RECORDS if n in names), None)


def as_lines(batch: Any) -> bytes:
    """The rows of a record batch, a line each. An unreadable row becomes a line that says so."""
    try:
        lines = _lines(batch)
    except Exception:  # text that is not UTF-8, dates that Python does not have, and more
        lines = [_line(batch.slice(row, 1)) for row in range(batch.num_rows)]
    return b"".join(line + b"\n" for line in lines)


def _lines(batch: Any) -> list[bytes]:
    batch.validate(full=True)
    whole = _whole_record(batch.schema.names)
    if whole is not None:
        column = batch.column(batch.schema.names.index(whole))
        return [_one_line(text) for text in column.to_pylist()]
    return [_dumped(_record(row)) for row in batch.to_pylist(maps_as_pydicts="lossy")]


def _line(row: Any) -> bytes:
    """The line of one row; a line that is not JSON if the row cannot be read."""
    try:
        return _lines(row)[0]
    except Exception as error:
        reason = " ".join(f"{error}".split()).encode("utf-8", "backslashreplace")
        return b"\xff" if _NOT_UTF8.encode() in reason else b"this row cannot be read: " + reason


def _one_line(text: object) -> bytes:
    """A record's text in one line. A row without text becomes `null`, which is reported."""
    if text is None:
        return b"null"
    if not isinstance(text, str | bytes):
        return _dumped(_without_nulls(text))
    line = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    # A line break inside a JSON string is escaped, so the others are white space.
    return line.replace(b"\r", b" ").replace(b"\n", b" ").strip() or b"null"


def _dumped(value: object) -> bytes:
    return json.dumps(value, default=str, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _record(row: Mapping[str, object]) -> Mapping[str, object]:
    """The row as a record, with the fields and arguments decoded that are JSON text."""
    record: dict[str, object] = {}
    for key, value in row.items():
        if value is not None:
            if key in _NESTED and isinstance(value, str):
                record[key] = _decoded(value)
            else:
                record[key] = _without_nulls(value)
    calls = row.get("tool_calls")
    if isinstance(calls, list | tuple):
        record["tool_calls"] = [_call(call) for call in calls]
    return record


def _call(call: object) -> object:
    arguments = call.get("arguments") if isinstance(call, Mapping) else None
    present = _without_nulls(call)
    if isinstance(arguments, str) and isinstance(present, dict):
        present["arguments"] = _decoded(arguments)
    return present


def _without_nulls(value: object) -> object:
    """The value without the fields that are null because only another row has them."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in value]
    return value


def _decoded(text: str) -> object:
    """The value of JSON text; other text stays, and is reported when the record is read."""
    try:
        return read_json(text)
    except JsonError:
        return text
