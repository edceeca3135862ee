"""A model for Claude Code: Anthropic's messages API on loopback, played from scripts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def served(respond: Callable[[str, Any], list[dict[str, Any]]]) -> Iterator[str]:
    """The API: its address. `respond` gets the key of the client and the request."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def reply(self, body: bytes, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.reply(b"{}")

        def do_HEAD(self) -> None:
            self.reply(b"")

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length", 0))
            request = json.loads(self.rfile.read(size) or b"{}")
            if "/v1/messages" not in self.path or "count_tokens" in self.path:
                return self.reply(b'{"input_tokens": 10}')
            if request.get("tools"):
                blocks = respond(self.headers.get("x-api-key", ""), request)
            else:  # Claude Code asks for a title, and the like
                blocks = [{"type": "text", "text": "ok"}]
            return self.reply(_streamed(blocks, request), "text/event-stream")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def _streamed(blocks: list[dict[str, Any]], request: Any) -> bytes:
    """A message as a stream of events."""
    stop = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg", "type": "message", "role": "assistant", "model": request.get("model")}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    empty: dict[str, Any]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            written = json.dumps(block["input"])
            empty, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": written}
        about = {"index": index}
        events += [
            {"type": "content_block_start", **about, "content_block": {**block, **empty}},
            {"type": "content_block_delta", **about, "delta": delta},
            {"type": "content_block_stop", **about},
        ]
    ended = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}})
    events.append({"type": "message_stop"})
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
