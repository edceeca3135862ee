"""The HTTP interface of a resident gate, as a Starlette application: `pip install 'bylaw[serve]'`.

A handler finds out who asks, reads the body within its limits, and hands the request to the gate,
whose workers decide. Whatever goes wrong is answered with an error, and nothing is allowed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from bylaw.errors import BylawError, Diagnostic, UsageError
from bylaw.reports.html.watch import render_watch
from bylaw.serve.changes import Changes, about_row
from bylaw.serve.resident import ResidentGate
from bylaw.serve.routes import ROUTES, STATUS, GateRoute, description
from bylaw.serve.tickets import Principal
from bylaw.serve.tokens import Tokens
from bylaw.values import Json, JsonError, read_json

MAX_BODY: Final = 2_000_000
"""The largest request, in bytes."""
BODY_SECONDS: Final = 10.0
"""The time that a client has to send a request."""
MAX_WAIT: Final = 30.0
"""The longest that a request waits for a person, in seconds."""
_POLL: Final = 0.25
_LOG: Final = logging.getLogger("bylaw.serve")
_COMMON: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Application:
    """The handlers, by the name of their route."""

    def __init__(self, gate: ResidentGate, tokens: Tokens, *, max_body: int = MAX_BODY) -> None:
        self.gate: Final = gate
        self._tokens: Final = tokens
        self._max_body: Final = max_body
        self.changes: Final = Changes(gate)
        self._health: tuple[float, Response] | None = None
        self._own: Final[dict[str, Callable[[Request, Principal], Awaitable[Response]]]] = {
            "open": self._open,
            "answer": self._answer,
            "list": self._list,
            "changes": self._changes,
            "health": self._check,
            "metrics": self._metrics,
            "openapi": self._openapi,
            "page": self._page,
        }

    def starlette(self) -> Starlette:
        """The application."""
        routes = [
            Route(each.path, GateEndpoint(self, each), methods=[each.method]) for each in ROUTES
        ]
        return Starlette(routes=routes)

    async def handle(self, request: Request, route: GateRoute) -> Response:
        """The answer to a request."""
        begun, own = time.perf_counter(), self._own.get(route.name)
        try:
            principal = self._principal(request, route)
            if own is None:
                response = await self._perform(request, principal, route.name)
            else:
                response = await own(request, principal)
        except BylawError as error:
            response = refused(error)
        except ClientDisconnect:
            response = Response(status_code=400)
        self.gate.metrics.requested(route.name, response.status_code, time.perf_counter() - begun)
        return response

    # ── requests ─────────────────────────────────────────────────────────────────────────

    def _principal(self, request: Request, route: GateRoute) -> Principal:
        if route.access == "none":
            return _NOBODY
        principal = self._tokens.principal(request.headers.get("authorization"))
        if principal is None:
            message, help = "the token is missing or unknown", "Send Authorization: Bearer TOKEN."
            raise UsageError(Diagnostic("E459", message, help))
        if route.access == "person" and not principal.person:
            message = "only a person may do this"
            raise UsageError(Diagnostic("E455", message, "Use a person's token."))
        return principal

    async def _body(self, request: Request) -> Json:
        """The JSON of a request; an empty body is an empty object."""
        parts, size = [], 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in request.stream():
                    size += len(part)
                    if size > self._max_body:
                        message = f"the request has more than {self._max_body:,} bytes"
                        raise UsageError(Diagnostic("E460", message, "Send less."))
                    parts.append(part)
            text = b"".join(parts).decode()
            return read_json(text) if text else {}
        except TimeoutError:
            raise _malformed("it was not sent in time") from None
        except UnicodeDecodeError:
            raise _malformed("it is not UTF-8") from None
        except JsonError as error:
            raise _malformed(error.message) from None

    async def _perform(self, request: Request, principal: Principal, operation: str) -> Response:
        given = await self._body(request) if request.method == "POST" else {}
        run, key = request.path_params["run"], request.headers.get("idempotency-key")
        return answered(await self.gate.perform_async(principal, run, operation, given, key=key))

    async def _open(self, request: Request, principal: Principal) -> Response:
        given, key = await self._body(request), request.headers.get("idempotency-key")
        if type(given) is not dict:
            raise _malformed("it is not an object")
        trusted = None if key is None else f"request/{key}"
        return answered(await self.gate.open_async(principal, given, trusted=trusted), 201)

    async def _answer(self, request: Request, principal: Principal) -> Response:
        run, decision = request.path_params["run"], request.path_params["decision"]
        try:
            wait = min(float(request.query_params.get("wait", 0)), MAX_WAIT)
        except ValueError:
            raise _malformed("`wait` is not a number") from None
        end = time.monotonic() + wait
        while True:
            state = await self.gate.perform_async(principal, run, "state")
            found = state["answered"].get(decision)
            if found is not None or not time.monotonic() < end or await request.is_disconnected():
                return answered({"answer": found, **{k: state[k] for k in ("stopped", "finished")}})
            await asyncio.sleep(_POLL)

    # ── the page, and those who watch ────────────────────────────────────────────────────

    async def _list(self, request: Request, principal: Principal) -> Response:
        rows = await run_in_threadpool(self.gate.store.rows)
        return answered({"runs": [about_row(row) for row in rows]})

    async def _changes(self, request: Request, principal: Principal) -> Response:
        async def events() -> AsyncIterator[bytes]:
            async for some in self.changes.follow():
                yield some

        headers = {**_COMMON, "X-Accel-Buffering": "no"}
        return StreamingResponse(events(), media_type="text/event-stream", headers=headers)

    async def _page(self, request: Request, principal: Principal) -> Response:
        policy = "frame-ancestors 'none'"  # the page itself has the rest
        headers = {**_COMMON, "Content-Security-Policy": policy}
        text = render_watch(self.gate.procedure)
        return Response(text, media_type="text/html", headers=headers)

    async def _openapi(self, request: Request, principal: Principal) -> Response:
        return answered(description())

    # ── operating the server ─────────────────────────────────────────────────────────────

    async def _check(self, request: Request, principal: Principal) -> Response:
        now = time.monotonic()
        if self._health is None or now - self._health[0] > 1.0:
            try:
                check = run_in_threadpool(self.gate.store.check)
                await asyncio.wait_for(check, self.gate.timeout)
                response = answered({"ready": True})
            except (BylawError, TimeoutError) as error:
                # Anybody may ask. The reason names machines and files: it is for the log.
                _LOG.warning("not ready: %s", error or "the store does not answer")
                response = refused(UsageError(Diagnostic("E450", "the store cannot be used")))
            self._health = now, response
        return self._health[1]

    async def _metrics(self, request: Request, principal: Principal) -> Response:
        text = self.gate.metrics.text(self.gate.gauges())
        return Response(text, media_type="text/plain; version=0.0.4", headers=_COMMON)


class GateEndpoint:
    """One route as an ASGI application, which costs less than Starlette's wrapper of a function."""

    def __init__(self, application: Application, route: GateRoute) -> None:
        self._application: Final = application
        self._route: Final = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._application.handle(Request(scope, receive, send), self._route)
        await response(scope, receive, send)


class JsonAnswer(Response):  # type: ignore[misc]  # starlette is not followed
    """An answer as JSON, with headers that are written once."""

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        length = str(len(self.body)).encode()
        self.raw_headers = [*_JSON_HEADERS, (b"content-length", length)]


_NOBODY: Final = Principal("")
_JSON_HEADERS: Final = [
    (name.lower().encode(), value.encode())
    for name, value in {**_COMMON, "Content-Type": "application/json"}.items()
]
_encoded: Final = json.JSONEncoder(separators=(",", ":")).encode


def answered(answer: dict[str, Any], status: int = 200) -> Response:
    """An answer as JSON."""
    return JsonAnswer(_encoded(answer), status)


def refused(error: BylawError) -> Response:
    """An error as JSON, with the status of its first diagnostic."""
    status = STATUS.get(error.diagnostics[0].code, 400)
    response = answered({"errors": [each.to_dict() for each in error.diagnostics]}, status)
    if status in (400, 413):  # what is left of the request is not waited for
        response.headers["Connection"] = "close"
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if status == 503:
        response.headers["Retry-After"] = "1"
    return response


def _malformed(reason: str) -> UsageError:
    return UsageError(Diagnostic("E461", f"the request cannot be read: {reason}", "Send JSON."))
