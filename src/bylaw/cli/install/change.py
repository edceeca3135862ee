"""A change of a settings file: shown first, made when it is confirmed."""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
from pathlib import Path

from bylaw.cli.outputs import errors_explained, make_folder
from bylaw.terminal import coloured
from bylaw.values import Json
from bylaw.writing import replace_file


def add_change(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a command that changes a file."""
    parser.add_argument("--remove", action="store_true", help="remove the gate again")
    parser.add_argument("--yes", action="store_true", help="make the change without asking")


def make_change(
    path: Path, settings: dict[str, Json], options: argparse.Namespace, *, private: bool = False
) -> bool:
    """Shows the change of a file, and makes it with --yes or after a yes. True if it was made.

    An object without entries is no file. A private file can be read by its owner only.
    """
    before = path.read_text("utf-8") if path.exists() else ""
    after = _written(settings, before) if settings else ""
    if before == after:
        print(f"{path}: nothing to change")
        return True
    _show(path, before, after)
    if not (options.yes or _confirmed(path)):
        print("nothing was changed; --yes makes the change")
        return False
    with errors_explained(path):
        if not after:
            path.unlink()
        else:
            make_folder(path.parent)
            replace_file(path, after.encode())
            if private:
                path.chmod(0o600)
    print(f"{'removed' if not after else 'wrote'} {path}")
    return True


def _written(settings: dict[str, Json], before: str) -> str:
    """The settings as text, indented as the text before."""
    found = re.search(r'^([ \t]+)"', before, re.MULTILINE)
    ends = "\n" if before.endswith("\n") or not before else ""
    return json.dumps(settings, indent=found[1] if found else 2, ensure_ascii=False) + ends


def _show(path: Path, before: str, after: str) -> None:
    names = (str(path) if before else "/dev/null", str(path) if after else "/dev/null")
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
    for line in lines:
        colour = {"+": "green", "-": "red"}.get(line[:1])
        print(coloured(line, colour) if colour else line)


def _confirmed(path: Path) -> bool:
    if not (sys.stdin and sys.stdin.isatty()):
        return False
    print(f"Change {path}? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
