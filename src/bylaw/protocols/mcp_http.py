"""A gate before a remote MCP server: streamable HTTP in, streamable HTTP out.

    POST /runs    Authorization: Bearer TOKEN        -> {"run": "KEY"}
    POST /mcp     Authorization: Bearer KEY          relayed to the server

MCP knows no sessions any more, and a session id that a client chooses can be anybody's. So a run
has a key that this gate issues to whoever has a token, and every request must carry it. The key is
sealed: it names its owner and the run, and nobody else can make one. It is not passed on; headers
for the server are the gate's own. Arguments are judged as they stand in the body: headers that
mirror the call must agree with it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from bylaw.errors import BylawError, Diagnostic, UsageError
from bylaw.protocols.hook_gate import HookGate
from bylaw.protocols.mcp import SERVER_ERROR, McpRelay
from bylaw.protocols.resident import MAX_BODY, explained, is_authorised, limited_body
from bylaw.protocols.sse import SseEvents
from bylaw.values import read_json

try:
    import httpx
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route
except ModuleNotFoundError as error:
    missing = "httpx or starlette is not installed: pip install 'bylaw[mcp]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

MAX_RELAYS: Final = 4096
"""The runs whose open requests are remembered."""
_OWN: Final = frozenset(
    [
        *("host", "authorization", "content-length", "content-type", "connection", "keep-alive"),
        *("te", "trailer", "upgrade", "proxy-authorization", "proxy-connection", "cookie"),
        *("accept-encoding", "transfer-encoding", "content-encoding", "x-api-key", "expect"),
    ]
)
"""Headers of the client that are not for the server."""
_BACK: Final = ("content-type", "mcp-session-id", "mcp-protocol-version", "cache-control")
"""Headers of the server that are for the client."""


class HttpProxy:
    """Relays the requests of many runs to one server."""

    def __init__(
        self, gate: HookGate, token: str, upstream: str, headers: Mapping[str, str], **how: bool
    ) -> None:
        if not upstream.startswith(("http://", "https://")):
            message = f"{upstream} is not an address"
            raise UsageError(Diagnostic("E475", message, "Give http://… or https://…."))
        self._gate: Final = gate
        self._token: Final = token
        self._upstream: Final = upstream
        self._headers: Final = dict(headers)
        self._how: Final = how
        self._key: Final = gate.store.key()
        self._relays: Final[OrderedDict[str, McpRelay]] = OrderedDict()
        self._client: Final = httpx.AsyncClient(timeout=httpx.Timeout(300.0, connect=10.0))

    # ── runs ─────────────────────────────────────────────────────────────────────────────

    async def issue(self, request: Request) -> Response:
        """A new run for whoever has the token."""
        if not is_authorised(request, self._token):
            return JSONResponse({"error": "the token is missing or wrong"}, 401)
        run = os.urandom(12).hex()
        self._gate.handle(f"mcp {run}", lambda _: None, begins=True)
        return JSONResponse({"run": f"{run}.{self._seal(run)}"}, 201)

    def _seal(self, run: str) -> str:
        return hmac.new(self._key, f"mcp-run {run}".encode(), hashlib.sha256).hexdigest()

    def _run_of(self, request: Request) -> str | None:
        """The run whose key the request carries."""
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        run, _, seal = given.partition(".")
        return run if hmac.compare_digest(seal.encode(), self._seal(run).encode()) else None

    def _relay_of(self, run: str) -> McpRelay:
        relay = self._relays.pop(run, None) or McpRelay(**self._how)
        self._relays[run] = relay
        while len(self._relays) > MAX_RELAYS:
            self._relays.popitem(last=False)
        return relay

    # ── messages ─────────────────────────────────────────────────────────────────────────

    async def relay(self, request: Request) -> Response:
        """Judges and relays one request."""
        run = self._run_of(request)
        if run is None:
            return JSONResponse({"error": "the run's key is missing or wrong: POST /runs"}, 401)
        body = await limited_body(request)
        if body is None:
            return JSONResponse({"error": f"more than {MAX_BODY} bytes"}, 413)
        if request.method != "POST":
            return await self._forward(request, run, b"")  # their bodies mean nothing
        try:
            if fault := _header_fault(request, body):
                return JSONResponse({"error": fault}, 400)
            relay = self._relay_of(run)
            session = f"mcp {run}"
            relayed = self._gate.handle(session, lambda each: relay.from_client(each, body))
        except BylawError as error:
            return JSONResponse({"error": explained(error)}, 403)
        if relayed.to_server is not None:
            return await self._forward(request, run, relayed.to_server.rstrip(b"\n"))
        if relayed.to_client is not None:
            return Response(relayed.to_client, media_type="application/json")
        return Response(status_code=202)

    async def _forward(self, request: Request, run: str, body: bytes) -> Response:
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _OWN}
        if body:
            headers["content-type"] = "application/json"  # in UTF-8, as it was judged
        sent = self._client.build_request(
            request.method, self._upstream, headers={**headers, **self._headers}, content=body
        )
        try:
            got = await self._client.send(sent, stream=True)
        except httpx.HTTPError as error:
            return self._unreachable(run, body, f"{type(error).__name__}: {error}")
        back = {name: got.headers[name] for name in _BACK if name in got.headers}
        if got.headers.get("content-type", "").startswith("text/event-stream"):
            return StreamingResponse(self._streamed(run, got), got.status_code, back)
        try:
            answer = await _read(got)
        except (httpx.HTTPError, ValueError) as error:
            return self._unreachable(run, body, str(error))
        return Response(self._heard(run, answer), got.status_code, back)

    def _unreachable(self, run: str, body: bytes, reason: str) -> Response:
        """The call may have run: its result stays outstanding, but its id is free again."""
        message = json.loads(body) if body else {}
        id = message.get("id") if isinstance(message, dict) else None
        self._relay_of(run).forget(id)
        text = f"the server behind the gate cannot be reached: {reason}"
        error = {"code": SERVER_ERROR, "message": text}
        return JSONResponse({"jsonrpc": "2.0", "id": id, "error": error}, 502)

    async def _streamed(self, run: str, got: Any) -> AsyncIterator[bytes]:
        """The server's events as they come, each heard before it is passed on."""
        events = SseEvents()
        try:
            async for part in got.aiter_bytes():
                for event in events.feed(part):
                    yield self._event(run, event)
            for event in events.end():
                yield self._event(run, event)
        finally:
            await got.aclose()

    def _event(self, run: str, event: bytes) -> bytes:
        data = SseEvents.data(event)
        if not data:
            return event
        heard = self._heard(run, data)
        return event if heard == data else SseEvents.with_data(event, heard)

    def _heard(self, run: str, message: bytes) -> bytes:
        relay = self._relay_of(run)
        return self._gate.handle(f"mcp {run}", lambda each: relay.from_server(each, message))

    async def close(self) -> None:
        """Closes connections to the server."""
        await self._client.aclose()


def http_proxy(
    gate: HookGate, token: str, upstream: str, headers: Mapping[str, str], **how: bool
) -> Starlette:
    """The application of a gate before a remote server."""
    proxy = HttpProxy(gate, token, upstream, headers, **how)
    return Starlette(
        routes=[
            Route("/runs", proxy.issue, methods=["POST"]),
            Route("/mcp", proxy.relay, methods=["POST", "GET", "DELETE"]),
        ]
    )


def _header_fault(request: Request, body: bytes) -> str | None:
    """The reason why headers and body of a request do not belong together."""
    try:
        message = read_json(body.decode())
    except ValueError:
        return None  # the relay says what is wrong with it
    if isinstance(message, list):
        return "batches are not relayed over HTTP: send one message at a time"
    if not isinstance(message, dict):
        return None
    method, params = message.get("method"), message.get("params")
    stated = request.headers.get("mcp-method")
    if stated is not None and stated != method:
        return "Mcp-Method is not the method of the body"
    name = request.headers.get("mcp-name")
    if method == "tools/call" and name is not None and isinstance(params, dict):
        called = str(params.get("name"))
        if name != called and called.isascii():
            return "Mcp-Name is not the tool of the body"
    return None


async def _read(got: Any) -> bytes:
    parts, size = [], 0
    try:
        async for part in got.aiter_bytes():
            size += len(part)
            if size > MAX_BODY:
                raise ValueError("its answer is too long")
            parts.append(part)
    finally:
        await got.aclose()
    return b"".join(parts)
