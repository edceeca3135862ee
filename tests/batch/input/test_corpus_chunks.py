"""The records of a corpus and their names do not depend on its format or on its chunks."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpora
import pytest

from bylaw.batch.input.chunks import Chunk, Cursor, Limits, TextLines, chunks, load, records
from bylaw.batch.input.files import find_files, group_files
from bylaw.trace.files import MEGABYTE, Entry, read_traces
from bylaw.trace.trace import Trace

COUNT = 300
SMALL = Limits(chunk=2_000)
"""Chunks of a few lines."""


def _cut(path: Path | str, limits: Limits = SMALL, start: Cursor | None = None) -> list[Chunk]:
    return list(
        chunks(group_files(find_files([str(path)]), limits.chunk), start or Cursor(), limits)
    )


def _entries(found: list[Chunk]) -> Iterator[Entry]:
    for chunk in found:
        yield from load(chunk.content).entries()


def _outcomes(entries: Iterator[Entry]) -> list[tuple[str, Trace | str]]:
    """Line numbers, and the trace or the error."""
    return [
        (entry.name.rpartition(":")[2], str(entry.error) if entry.trace is None else entry.trace)
        for entry in entries
    ]


def _renamed(found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The same without the name of the file."""
    return [
        (line, what.calls if isinstance(what, Trace) else what.partition("error")[2])
        for line, what in found
    ]


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst", ".json"])
@pytest.mark.parametrize("size", [150, 2_000, 10_000, MEGABYTE])
def test_lines_do_not_depend_on_the_chunk_size(tmp_path: Path, ending: str, size: int) -> None:
    plain = corpora.jsonl(tmp_path / "plain.jsonl", COUNT)
    path = corpora.jsonl(tmp_path / f"runs{ending}", COUNT)
    expected = _outcomes(read_traces(plain))
    found = _cut(path, Limits(chunk=size))
    assert _renamed(_outcomes(_entries(found))) == _renamed(expected)
    assert len(found) > 1 or size >= 10_000
    assert sum(chunk.size for chunk in found) == path.stat().st_size


def test_a_plain_file_is_named_as_everywhere(tmp_path: Path) -> None:
    path = corpora.jsonl(tmp_path / "runs.jsonl", COUNT)
    assert [(e.name, e.trace, str(e.error)) for e in _entries(_cut(path))] == [
        (e.name, e.trace, str(e.error)) for e in read_traces(path)
    ]


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz", "runs.parquet", "runs.arrow"])
def test_a_run_can_start_at_any_cursor(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if "jsonl" in name:
        corpora.jsonl(path, COUNT)
    else:
        corpora.table(path, [{"record": line} for line in corpora.lines(COUNT)])
    whole = _cut(path)
    assert len(whole) > 5
    for number, chunk in enumerate(whole):
        rest = _cut(path, start=chunk.start)
        assert [each.next for each in rest] == [each.next for each in whole[number:]]
        assert _outcomes(_entries(rest[:2])) == _outcomes(_entries(whole[number : number + 2]))
    assert _cut(path, start=whole[-1].next) == []


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz", "runs.json", "runs.parquet"])
def test_addresses_are_read_like_paths(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith(".parquet"):
        corpora.table(path, [{"record": line} for line in corpora.lines(COUNT)])
    else:
        corpora.jsonl(path, COUNT)
    expected = _renamed(_outcomes(_entries(_cut(path))))
    for limits in (SMALL, Limits()):
        found = _cut(path.as_uri(), limits)
        assert _renamed(_outcomes(_entries(found))) == expected


@pytest.mark.parametrize("name", ["runs.jsonl.gz", "runs.jsonl.zst"])
def test_compressed_files_may_be_concatenated(tmp_path: Path, name: str) -> None:
    whole = "".join(f"{line}\n" for line in corpora.lines(COUNT)).encode()
    path = tmp_path / name
    half = len(whole) // 2
    path.write_bytes(corpora.packed(name, whole[:half]) + corpora.packed(name, whole[half:]))
    plain = corpora.jsonl(tmp_path / "plain.jsonl", COUNT)
    assert _renamed(_outcomes(_entries(_cut(path)))) == _renamed(_outcomes(read_traces(plain)))


# ── tables ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows"])
@pytest.mark.parametrize("column", ["record", "trace"])
def test_a_column_of_records_is_read_as_lines(tmp_path: Path, ending: str, column: str) -> None:
    plain = corpora.jsonl(tmp_path / "plain.jsonl", COUNT)
    rows = [{column: line or None, "other": 1} for line in corpora.lines(COUNT)]
    path = corpora.table(tmp_path / f"runs{ending}", rows)
    expected = dict(_renamed(_outcomes(read_traces(plain))))
    found = dict(_renamed(_outcomes(_entries(_cut(path)))))
    assert {line: what for line, what in found.items() if line in expected} == expected
    blank = {str(n) for n, line in enumerate(corpora.lines(COUNT), 1) if not line}
    assert set(found) - set(expected) == blank, "a row without a record is reported"


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize("text", [False, True], ids=["nested", "text"])
def test_columns_may_be_the_fields_of_a_record(tmp_path: Path, ending: str, text: bool) -> None:
    wanted = list(corpora.records(COUNT))
    rows = [dict(record) | {"tokens": n} for n, record in enumerate(wanted)]
    if text:
        rows = [row | {"tool_calls": json.dumps(row["tool_calls"])} for row in rows]
    path = corpora.table(tmp_path / f"runs{ending}", rows)
    traces = [entry.required() for entry in _entries(_cut(path))]
    assert [trace.calls for trace in traces] == [Trace.from_record(r).calls for r in wanted]
    assert [trace.answer for trace in traces] == [r.get("answer") for r in wanted]
    assert traces[7].metrics["tokens"] == 7


def test_arguments_may_be_text(tmp_path: Path) -> None:
    calls = [{"tool_name": "pay", "arguments": '{"amount": null}'}]
    path = corpora.table(tmp_path / "runs.parquet", [{"tool_calls": calls}])
    (entry,) = _entries(_cut(path))
    assert entry.required().calls[0].args == {"amount": None}


def test_a_table_of_something_else_is_reported_row_by_row(tmp_path: Path) -> None:
    path = corpora.table(tmp_path / "runs.parquet", [{"a": 1}, {"a": 2}])
    first, second = _entries(_cut(path))
    assert (first.trace, second.trace) == (None, None)
    assert "runs.parquet:2" in str(second.error)


# ── documents and sessions ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("size", [10, MEGABYTE])
@pytest.mark.parametrize("name", ["runs.json", "runs.json.gz"])
def test_documents_are_read_as_a_whole(tmp_path: Path, name: str, size: int) -> None:
    path = tmp_path / name
    text = json.dumps(list(corpora.records(5)), indent=1).encode()
    path.write_bytes(corpora.packed(name, text))
    (whole,) = _cut(path, Limits(chunk=size))
    assert [entry.name for entry in load(whole.content).entries()] == [
        f"{path}[{n}]" for n in range(5)
    ]


def test_small_files_of_all_kinds_are_one_chunk(tmp_path: Path) -> None:
    corpora.jsonl(tmp_path / "a.jsonl", 3)
    corpora.jsonl(tmp_path / "b.jsonl.gz", 3)
    (tmp_path / "c.json").write_text(json.dumps(next(corpora.records(1))))
    (tmp_path / "d.json").write_text("")
    (whole,) = _cut(tmp_path, Limits())
    names = [entry.name.removeprefix(f"{tmp_path}/") for entry in load(whole.content).entries()]
    assert names == [
        *(f"a.jsonl:{n}" for n in (1, 2, 3)),
        *(f"b.jsonl.gz:{n}" for n in (1, 2, 3)),
        "c.json",
        "d.json",
    ]


# ── unreadable files ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz"])
def test_a_line_that_is_too_long_is_reported_and_the_next_one_is_read(
    tmp_path: Path, name: str
) -> None:
    good = json.dumps(next(corpora.records(1)))
    long = json.dumps({"tool_calls": [], "answer": "x" * 6_000})
    longest = json.dumps({"tool_calls": [], "answer": "x" * 3_000_000})
    text = f"{good}\n{long}\n{longest}\n{good}\n"
    path = tmp_path / name
    path.write_bytes(corpora.packed(name, text.encode()))
    limits = Limits(chunk=2_000, max_line=10_000)
    assert [
        (entry.name.rpartition(":")[2], entry.error and entry.error.diagnostics[0].code)
        for entry in records(find_files([str(path)]), limits)
    ] == [("1", None), ("2", None), ("3", "E313"), ("4", None)]
    kept = [load(chunk.content) for chunk in _cut(path, limits)]
    assert max(len(each.text) for each in kept if isinstance(each, TextLines)) == 10_001


@pytest.mark.parametrize("name", ["runs.jsonl.gz", "runs.jsonl.zst"])
def test_a_damaged_file_is_read_up_to_the_damage(tmp_path: Path, name: str) -> None:
    path = corpora.jsonl(tmp_path / name, 20_000)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + b"\0" * 100)
    *before, last = _entries(_cut(path, Limits(chunk=100_000)))
    assert len(before) > 1_000
    assert last.error is not None
    (problem,) = last.error.diagnostics
    assert (problem.code, problem.source) == ("E310", str(path))
    assert problem.line == int(before[-1].name.rpartition(":")[2]) + 1, "where it stopped"


def test_a_damaged_table_is_reported(tmp_path: Path) -> None:
    path = corpora.table(tmp_path / "runs.parquet", [{"record": "{}"}] * 100)
    path.write_bytes(path.read_bytes()[:-20])
    (entry,) = _entries(_cut(path))
    assert entry.error is not None
    assert "cannot be read" in str(entry.error)


def test_a_table_without_a_row_is_reported(tmp_path: Path) -> None:
    path = corpora.table(tmp_path / "runs.parquet", [{"record": "{}"}])
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.parquet.read_table(path).slice(1), path)
    (entry,) = _entries(_cut(path, Limits()))
    assert "E311" in str(entry.error)


@pytest.mark.parametrize("kind", ["lines", "document", "gzip"])
@pytest.mark.parametrize("one_by_one", [False, True], ids=["chunks", "one by one"])
def test_standard_input_is_read_once(
    kind: str, one_by_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"{json.dumps(record)}\n" for record in corpora.records(50)).encode()
    if kind == "document":
        text = json.dumps(list(corpora.records(50)), indent=1).encode()
    elif kind == "gzip":
        text = gzip.compress(text)
    end, start = os.pipe()
    with open(end, encoding="utf-8") as reading, open(start, "wb") as writing:  # noqa: PTH123

        def write() -> None:
            with writing:
                writing.write(text)

        writer = threading.Thread(target=write)
        writer.start()
        monkeypatch.setattr("sys.stdin", reading)
        found = records(find_files(["-"]), SMALL) if one_by_one else _entries(_cut("-"))
        names = [entry.name for entry in found if entry.trace is not None]
        writer.join()
    assert len(names) == 50
    assert names[0].startswith("standard input")


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """Reading it could wait for ever; standard input is read as '-'."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for found in (_entries(_cut(path)), records(find_files([str(path)]), SMALL)):
        (entry,) = found
        assert "not a regular file" in str(entry.error)


def test_files_that_vanish_are_reported(tmp_path: Path) -> None:
    path = corpora.jsonl(tmp_path / "runs.jsonl", 10)
    found = group_files(find_files([str(path)]))
    path.unlink()
    (chunk,) = chunks(found, Cursor(), Limits())
    (entry,) = load(chunk.content).entries()
    assert "cannot be read: No such file" in str(entry.error)


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_text_that_is_not_utf8_hides_no_other_row(tmp_path: Path, ending: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    good = json.dumps({"tool_calls": [{"tool_name": "refund"}]}).encode()
    column = arrow.array([good, b'\xff\xfe{"tool_calls": []}', good, None], arrow.binary())
    texts = arrow.Array.from_buffers(arrow.string(), len(column), column.buffers())
    path = tmp_path / f"odd{ending}"
    with arrow.OSFile(str(path), "wb") as file:
        if ending == ".parquet":
            arrow.parquet.write_table(arrow.table({"record": texts}), file)
        else:
            found = arrow.table({"record": texts})
            with arrow.ipc.new_file(file, found.schema) as writer:
                writer.write_table(found)
    entries = list(records(find_files([str(path)]), Limits()))
    assert [each.trace is not None for each in entries] == [True, False, True, False]
    assert entries[1].error is not None
    assert entries[1].error.diagnostics[0].code == "E314"
