"""A scripted model that speaks OpenAI's Responses API on loopback, for the real Codex."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Item = dict[str, Any]


def runs(id: str, command: str) -> Item:
    """A shell command."""
    given = json.dumps({"cmd": command})
    call = {"id": f"fc_{id}", "call_id": id, "name": "exec_command", "arguments": given}
    return {"type": "function_call", **call}


def replies(text: str) -> Item:
    """A message."""
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "id": "m", "content": content}


class ScriptedResponses:
    """Plays one turn per request, then repeats the last."""

    def __init__(self, turns: Sequence[Sequence[Item]]) -> None:
        self.turns = turns
        self.played = 0
        self.outputs: dict[str, str] = {}
        """The texts that the agent read about its calls, by id."""
        self.told: list[str] = []
        """The texts that the agent was told as the user."""

        class Handler(BaseHTTPRequestHandler):
            model = self

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self.reply(b'{"models": []}', "application/json")

            def do_POST(self) -> None:
                size = int(self.headers.get("content-length", 0))
                body = json.loads(self.rfile.read(size) or b"{}")
                self.reply(self.model.answer(body), "text/event-stream")

            def reply(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: dict[str, Any]) -> bytes:
        """The events of one turn."""
        self.told = []
        for item in body.get("input", []):
            if item.get("type") == "function_call_output":
                self.outputs[item["call_id"]] = json.dumps(item["output"])
            elif item.get("role") == "user":
                self.told.append(json.dumps(item.get("content")))
        items = self.turns[min(self.played, len(self.turns) - 1)]
        self.played += 1
        id = f"resp_{self.played}"
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        usage |= {"input_tokens_details": None, "output_tokens_details": None}  # type: ignore[dict-item]
        events: list[tuple[str, Any]] = [("response.created", {"response": {"id": id}})]
        for index, item in enumerate(items):
            events.append(("response.output_item.done", {"output_index": index, "item": item}))
        done = {"id": id, "output": list(items), "usage": usage}
        events.append(("response.completed", {"response": done}))
        return "".join(
            f"event: {kind}\ndata: {json.dumps({'type': kind, **part})}\n\n"
            for kind, part in events
        ).encode()
