"""A scripted model that speaks Anthropic's Messages API on loopback, for the real Claude Code.

with ScriptedModel([[use("Bash", command="ls")], [says("done")]]) as model:
    ...                      # ANTHROPIC_BASE_URL=model.url
    model.results            # what the agent was told about its calls, by id
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Self

Block = dict[str, Any]
Turns = Sequence[Sequence[Block]]
_IDS = count(1)


def use(tool: str, **arguments: Any) -> Block:
    """A tool call."""
    return {"type": "tool_use", "id": f"toolu_{next(_IDS)}", "name": tool, "input": arguments}


def says(text: str) -> Block:
    """A text."""
    return {"type": "text", "text": text}


class ScriptedModel:
    """Plays one turn per request of the main agent, then repeats the last.

    `inner` is for subagents: for conversations that begin with one of these texts.
    """

    def __init__(
        self,
        turns: Turns,
        before: Callable[[int], None] = lambda turn: None,
        inner: Mapping[str, Turns] | None = None,
    ) -> None:
        self.turns = turns
        self.before = before
        """Called before each turn of the main agent with its number."""
        self._inner = {text: iter(script) for text, script in (inner or {}).items()}
        self.played = 0
        self.results: dict[str, str] = {}
        self.told: list[str] = []
        """The texts that the agent was told as the user, in order."""

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            model = self

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self.reply(b"{}")

            do_HEAD = do_GET  # noqa: N815  # as http.server names it

            def do_POST(self) -> None:
                size = int(self.headers.get("content-length", 0))
                body = json.loads(self.rfile.read(size) or b"{}")
                if "/v1/messages" not in self.path or "count_tokens" in self.path:
                    self.reply(b'{"input_tokens": 10}')
                    return
                self.reply(*self.model.answer(body))

            def reply(self, body: bytes, kind: str = "application/json") -> None:
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

    def answer(self, body: dict[str, Any]) -> tuple[bytes, str]:
        """The answer to one request, with its content type."""
        blocks: Sequence[Block] = [says("ok")]
        if any(tool.get("name") == "Bash" for tool in body.get("tools", [])):
            self._read(body["messages"])
            blocks = self._next(json.dumps(body["messages"][0]))
        calls = any(block["type"] == "tool_use" for block in blocks)
        stop = "tool_use" if calls else "end_turn"
        message: Block = {
            "id": f"msg_{next(_IDS)}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }
        if not body.get("stream"):
            whole = {**message, "content": blocks, "stop_reason": stop}
            return json.dumps(whole).encode(), "application/json"
        started = {**message, "content": [], "stop_reason": None}
        events: list[tuple[str, Any]] = [("message_start", {"message": started})]
        for index, block in enumerate(blocks):
            events += [(kind, {"index": index, **part}) for kind, part in _streamed(block)]
        end = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 5}}
        events += [("message_delta", end), ("message_stop", {})]
        text = "".join(
            f"event: {kind}\ndata: {json.dumps({'type': kind, **part})}\n\n"
            for kind, part in events
        )
        return text.encode(), "text/event-stream"

    def _next(self, first: str) -> Sequence[Block]:
        """The next turn of the agent whose conversation begins so."""
        for text, script in self._inner.items():
            if text in first:
                return next(script)
        number, self.played = self.played, self.played + 1
        self.before(number)
        return self.turns[min(number, len(self.turns) - 1)]

    def _read(self, messages: list[dict[str, Any]]) -> None:
        self.told = []
        for message in messages:
            content = message["content"]
            parts = [says(content)] if isinstance(content, str) else content
            for part in parts if message["role"] == "user" else ():
                if part["type"] == "tool_result":
                    self.results[part["tool_use_id"]] = json.dumps(part["content"])
                elif part["type"] == "text":
                    self.told.append(part["text"])


def _streamed(block: Block) -> list[tuple[str, Block]]:
    if block["type"] == "text":
        start: Block = {"type": "text", "text": ""}
        delta: Block = {"type": "text_delta", "text": block["text"]}
    else:
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        ("content_block_start", {"content_block": start}),
        ("content_block_delta", {"delta": delta}),
        ("content_block_stop", {}),
    ]
