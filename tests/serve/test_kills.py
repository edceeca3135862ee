"""Three replicas of a gate that are killed at random moments under load.

No acknowledged decision is lost, and no call is allowed that one process would have refused. The
store's entries are replayed on a plain guard, and every answer that a client got is compared.
"""

from __future__ import annotations

import os
import random
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gate_process import AGENT, PERSON, GateProcess
from stores import SHARED, NewAddress, cluster, new_address

from bylaw import Call, Guard, Procedure, RemoteGuard
from bylaw.enforcement.wire import decision_to_json
from bylaw.store.addresses import open_store
from bylaw.values import read_json

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn", reason="THE SERVER IS NOT TESTED: uvicorn is not installed")
pytestmark = pytest.mark.slow

__all__ = ["cluster", "new_address"]

KILLS = int(os.environ.get("BYLAW_KILLS", "9"))
"""The number of kills for each kind of store."""
REPLICAS, AGENTS = 3, 4
RULES = """\
name: desk
constraints:
  - {name: verify-first, rule: "G(refund -> O call(verify, ok))"}
  - {name: at-most-three, rule: "G(refund -> length(sofar(refund)) <= 3)"}
  - {name: large, rule: "G(call(refund) -> args.amount <= 100)", severity: ASK}
  - {name: told, rule: F tell}
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


class Load:
    """Agents that work at all replicas, several of them on one run, until they are stopped."""

    def __init__(self, addresses: list[str]) -> None:
        self.addresses = addresses
        self.stopping = False
        self.decisions: dict[str, Any] = {}
        """Every decision that a client got, by id."""
        self.recorded: set[str] = set()
        """The decisions whose results were acknowledged."""
        self.approved: set[str] = set()
        self.runs: set[str] = set()
        self.finished: dict[str, float | None] = {}
        self.problems: list[str] = []
        self._lock = threading.Lock()

    def guard(
        self, chance: random.Random, token: str = AGENT, run: str | None = None
    ) -> RemoteGuard:
        addresses = chance.sample(self.addresses, len(self.addresses))
        return RemoteGuard(addresses, token, run=run, attempts=40, timeout=5.0)

    def work(self, seed: int) -> None:
        chance = random.Random(seed)
        try:
            while not self.stopping:
                first = self.guard(chance)
                with self._lock:
                    self.runs.add(first.run_id)
                others = [self.guard(chance, run=first.run_id) for _ in range(2)]
                threads = [
                    threading.Thread(target=self.agent, args=(guard, chance.random()))
                    for guard in (first, *others)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                if not self.stopping:
                    self.finished[first.run_id] = first.finish("Done.").score
                for guard in (first, *others):
                    guard.close()
        except Exception as error:
            self.problems.append(f"{type(error).__name__}: {error}")

    def agent(self, guard: RemoteGuard, seed: float) -> None:
        chance = random.Random(seed)
        try:
            for _ in range(8):
                if self.stopping:
                    return
                amount = chance.choice([5, 5, 500])
                calls = [Call("verify"), Call("refund", {"amount": amount}), Call("tell")]
                for decision in guard.propose(chance.sample(calls, chance.randint(1, 3))):
                    if "did not decide" in decision.problem:
                        continue
                    with self._lock:
                        assert decision.id not in self.decisions, "a decision was made twice"
                        self.decisions[decision.id] = decision_to_json(decision)
                    if decision.allowed and chance.random() < 0.8:
                        guard.record(decision, {"ok": True})
                        self.recorded.add(decision.id)
                    elif decision.action == "ask" and chance.random() < 0.5:
                        person = self.guard(chance, PERSON, guard.run_id)
                        person.approve(decision)
                        person.close()
                        self.approved.add(decision.id)
        except Exception as error:
            self.problems.append(f"{type(error).__name__}: {error}")


def kill_often(load: Load, server: GateProcess, seed: int, kills: int) -> None:
    """Kills a replica again and again, each time when there was some work since it started."""
    chance = random.Random(seed)
    for _ in range(kills):
        done, end = len(load.decisions), time.monotonic() + 20
        while len(load.decisions) < done + 5 and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(chance.uniform(0.0, 0.3))
        server.kill()
        server.start()


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "desk.yaml"
    path.write_text(RULES)
    return path


@pytest.fixture
def servers(rules: Path, tmp_path: Path) -> Iterator[list[GateProcess]]:
    made: list[GateProcess] = []
    yield made
    for server in made:
        server.kill()


@pytest.mark.parametrize("kind", SHARED)
def test_nothing_acknowledged_is_lost_and_nothing_is_allowed_twice(
    kind: str, rules: Path, tmp_path: Path, servers: list[GateProcess], new_address: NewAddress
) -> None:
    address = new_address(kind)
    for _ in range(REPLICAS):
        port = str(free_port())
        servers.append(GateProcess(tmp_path, rules, address, "--port", port, "--live", "4"))
    load = Load([server.address for server in servers])
    agents = [threading.Thread(target=load.work, args=(seed,)) for seed in range(AGENTS)]
    killers = [
        threading.Thread(target=kill_often, args=(load, server, seed, KILLS // REPLICAS))
        for seed, server in enumerate(servers)
    ]
    for thread in (*agents, *killers):
        thread.start()
    for thread in killers:
        thread.join()
    load.stopping = True
    for thread in agents:
        thread.join()
    assert load.problems == []
    compare(load, address, Procedure.load(rules))
    print(f"{kind}: {KILLS // REPLICAS * REPLICAS} kills, {len(load.runs)} runs, ", end="")
    print(f"{len(load.decisions)} decisions acknowledged, 0 lost, 0 wrong")


def compare(load: Load, address: str, procedure: Procedure) -> None:
    """Replays each run on a plain guard, in one process, and compares every answer."""
    store = open_store(address)
    seen: set[str] = set()
    recorded: set[str] = set()
    approved: set[str] = set()
    assert load.decisions
    for run in load.runs:
        entries = [read_json(text.partition(" ")[2]) for text in store.read(f"run/{run}")]
        now = [entries[0]["at"]]
        guard = Guard(procedure, run_id=run, clock=lambda now=now: now[0])  # type: ignore[misc]
        waiting: dict[str, Any] = {}
        allowed = 0
        for entry in entries[1:]:
            now[0], given = entry["at"], entry["in"]
            match entry["op"]:
                case "propose":
                    calls = [Call(each["tool"], each["arguments"]) for each in given["calls"]]
                    for decision in guard.propose(calls):
                        waiting[decision.id] = decision
                        seen.add(decision.id)
                        allowed += decision.allowed and decision.call.tool == "refund"
                        told = load.decisions.get(decision.id)
                        assert told is None or told == decision_to_json(decision)
                case "record":
                    guard.record(waiting.pop(given["decision"]), given.get("result"))
                    recorded.add(given["decision"])
                case "approve":
                    guard.approve(waiting.pop(given["decision"]))
                    approved.add(given["decision"])
                case "finish":
                    assert guard.finish(given["answer"]).score == load.finished.get(run)
        assert allowed <= 3
    store.close()
    assert load.decisions.keys() <= seen
    assert load.recorded <= recorded
    assert load.approved <= approved


# ── a replica that is cut off ────────────────────────────────────────────────────────────────


class Proxy:
    """A Unix socket in front of PostgreSQL's, which can be made to swallow everything."""

    def __init__(self, folder: Path, target: Path) -> None:
        self.folder = folder
        self._target = str(target)
        self.open = threading.Event()
        self.open.set()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / ".s.PGSQL.5432"))
        self._listening.listen()
        self._sockets = [self._listening]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            self._sockets += [client, server]
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self.open.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        self.open.set()
        for each in self._sockets:
            each.close()


def test_a_replica_that_is_cut_off_from_its_store_refuses(
    rules: Path, tmp_path: Path, servers: list[GateProcess], new_address: NewAddress, cluster: Any
) -> None:
    address = new_address("postgresql")
    folder = tmp_path / "proxy"
    folder.mkdir()
    proxy = Proxy(folder, cluster.socket)
    cut = address.replace(f"host={cluster.folder}", f"host={folder}")
    near = GateProcess(tmp_path, rules, address)
    far = GateProcess(tmp_path, rules, cut, "--timeout", "1")
    servers += [near, far]
    try:
        first = far.guard(attempts=1)
        (verify,) = first.propose([Call("verify")])
        first.record(verify, "done")
        assert first.propose([Call("refund", {"amount": 5})])[0].allowed
        proxy.open.clear()
        (refused,) = first.propose([Call("refund", {"amount": 5})])
        assert not refused.allowed
        assert "did not decide" in refused.message
        other = near.guard(run=first.run_id)  # the others are not held up
        assert [other.propose([Call("refund", {"amount": 5})])[0].allowed for _ in range(3)] == [
            True,
            True,
            False,
        ]
        proxy.open.set()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            (late,) = first.propose([Call("refund", {"amount": 5})])
            assert not late.allowed  # three were allowed, by whichever replica
            if "did not decide" not in late.message:
                break
            time.sleep(0.2)
        assert late.violations[0].constraint.name == "at-most-three"
    finally:
        proxy.close()


def test_a_gate_whose_database_is_down_refuses_until_it_is_back(
    rules: Path, tmp_path: Path, servers: list[GateProcess], cluster: Any
) -> None:
    server = GateProcess(tmp_path, rules, cluster.database(), "--timeout", "3")
    servers.append(server)
    guard = server.guard(attempts=1)
    assert guard.propose([Call("verify")])[0].allowed
    cluster.stop()
    try:
        refuses(server, guard)
    finally:
        cluster.start()
    assert len(guard.awaiting) == 1
    assert guard.propose([Call("verify")])[0].allowed


def test_a_gate_whose_file_is_locked_refuses_until_it_is_free(
    rules: Path, tmp_path: Path, servers: list[GateProcess]
) -> None:
    path = tmp_path / "gate.db"
    server = GateProcess(tmp_path, rules, f"sqlite:{path}", "--timeout", "1")
    servers.append(server)
    guard = server.guard(attempts=1)
    assert guard.propose([Call("verify")])[0].allowed
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refuses(server, guard)
    other.execute("ROLLBACK")
    other.close()
    end = time.monotonic() + 30
    while not guard.propose([Call("tell")])[0].allowed:
        assert time.monotonic() < end
        time.sleep(0.2)
    # The proposal that was refused may have been committed late: then it is outstanding.
    assert "verify" in [each.call.tool for each in guard.awaiting]


def test_a_gate_whose_file_was_replaced_refuses(
    rules: Path, tmp_path: Path, servers: list[GateProcess]
) -> None:
    path = tmp_path / "gate.db"
    server = GateProcess(tmp_path, rules, f"sqlite:{path}")
    servers.append(server)
    guard = server.guard(attempts=1)
    path.rename(tmp_path / "gone.db")
    refuses(server, guard)
    path.write_bytes(b"")
    refuses(server, guard)


def refuses(server: GateProcess, guard: RemoteGuard) -> None:
    (refused,) = guard.propose([Call("verify")])
    assert not refused.allowed
    assert "did not decide" in refused.message
    assert httpx.get(f"{server.address}/health", timeout=20).status_code == 503
