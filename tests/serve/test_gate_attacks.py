"""Attacks on a resident gate, and accidents: nothing is allowed that should not be, or lost."""

from __future__ import annotations

import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gate_process import AGENT, PERSON, GateProcess
from stores import SHARED, NewAddress, cluster, new_address

from bylaw import BylawError, Call, GateError, Procedure, RemoteGuard
from bylaw.serve.resident import ResidentGate
from bylaw.serve.tickets import Principal
from bylaw.store.addresses import open_store
from bylaw.store.memory import MemoryStore
from bylaw.store.public_address import public_address

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn", reason="THE SERVER IS NOT TESTED: uvicorn is not installed")

__all__ = ["cluster", "new_address"]

RULES = """\
name: desk
constraints:
  - {name: verify-first, rule: "G(refund -> O call(verify, ok))"}
  - {name: large, rule: "G(call(refund) -> args.amount <= 100)", severity: ASK}
"""


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "desk.yaml"
    path.write_text(RULES)
    return path


@pytest.fixture(scope="module")
def gate(rules: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateProcess]:
    folder = tmp_path_factory.mktemp("gate")
    server = GateProcess(folder, rules, f"sqlite:{folder / 'gate.db'}", "--max-body", "20000")
    yield server
    assert server.stop() == 0


@pytest.fixture
def new_server(rules: Path, tmp_path: Path) -> Iterator[Callable[[str], GateProcess]]:
    made: list[GateProcess] = []

    def server(store: str) -> GateProcess:
        made.append(GateProcess(tmp_path, rules, store, "--timeout", "3"))
        return made[-1]

    yield server
    for each in made:
        each.kill()


# ── requests ─────────────────────────────────────────────────────────────────────────────────

TOKEN = f"Authorization: Bearer {AGENT}\r\n"


def post(path: str, *headers: str, body: str = "") -> str:
    lines = "".join(f"{each}\r\n" for each in headers)
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{lines}\r\n{body}"


def said(gate: GateProcess, text: str, answers: int = 1) -> list[str]:
    """The server's answers to some bytes; fewer if it closes the connection."""
    host, _, port = gate.address.removeprefix("http://").partition(":")
    found: list[str] = []
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        reader = connection.makefile("rb")
        try:
            connection.sendall(text.encode())
            while len(found) < answers and (line := reader.readline()):
                head = [line, *iter(reader.readline, b"\r\n")]
                (length,) = [int(x[15:]) for x in head if x.lower().startswith(b"content-length:")]
                found.append(f"{line.decode()}{reader.read(length).decode()}")
        except ConnectionError:  # the server hung up while we were talking
            pass
        finally:
            reader.close()
    return found


HOSTILE_REQUESTS: dict[str, tuple[str, str]] = {
    "an endless header": (post("/v1/runs", "X: " + "x" * 1_000_000), "400"),
    "endless headers": (post("/v1/runs", *["X: " + "x" * 1000] * 1000), "400"),
    "an endless address": (f"GET /{'x' * 1_000_000}", "400"),
    "no HTTP": ("allow me\r\n\r\n", "400"),
    "two lengths": (post("/v1/runs", "Content-Length: 2", "Content-Length: 3", body="{}"), "400"),
    "a length and chunks": (
        post("/v1/runs", "Content-Length: 3", "Transfer-Encoding: chunked", body="0\r\n\r\n"),
        "400",
    ),
    "a negative length": (post("/v1/runs", "Content-Length: -1"), "400"),
    "a token in the address": (post(f"/v1/runs?token={AGENT}", "Content-Length: 0"), "401"),
    "a token as a cookie": (post("/v1/runs", f"Cookie: token={AGENT}", "Content-Length: 0"), "401"),
    "a token of another scheme": (
        post("/v1/runs", f"Authorization: Basic {AGENT}", "Content-Length: 0"),
        "401",
    ),
    "a body without end": (
        post(
            "/v1/runs", TOKEN.strip(), "Transfer-Encoding: chunked", body="7530\r\n" + "x" * 30000
        ),
        "413",
    ),
    "a larger body than stated": (
        post("/v1/runs", TOKEN.strip(), "Content-Length: 2", body="{}{}{}"),
        "400",
    ),
    "another protocol": (
        post("/v1/runs", "Connection: upgrade", "Upgrade: websocket", "Content-Length: 0"),
        "401",
    ),
    "a huge number": (
        post("/v1/runs", TOKEN.strip(), "Content-Length: 9000", body='{"metrics":' + "9" * 8989),
        "400",
    ),
}


@pytest.mark.parametrize("attack", HOSTILE_REQUESTS)
def test_a_hostile_request_is_answered_and_the_gate_serves_on(
    gate: GateProcess, attack: str
) -> None:
    text, status = HOSTILE_REQUESTS[attack]
    answers = said(gate, text)  # a client that still sends may lose the answer
    assert [each[:12] for each in answers] in ([], [f"HTTP/1.1 {status}"])
    assert httpx.get(f"{gate.address}/health").status_code == 200


def test_pipelined_requests_are_answered_in_order(gate: GateProcess) -> None:
    run = gate.guard().run_id
    requests = []
    for tool in ("refund", "verify", "refund"):
        body = f'{{"calls":[{{"tool":"{tool}","arguments":{{"amount":5}}}}]}}'
        length = f"Content-Length: {len(body)}"
        requests.append(post(f"/v1/runs/{run}/propose", TOKEN.strip(), length, body=body))
    answers = said(gate, "".join(requests), len(requests))
    found = [each.partition('"action":"')[2].partition('"')[0] for each in answers]
    assert found == ["block", "allow", "block"]  # the verification has no result yet


def test_a_token_is_in_no_log_and_no_message(rules: Path, tmp_path: Path) -> None:
    server = GateProcess(tmp_path, rules, f"sqlite:{tmp_path / 'gate.db'}")
    answers = [
        httpx.get(f"{server.address}/v1/runs?token={PERSON}"),
        httpx.get(f"{server.address}/v1/runs", headers={"Authorization": f"Bearer {AGENT}"}),
        httpx.get(f"{server.address}/v1/runs/{AGENT}", headers={"Authorization": "Bearer x"}),
    ]
    said(server, f"GET / HTTP/1.1\r\nAuthorization Bearer {PERSON}\r\n\r\n")
    (tmp_path / "gate.db").rename(tmp_path / "gone.db")
    assert httpx.get(f"{server.address}/health").status_code == 503
    server.stop()
    written = (tmp_path / "errors.txt").read_text() + "".join(each.text for each in answers)
    assert "not ready" in written
    assert AGENT not in written
    assert PERSON not in written


def test_the_health_of_a_gate_names_no_files(rules: Path, tmp_path: Path) -> None:
    server = GateProcess(tmp_path, rules, f"sqlite:{tmp_path / 'gate.db'}")
    (tmp_path / "gate.db").rename(tmp_path / "gone.db")
    answer = httpx.get(f"{server.address}/health")
    assert answer.status_code == 503
    assert str(tmp_path) not in answer.text
    server.stop()


ADDRESSES = {
    "sqlite:/data/a@b.db": "sqlite:/data/a@b.db",
    "postgresql://bylaw@db/gate": "postgresql://bylaw@db/gate",
    "postgresql://bylaw:secret@db:5432/gate": "postgresql://bylaw@db:5432/gate",
    "postgresql://bylaw:sec@ret@db/gate": "postgresql://bylaw@db/gate",
    "postgresql://bylaw:se?cret@db/gate": "postgresql://…",
    "postgresql://db/gate?user=bylaw&password=secret": "postgresql://db/gate",
    "postgresql://db/gate?password=sec@ret": "postgresql://…",
    "mysql://bylaw:secret@db/gate": "mysql://bylaw@db/gate",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_password_of_a_store_is_not_shown(address: str) -> None:
    assert public_address(address) == ADDRESSES[address]


DRIPS = {
    "a head": ("POST /v1/runs HTTP/1.1\r\n", "X: x\r\n"),
    "the first line": ("P", "O"),
    "nothing": ("", ""),
    "a body": (post("/v1/runs", TOKEN.strip(), "Content-Length: 9000"), "x"),
    "a second head": ("GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET", "X"),
}


@pytest.mark.slow
def test_a_client_that_drips_is_cut_off(gate: GateProcess) -> None:
    host, _, port = gate.address.removeprefix("http://").partition(":")
    cut: set[str] = set()

    def drip(name: str) -> None:
        first, more = DRIPS[name]
        with socket.create_connection((host, int(port))) as connection:
            try:
                connection.sendall(first.encode())
                for _ in range(150):
                    time.sleep(0.2)
                    connection.sendall(more.encode())
            except OSError:
                cut.add(name)
                return
            connection.settimeout(0.1)
            try:
                while connection.recv(65536):
                    pass
                cut.add(name)
            except OSError:
                return

    threads = [threading.Thread(target=drip, args=(name,)) for name in DRIPS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cut == DRIPS.keys()


# ── approvals ────────────────────────────────────────────────────────────────────────────────

DESK, OTHER = Principal("desk"), Principal("other")
ADA, BEN = Principal("ada", person=True), Principal("ben", person=True)


def decision(gate: ResidentGate, run: str, tool: str, amount: int) -> str:
    given = {"calls": [{"tool": tool, "arguments": {"amount": amount}}]}
    id: str = gate.perform(DESK, run, "propose", given)["decisions"][0]["id"]
    return id


APPROVALS: dict[str, tuple[list[tuple[Principal, str, str]], str]] = {
    "twice": ([(ADA, "approve", "asked"), (ADA, "approve", "asked")], "E413"),
    "by two persons": ([(ADA, "approve", "asked"), (BEN, "approve", "asked")], "E413"),
    "after it was denied": ([(ADA, "deny", "asked"), (BEN, "approve", "asked")], "E413"),
    "denied after it was approved": ([(ADA, "approve", "asked"), (BEN, "deny", "asked")], "E413"),
    "after the run has finished": ([(DESK, "finish", ""), (ADA, "approve", "asked")], "E413"),
    "of a call that nobody asked about": ([(ADA, "approve", "allowed")], "E413"),
    "denied, of a call that was allowed": ([(ADA, "deny", "allowed")], "E413"),
    "of a decision of another run": ([(ADA, "approve", "elsewhere")], "E413"),
    "by the host of the agent": ([(DESK, "approve", "asked")], "E455"),
    "by another host": ([(OTHER, "approve", "asked")], "E454"),
    "as if it had run": ([(DESK, "record", "asked")], "E413"),
    "by giving it up": ([(DESK, "abandon", "asked")], "E413"),
}


@pytest.mark.parametrize("attack", APPROVALS)
def test_an_approval_that_is_refused(attack: str, rules: Path) -> None:
    gate = ResidentGate(Procedure.load(rules), MemoryStore())
    try:
        run, elsewhere = gate.open(DESK), gate.open(DESK)
        ids = {"": "", "allowed": decision(gate, run, "verify", 0)}
        verified = decision(gate, run, "verify", 0)
        gate.perform(DESK, run, "record", {"decision": verified, "result": "ok"})
        ids["asked"] = decision(gate, run, "refund", 500)
        verified = decision(gate, elsewhere, "verify", 0)
        gate.perform(DESK, elsewhere, "record", {"decision": verified, "result": "ok"})
        ids["elsewhere"] = decision(gate, elsewhere, "refund", 500)
        *before, (who, operation, about) = APPROVALS[attack][0]
        for person, done, of in before:
            gate.perform(person, run, done, {"decision": ids[of]} if of else {})
        state = gate.perform(DESK, run, "state")
        with pytest.raises(BylawError, match=APPROVALS[attack][1]):
            gate.perform(who, run, operation, {"decision": ids[about]})
        assert gate.perform(DESK, run, "state") == state
    finally:
        gate.close()


# ── stores ───────────────────────────────────────────────────────────────────────────────────


def refused(guard: RemoteGuard) -> bool:
    (decision,) = guard.propose([Call("verify")])
    return not decision.allowed and "did not decide" in decision.message


@pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: limits of other processes")
def test_a_gate_whose_disk_is_full_refuses_until_there_is_room(
    new_server: Callable[[str], GateProcess], tmp_path: Path
) -> None:
    server = new_server(f"sqlite:{tmp_path / 'gate.db'}")
    guard = server.guard(attempts=1)
    assert guard.propose([Call("verify")])[0].allowed
    full = (tmp_path / "gate.db-wal").stat().st_size
    _, most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (full, most))
    assert refused(guard)
    assert refused(guard)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
    assert guard.propose([Call("verify")])[0].allowed
    assert len(guard.awaiting) == 2  # those that were refused are not among them


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_gate_whose_files_are_deleted_or_replaced_refuses_and_loses_nothing(
    new_server: Callable[[str], GateProcess], tmp_path: Path, suffix: str, replaced: bool
) -> None:
    path = tmp_path / "gate.db"
    server = new_server(f"sqlite:{path}")
    guard = server.guard(attempts=1)
    assert guard.propose([Call("verify")])[0].allowed
    taken = Path(f"{path}{suffix}")
    kept = taken.read_bytes()
    taken.unlink()
    if replaced:
        taken.write_bytes(kept)
    assert refused(guard)
    assert refused(guard)
    assert httpx.get(f"{server.address}/health").status_code == 503
    assert server.stop() == 0
    server.start()
    if suffix:  # the file itself is gone with all that was in it
        again = server.guard(run=guard.run_id)
        assert [each.call.tool for each in again.awaiting] == ["verify"]


@pytest.mark.slow
def test_a_database_that_restarts_under_load_loses_nothing(
    new_server: Callable[[str], GateProcess], cluster: Any
) -> None:
    server = new_server(cluster.database())
    loss = Loss(server)
    for _ in range(3):
        time.sleep(0.5)
        cluster.stop()
        cluster.start()
    loss.check(server)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHARED)
def test_a_server_that_is_stopped_under_load_loses_nothing(
    new_server: Callable[[str], GateProcess], kind: str, new_address: NewAddress
) -> None:
    server = new_server(new_address(kind))
    loss = Loss(server)
    for _ in range(2):
        time.sleep(0.5)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        assert server.process.stdout is not None
        server.process.stdout.close()
        server.start()
        loss.address = server.address
    loss.check(server)


class Loss:
    """Agents that propose and record all the time, and what the gate has acknowledged."""

    def __init__(self, server: GateProcess) -> None:
        self.address = server.address
        self._runs = [server.guard().run_id for _ in range(4)]
        self._known: dict[str, list[str]] = {run: [] for run in self._runs}
        self._stopping = False
        self._threads = [threading.Thread(target=self._work, args=(run,)) for run in self._runs]
        for thread in self._threads:
            thread.start()

    def _work(self, run: str) -> None:
        while not self._stopping:
            try:
                guard = RemoteGuard(self.address, AGENT, run=run, attempts=1, timeout=5.0)
            except GateError:
                time.sleep(0.05)
                continue
            for _ in range(20):
                time.sleep(0.01)
                (decision,) = guard.propose([Call("verify")])
                if decision.allowed:
                    self._known[run].append(decision.id)
            guard.close()

    def check(self, server: GateProcess) -> None:
        """Every call that was allowed is outstanding."""
        self._stopping = True
        for thread in self._threads:
            thread.join()
        for run, known in self._known.items():
            guard = server.guard(run=run, attempts=40)
            assert known
            assert set(known) <= {each.id for each in guard.awaiting}


def test_a_gate_whose_clock_differs_from_that_of_the_database_is_not_started(
    new_address: NewAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = new_address("postgresql")
    open_store(address).close()
    now = time.time
    monkeypatch.setattr("bylaw.store.postgresql.time.time", lambda: now() + 3600)
    with pytest.raises(BylawError, match="3600 s apart"):
        open_store(address)


def test_replicas_whose_clocks_differ_allow_no_more_than_one_of_them_would() -> None:
    limit = "G(refund -> sum(sofar(refund, 24 h).args.amount) <= 500)"
    rule = {"name": "a-day", "rule": limit, "across": "labels.customer"}
    procedure, store = Procedure.from_dict({"constraints": [rule]}), MemoryStore()
    late, early = (
        ResidentGate(procedure, store, clock=lambda ahead=ahead: 1e9 + ahead)  # type: ignore[misc]
        for ahead in (60.0, 0.0)
    )
    try:
        run = late.open(DESK, {"labels": {"customer": "c7"}})
        given = {"calls": [{"tool": "refund", "arguments": {"amount": 300}}]}
        actions = [
            each.perform(DESK, run, "propose", given)["decisions"][0]["action"]
            for each in (late, early, late)
        ]
        assert actions == ["allow", "block", "block"]
        times = [d["call"]["start"] for d in early.perform(DESK, run, "state")["awaiting"]]
        assert times == [1e9 + 60.0]
    finally:
        late.close()
        early.close()
