"""A resident gate under load on loopback, beside a handler of the same server that does nothing.

    python benchmarks/serve.py [--quick] [--store sqlite:FILE|memory|postgresql://…]

Each of 1, 100 and 1,000 concurrent runs has a connection of its own. It sends a request to the
empty handler, proposes a call and records its result, in turns, so that all of them meet the same
noise. *At a steady rate*, the agents think between requests, as real ones do, and all of them
together send so many requests a second. *Our part* is the difference between the medians of a
proposal and of the handler beside it. *As fast as it goes*, nobody thinks, and what is compared is
how many requests are answered in a second, how many share a transaction, and the processor time
that the server takes for one: that hardly depends on what else the machine does.

In memory, the handler beside it does nothing. On disk, a second one commits 1,000 bytes to a
SQLite file on the same disk and does nothing else, because a sync takes whatever the disk takes.
The client runs on the same machine and takes a core of its own, if there is one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import table

from bylaw import Procedure

RUNS: Final = (1, 100, 1000)
RATE: Final = 200.0
"""Requests a second, of all runs together."""
IDLE: Final = 10_000
MOST_OURS: Final = 0.3
"""Milliseconds of a proposal that are ours."""
MOST_MEMORY: Final = 500
"""Megabytes with so many idle runs."""
TOKEN: Final = "token-of-the-benchmark"
RULES: Final = {
    "name": "desk",
    "constraints": [
        {"name": "verify-first", "rule": "G(refund -> O call(verify, ok))"},
        {"name": "twice", "rule": "G(refund -> length(sofar(refund)) <= 2)"},
        {"name": "large", "rule": "G(call(refund) -> args.amount <= 100)", "severity": "ASK"},
        {"name": "told", "rule": "F tell"},
    ],
}
CALL: Final = {"calls": [{"tool": "verify", "arguments": {"customer": "c7"}}]}


# ── the server ───────────────────────────────────────────────────────────────────────────────


def serve_here(store: str) -> None:
    """Serves the gate and the empty handler in this process."""
    from concurrent.futures import ThreadPoolExecutor

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from bylaw.serve.application import Application
    from bylaw.serve.resident import ResidentGate
    from bylaw.serve.server import listening, serve
    from bylaw.serve.tickets import Principal
    from bylaw.serve.tokens import Tokens
    from bylaw.store.addresses import open_store

    async def nothing(request: Request) -> Response:
        await request.body()
        return Response('{"nothing":true}', media_type="application/json")

    async def commit(request: Request) -> Response:
        await request.body()
        await asyncio.get_running_loop().run_in_executor(pool, commit_once, alone)
        return Response('{"nothing":true}', media_type="application/json")

    class WithNothing(Application):
        def starlette(self) -> Any:
            made = super().starlette()
            for name, handler in {"/nothing": nothing, "/commit": commit}.items():
                made.router.routes.append(Route(name, handler, methods=["POST"]))
            return made

    pool = ThreadPoolExecutor(1)
    path = store.removeprefix("sqlite:") if store.startswith("sqlite:") else ""
    alone = own_file(f"{path}-alone") if path else sqlite3.connect(":memory:")

    gate = ResidentGate(Procedure.from_dict(RULES), open_store(store))
    tokens = Tokens({TOKEN: Principal("desk")})
    socket = listening("127.0.0.1", 0)
    print(socket.getsockname()[1], flush=True)
    serve(WithNothing(gate, tokens), [socket])


def own_file(path: str) -> sqlite3.Connection:
    """A SQLite file that is synced as the store is."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS alone (number INTEGER PRIMARY KEY, body TEXT)")
    return connection


def commit_once(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO alone (body) VALUES (?)", ["x" * 1000])


@contextmanager
def server(store: str) -> Iterator[tuple[int, int]]:
    """A server in a process of its own: its port and its process id."""
    command = [sys.executable, __file__, "--serve", store]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline()), process.pid
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


# ── the clients ──────────────────────────────────────────────────────────────────────────────


class Connection:
    """One run: a connection that is kept, and requests written by hand to cost little."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.run = ""

    @classmethod
    async def opened(cls, port: int) -> Connection:
        made = cls(*await asyncio.open_connection("127.0.0.1", port))
        made.run = json.loads(await made.post("/v1/runs", {}))["run"]
        return made

    async def post(self, path: str, body: Any) -> bytes:
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
        self._writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        text = await self._reader.readexactly(int(length))
        if answer[9:12] not in (b"200", b"201"):
            raise RuntimeError(text.decode())
        return text

    async def nothing(self) -> None:
        await self.post("/nothing", CALL)

    async def commit(self) -> None:
        await self.post("/commit", CALL)

    async def decide(self) -> str:
        answer = json.loads(await self.post(f"/v1/runs/{self.run}/propose", CALL))
        id: str = answer["decisions"][0]["id"]
        return id

    async def record(self, decision: str) -> None:
        await self.post(f"/v1/runs/{self.run}/record", {"decision": decision, "result": "ok"})

    def close(self) -> None:
        self._writer.close()


async def connected(port: int, runs: int) -> list[Connection]:
    made: list[Connection] = []
    for start in range(0, runs, 50):
        some = [Connection.opened(port) for _ in range(min(50, runs - start))]
        made += await asyncio.gather(*some)
    return made


async def steadily(port: int, runs: int, seconds: float, floor: str) -> dict[str, list[float]]:
    """The times of requests at a steady rate: of the floor, a proposal and a result."""
    times: dict[str, list[float]] = {floor: [], "propose": [], "record": []}
    connections = await connected(port, runs)
    end = time.perf_counter() + seconds
    pause = runs / RATE

    async def timed(kind: str, request: Awaitable[Any]) -> Any:
        begun = time.perf_counter()
        done = await request
        times[kind].append(time.perf_counter() - begun)
        return done

    async def agent(connection: Connection, chance: random.Random) -> None:
        await asyncio.sleep(chance.uniform(0, 3 * pause))
        while time.perf_counter() < end:
            await timed(floor, getattr(connection, floor)())
            await asyncio.sleep(chance.uniform(0, 2 * pause))
            decision = await timed("propose", connection.decide())
            await asyncio.sleep(chance.uniform(0, 2 * pause))
            await timed("record", connection.record(decision))
            await asyncio.sleep(chance.uniform(0, 2 * pause))

    await asyncio.gather(*(agent(each, random.Random(n)) for n, each in enumerate(connections)))
    for each in connections:
        each.close()
    return times


async def fast(port: int, process: int, runs: int, seconds: float) -> list[tuple[float, ...]]:
    """Of nothing, and of decisions: requests a second, processor time for one, the share."""
    connections = await connected(port, runs)

    async def rate(work: Callable[[Connection], Awaitable[int]]) -> tuple[float, ...]:
        end, done = time.perf_counter() + seconds, 0

        async def agent(connection: Connection) -> None:
            nonlocal done
            while time.perf_counter() < end:
                answered = await work(connection)
                done += answered

        begun, used, before = time.perf_counter(), _processor(process), await _stored(port)
        await asyncio.gather(*map(agent, connections))
        used, after = _processor(process) - used, await _stored(port)
        operations, commits = (b - a for a, b in zip(before, after, strict=True))
        share = operations / commits if commits else 0.0
        return done / (time.perf_counter() - begun), used / done, share

    async def nothing(connection: Connection) -> int:
        await connection.nothing()
        return 1

    async def decide(connection: Connection) -> int:
        await connection.record(await connection.decide())
        return 2

    found = [await rate(nothing), await rate(decide)]
    for each in connections:
        each.close()
    return found


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def late(times: list[float]) -> float:
    """The 99th percentile."""
    return sorted(times)[int(len(times) * 0.99)]


def latencies(name: str, store: str, seconds: float, floor: str) -> None:
    rows, ours = [], []
    for runs in RUNS:
        with server(store) as (port, _):
            times = asyncio.run(steadily(port, runs, seconds, floor))
        middle = {kind: median(some) for kind, some in times.items()}
        ours.append(middle["propose"] - middle[floor])
        cells = [table.duration(x) for kind in times for x in (middle[kind], late(times[kind]))]
        rows.append([f"{runs:,}", *cells, table.duration(max(0.0, ours[-1]))])
    head = ["runs", f"{floor} p50", "p99", "propose p50", "p99", "record p50", "p99", "our part"]
    table.show(f"{name}: {RATE:g} requests a second", head, rows)
    for runs, part in zip(RUNS, ours, strict=True):
        what = f"our part at {runs:,} runs"
        table.target(what, part * 1000, MOST_OURS, at_least=False, unit="ms")


def rates(name: str, store: str, seconds: float) -> None:
    rows, ours = [], []
    for runs in RUNS:
        with server(store) as (port, process):
            (nothing, idle, _), (decided, busy, share) = asyncio.run(
                fast(port, process, runs, seconds)
            )
        ours.append(busy - idle)
        times = [table.duration(each) for each in (idle, busy, max(0.0, busy - idle))]
        rows.append([f"{runs:,}", f"{nothing:,.0f}/s", f"{decided:,.0f}/s", f"{share:.1f}", *times])
    head = ["runs", "nothing", "decisions, results", "in a transaction"]
    head += ["CPU nothing", "CPU of one", "our part"]
    table.show(f"{name}: as fast as it goes", head, rows)
    for runs, part in zip(RUNS, ours, strict=True):
        what = f"processor time at {runs:,} runs"
        table.target(what, part * 1000, MOST_OURS, at_least=False, unit="ms")


def memory(store: str, idle: int) -> None:
    async def use(connection: Connection) -> None:
        await connection.record(await connection.decide())
        await connection.decide()
        connection.close()

    async def fill(port: int) -> None:
        for start in range(0, idle, 500):
            some = await connected(port, min(500, idle - start))
            await asyncio.gather(*map(use, some))

    with server(store) as (port, process):
        before = _resident(process)
        asyncio.run(fill(port))
        after = _resident(process)
    head, cells = ["idle runs", "before", "after"], [f"{before:.0f} MB", f"{after:.0f} MB"]
    table.show("Memory of the server", head, [[f"{idle:,}", *cells]])
    table.target(f"with {idle:,} idle runs", after, MOST_MEMORY, at_least=False, unit="MB")


async def _stored(port: int) -> tuple[float, float]:
    """The operations and the transactions of a server so far."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    found = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("bylaw_"))
    return float(found["bylaw_operations_total"]), float(found["bylaw_commits_total"])


def _processor(process: int) -> float:
    """The processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(process: int) -> float:
    text = Path(f"/proc/{process}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few seconds, for a first look")
    parser.add_argument("--store", help="another store than SQLite in a temporary folder")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve_here(options.serve)
        return
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    seconds, idle = (4.0, 1000) if options.quick else (15.0, IDLE)
    with tempfile.TemporaryDirectory() as folder:
        counter = iter(range(100))

        def fresh() -> str:
            return options.store or f"sqlite:{folder}/gate{next(counter)}.db"

        latencies("In memory", "memory", seconds, "nothing")
        latencies("On disk", fresh(), seconds, "nothing" if options.store else "commit")
        rates("In memory", "memory", seconds / 3)
        rates("On disk", fresh(), seconds / 3)
        memory(fresh(), idle)


if __name__ == "__main__":
    main()
