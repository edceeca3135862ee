"""The official MCP client and server, and FastMCP's client, with a gate between them."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="NOT TESTED: the MCP SDK is not installed")
import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]

HERE = Path(__file__).parent
DESK = str(HERE / "desk.yaml")
SERVER = str(HERE / "desk_server.py")
CALLS: list[tuple[str, dict[str, Any], bool, str]] = [
    ("refund", {"order": 7, "amount": 20}, True, "Refunds need a verified customer."),
    ("verify", {"customer": "nobody"}, True, "Error executing tool verify"),
    ("refund", {"order": 7, "amount": 20}, True, "Refunds need a verified customer."),
    ("verify", {"customer": "ada"}, False, "verified"),
    ("refund", {"order": "seven", "amount": 20}, True, "'order' must be a whole number"),
    ("refund", {"order": 7, "amount": 20}, False, "refunded"),
    ("refund", {"order": 7, "amount": 20}, True, "One refund per conversation."),
]
EXECUTED = ["verify nobody", "verify ada", "refund 7 20"]


def gate(state: Path, *more: str) -> list[str]:
    return ["-m", "bylaw", "mcp", "-p", DESK, "--state", str(state), *more]


async def works_through(client: Any) -> None:
    """A client makes all calls, one after another, then two at once."""
    assert [tool.name for tool in (await client.list_tools()).tools] == [
        *("lookup", "verify", "refund")
    ]
    for tool, arguments, refused, text in CALLS:
        result = await client.call_tool(tool, arguments)
        assert result.is_error is refused
        assert text in result.content[0].text
    both = await asyncio.gather(*(client.call_tool("lookup", {"order": n}) for n in (1, 2)))
    assert [json.loads(each.content[0].text) for each in both] == [{"paid": 20}] * 2


def executed(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if not line.startswith("lookup")]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "executed"


def test_the_official_client_over_stdio(tmp_path: Path, log: Path) -> None:
    async def session() -> None:
        arguments = gate(tmp_path, "--", sys.executable, SERVER, "stdio", str(log))
        server = StdioServerParameters(command=sys.executable, args=arguments)
        async with Client(stdio_client(server)) as client:
            await works_through(client)

    asyncio.run(asyncio.wait_for(session(), 60))
    assert executed(log) == EXECUTED


def test_fastmcp_over_stdio(tmp_path: Path, log: Path) -> None:
    fastmcp = pytest.importorskip("fastmcp", reason="NOT TESTED: FastMCP is not installed")
    arguments = gate(tmp_path, "--notes", "--", sys.executable, SERVER, "stdio", str(log))
    configured = {"mcpServers": {"desk": {"command": sys.executable, "args": arguments}}}

    async def session() -> None:
        async with fastmcp.Client(configured) as client:
            (tool,) = [each for each in await client.list_tools() if each.name == "refund"]
            assert "Refunds need a verified customer." in tool.description
            refused = await client.call_tool(*CALLS[0][:2], raise_on_error=False)
            assert refused.is_error
            assert CALLS[0][3] in refused.content[0].text
            await client.call_tool("verify", {"customer": "ada"})
            done = await client.call_tool("refund", {"order": 7, "amount": 20})
            assert done.content[0].text == "refunded"

    asyncio.run(asyncio.wait_for(session(), 60))
    assert executed(log) == EXECUTED[1:]


def test_a_gate_that_observes(tmp_path: Path, log: Path) -> None:
    async def session() -> None:
        arguments = gate(tmp_path, "--observe", "--", sys.executable, SERVER, "stdio", str(log))
        server = StdioServerParameters(command=sys.executable, args=arguments)
        async with Client(stdio_client(server)) as client:
            result = await client.call_tool(*CALLS[0][:2])
            assert result.content[0].text == "refunded"

    asyncio.run(asyncio.wait_for(session(), 60))
    command = [sys.executable, "-m", "bylaw", "hook", "report", "--json", "--state", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (found,) = json.loads(done.stdout)
    assert [each["rules"] for each in found["refused"]] == [["verify-first"]]


def test_a_server_that_dies(tmp_path: Path) -> None:
    """The open request is answered, and the gate ends."""
    program = "import sys; sys.stdin.readline(); sys.exit(3)"
    command = [sys.executable, *gate(tmp_path, "--", sys.executable, "-c", program)]
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "verify"}}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as proxy:
        assert proxy.stdin is not None
        assert proxy.stdout is not None
        proxy.stdin.write(json.dumps(call).encode() + b"\n")
        proxy.stdin.flush()
        assert "has ended" in json.loads(proxy.stdout.readline())["error"]["message"]
        assert proxy.wait(30) == 3


# ── over HTTP ────────────────────────────────────────────────────────────────────────────────


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)


class Remote:
    """A server and a gate before it, both over HTTP."""

    def __init__(self, folder: Path, log: Path) -> None:
        upstream, port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{port}"
        forward = (
            "--listen",
            f"127.0.0.1:{port}",
            "--upstream",
            f"http://127.0.0.1:{upstream}/mcp",
        )
        self.server = subprocess.Popen([sys.executable, SERVER, str(upstream), str(log)])
        self.gate = subprocess.Popen([sys.executable, *gate(folder, *forward)])
        wait_for(upstream)
        wait_for(port)
        self.token = (folder / "token").read_text()

    def post(self, path: str, bearer: str, body: Any = None, **headers: str) -> Any:
        told = {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"}
        told |= {"Accept": "application/json, text/event-stream"}
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, told, method="POST")
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    def new_run(self) -> str:
        return str(self.post("/runs", self.token)["run"])


@pytest.fixture
def remote(tmp_path: Path, log: Path) -> Iterator[Remote]:
    remote = Remote(tmp_path, log)
    yield remote
    for each in (remote.gate, remote.server):
        each.kill()
        each.wait()


def test_the_official_client_over_http(remote: Remote, log: Path) -> None:
    async def session() -> None:
        told = {"Authorization": f"Bearer {remote.new_run()}"}
        async with (
            httpx2.AsyncClient(headers=told) as http,
            Client(streamable_http_client(f"{remote.url}/mcp", http_client=http)) as client,
        ):
            await works_through(client)

    asyncio.run(asyncio.wait_for(session(), 60))
    assert executed(log) == EXECUTED
    _keys_and_headers(remote)
    assert executed(log) == EXECUTED
    remote.server.kill()
    remote.server.wait()
    with pytest.raises(urllib.error.HTTPError) as caught:
        remote.post("/mcp", remote.new_run(), _call("lookup", order=1))
    assert caught.value.code == 502
    caught.value.close()


def _call(tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def _keys_and_headers(remote: Remote) -> None:
    """Requests that the gate turns away, with the status."""
    key = remote.new_run()
    run, _, seal = key.partition(".")
    other = remote.new_run()
    refund = _call("refund", order=1, amount=1)
    for status, path, bearer, body, headers in (
        (401, "/runs", "wrong", None, {}),
        (401, "/runs", "", None, {}),
        (401, "/mcp", "", refund, {}),
        (401, "/mcp", remote.token, refund, {}),
        (401, "/mcp", run, refund, {}),
        (401, "/mcp", f"{run}.{other.partition('.')[2]}", refund, {}),
        (401, "/mcp", f"chosen-by-the-agent.{seal}", refund, {}),
        (400, "/mcp", key, refund, {"Mcp_Name": "verify"}),
        (400, "/mcp", key, refund, {"Mcp_Method": "ping"}),
        (400, "/mcp", key, [refund], {}),
    ):
        with pytest.raises(urllib.error.HTTPError) as caught:
            remote.post(path, bearer, body, **headers)
        assert caught.value.code == status, (path, bearer)
        caught.value.close()
    refused = remote.post("/mcp", key, refund)
    assert "Refunds need a verified customer." in refused["result"]["content"][0]["text"]
