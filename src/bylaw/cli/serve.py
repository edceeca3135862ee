"""`bylaw serve`: a resident gate for many runs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from bylaw.cli.options import (
    add_choice,
    add_json,
    add_number,
    add_procedure,
    at_least_one,
    load_procedure,
)
from bylaw.enforcement.decision import HINTS
from bylaw.enforcement.severity import SETTINGS, UNENFORCEABLE
from bylaw.errors import Diagnostic, UsageError
from bylaw.opening import open_regular

EPILOG: Final = """\
Agents that cannot import a library ask this server before each tool call. It
keeps the state of every run in a store, so that the next decision after a
crash is as if nothing had happened. Several servers can share a PostgreSQL
store: any of them serves any run.

Without --token-file, two tokens are made and printed: one for the host of the
agents, one for the person who watches the page and approves calls. A token
file has one token a line: `agent NAME TOKEN` or `person NAME TOKEN`.

  bylaw serve -p refund.yaml
  bylaw serve -p refund.yaml --unix /run/bylaw.sock --token-file tokens.txt
  bylaw serve -p refund.yaml --store postgresql://bylaw@db/gate --host 0.0.0.0

Exit code: 0 when it is stopped, 2 if an input cannot be used.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_procedure(parser)
    parser.add_argument("--unix", metavar="PATH", help="listen on a Unix socket, for this user")
    parser.add_argument("--host", default="127.0.0.1", help="the address (default: 127.0.0.1)")
    add_number(parser, "--port", 8700, "the port; 0 for any", kind=_port)
    parser.add_argument(
        "--store",
        metavar="ADDRESS",
        default="sqlite:bylaw-gate.db",
        help="sqlite:FILE, postgresql://… or memory (default: sqlite:bylaw-gate.db)",
    )
    parser.add_argument("--token-file", metavar="FILE", help="the tokens of agents and persons")
    parser.add_argument(
        "--key-file", metavar="FILE", help="a secret that seals what is stored: 16 bytes or more"
    )
    add_choice(parser, "--setting", SETTINGS, "as-written", "which severities act")
    add_choice(parser, "--hints", HINTS, "rule", "what refusals tell the agent")
    add_choice(
        parser,
        "--unenforceable",
        UNENFORCEABLE,
        "error",
        "rules whose stated severity cannot be kept: an error, or only scored",
    )
    add_number(parser, "--live", 4000, "the most runs in memory; others are in the store")
    add_number(parser, "--timeout", 10, "the seconds that a request may take")
    parser.add_argument(
        "--give-up",
        type=at_least_one,
        metavar="N",
        help="for rules across runs: a call without a result has failed after N seconds",
    )
    parser.add_argument(
        "--keep",
        type=at_least_one,
        metavar="N",
        help="delete runs N days after they finished (default: none is deleted)",
    )
    add_number(parser, "--max-body", 2_000_000, "the largest request, in bytes")
    add_json(parser, "the addresses and the new tokens as JSON")


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number < 65536:
        raise argparse.ArgumentTypeError(f"{text} is not a port")
    return number


def run(options: argparse.Namespace) -> int:
    """Serves until it is stopped."""
    try:
        from bylaw.serve.application import Application
        from bylaw.serve.server import listening, listening_at, serve
    except ImportError as error:
        message = f"{error.name} is not installed"
        raise UsageError(Diagnostic("E420", message, "pip install 'bylaw[serve]'")) from None
    from bylaw.serve.resident import ResidentGate
    from bylaw.serve.retention import DAY
    from bylaw.serve.tickets import Principal
    from bylaw.serve.tokens import Tokens, random_token
    from bylaw.store.addresses import open_store

    procedure = load_procedure(options)
    made: dict[str, str] = {}
    if options.token_file is None:
        made = {"agent_token": random_token(), "person_token": random_token()}
        agent, person = Principal("agent"), Principal("person", person=True)
        tokens = Tokens({made["agent_token"]: agent, made["person_token"]: person})
    else:
        tokens = Tokens.read(options.token_file)
    gate = ResidentGate(
        procedure,
        open_store(options.store),
        guard={"setting": options.setting, "hints": options.hints},
        unenforceable=options.unenforceable,
        key=_key(options.key_file),
        max_live=options.live,
        timeout=options.timeout,
        give_up=options.give_up,
        keep=None if options.keep is None else options.keep * DAY,
    )
    if options.unix is not None:
        socket, address = listening_at(Path(options.unix)), f"unix:{options.unix}"
    else:
        socket = listening(options.host, options.port)
        host = f"[{options.host}]" if ":" in options.host else options.host
        address = f"http://{host}:{socket.getsockname()[1]}"
    _announce(options, address, made)
    serve(Application(gate, tokens, max_body=options.max_body), [socket])
    return 0


def _announce(options: argparse.Namespace, address: str, made: dict[str, str]) -> None:
    from bylaw.store.public_address import public_address

    if options.json:
        print(json.dumps({"address": address, **made}), flush=True)
        return
    print(f"The gate is at {address}, its store at {public_address(options.store)}.")
    if made:
        print(f"Agents send this token:  {made['agent_token']}")
        print(f"The page to watch:       {address}/#token={made['person_token']}")
    print("Ctrl-C stops it.", flush=True)


def _key(path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        with open_regular(path) as file:
            return file.read()
    except OSError as error:
        message = f"the key cannot be read from {path}: {error.strerror or error}"
        raise UsageError(Diagnostic("E401", message)) from None
