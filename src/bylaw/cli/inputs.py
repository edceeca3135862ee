"""Reading what commands are given: procedures, vocabularies, traces."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from bylaw.batch.input.chunks import Limits, records
from bylaw.batch.input.files import find_files
from bylaw.cli.terminal import progress
from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.printable import in_line
from bylaw.procedure.procedure import Procedure
from bylaw.trace.files import MEGABYTE, Entry
from bylaw.trace.trace import Trace
from bylaw.vocabulary.registry import EMPTY, Vocabulary

# ── procedures ────────────────────────────────────────────────────────────────────────────


def load_procedure(options: argparse.Namespace) -> Procedure:
    """The procedure that the options name."""
    return Procedure.load(options.procedure, vocabulary=load_vocabulary(options.vocabulary))


def load_vocabulary(reference: str | None) -> Vocabulary:
    """The vocabulary at `module:name`."""
    if reference is None:
        return EMPTY
    module_name, _, name = reference.partition(":")
    if not module_name or not name:
        message = f"'{reference}' is not of the form module:name"
        raise UsageError(Diagnostic("E401", message, "For example: --with my_rules:vocabulary"))
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(import_module(module_name), name)
    except Exception as error:  # a user's module may fail in any way
        message = f"cannot import {reference}: {type(error).__name__}: {error}"
        raise UsageError(Diagnostic("E401", message)) from None
    if not isinstance(found, Vocabulary):
        message = f"{reference} is a {type(found).__name__}, not a bylaw.Vocabulary"
        raise UsageError(Diagnostic("E401", message))
    return found


# ── traces ────────────────────────────────────────────────────────────────────────────────


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
        print("\n".join(d.render() for d in diagnostics), file=sys.stderr)


def one_trace(path: str) -> Trace:
    """The only record of a file, or the record that `runs.jsonl:17` or `runs.json[3]` names."""
    if path == "-" or os.path.exists(path):  # noqa: PTH110  (Path raises on long names)
        named, file = None, path
    else:
        file = path.rpartition("[")[0] if path.endswith("]") else path.rpartition(":")[0]
        named = path
        if not file or not os.path.exists(file):  # noqa: PTH110
            named, file = None, path
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
