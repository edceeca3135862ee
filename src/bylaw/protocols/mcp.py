"""MCP: messages of a client and of a server in, messages to both out. Free of transport.

Only `tools/call` is judged. Everything else is passed on byte for byte, unless its bytes could be
read as other lines than they are: then it is written anew. What is judged is what the server reads:
a call is always written anew. A refusal is the call's result, with `isError`, so the model reads
why. Calls that are under way at the same time belong to one turn.

Ids tell which answer belongs to which request, so one id is one request at a time: otherwise the
answer to a ping could pass for the result of a call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bylaw.errors import clipped
from bylaw.frozen import frozen
from bylaw.procedure.toolset.schema import ToolSchema
from bylaw.protocols.hooked_run import HookedRun
from bylaw.protocols.mcp_results import outcome
from bylaw.protocols.tool_notes import tool_notes
from bylaw.trace.event import Call
from bylaw.trace.refusal import OPENING
from bylaw.values import Json, canonical, read_json

_MISREAD: Final = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Characters at which some readers end a line, and JSON does not."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
SERVER_ERROR: Final = -32000


@frozen
class Relayed:
    """The bytes for both sides, each a message or nothing."""

    to_server: bytes | None = None
    to_client: bytes | None = None


class McpRelay:
    """The state of one connection: the requests without an answer, and the server's tools."""

    def __init__(self, *, notes: bool = False) -> None:
        self._notes: Final = notes
        """Do descriptions of tools say which rules are about them?"""
        self._open: Final[dict[str, str]] = {}
        """The requests of the client that have no answer yet: the key of the id, the method."""
        self._calls: Final[set[str]] = set()
        """Those that are calls under way; a cancelled one is not."""
        self._paused: Final[dict[str, str]] = {}
        """Calls for which the server wants more input first: the call, its key."""
        self._tasks: Final[dict[str, str]] = {}
        """Calls whose results come later: the id of the task, the key of the call."""
        self._schemas: Final[dict[str, ToolSchema]] = {}

    @property
    def open_ids(self) -> list[Json]:
        """The ids of requests that have no answer yet."""
        return [json.loads(key) for key in self._open]

    # ── from the client ──────────────────────────────────────────────────────────────────

    def from_client(self, run: HookedRun, raw: bytes) -> Relayed:
        """Takes a message of the client."""
        try:
            text = raw.decode().strip()
            message = read_json(text)
        except ValueError as error:
            return _answered(_error(None, PARSE_ERROR, f"the message cannot be read: {error}"))
        if not isinstance(message, list):
            onward, back = self._judged(run, message)
            changed = onward is not message
            return Relayed(
                None if onward is None else _bytes(onward, None if changed else text),
                None if back is None else _bytes(back),
            )
        both = [self._judged(run, each) for each in message]
        passed = [onward for onward, _ in both if onward is not None]
        replies = [back for _, back in both if back is not None]
        return Relayed(_bytes(passed) if passed else None, _bytes(replies) if replies else None)

    def _judged(self, run: HookedRun, message: Json) -> tuple[Json, Json]:
        """The message for the server, and the answer to the client; None for either is none."""
        if not isinstance(message, dict):
            return None, _error(None, INVALID_REQUEST, "a message is an object")
        method, id = message.get("method"), message.get("id")
        if method is None:
            return message, None  # an answer to the server
        if "id" not in message:
            return self._notified(message)
        if type(id) not in (str, int) or type(method) is not str:
            return None, _error(None, INVALID_REQUEST, "an id is a string or a whole number")
        key = canonical(id)
        if key in self._open:
            return None, _error(id, INVALID_REQUEST, "a request with this id is under way")
        if method == "tools/call":
            return self._decided(run, key, message)
        self._open[key] = method
        params = message.get("params")
        if method == "tasks/result" and isinstance(params, dict):
            self._open[key] = f"tasks/result {params.get('taskId')}"
        return message, None

    def _notified(self, message: dict[str, Json]) -> tuple[Json, Json]:
        """A message that gets no answer. A call without an id would run unseen: it is dropped."""
        if message["method"] == "tools/call":
            return None, None
        params = message.get("params")
        if message["method"] == "notifications/cancelled" and isinstance(params, dict):
            # It may have run all the same, so its result stays outstanding.
            self._calls.discard(canonical(params.get("requestId")))
        return message, None

    def _decided(self, run: HookedRun, key: str, message: dict[str, Any]) -> tuple[Json, Json]:
        params = message.get("params")
        given = params if isinstance(params, dict) else {}
        tool, arguments = given.get("name"), given.get("arguments")
        if type(tool) is not str or not (arguments is None or type(arguments) is dict):
            return None, _error(message["id"], INVALID_REQUEST, "a call has a name and arguments")
        arguments = arguments or {}
        same = canonical([tool, arguments])
        if ("requestState" in given or "inputResponses" in given) and same in self._paused:
            self._resume(key, self._paused.pop(same))
            return _rewritten(message, arguments), None
        problem = None if run.observe else self._misfit(tool, arguments)
        if problem:
            name = clipped(tool, 256)
            return None, _refused(message["id"], f"{name}{OPENING}. {problem}")
        if not self._calls:
            run.speaker = None  # nothing is under way: the model has read all results
        decision = run.propose(Call(tool, arguments, id=key))
        if not run.passes(decision):
            return None, _refused(message["id"], decision.message)
        self._open[key] = "tools/call"
        self._calls.add(key)
        judged = dict(decision.call.args) if decision.allowed else arguments
        return _rewritten(message, judged), None

    def _resume(self, key: str, call: str) -> None:
        """A call continues under another id."""
        self._open[key] = f"again {call}"
        self._calls.add(key)

    def _misfit(self, tool: str, arguments: Mapping[str, Json]) -> str | None:
        schema = self._schemas.get(tool)
        return None if schema is None else schema.problem(arguments)

    # ── from the server ──────────────────────────────────────────────────────────────────

    def from_server(self, run: HookedRun, raw: bytes) -> bytes:
        """Takes a message of the server; returns the bytes for the client."""
        try:
            message = read_json(raw.decode())
        except ValueError:
            return raw  # not ours to repair
        listed = message if isinstance(message, list) else [message]
        changed = [self._heard(run, each) for each in listed]
        if not any(changed):
            return raw
        return _bytes(message).rstrip(b"\n") + (b"\n" if raw.endswith(b"\n") else b"")

    def _heard(self, run: HookedRun, message: Json) -> bool:
        """Takes in an answer of the server. True if it was changed."""
        if not isinstance(message, dict) or "method" in message or "id" not in message:
            return False
        key = canonical(message["id"])
        method = self._open.pop(key, "")
        self._calls.discard(key)
        if method == "tools/list":
            return self._listed(run, message.get("result"))
        word, _, about = method.partition(" ")
        call = {
            "tools/call": key,
            "again": about,
            "tasks/result": self._tasks.get(about, ""),
        }.get(word)
        if call:
            self._came(run, call, message)
        return False

    def _came(self, run: HookedRun, call: str, message: Mapping[str, Json]) -> None:
        """Takes in what came of a call: its result, an error, a question, or a promise."""
        decision = run.awaited(call)
        if decision is None:
            return
        result = message.get("result")
        if isinstance(result, dict) and result.get("resultType", "complete") != "complete":
            self._paused[canonical([decision.call.tool, dict(decision.call.args)])] = call
            return
        task = result.get("task") if isinstance(result, dict) else None
        if isinstance(task, dict) and type(task.get("taskId")) is str:
            self._tasks[str(task["taskId"])] = call
            return
        run.record(decision, *outcome(message))

    def _listed(self, run: HookedRun, result: Json) -> bool:
        """Learns the tools of the server, and adds notes to their descriptions."""
        tools = result.get("tools") if isinstance(result, dict) else None
        changed = False
        for tool in tools if isinstance(tools, list) else ():
            if not isinstance(tool, dict) or type(tool.get("name")) is not str:
                continue
            schema = ToolSchema(tool.get("inputSchema"))
            if not schema.mistakes:
                self._schemas[str(tool["name"])] = schema
            if self._notes and (note := tool_notes(run.guard.procedure, str(tool["name"]))):
                tool["description"] = f"{tool.get('description') or ''}\n\n{note}".strip()
                changed = True
        return changed

    def forget(self, id: Json) -> None:
        """Frees the id of a request that will get no answer. A call stays outstanding."""
        self._open.pop(canonical(id), None)
        self._calls.discard(canonical(id))

    def lost(self) -> list[bytes]:
        """The answers to all open requests, because the server is gone."""
        ids, text = self.open_ids, "the server behind the gate has ended"
        self._open.clear()
        self._calls.clear()
        return [_bytes(_error(id, SERVER_ERROR, text)) for id in ids]


def _rewritten(message: Mapping[str, Any], arguments: Mapping[str, Json]) -> Json:
    """A call as it was judged."""
    params = dict(message["params"])
    if arguments or "arguments" in params:
        params["arguments"] = dict(arguments)
    return {**message, "params": params}


def _refused(id: Json, text: str) -> Json:
    content: Sequence[Json] = [{"type": "text", "text": text}]
    result: Json = {"resultType": "complete", "content": list(content), "isError": True}
    return {"jsonrpc": "2.0", "id": id, "result": result}


def _error(id: Json, code: int, text: str) -> Json:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}


def _answered(message: Json) -> Relayed:
    return Relayed(to_client=_bytes(message))


def _bytes(message: Json, text: str | None = None) -> bytes:
    """A message as one line: the text it came as, if no reader can take that for several."""
    if text is None or _MISREAD.search(text) or "\n" in text:
        text = json.dumps(message, separators=(",", ":"))
    return text.encode() + b"\n"
