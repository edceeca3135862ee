"""An MCP server of FastMCP on loopback, and a scripted agent as its client. Needs fastmcp."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from desk import Seen
from driver import ASSIST, Driver, Setup
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import StaticTokenVerifier

from bylaw.adapters.fastmcp import ServerGate, token_claim
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call


def server_of(setup: Setup) -> tuple[FastMCP, ServerGate]:
    """A server with the tools of the desk. The token of a client says which run it is."""
    setup.desk.failure = ToolError
    tokens = {f"t-{n}": {"client_id": "c", "run": task} for n, task in enumerate(setup.scripts)}
    server: FastMCP = FastMCP("desk", auth=StaticTokenVerifier(tokens))
    for each in setup.desk.functions(asynchronous=True):
        server.tool(each)
    gate = ServerGate(setup.procedure, run=token_claim("run"), **setup.options)
    server.add_middleware(gate)
    return server, gate


@contextmanager
def served(server: FastMCP) -> Iterator[str]:
    """The server on loopback: its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    options: Any = {"log_level": "critical", "lifespan": "on", "timeout_graceful_shutdown": 1}
    running = uvicorn.Server(uvicorn.Config(server.http_app(), **options))
    thread = threading.Thread(target=lambda: running.run(sockets=[listening]), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    finally:
        running.should_exit = True
        thread.join(10)
        listening.close()


class ScriptedClient:
    """An agent that makes the calls of its script, and reads the results."""

    def __init__(self, setup: Setup, client: Any) -> None:
        self.setup, self.client = setup, client

    async def work(self, task: str) -> str:
        """The answer to a task."""
        shown = [task]
        while True:
            calls = self.setup.turns.next("\n".join(shown), task)
            if calls and calls[-1].tool == FINAL_ANSWER:
                return str(calls[-1].args["answer"])
            shown += [await self._result(call) for call in calls]

    async def _result(self, call: Call) -> str:
        if call.tool == "helper":
            return await self.work(ASSIST)
        result = await self.client.call_tool(call.tool, dict(call.args), raise_on_error=False)
        return "\n".join(block.text for block in result.content)


class ServedDesk:
    """A server that is there while some run needs it."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.server, self.gate = server_of(setup)
        self._users = 0
        self._at_once = asyncio.Semaphore(16)
        self._running: Any = None
        self._address = ""

    @asynccontextmanager
    async def client(self, task: str) -> AsyncIterator[Any]:
        """A client for the run of a task."""
        self._users += 1
        if self._users == 1:
            self._running = served(self.server)
            self._address = self._running.__enter__()
        try:
            token = f"t-{list(self.setup.scripts).index(task)}"
            async with self._at_once, Client(self._address, auth=token) as client:
                yield client
        finally:
            self._users -= 1
            if self._users == 0:
                self._running.__exit__(None, None, None)


class FastMCPServer(Driver):
    """The middleware `ServerGate`. Everything in FastMCP is asynchronous."""

    turns_are_decided_together = False

    def agent(self, setup: Setup) -> ServedDesk:
        return ServedDesk(setup)

    async def run_async(self, agent: ServedDesk, task: str) -> Seen:
        setup, gate = agent.setup, agent.gate
        saved = None if setup.storage is None else setup.storage / f"{task}.json"
        if saved is not None and saved.exists():
            gate.restore(json.loads(saved.read_text()), task)
        seen = Seen(setup.desk.ran, setup.turns.shown[task])
        async with agent.client(task) as client:
            seen.answer = seen.final = await ScriptedClient(setup, client).work(task)
        if saved is not None:
            saved.write_text(json.dumps(gate.save(task)))
        report = gate.report(task)
        seen.stopped, seen.score = report.stopped, report.score
        seen.note(report.to_dict()["events"])
        return seen
