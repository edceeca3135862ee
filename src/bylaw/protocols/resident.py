"""A gate that stays: an ASGI application that answers hooks over HTTP.

    app = resident_app(gate, token)        # run it with uvicorn, or mount it

`POST /claude-code` takes the hook events of Claude Code, `POST /beta/litellm_basic_guardrail_api`
the requests of LiteLLM's generic guardrail, `GET /health` says that the gate is up. Every POST must
carry the token, as `Authorization: Bearer …` or `x-api-key: …`. Who has the token is trusted to
name the session; an agent that can read it can speak for others, see docs/explanation/hooks.md.
Whatever goes wrong, the answer is a refusal: with status 200 in the words of the protocol if the
request could be read, else with an error status, which both protocols can take as a refusal.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from bylaw.errors import BylawError, Diagnostic, UsageError
from bylaw.protocols import claude_code, litellm
from bylaw.protocols.hook_gate import HookGate
from bylaw.values import Json, read_json

try:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route
except ModuleNotFoundError as error:
    missing = "starlette is not installed: pip install 'bylaw[serve]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

MAX_BODY: Final = 16 * 2**20
"""The largest request that is read, in bytes."""
MIN_TOKEN: Final = 16

_Handler: TypeAlias = Callable[[HookGate, Any], dict[str, Json]]
_Refusal: TypeAlias = Callable[[Any, str], dict[str, Json]]


def resident_app(gate: HookGate, token: str, *, runs_by: litellm.RunsBy = "trace") -> Starlette:
    """The application of a gate. Requests without the token are refused."""
    check_token(token)
    asked = partial(litellm.handled, by=runs_by)
    return Starlette(
        routes=[
            Route("/health", _health, methods=["GET"]),
            _route("/claude-code", gate, token, claude_code.handled_over_http, claude_code.refusal),
            _route(litellm.PATH, gate, token, asked, litellm.refusal),
        ]
    )


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _route(path: str, gate: HookGate, token: str, handled: _Handler, refusal: _Refusal) -> Route:
    async def answer(request: Request) -> Response:
        if not is_authorised(request, token):
            return JSONResponse({"error": "the token is missing or wrong"}, 401)
        body = await limited_body(request)
        if body is None:
            return JSONResponse({"error": f"more than {MAX_BODY} bytes"}, 413)
        try:
            event = read_json(body.decode())
        except ValueError as error:
            return JSONResponse({"error": f"the request cannot be read: {error}"}, 400)
        return JSONResponse(decided(gate, event, handled, refusal))

    return Route(path, answer, methods=["POST"])


def decided(gate: HookGate, event: Json, handled: _Handler, refusal: _Refusal) -> Any:
    """The answer to an event; a refusal if the gate fails."""
    try:
        return handled(gate, event)
    except BylawError as error:
        return refusal(event, explained(error))
    except Exception as error:  # a mistake in the gate must not open it
        return refusal(event, f"The gate failed: {type(error).__name__}: {error}")


def explained(error: BylawError) -> str:
    """The text about an error of the gate, for the agent and the person who reads along."""
    first = error.diagnostics[0]
    return f"The gate refuses: {first.message}. {first.help or ''}".strip()


async def limited_body(request: Request) -> bytes | None:
    """The body of a request; None if it is too long."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            return None
        parts.append(part)
    return b"".join(parts)


def is_authorised(request: Request, token: str) -> bool:
    """Does the request carry the token?"""
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    given = given or request.headers.get("x-api-key", "")
    return hmac.compare_digest(given.encode(), token.encode())


def check_token(token: str) -> None:
    """Raises a UsageError if this is not a token."""
    if len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable():
        help = f"A token has at least {MIN_TOKEN} printable ASCII characters."
        raise UsageError(Diagnostic("E402", "the token cannot be used", help))


def kept_token(path: Path) -> str:
    """The token in a file that only its owner can read; made if there is none."""
    try:
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(os.urandom(24).hex())
        token = path.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise UsageError(Diagnostic("E402", f"cannot use {path}: {error}")) from None
    check_token(token)
    return token


AsgiApp: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application."""


def serve(app: AsgiApp, address: str) -> None:
    """Runs an application at an address until it is interrupted."""
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        missing = "uvicorn is not installed: pip install 'bylaw[serve]'"
        raise ModuleNotFoundError(missing, name=error.name) from error
    host, _, port = address.rpartition(":")
    where: dict[str, Any] = {"uds": address}
    if port.isdigit() and host:
        where = {"host": host.strip("[]"), "port": int(port)}
    uvicorn.run(app, **where, log_level="warning", lifespan="off", server_header=False)
