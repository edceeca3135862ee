"""`bylaw doctor mcp`: proves that the gate stands before an MCP server."""

from __future__ import annotations

import argparse
from typing import Final

from bylaw.cli.install.mcp import add_config, config_path
from bylaw.cli.options import add_json

EPILOG: Final = """\
Starts the server as its client would, and makes a harmless call, which the gate
must refuse.

  bylaw doctor mcp desk

Exit code: 0 if every call passes the gate, 1 if not.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_config(parser)
    add_json(parser, "a JSON list of the findings")


def run(options: argparse.Namespace) -> int:
    """Examines the gate of a server."""
    from bylaw.cli.doctor.findings import show
    from bylaw.protocols.claude_settings import read_settings
    from bylaw.protocols.mcp_config import examined_server

    config = read_settings(config_path(options))
    return show(examined_server(config, options.name), as_json=options.json)
