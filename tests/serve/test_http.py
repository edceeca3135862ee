"""The HTTP interface and the client, against a real server."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gate_process import AGENT, PERSON, GateProcess

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn", reason="THE SERVER IS NOT TESTED: uvicorn is not installed")

from bylaw import Call, ConstraintViolationError, GateError, RemoteGuard  # noqa: E402
from bylaw.client import _connection  # noqa: E402
from bylaw.serve.routes import ROUTES  # noqa: E402

PROCEDURE = """\
name: desk
constraints:
  - {name: verify-first, rule: "G(refund -> O call(verify, ok))"}
  - {name: large, rule: "G(call(refund) -> args.amount <= 100)", severity: ASK}
  - {name: told, rule: F tell}
"""


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateProcess]:
    folder = tmp_path_factory.mktemp("gate")
    (folder / "desk.yaml").write_text(PROCEDURE)
    store = f"sqlite:{folder / 'gate.db'}"
    server = GateProcess(folder, folder / "desk.yaml", store, "--max-body", "20000")
    yield server
    assert server.stop() == 0


@pytest.fixture(autouse=True)
def closed(gate: GateProcess) -> Iterator[None]:
    yield
    gate.close_guards()


def ask(gate: GateProcess, method: str, path: str, token: str | None = AGENT, **rest: Any) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    headers |= rest.pop("headers", {})
    return httpx.request(method, gate.address + path, headers=headers, **rest)


# ── a run ────────────────────────────────────────────────────────────────────────────────────


def test_a_remote_guard_is_used_as_a_guard_is(gate: GateProcess) -> None:
    guard = gate.guard(labels={"customer": "c1"})
    (refused,) = guard.propose([Call("refund", {"amount": 5})])
    assert (refused.action, refused.violations[0].constraint.name) == ("block", "verify-first")
    (verify, tell) = guard.propose([Call("verify"), Call("tell", {"text": "ü\u2028<b>"})])
    assert verify.allowed
    assert guard.awaits(verify)
    assert tell.call.args == {"text": "ü\u2028<b>"}
    guard.record(verify, {"ok": True}, usage={"tokens": 5})
    guard.abandon(tell)
    guard.say("user", "Please.")
    (asked,) = guard.propose([Call("refund", {"amount": 500})])
    assert asked.action == "ask"
    assert [each.id for each in guard.asked] == [asked.id]
    assert guard.answer(asked) is None
    person = gate.person(guard.run_id)
    threading.Timer(0.3, lambda: person.approve(person.asked[0])).start()
    assert guard.answer(asked, wait=10) == "approved"
    (refund,) = guard.propose([Call("refund", {"amount": 500})])
    assert (refund.allowed, refund.approved) == (True, ("large",))
    assert [each.id for each in guard.awaiting] == [refund.id]
    report = guard.finish("Done.")
    assert report.score == pytest.approx(2 / 3)
    assert [call.tool for call in report.trace.calls] == ["verify", "tell", "refund"]
    assert (guard.finished, guard.stopped) == (True, False)
    with pytest.raises(GateError, match="E413"):
        guard.say("user", "Too late.")
    assert not guard.propose([Call("verify")])[0].allowed


def test_python_tools_run_behind_a_remote_guard(gate: GateProcess) -> None:
    def verify() -> str:
        return "fine"

    def refund(amount: int) -> str:
        return f"paid {amount}"

    with gate.guard() as guard:
        tools = guard.wrap({"verify": verify, "refund": refund})
        with pytest.raises(ConstraintViolationError, match="verify-first"):
            tools["refund"](amount=5)
        assert (tools["verify"](), tools["refund"](amount=5)) == ("fine", "paid 5")
        calls = [Call("verify"), Call("refund", {"amount": 7})]
        assert guard.run_turn({"verify": verify, "refund": refund}, calls) == ["fine", "paid 7"]
    assert guard.report is not None


def test_a_run_is_resumed_by_its_id(gate: GateProcess) -> None:
    guard = gate.guard()
    (verify,) = guard.propose([Call("verify")])
    again = gate.guard(run=guard.run_id)
    (waiting,) = again.awaiting
    assert waiting == verify
    again.record(waiting, "done")
    assert guard.propose([Call("refund", {"amount": 5})])[0].allowed


def test_a_repeated_request_gets_the_same_answer(gate: GateProcess) -> None:
    key = {"Idempotency-Key": "open-1"}
    run = ask(gate, "POST", "/v1/runs", headers=key).json()["run"]
    assert ask(gate, "POST", "/v1/runs", headers=key).json()["run"] == run
    calls = {"calls": [{"tool": "verify"}]}
    key = {"Idempotency-Key": "turn-1"}
    first = ask(gate, "POST", f"/v1/runs/{run}/propose", json=calls, headers=key)
    again = ask(gate, "POST", f"/v1/runs/{run}/propose", json=calls, headers=key)
    assert first.json() == again.json()
    other = ask(gate, "POST", f"/v1/runs/{run}/propose", json={"calls": []}, headers=key)
    assert (other.status_code, other.json()["errors"][0]["code"]) == (409, "E456")


# ── those who may not, and what cannot be read ───────────────────────────────────────────────

RUN = "0" * 32
REFUSED: list[tuple[str, str, str | None, dict[str, Any], int]] = [
    ("POST", "/v1/runs", None, {}, 401),
    ("POST", "/v1/runs", "wrong", {}, 401),
    ("GET", "/v1/runs", None, {}, 401),
    ("GET", "/v1/runs", AGENT, {}, 403),
    ("GET", "/v1/changes", AGENT, {}, 403),
    ("GET", f"/v1/runs/{RUN}", AGENT, {}, 404),
    ("POST", f"/v1/runs/{RUN}/propose", AGENT, {"json": {"calls": []}}, 404),
    ("POST", f"/v1/runs/{RUN}/approve", AGENT, {"json": {"decision": "x"}}, 403),
    ("POST", f"/v1/runs/{RUN}/propose", AGENT, {"json": {}}, 422),
    ("POST", f"/v1/runs/{RUN}/propose", AGENT, {"json": []}, 422),
    ("POST", f"/v1/runs/{RUN}/propose", AGENT, {"content": b'{"calls": [],}'}, 400),
    ("POST", f"/v1/runs/{RUN}/propose", AGENT, {"content": b'{"calls": [], "calls": []}'}, 400),
    ("POST", f"/v1/runs/{RUN}/propose", AGENT, {"content": b'{"calls": NaN}'}, 400),
    ("POST", f"/v1/runs/{RUN}/propose", AGENT, {"content": b"\xff"}, 400),
    ("POST", f"/v1/runs/{RUN}/propose", AGENT, {"content": b"[" * 5000}, 400),
    ("POST", f"/v1/runs/{RUN}/propose", AGENT, {"content": b'"' + b"x" * 30_000 + b'"'}, 413),
    ("POST", "/v1/runs/..%2f..%2fetc/propose", AGENT, {"json": {"calls": []}}, 404),
    ("POST", "/v1/runs/a'b/propose", AGENT, {"json": {"calls": []}}, 422),
    ("POST", "/v1/runs", AGENT, {"json": {"run": "mine"}}, 422),
    ("POST", "/v1/runs", AGENT, {"json": [], "headers": {"Idempotency-Key": "k"}}, 400),
    ("POST", "/v1/runs", AGENT, {"headers": {"Idempotency-Key": "k" * 500}}, 422),
    ("GET", f"/v1/runs/{RUN}/answer/x?wait=soon", AGENT, {}, 400),
    ("DELETE", f"/v1/runs/{RUN}", AGENT, {}, 405),
    ("GET", "/v2/runs", AGENT, {}, 404),
]


@pytest.mark.parametrize(("method", "path", "token", "rest", "status"), REFUSED)
def test_a_request_that_is_refused(
    gate: GateProcess, method: str, path: str, token: str | None, rest: Any, status: int
) -> None:
    answer = ask(gate, method, path, token, **rest)
    assert answer.status_code == status
    if status not in (404, 405):
        (error, *_) = answer.json()["errors"]
        assert error["code"].startswith("E4")


def test_the_host_of_an_agent_cannot_approve(gate: GateProcess) -> None:
    guard = gate.guard()
    guard.record(guard.propose([Call("verify")])[0], "done")
    (asked,) = guard.propose([Call("refund", {"amount": 500})])
    with pytest.raises(GateError, match="E455"):
        guard.approve(asked)
    assert guard.propose([Call("refund", {"amount": 500})])[0].action == "ask"


# ── a client that cannot trust the answer refuses ────────────────────────────────────────────


class Liar:
    """A server that answers every request with one text, or not at all."""

    def __init__(self, answer: bytes | None) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._answer = answer
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._connections.append(connection)
            try:
                connection.recv(65536)
                if self._answer is not None:
                    connection.sendall(self._answer)
                    connection.close()
            except OSError:  # the client has gone
                continue

    def close(self) -> None:
        for each in (self._socket, *self._connections):
            each.close()


def answer_of(body: Any, status: int = 200) -> bytes:
    text = body if isinstance(body, str) else json.dumps(body)
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


def decided(**changes: Any) -> dict[str, Any]:
    decision = {
        "id": "r.0.0",
        "action": "allow",
        "turn": 0,
        "index": 0,
        "overridden": [],
        "call": {"tool": "pay", "arguments": {"amount": 5}, "step": 0, "start": 1.0},
        "violations": [],
        "approved": [],
        "named": [],
        "message": "",
        "position": 0,
        "decided": True,
        "problem": "",
    }
    return {"decisions": [{**decision, **changes}], "stopped": False, "finished": False}


LIES: dict[str, bytes | None] = {
    "it never answers": None,
    "it hangs up": b"",
    "it is no HTTP": b"allow\r\n",
    "it is cut off": answer_of(decided())[:-20],
    "it is no JSON": answer_of("allow"),
    "it is another JSON": answer_of(["allow"]),
    "it has no decisions": answer_of({"stopped": False}),
    "it has a decision too few": answer_of({"decisions": []}),
    "it has a decision too many": answer_of({"decisions": decided()["decisions"] * 2}),
    "the call is another": answer_of(
        decided(call={"tool": "pay", "arguments": {"amount": 9}, "step": 0, "start": 1.0})
    ),
    "the action is no word of ours": answer_of(decided(action="allowed")),
    "the action is not a text": answer_of(decided(action=True)),
    "a field is missing": answer_of({"decisions": [{"action": "allow"}]}),
    "it has no id": answer_of(decided(id="")),
    "it failed": answer_of(decided(), 500),
    "it is not ready": answer_of(decided(), 503),
    "it redirects": answer_of(decided(), 302),
    "it is empty": answer_of("", 204),
}


def redirected(gate: GateProcess, liar: Liar, patience: float = 0.5) -> RemoteGuard:
    """A guard that is made at a gate, and then speaks to a liar."""
    guard = gate.guard(attempts=1)
    guard.close()
    guard._gates[:] = [_connection(liar.address, AGENT, patience)]
    return guard


@pytest.mark.parametrize("lie", LIES)
def test_a_client_refuses_what_it_cannot_trust(gate: GateProcess, lie: str) -> None:
    liar = Liar(LIES[lie])
    try:
        guard = redirected(gate, liar)
        (decision,) = guard.propose([Call("pay", {"amount": 5})])
        assert not decision.allowed
        assert "did not decide" in decision.message
    finally:
        liar.close()


def test_the_honest_answer_of_that_table_is_trusted(gate: GateProcess) -> None:
    honest = Liar(answer_of(decided()))
    guard = redirected(gate, honest, patience=30.0)
    assert guard.propose([Call("pay", {"amount": 5})])[0].allowed
    honest.close()


def test_a_guard_without_a_gate_is_not_made() -> None:
    with pytest.raises(GateError, match="E463"):
        RemoteGuard("http://127.0.0.1:1", AGENT, attempts=1)


# ── operating it ─────────────────────────────────────────────────────────────────────────────


def test_health_metrics_and_description(gate: GateProcess) -> None:
    gate.guard().propose([Call("verify")])
    assert ask(gate, "GET", "/health", None).json() == {"ready": True}
    text = ask(gate, "GET", "/metrics", None).text
    assert 'bylaw_decisions_total{action="allow"}' in text
    assert 'bylaw_requests_total{route="propose",status="200"}' in text
    described = ask(gate, "GET", "/openapi.json", None).json()
    routes = {
        (method.upper(), path) for path, methods in described["paths"].items() for method in methods
    }
    assert routes == {(each.method, each.path) for each in ROUTES}


def test_the_page_loads_nothing_and_tells_nothing(gate: GateProcess) -> None:
    answer = ask(gate, "GET", "/", None)
    assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert "default-src 'none'" in answer.text
    assert "verify-first" not in answer.text  # rules are shown to those who have a token
    assert "http://" not in answer.text.replace("http://www.w3.org", "")


def test_runs_are_listed_for_persons(gate: GateProcess) -> None:
    guard = gate.guard(labels={"customer": "<script>"})
    guard.propose([Call("refund", {"amount": 5})])
    runs = {each["run"]: each for each in ask(gate, "GET", "/v1/runs", PERSON).json()["runs"]}
    found = runs[guard.run_id]
    assert (found["principal"], found["owes"], found["refused"]) == ("desk", ["told"], 1)
    assert found["refusals"][0]["rules"] == ["verify-first"]


def test_a_unix_socket_is_for_its_user_only(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(PROCEDURE)
    path = tmp_path / "gate.sock"
    store = f"sqlite:{tmp_path / 'gate.db'}"
    server = GateProcess(tmp_path, tmp_path / "desk.yaml", store, "--unix", str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    guard = RemoteGuard(f"unix:{path}", AGENT)
    assert guard.propose([Call("verify")])[0].allowed
    guard.close()
    server.kill()
    assert path.exists()
    server.start()  # what the dead server left is replaced
    again = RemoteGuard(f"unix:{path}", AGENT, run=guard.run_id)
    assert len(again.awaiting) == 1
    again.close()
    assert server.stop() == 0
    assert not path.exists()
