"""`bylaw doctor claude-code`: proves that the gate stands before Claude Code."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from bylaw.cli.options import add_json

EPILOG: Final = """\
Reads the settings that Claude Code would use in this folder, and runs the hooks
as Claude Code would: a harmless call must be refused, and so must an event that
cannot be read.

  bylaw doctor claude-code

Exit code: 0 if every call passes the gate, 1 if something lets calls past it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_json(parser, "a JSON list of the findings")


def run(options: argparse.Namespace) -> int:
    """Examines the gate of this folder."""
    from bylaw.cli.doctor.findings import show
    from bylaw.protocols.claude_doctor import examined

    return show(examined(Path.cwd()), as_json=options.json)
