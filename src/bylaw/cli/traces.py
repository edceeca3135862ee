"""The traces that commands are given, by file, folder, pattern or name."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from bylaw.batch.input.chunks import Limits, records
from bylaw.batch.input.files import find_files
from bylaw.errors import TERMINAL_WIDTH, Diagnostic, TraceError
from bylaw.terminal import in_line, progress
from bylaw.trace.files import MEGABYTE, Entry
from bylaw.trace.trace import Trace


def entries(paths: Sequence[str], max_line: int) -> Iterator[Entry]:
    """The records of files, folders, patterns and `-`, standard input."""
    return records(find_files(paths), Limits(max_line=max_line * MEGABYTE))


class UsableTraces:
    """The traces among some records, with a progress line; unusable records are reported.

    `row` is the line printed for an unusable record, before its name.
    """

    def __init__(self, found: Iterable[Entry], *, as_json: bool, row: str = "unusable") -> None:
        self.unusable = 0
        self._found = found
        self._as_json = as_json
        self._row = row

    def __iter__(self) -> Iterator[tuple[Entry, Trace]]:
        with progress("traces") as line:
            for entry in self._found:
                line.clear()
                if entry.trace is None:
                    self._report(entry)
                else:
                    yield entry, entry.trace
                line.step()

    def _report(self, entry: Entry) -> None:
        self.unusable += 1
        diagnostics = entry.error.diagnostics if entry.error else ()
        if self._as_json:
            print(json.dumps({"trace": entry.name, "errors": [d.to_dict() for d in diagnostics]}))
        else:
            print(f"{self._row}  {in_line(entry.name)}")
        sys.stdout.flush()
        print("\n".join(d.render(TERMINAL_WIDTH) for d in diagnostics), file=sys.stderr)


def file_of(path: str) -> str:
    """The file of a record: that of `runs.jsonl:17` is `runs.jsonl`."""
    if path == "-" or os.path.exists(path):  # noqa: PTH110  (Path raises on long names)
        return path
    file = path.rpartition("[")[0] if path.endswith("]") else path.rpartition(":")[0]
    return file if file and os.path.exists(file) else path  # noqa: PTH110  (as above)


def one_trace(path: str) -> Trace:
    """The only record of a file, or the record that `runs.jsonl:17` or `runs.json[3]` names."""
    file = file_of(path)
    named = None if file == path else path
    found: Entry | None = None
    for entry in entries([file], 64):
        if named is not None and entry.name != named:
            continue
        if found is not None:
            message = "the file has several records, and one is needed"
            help = f"Name one of them: {found.name}"
            raise TraceError(Diagnostic("E312", message, help, source=path))
        found = entry
    if found is None:
        raise TraceError(Diagnostic("E312", "the file has no such record", source=path))
    return found.required()
