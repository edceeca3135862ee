"""`bylaw install mcp`: puts a gate before a configured MCP server, or removes it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from bylaw.cli.install.change import add_change, make_change
from bylaw.cli.install.gate_arguments import add_installed, gate_arguments

EPILOG: Final = """\
The server's command is replaced by a gate that starts the server. The change is
shown first, and made after a yes, or with --yes. --remove undoes it.

  bylaw install mcp desk -p desk.yaml                 in .mcp.json here
  bylaw install mcp desk -p desk.yaml --desktop --yes in Claude Desktop
  bylaw install mcp desk --remove --yes
  bylaw doctor mcp desk                               does it stand in the way?
"""


def add_config(parser: argparse.ArgumentParser) -> None:
    """Adds the server and the file that names it."""
    parser.add_argument("name", metavar="NAME", help="the server's name in the configuration")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--config", metavar="FILE", help="the configuration (default: .mcp.json)")
    where.add_argument("--desktop", action="store_true", help="that of Claude Desktop")


def config_path(options: argparse.Namespace) -> Path:
    """The configuration that the options name."""
    if not options.desktop:
        return Path(options.config or ".mcp.json").absolute()
    bases = {
        "darwin": Path.home() / "Library" / "Application Support",
        "win32": Path(os.environ.get("APPDATA", str(Path.home()))),
    }
    base = bases.get(sys.platform, Path.home() / ".config")
    return base / "Claude" / "claude_desktop_config.json"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_config(parser)
    add_installed(parser)
    help = "tell the model, in the descriptions of tools, which rules are about them"
    parser.add_argument("--notes", action="store_true", help=help)
    add_change(parser)


def run(options: argparse.Namespace) -> int:
    """Shows the change, and makes it."""
    from bylaw.protocols.claude_settings import read_settings
    from bylaw.protocols.mcp_config import gated, ungated

    path = config_path(options)
    config = read_settings(path)
    if options.remove:
        return 0 if make_change(path, ungated(config, options.name), options) else 1
    arguments = [*gate_arguments(options), *(["--notes"] if options.notes else [])]
    return 0 if make_change(path, gated(config, options.name, arguments), options) else 1
