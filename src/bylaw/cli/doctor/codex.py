"""`bylaw doctor codex`: proves that the gate stands before Codex."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from bylaw.cli.options import add_json

EPILOG: Final = """\
Reads the hooks that Codex would use in this folder, and runs them as Codex
would: a harmless call must be refused, and an event that cannot be read.
Whether you have trusted the hooks, only Codex knows.

  bylaw doctor codex

Exit code: 0 if every call passes the gate, 1 if something lets calls past it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_json(parser, "a JSON list of the findings")


def run(options: argparse.Namespace) -> int:
    """Examines the gate of this folder."""
    from bylaw.cli.doctor.findings import show
    from bylaw.protocols.codex_settings import examined_codex

    return show(examined_codex(Path.cwd()), as_json=options.json)
