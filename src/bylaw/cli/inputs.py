"""What commands read: the procedure, the vocabulary, the traces."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from bylaw.batch.input.chunks import Limits, records
from bylaw.batch.input.files import find_files
from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.procedure.procedure import Procedure
from bylaw.trace.files import MEGABYTE, Entry
from bylaw.trace.trace import Trace
from bylaw.vocabulary.registry import EMPTY, Vocabulary


def add_procedure(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """The options that name a procedure and the code it may use."""
    parser.add_argument(
        "-p", "--procedure", metavar="FILE", required=required, help="the procedure, YAML or JSON"
    )
    parser.add_argument(
        "--with",
        dest="vocabulary",
        metavar="MODULE:NAME",
        help="a bylaw.Vocabulary with the open predicates and extractors that rules use; this "
        "imports the module, and is the only way code gets in",
    )


def at_least_one(text: str) -> int:
    """A whole number above zero, as an argument."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def add_max_line(parser: argparse.ArgumentParser) -> None:
    """The option that raises the longest line."""
    parser.add_argument(
        "--max-line",
        metavar="MIB",
        type=at_least_one,
        default=64,
        help="longest line read (default: 64)",
    )


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


def entries(paths: Sequence[str], max_line: int) -> Iterator[Entry]:
    """The records of files, folders, patterns and `-`, standard input."""
    return records(find_files(paths), Limits(max_line=max_line * MEGABYTE))


def one_trace(path: str) -> Trace:
    """The only record of a file, or the record that `runs.jsonl:17` or `runs.json[3]` names."""
    if path == "-" or Path(path).exists():
        named, file = None, path
    else:
        file = path.rpartition("[")[0] if path.endswith("]") else path.rpartition(":")[0]
        named = path
        if not file or not Path(file).exists():
            named, file = None, path
    found: Entry | None = None
    for entry in entries([file], 64):
        if named is not None and entry.name != named:
            continue
        if found is not None:
            example = f"Name one of them: {found.name}"
            message = "the file holds several records, and one is needed"
            raise TraceError(Diagnostic("E312", message, example, source=path))
        found = entry
    if found is None:
        raise TraceError(Diagnostic("E312", "the file holds no such record", source=path))
    return found.required()
