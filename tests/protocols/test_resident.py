"""A gate that listens: who is heard, and what happens when something fails."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hook_events import CODING

pytest.importorskip("starlette", reason="NOT TESTED: starlette is not installed")
import httpx

from bylaw.protocols.claude_code import is_refusal
from bylaw.protocols.hook_gate import HookGate
from bylaw.protocols.resident import MAX_BODY, kept_token, resident_app
from bylaw.protocols.store import SessionStore

TOKEN = "a-token-of-some-length"
PROMPT = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Go."}
LS = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "1",
}


class Listening:
    """A gate, and requests to it."""

    def __init__(self, folder: Path) -> None:
        self.store = SessionStore(folder)
        self.app = resident_app(HookGate(CODING, self.store), TOKEN)

    def post(self, body: Any, path: str = "/claude-code", **headers: str) -> Any:
        async def request() -> Any:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://gate") as client:
                told = headers or {"Authorization": f"Bearer {TOKEN}"}
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                return await client.post(path, content=content, headers=told)

        return asyncio.run(request())


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Listening]:
    gate = Listening(tmp_path)
    yield gate
    gate.store.close()


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"x-api-key": "wrong"},
        {"x-api-key": TOKEN + "x"},
    ],
)
def test_nobody_is_heard_without_the_token(gate: Listening, headers: dict[str, str]) -> None:
    assert gate.post(PROMPT, **headers).status_code == 401
    assert gate.store.sessions() == []


def test_a_session_begins_with_the_first_prompt(gate: Listening) -> None:
    assert is_refusal(gate.post(LS).json())
    assert gate.post(PROMPT).json() == {}
    assert gate.post(LS).json() == {}
    assert gate.post(LS, **{"x-api-key": TOKEN}).status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"a": 1, "a": 2}', b"[" * 100_000])
def test_what_cannot_be_read_is_an_error(gate: Listening, body: bytes) -> None:
    assert gate.post(body).status_code == 400


def test_a_request_that_is_too_long_is_an_error(gate: Listening) -> None:
    assert gate.post(b" " * (MAX_BODY + 1)).status_code == 413


@pytest.mark.parametrize("event", [[], "x", 1, None, {}, {"session_id": "s"}])
def test_what_is_no_event_is_refused(gate: Listening, event: Any) -> None:
    answer = gate.post(event).json()
    assert "systemMessage" in answer or answer.get("continue") is False


def test_a_gate_that_fails_refuses(gate: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    gate.post(PROMPT)
    monkeypatch.setattr(HookGate, "handle", lambda *_, **__: 1 / 0)
    assert is_refusal(gate.post(LS).json())
    blocked = gate.post({"input_type": "response"}, "/beta/litellm_basic_guardrail_api").json()
    assert blocked["action"] == "BLOCKED"


def test_a_token_is_made_once_and_read_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "token"
    token = kept_token(path)
    assert kept_token(path) == token
    assert path.stat().st_mode & 0o077 == 0


# ── the command ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("event", "rules", "exit_code", "refused"),
    [
        (json.dumps(LS), "coding.yaml", 0, True),  # a session that nobody began
        ("{", "coding.yaml", 2, False),
        ("", "coding.yaml", 2, False),
        (json.dumps(LS), "missing.yaml", 0, True),
    ],
)
def test_a_command_that_fails_refuses(
    tmp_path: Path, event: str, rules: str, exit_code: int, refused: bool
) -> None:
    file = str(Path(__file__).with_name(rules))
    (tmp_path / "json.py").write_text("print('{}'); raise SystemExit(0)")  # an agent's idea
    command = [sys.executable, "-P", "-m", "bylaw", "hook", "claude-code", "-p", file]
    done = subprocess.run(
        [*command, "--state", str(tmp_path)],
        input=event,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        check=False,
    )
    assert done.returncode == exit_code
    assert (is_refusal(json.loads(done.stdout)) if exit_code == 0 else False) is refused
