"""The servers that an MCP client starts, in its configuration: put behind a gate, and out again.

`.mcp.json` of Claude Code and `claude_desktop_config.json` of Claude Desktop name the command of
each server under `mcpServers`. A gate takes the place of the command, and starts it in turn.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bylaw.errors import Diagnostic, UsageError, did_you_mean
from bylaw.protocols.claude_doctor import GateCheck
from bylaw.protocols.hooked_run import PROBE, PROBE_ANSWER
from bylaw.protocols.own_command import is_own, own_arguments
from bylaw.values import Json

_SECONDS: Final = 30.0


def gated(config: Mapping[str, Json], name: str, arguments: Sequence[str]) -> dict[str, Json]:
    """The configuration with a gate before this server; `arguments` are those of the gate."""
    server = original(_server(config, name))
    if type(server.get("command")) is not str:
        message = f"'{name}' is not started by a command, so no gate can take its place"
        help = "Before a remote server, run `bylaw mcp --listen … --upstream URL`."
        raise UsageError(Diagnostic("E473", message, help))
    inner = server.get("args")
    rest = list(inner) if isinstance(inner, list) else []
    args: list[Json] = [*own_arguments("mcp"), *arguments, "--", server["command"], *rest]
    return _with(config, name, {**server, "command": sys.executable, "args": args})


def ungated(config: Mapping[str, Json], name: str) -> dict[str, Json]:
    """The configuration without the gate before this server."""
    return _with(config, name, original(_server(config, name)))


def original(server: Mapping[str, Json]) -> dict[str, Json]:
    """The entry of a server as it was before a gate took its place."""
    if not is_gated(server):
        return dict(server)
    args = server["args"]
    assert isinstance(args, list), "it is gated"
    command, *rest = args[args.index("--") + 1 :]
    restored: dict[str, Json] = {**server, "command": command, "args": rest}
    if not rest:
        del restored["args"]
    return restored


def is_gated(server: Mapping[str, Json]) -> bool:
    """Does a gate of ours stand before this server?"""
    args = server.get("args")
    return isinstance(args, list) and is_own(args, "mcp") and "--" in args[:-1]


def examined_server(config: Mapping[str, Json], name: str) -> list[GateCheck]:
    """Starts a server as its client would, and makes a harmless call that a gate must refuse."""
    server = _server(config, name)
    about = f"a gate stands before {name}"
    if not is_gated(server):
        return [GateCheck(False, about, f"bylaw install mcp {name}")]
    try:
        answer = _probed(server)
    except (OSError, ValueError) as error:
        return [GateCheck(False, "a harmless call is refused", str(error))]
    refused = PROBE_ANSWER in answer
    return [
        GateCheck(True, about),
        GateCheck(refused, "a harmless call is refused", "" if refused else answer),
    ]


def _probed(server: Mapping[str, Any]) -> str:
    import os

    given = server.get("env")
    env = {**os.environ, **(given if isinstance(given, dict) else {})}
    params = {"name": PROBE, "arguments": {}}
    call = {"jsonrpc": "2.0", "id": "doctor", "method": "tools/call", "params": params}
    command = [server["command"], *server["args"]]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, **pipes) as started:
        timer = threading.Timer(_SECONDS, started.kill)
        timer.start()
        try:
            assert started.stdin is not None, "it is a pipe"
            assert started.stdout is not None, "it is a pipe"
            started.stdin.write(json.dumps(call).encode() + b"\n")
            started.stdin.flush()
            line = bytes(started.stdout.readline())
        finally:
            timer.cancel()
            started.kill()
            _, errors = started.communicate()
    if not line:
        raise ValueError(errors.decode(errors="replace")[-300:] or "it did not answer")
    return line.decode()


def _server(config: Mapping[str, Json], name: str) -> dict[str, Json]:
    servers = config.get("mcpServers")
    found = servers.get(name) if isinstance(servers, dict) else None
    if not isinstance(found, dict):
        known = [str(each) for each in servers] if isinstance(servers, dict) else []
        help = did_you_mean(name, known) or f"The servers are: {', '.join(known) or 'none'}."
        raise UsageError(Diagnostic("E473", f"there is no server '{name}'", help))
    return found


def _with(config: Mapping[str, Json], name: str, server: dict[str, Json]) -> dict[str, Json]:
    servers = config["mcpServers"]
    assert isinstance(servers, dict), "it has this server"
    return {**config, "mcpServers": {**servers, name: server}}
