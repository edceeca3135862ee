"""Options that name files and folders to write. A command destroys nothing it did not write.

Outputs are checked before a command does any work. An output that is also an input, an existing
file that the command did not write, and an existing folder with other files in it are refused,
also through links, unless `--force` is given.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from bylaw.errors import Diagnostic, UsageError

MARK: Final = ".bylaw"
"""The file that marks a folder as written by a command."""
_HEAD: Final = 4096
"""The number of bytes at the start of a file in which its mark is looked for."""


OutputMark: TypeAlias = str | Callable[[Path], bool] | None
"""Tells what a command wrote: a text near the start of the file, or the name of a file in the
folder; or a function that recognises it; None if nothing does."""


@dataclass(frozen=True, slots=True)
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
    outputs: list[OutputOption] = getattr(options, "outputs", [])
    names = {output.name for output in outputs}
    given = [(name, value) for name, value in vars(options).items() if name not in names]
    inputs = [path for name, value in given if name != "outputs" for path in _paths(value)]
    for output in outputs:
        path = getattr(options, output.name)
        if path is not None and only in (None, output.name):
            check_output(output, Path(path), inputs, force=options.force)


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
