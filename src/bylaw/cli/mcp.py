"""`bylaw mcp`: stands between an MCP client and a server, and decides its tool calls."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Final

from bylaw.cli.hook.hook_options import (
    add_gate,
    add_listening,
    add_state,
    hook_gate,
)
from bylaw.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from bylaw.protocols.hook_gate import HookGate

EPILOG: Final = """\
Before a server that speaks over standard input and output, write its command
after `--`. One process is one run. A refused call gets an error that says
why; everything else passes as it is. `bylaw install mcp NAME` writes this into
the configuration of a client.

  bylaw mcp -p desk.yaml -- python server.py

Before a remote server, listen and name its address. Every request must carry
the key of a run, which `POST /runs` issues to whoever has the token.

  bylaw mcp -p desk.yaml --listen 127.0.0.1:8182 --upstream https://x.org/mcp
"""

INNER_COMMAND: Final = "server"
"""The option that takes the command after `--`."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.usage = "%(prog)s -p FILE [options] -- SERVER …"
    parser.set_defaults(server=[])
    add_gate(parser)
    add_state(parser)
    add_listening(parser)
    parser.add_argument("--upstream", metavar="URL", help="the address of a remote server")
    help = "a header for the remote server, such as its authorization; repeatable"
    parser.add_argument("--upstream-header", action="append", metavar="NAME:VALUE", help=help)
    help = "tell the model, in the descriptions of tools, which rules are about them"
    parser.add_argument("--notes", action="store_true", help=help)


def run(options: argparse.Namespace) -> int:
    """Relays messages until one side ends."""
    if bool(options.server) == bool(options.upstream):
        help = "Write `bylaw mcp -p FILE -- SERVER …`, or --listen ADDRESS --upstream URL."
        raise UsageError(Diagnostic("E402", "name a server, or an address to forward to", help))
    gate = hook_gate(options)
    gate.new_guard()  # a promise that cannot be kept shows now, not at the first call
    try:
        return _remote(options, gate) if options.upstream else _local(options, gate)
    finally:
        gate.store.close()


def _local(options: argparse.Namespace, gate: HookGate) -> int:
    from bylaw.protocols.mcp_stdio import StdioProxy

    proxy = StdioProxy(gate, options.server, notes=options.notes)
    # Files of our own: a thread may still read when the process ends, which Python's cannot bear.
    return proxy.run(open(os.dup(0), "rb"), open(os.dup(1), "wb"))  # noqa: PTH123


def _remote(options: argparse.Namespace, gate: HookGate) -> int:
    from bylaw.cli.hook.listening import token_file

    if not options.listen:
        raise UsageError(Diagnostic("E402", "no address to listen at", "Add --listen HOST:PORT."))
    try:
        from bylaw.protocols.mcp_http import http_proxy
        from bylaw.protocols.resident import kept_token, serve
    except ModuleNotFoundError as error:
        raise UsageError(Diagnostic("E420", str(error))) from None
    headers = [each.partition(":") for each in options.upstream_header or ()]
    given = {name.strip(): value.strip() for name, _, value in headers}
    token = kept_token(token_file(options))
    app = http_proxy(gate, token, options.upstream, given, notes=options.notes)
    print(f"the gate listens at {options.listen}", file=sys.stderr)
    serve(app, options.listen)
    return 0
