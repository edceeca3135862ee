"""`bylaw install codex`: puts a gate before Codex, or removes it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from bylaw.cli.install.change import add_change, make_change
from bylaw.cli.install.gate_arguments import add_installed, gate_arguments

EPILOG: Final = """\
The change is shown first. It is made after a yes, or with --yes. Codex asks you
to trust the new hooks when it starts.

  bylaw install codex -p coding.yaml               for this project
  bylaw install codex -p coding.yaml --user --yes  for all projects
  bylaw install codex --remove --yes
  bylaw doctor codex                               does it stand in the way?
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    scopes = parser.add_mutually_exclusive_group()
    for scope, where in (
        ("project", ".codex/hooks.json (default)"),
        ("user", "~/.codex/hooks.json"),
    ):
        told = f"write to {where}"
        scopes.add_argument(
            f"--{scope}", dest="scope", action="store_const", const=scope, help=told
        )
    add_installed(parser)
    add_change(parser)


def run(options: argparse.Namespace) -> int:
    """Shows the change, and makes it."""
    from bylaw.protocols.claude_settings import installed, read_settings, removed
    from bylaw.protocols.codex import EVENTS
    from bylaw.protocols.codex_settings import codex_hook, hooks_path

    path = hooks_path(options.scope or "project", Path.cwd())
    before = read_settings(path)
    if options.remove:
        return 0 if make_change(path, removed(before), options) else 1
    hook = codex_hook(gate_arguments(options))
    return 0 if make_change(path, installed(before, hook, "project", EVENTS), options) else 1
