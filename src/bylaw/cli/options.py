"""Options that commands share: numbers and choices, procedures and traces, files to write.

A command destroys nothing it did not write. Its outputs are checked before it does any work: an
output that is also an input, an existing file that the command did not write, and an existing
folder with other files in it are refused, also through links, unless `--force` is given.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bylaw.errors import Diagnostic, UsageError
from bylaw.frozen import frozen

if TYPE_CHECKING:  # slow to import, and not every command has a procedure
    from bylaw.procedure.procedure import Procedure
    from bylaw.vocabulary.registry import Vocabulary

MARK: Final = ".bylaw"
"""The file that marks a folder as written by a command."""
_HEAD: Final = 4096
"""The number of bytes at the start of a file in which its mark is looked for."""


OutputMark: TypeAlias = str | Callable[[Path], bool] | None
"""Tells what a command wrote: a text near the start of the file, or the name of a file in the
folder; or a function that recognises it; None if nothing does."""


def at_least_one(text: str) -> int:
    """A whole number above zero, as an argument."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def add_number(
    parser: argparse.ArgumentParser,
    flag: str,
    default: float,
    help: str,
    kind: Callable[[str], float] = at_least_one,
) -> None:
    """Adds an option that takes a number; its help names the default."""
    shown = str(default) if isinstance(default, int) else f"{default:g}"
    help = f"{help} (default: {shown})"
    parser.add_argument(flag, type=kind, default=default, metavar="N", help=help)


def add_choice(
    parser: argparse.ArgumentParser, flag: str, choices: Iterable[str], default: str, help: str
) -> None:
    """Adds an option that takes one of a few words; its help names the default."""
    help = f"{help} (default: {default})"
    parser.add_argument(flag, choices=tuple(choices), default=default, help=help)


def add_names(
    parser: argparse.ArgumentParser, flag: str, choices: Iterable[str] | None = None
) -> None:
    """Adds an option that may be repeated, and that selects all names by default."""
    names = None if choices is None else tuple(choices)
    help = "repeatable (default: all)"
    parser.add_argument(flag, action="append", choices=names, metavar="NAME", help=help)


def add_json(parser: argparse.ArgumentParser, what: str = "JSON") -> None:
    """Adds `--json`; `what` completes "print …"."""
    parser.add_argument("--json", action="store_true", help=f"print {what}")


def add_run_functions(parser: argparse.ArgumentParser) -> None:
    """Adds the option for searches that run registered functions."""
    help = "run registered functions on generated traces"
    parser.add_argument("--run-functions", action="store_true", help=help)


def add_edit_results(parser: argparse.ArgumentParser) -> None:
    """Adds the option for repairs that change results."""
    help = "let repairs also change what tools returned"
    parser.add_argument("--edit-results", action="store_true", help=help)


# ── procedures and traces ─────────────────────────────────────────────────────────────────


def add_procedure(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Adds the options for a procedure and the Python code it may use."""
    parser.add_argument(
        "-p", "--procedure", metavar="FILE", required=required, help="the procedure, YAML or JSON"
    )
    add_vocabulary(parser)


def add_vocabulary(parser: argparse.ArgumentParser) -> None:
    """Adds the option for Python code that rules may use."""
    parser.add_argument(
        "--with",
        dest="vocabulary",
        metavar="MODULE:NAME",
        help="a bylaw.Vocabulary with the predicates and extractors that rules use; the module "
        "is imported (nothing else runs code)",
    )


def load_procedure(options: argparse.Namespace) -> Procedure:
    """The procedure that the options name."""
    from bylaw.procedure.procedure import Procedure

    return Procedure.load(options.procedure, vocabulary=load_vocabulary(options.vocabulary))


def load_vocabulary(reference: str | None) -> Vocabulary:
    """The vocabulary at `module:name`."""
    from bylaw.vocabulary.registry import EMPTY, Vocabulary

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


def add_traces(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """Adds the traces to read, and the limit on their lines."""
    many = "+" if needed else "*"
    parser.add_argument(
        "traces",
        nargs=many,
        metavar="TRACE",
        help="a file, a folder, a pattern in quotes, or - for standard input",
    )
    add_max_line(parser)


def add_max_line(parser: argparse.ArgumentParser) -> None:
    """Adds the limit on the length of a line."""
    help = "longest line to read, in MiB (default: 64)"
    parser.add_argument("--max-line", metavar="MIB", type=at_least_one, default=64, help=help)


# ── outputs ───────────────────────────────────────────────────────────────────────────────


@frozen
class OutputOption:
    """An option that names an output."""

    name: str
    """Its name among the parsed options."""
    mark: OutputMark
    folder: bool
    resumes: bool
    """Does the command itself check an existing file, because it continues it?"""


def add_output(
    parser: argparse.ArgumentParser,
    *flags: str,
    help: str,
    mark: OutputMark = None,
    folder: bool = False,
    resumes: bool = False,
    group: argparse._ArgumentGroup | None = None,
    **more: Any,
) -> None:
    """Adds an option that names an output, to a parser or to a group of its options."""
    metavar = "DIR" if folder else "FILE"
    option = (group or parser).add_argument(*flags, metavar=metavar, help=help, **more)
    outputs: list[OutputOption] = parser.get_default("outputs") or []
    if not outputs:
        force = "replace files that exist and that this command did not write"
        parser.add_argument("--force", action="store_true", help=force)
    mark = MARK if folder and mark is None else mark
    added = OutputOption(option.dest, mark, folder, resumes)
    parser.set_defaults(outputs=[*outputs, added])


def check_outputs(options: argparse.Namespace, only: str | None = None) -> None:
    """Raises a UsageError if the command would destroy something. `only` names one output."""
    inputs = input_paths(options)
    for output in getattr(options, "outputs", []):
        path = getattr(options, output.name)
        if path is not None and only in (None, output.name):
            check_output(output, Path(path), inputs, force=options.force)


def input_paths(options: argparse.Namespace) -> list[Path]:
    """The files that the options may name as inputs."""
    outputs: list[OutputOption] = getattr(options, "outputs", [])
    names = {"outputs", *(output.name for output in outputs)}
    given = [value for name, value in vars(options).items() if name not in names]
    return [path for value in given for path in _paths(value)]


def _paths(value: object) -> Iterator[Path]:
    """The files that an option may name: `-p FILE`, traces, `NAME=FOLDER`."""
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and text not in ("", "-") and "\0" not in text:
            yield Path(text)
            if "=" in text:
                yield Path(text.partition("=")[2])


def check_output(
    output: OutputOption, path: Path, inputs: list[Path], *, force: bool = False
) -> None:
    """Raises a UsageError if the command would destroy something at this path."""
    help = "Name another one, or add --force."
    try:
        if not path.exists():
            return
        if path.is_dir() is not output.folder:
            found, wanted = ("a folder", "a file") if path.is_dir() else ("a file", "a folder")
            raise UsageError(Diagnostic("E402", f"{path} is {found}", f"Name {wanted}."))
        if not output.folder and not path.is_file():  # also with --force: it may be /dev/null
            message = f"{path} is not a regular file"
            raise UsageError(Diagnostic("E402", message, "Name a file."))
        if force:
            return
        if any(each.exists() and each.samefile(path) for each in inputs):
            message = f"{path} is one of the files to read, and would be overwritten"
            raise UsageError(Diagnostic("E403", message, help))
        if not output.resumes and not _is_ours(output, path):
            what = "holds files" if output.folder else "exists already"
            message = f"{path} {what}, and this command did not write it"
            raise UsageError(Diagnostic("E403", message, help))
    except (OSError, ValueError) as error:  # a name that no file can have
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(Diagnostic("E403", f"cannot write {path}: {reason}")) from None


def _is_ours(output: OutputOption, path: Path) -> bool:
    if output.mark is None or not isinstance(output.mark, str):
        return output.mark is not None and output.mark(path)
    if output.folder:
        return (path / output.mark).is_file() or not any(path.iterdir())
    with path.open("rb") as file:
        return output.mark.encode() in file.read(_HEAD)


def add_tables(parser: argparse.ArgumentParser, names: Iterable[str], short: Iterable[str]) -> None:
    """Adds the options that choose tables to print, and where to write them."""
    help = f"a table to print, or all; repeatable (default: {', '.join(short)})"
    choices = [*names, "all"]
    parser.add_argument("--table", action="append", choices=choices, metavar="NAME", help=help)
    add_csv(parser)


def add_csv(parser: argparse.ArgumentParser) -> None:
    """Adds the option to write tables as CSV files."""
    add_output(parser, "--csv", help="write each table there, as a CSV file", folder=True)


# ── corpora ───────────────────────────────────────────────────────────────────────────────


def add_corpus(parser: argparse.ArgumentParser) -> None:
    """Adds the options for corpora."""
    group = parser.add_argument_group("corpora")
    help = "write a row per trace: .parquet, .jsonl, .jsonl.gz or .zst"
    add_output(parser, "--out", help=help, mark=_is_results_file, group=group)
    help = "write the summary as a page (HTML)"
    mark = 'name="generator" content="bylaw corpus"'
    add_output(parser, "--report", help=help, mark=mark, group=group)
    group.add_argument("--summary", action="store_true", help="print only the summary")
    group.add_argument(
        "--restart", action="store_true", help="discard an unfinished run and start over"
    )
    add_engine(group)


def add_engine(parser: argparse._ActionsContainer) -> None:
    """Adds the options for parallel work."""
    parser.add_argument(
        "--jobs", metavar="N", type=int, help="number of processes (default: one per core)"
    )
    parser.add_argument(
        "--engine", choices=("local", "ray"), default="local", help="default: local processes"
    )


def _is_results_file(path: Path) -> bool:
    from bylaw.batch.output.formats import is_results_file  # imports NumPy

    return is_results_file(path)
