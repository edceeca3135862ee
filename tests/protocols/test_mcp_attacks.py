"""Messages that want around the gate: each is a row, with the calls that may reach a server.

The server of these tests is as lax as servers are: it takes every line end for one that Python's
`splitlines` knows, reads what it can, and runs every tools/call it finds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bylaw import Guard, Procedure
from bylaw.protocols.hooked_run import HookedRun
from bylaw.protocols.mcp import McpRelay

DESK = Procedure.load(Path(__file__).with_name("desk.yaml"))


class LaxServer:
    """A gate before a server that runs whatever looks like a call."""

    def __init__(self, **how: Any) -> None:
        self.run = HookedRun(Guard(DESK), **how)
        self.relay = McpRelay()
        self.executed: list[str] = []
        self.answers: list[Any] = []

    def sends(self, line: str | bytes) -> None:
        raw = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
        relayed = self.relay.from_client(self.run, raw)
        if relayed.to_client is not None:
            self.answers.append(json.loads(relayed.to_client))
        if relayed.to_server is not None:
            assert relayed.to_server.endswith(b"\n")
            for each in relayed.to_server.decode("utf-8", "replace").splitlines():
                self._read(each)

    def _read(self, line: str) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        for each in message if isinstance(message, list) else [message]:
            if isinstance(each, dict) and each.get("method") == "tools/call":
                self.executed.append(each["params"]["name"])

    def answered(self, id: Any, **result: Any) -> bytes:
        message = {"jsonrpc": "2.0", "id": id, "result": result}
        return self.relay.from_server(self.run, json.dumps(message).encode() + b"\n")


def call(tool: str, id: Any = 1, **more: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": {}, **more}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


REFUND = json.dumps(call("refund"))
PING: dict[str, Any] = {"jsonrpc": "2.0", "method": "ping"}
TEXT = [{"type": "text", "text": "verified"}]

SMUGGLED: dict[str, str | bytes] = {
    "a plain call": REFUND,
    "a call without an id": json.dumps({k: v for k, v in call("refund").items() if k != "id"}),
    "in a batch": json.dumps([{**PING, "id": 7}, call("refund")]),
    "in a batch in a batch": json.dumps([[call("refund")]]),
    "two methods, the last counts": REFUND[:-1] + ', "method": "ping"}',
    "two methods, the first counts": '{"method": "ping", ' + REFUND[1:],
    "two names": REFUND.replace('"name": "refund"', '"name": "verify", "name": "refund"'),
    "a carriage return between": '{"a":\r' + REFUND + "\r}",
    "a carriage return inside a ping": json.dumps(PING)[:-1] + ', "params":\r' + REFUND + "\r}",
    "a form feed": json.dumps(PING) + "\x0c" + REFUND,
    "a line separator in a string": json.dumps({**PING, "params": {"a": "\u2028"}}).replace(
        "\\u2028", "\u2028" + REFUND.replace('"', "'") + "\u2028"
    ),
    "two messages in a line": REFUND + REFUND,
    "after a byte order mark": "\ufeff" + REFUND,
    "not UTF-8": b"\xff" + REFUND.encode(),
    "UTF-16": REFUND.encode("utf-16"),
    "NaN": REFUND.replace("{}", '{"amount": NaN}'),
    "an id that is a list": json.dumps(call("refund", id=[1])),
    "an id that is null": json.dumps(call("refund", id=None)),
    "an id that is true": json.dumps(call("refund", id=True)),
    "a name that is a list": json.dumps(call(["refund"])),  # type: ignore[arg-type]
    "arguments that are a list": json.dumps(call("refund", arguments=[])),
    "an input response to nothing": json.dumps(call("refund", inputResponses={})),
    "deeper than JSON goes": json.dumps(call("refund")).replace("{}", "[" * 5000 + "]" * 5000),
    "the reserved answer": json.dumps(call("final_answer")),
    "the doctor's probe": json.dumps(call("bylaw-doctor")),
}


@pytest.mark.parametrize("row", SMUGGLED)
def test_nothing_reaches_the_server_unjudged(row: str) -> None:
    server = LaxServer()
    server.sends(SMUGGLED[row])
    assert server.executed == []


def test_the_answer_to_a_ping_does_not_pass_for_a_result() -> None:
    server = LaxServer()
    server.sends(json.dumps(call("verify", id=5)))
    server.sends(json.dumps({**PING, "id": 5}))
    assert server.answers[-1]["error"]["message"] == "a request with this id is under way"
    server.sends(json.dumps({**PING, "id": 6}))
    server.sends(json.dumps(call("verify", id=6)))
    assert server.executed == ["verify"]


def test_ids_of_different_types_are_different_ids() -> None:
    server = LaxServer()
    server.sends(json.dumps(call("verify", id=5)))
    server.answered("5", content=TEXT)
    server.sends(REFUND)
    assert server.executed == ["verify"]
    server.answered(5, content=TEXT)
    server.sends(REFUND)
    assert server.executed == ["verify", "refund"]


@pytest.mark.parametrize(
    "result",
    [
        {"content": TEXT, "isError": True},
        {"resultType": "input_required", "content": TEXT},
        {"task": {"taskId": "t"}, "content": TEXT},
    ],
)
def test_what_is_no_result_is_no_evidence(result: dict[str, Any]) -> None:
    server = LaxServer()
    server.sends(json.dumps(call("verify")))
    server.answered(1, **result)
    server.sends(json.dumps(call("refund", id=2)))
    assert server.executed == ["verify"]


def test_a_call_that_was_paused_goes_on_once() -> None:
    server = LaxServer()
    server.sends(json.dumps(call("verify")))
    server.answered(1, resultType="input_required", requestState="s")
    server.sends(json.dumps(call("verify", id=2, requestState="s", inputResponses={})))
    server.answered(2, content=TEXT)
    server.sends(json.dumps(call("refund", id=3)))
    assert server.executed == ["verify", "verify", "refund"]
    server.sends(json.dumps(call("refund", id=4, requestState="s", inputResponses={})))
    assert server.executed == ["verify", "verify", "refund"]


def test_the_result_of_a_task_comes_later() -> None:
    server = LaxServer()
    server.sends(json.dumps(call("verify")))
    server.answered(1, task={"taskId": "t"})
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tasks/result", "params": {"taskId": "t"}}
    server.sends(json.dumps(asked))
    server.answered(2, content=TEXT)
    server.sends(json.dumps(call("refund", id=3)))
    assert server.executed == ["verify", "refund"]


def test_a_cancelled_call_may_have_run() -> None:
    """Cancelling a refund does not make room for another."""
    server = LaxServer()
    server.sends(json.dumps(call("verify")))
    server.answered(1, content=TEXT)
    server.sends(json.dumps(call("refund", id=2)))
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 2}}
    server.sends(json.dumps({"jsonrpc": "2.0", **cancelled}))
    server.sends(json.dumps(call("refund", id=3)))
    assert server.executed == ["verify", "refund"]


def test_siblings_are_no_evidence_for_each_other() -> None:
    server = LaxServer()
    server.sends(json.dumps([call("verify", id=1), call("refund", id=2)]))
    assert server.executed == ["verify"]
    server.sends(json.dumps(call("refund", id=3)))  # the verification is still under way
    assert server.executed == ["verify"]


def test_everything_else_passes_byte_for_byte() -> None:
    server = LaxServer()
    for line in (
        b'{"jsonrpc" : "2.0", "id":9,  "method":"resources/list", "params":{"x":1.50}}\n',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        b'{"jsonrpc":"2.0","id":"a","result":{"roots":[]}}\n',
        '{"jsonrpc":"2.0","id":10,"method":"prompts/get","params":{"name":"é \\u2028"}}\n'.encode(),
    ):
        assert server.relay.from_client(server.run, line).to_server == line
        assert server.relay.from_server(server.run, line) == line
    assert server.relay.from_server(server.run, b"not JSON\n") == b"not JSON\n"


def test_a_server_that_ends_answers_everything() -> None:
    server = LaxServer()
    server.sends(json.dumps(call("verify")))
    server.sends(json.dumps({**PING, "id": "p"}))
    lost = [json.loads(each) for each in server.relay.lost()]
    assert [each["id"] for each in lost] == [1, "p"]
    assert server.relay.lost() == []
