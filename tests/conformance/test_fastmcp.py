"""Behaviour specific to MCP servers: which run a call belongs to, and what can reach a tool."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from desk import answer, lookup, pay
from driver import TASK, Setup
from scenarios import FOUND, LOOKED_UP, SMALL, rules

from bylaw.errors import UsageError

pytestmark = pytest.mark.frameworks


@pytest.fixture(autouse=True)
def _needed() -> None:
    pytest.importorskip("fastmcp", reason="NOT TESTED: fastmcp is not installed")


def _called(server: Any, *calls: Any, **options: Any) -> list[str]:
    """The texts that a client in the same process gets for these calls."""
    from fastmcp import Client

    async def work() -> list[str]:
        async with Client(server, **options) as client:
            made = []
            for call in calls:
                about: Any = {"raise_on_error": False}
                result = await client.call_tool(call.tool, dict(call.args), **about)
                made.append(result.content[0].text)
            return made

    return asyncio.run(work())


def _server(gate: Any, setup: Setup) -> Any:
    from fastmcp import FastMCP

    server: Any = FastMCP("desk")
    for each in setup.desk.functions(asynchronous=True):
        server.tool(each)
    server.add_middleware(gate)
    return server


def _setup() -> Setup:
    return Setup(rules(LOOKED_UP), {TASK: [[answer()]]})


def test_without_a_key_only_stdio_is_served() -> None:
    from bylaw.adapters.fastmcp import ServerGate

    setup = _setup()
    server = _server(ServerGate(setup.procedure), setup)
    (said,) = _called(server, lookup())
    assert "It is not known which run this call belongs to." in said
    assert setup.desk.ran == []


@pytest.mark.parametrize("key", ["", None, 7])
def test_a_call_whose_run_has_no_key_is_refused(key: Any) -> None:
    from bylaw.adapters.fastmcp import ServerGate

    setup = _setup()
    server = _server(ServerGate(setup.procedure, run=lambda: key), setup)
    (said,) = _called(server, lookup())
    assert "It is not known which run" in said
    assert setup.desk.ran == []


def test_a_claim_of_no_token_is_no_key() -> None:
    from bylaw.adapters.fastmcp import token_claim

    assert token_claim("run")() is None


def test_a_client_cannot_begin_anew_by_another_session() -> None:
    from fastmcp import Client
    from fastmcp_driver import served, server_of

    setup = Setup(rules("CalledN(pay, <= 1)"), {TASK: [[answer()]]})
    server, gate = server_of(setup)

    async def pays(address: str) -> str:
        from fastmcp.client.transports import StreamableHttpTransport

        transport = StreamableHttpTransport(address, auth="t-0")
        async with Client(transport) as client:
            result = await client.call_tool("pay", {"amount": 0}, raise_on_error=False)
            return str(result.content[0].text)

    with served(server) as address:
        said = [asyncio.run(pays(address)) for _ in range(2)]
    assert said[0] == "paid 0"
    assert "pay: Not executed." in said[1], "a new session is the same run"
    assert len(setup.desk.ran) == 1
    assert gate.report(TASK).score == 1.0


def test_a_client_without_a_token_reaches_no_tool() -> None:
    from fastmcp import Client
    from fastmcp_driver import served, server_of

    setup = _setup()
    server, _ = server_of(setup)

    async def unknown(address: str) -> None:
        async with Client(address, auth="t-9") as client:
            await client.call_tool("lookup", {"order": 7})

    with served(server) as address, pytest.raises(Exception):  # noqa: B017, PT011  # of its transport
        asyncio.run(unknown(address))
    assert setup.desk.ran == []


def test_other_middleware_is_not_nearer_to_the_tools() -> None:
    from fastmcp.server.middleware import Middleware

    from bylaw.adapters.fastmcp import ServerGate

    class Doubling(Middleware):  # type: ignore[misc]  # the framework is not followed
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            context.message.arguments["amount"] *= 2
            return await call_next(context)

    setup = Setup(rules(SMALL), {TASK: [[answer()]]})
    server = _server(ServerGate(setup.procedure, run=lambda: "r"), setup)
    server.add_middleware(Doubling())
    with pytest.raises(Exception, match="server error"):
        _called(server, pay(9))
    assert setup.desk.ran == []
    outer = _server(Doubling(), setup)
    outer.add_middleware(ServerGate(setup.procedure, run=lambda: "r"))
    _called(outer, pay(9), pay(4))
    assert setup.desk.ran == [pay(8)], "it is judged as it is when it reaches the gate"


def test_nobody_pushes_a_guard_out_by_beginning_runs() -> None:
    from bylaw.adapters.fastmcp import ServerGate

    keys = iter(["a", "b", "c", "a"])
    setup = Setup(rules(FOUND), {TASK: [[answer()]]})
    gate = ServerGate(setup.procedure, run=lambda: next(keys), max_runs=2)
    server = _server(gate, setup)
    said = _called(server, lookup(), lookup(), lookup(), pay())
    assert "2 runs are open already" in said[2]
    assert said[3] == "paid 5"
    assert gate.report("a").score == 1.0
    with pytest.raises(UsageError, match="no run with the key"):
        gate.report("a")


def test_mounted_servers_and_proxies_are_reached_through_the_gate() -> None:
    from fastmcp import FastMCP
    from fastmcp.server import create_proxy

    from bylaw.adapters.fastmcp import ServerGate

    for way in ("mount", "proxy"):
        setup = _setup()
        inner: Any = FastMCP("inner")
        for each in setup.desk.functions(asynchronous=True):
            inner.tool(each)
        outer: Any = FastMCP("outer") if way == "mount" else create_proxy(inner)
        if way == "mount":
            outer.mount(inner)
        outer.add_middleware(ServerGate(setup.procedure, run=lambda: "r"))
        said = _called(outer, pay(), lookup(), pay())
        assert "pay: Not executed." in said[0], way
        assert setup.desk.ran == [lookup(), pay()], way


SERVER = """\
from fastmcp import FastMCP
from bylaw.adapters.fastmcp import ServerGate

server = FastMCP("desk")


@server.tool
def lookup(order: int) -> str:
    return "found"


@server.tool
def pay(amount: int) -> str:
    return f"paid {amount}"


server.add_middleware(ServerGate("desk.yaml"))
server.run(show_banner=False)
"""


def test_on_stdio_the_process_is_the_run(tmp_path: Path) -> None:
    from fastmcp.client.transports import PythonStdioTransport

    (tmp_path / "desk.yaml").write_text(json.dumps(rules(LOOKED_UP).to_dict()))
    (tmp_path / "server.py").write_text(SERVER)
    for calls, last in (([pay()], "pay: Not executed."), ([lookup(), pay()], "paid 5")):
        about: Any = {"python_cmd": sys.executable, "cwd": str(tmp_path)}
        transport = PythonStdioTransport(str(tmp_path / "server.py"), **about)
        assert _called(transport, *calls)[-1].startswith(last)
