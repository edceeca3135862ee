"""The real LiteLLM proxy with our guardrail, against a scripted chat endpoint."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Says, Script

LITELLM = Path(__file__).parents[2] / ".tools" / "litellm" / "bin" / "litellm"
DESK = str(Path(__file__).with_name("desk.yaml"))
KEY = "sk-master-key-1234"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.frameworks,
    pytest.mark.skipif(
        not LITELLM.exists(), reason="NOT TESTED: LiteLLM is not installed (make litellm)"
    ),
]


def _function(tool: str) -> dict[str, str]:
    return {"name": tool, "arguments": "{}"}


def calls(*tools: str) -> Says:
    return Says(
        None,
        [
            {
                "id": f"call-{tool}",
                "type": "function",
                "function": {"name": tool, "arguments": "{}"},
            }
            for tool in tools
        ],
        {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    )


def model(text: str, _before: int) -> Says:
    """The last message says which tools the model calls; anything else is answered."""
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    known = set(text.split()) <= {"verify", "refund"} and text
    return calls(*text.split()) if known else Says("Done.", (), usage)


class Gateway:
    """LiteLLM, and a gate that it asks."""

    def __init__(self, folder: Path, upstream: str) -> None:
        port, gate = _free_port(), _free_port()
        token = folder / "token"
        token.write_text("a-token-for-the-test")
        config = {
            "model_list": [
                {
                    "model_name": "desk",
                    "litellm_params": {
                        "model": "openai/desk",
                        "api_base": upstream,
                        "api_key": "none",
                        "max_retries": 0,
                    },
                }
            ],
            "guardrails": [
                {
                    "guardrail_name": "bylaw",
                    "litellm_params": {
                        "guardrail": "generic_guardrail_api",
                        "default_on": True,
                        "mode": ["pre_call", "post_call"],
                        "api_key": "os.environ/BYLAW_TOKEN",
                        "api_base": f"http://127.0.0.1:{gate}",
                    },
                }
            ],
            "general_settings": {"master_key": KEY},
        }
        (folder / "config.yaml").write_text(json.dumps(config))
        command = [sys.executable, "-m", "bylaw", "hook", "litellm", "-p", DESK]
        command += ["--state", str(folder), "--listen", f"127.0.0.1:{gate}"]
        self.gate = subprocess.Popen(command)
        env = {**os.environ, "BYLAW_TOKEN": token.read_text(), "HOME": str(folder)}
        env |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "*"}
        options = ["--config", str(folder / "config.yaml"), "--port", str(port)]
        self.proxy = subprocess.Popen(
            [str(LITELLM), *options, "--telemetry", "False"],
            env=env,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.url = f"http://127.0.0.1:{port}"
        for _ in range(300):
            with suppress(OSError), urllib.request.urlopen(f"{self.url}/health/liveliness"):
                return
            time.sleep(0.3)
        raise AssertionError("LiteLLM did not start")

    def chat(self, run: str, *messages: dict[str, Any]) -> tuple[int, Any]:
        body = {"model": "desk", "litellm_trace_id": run, "messages": list(messages)}
        told = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        request = urllib.request.Request(
            f"{self.url}/v1/chat/completions", json.dumps(body).encode(), told
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, json.load(response)["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)["error"]["message"]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    script: Script = model
    with ChatServer(script) as upstream:
        gateway = Gateway(tmp_path, upstream.url)
        yield gateway
        for each in (gateway.proxy, gateway.gate):
            each.kill()
            each.wait()


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_a_gateway_gates_agents_that_it_does_not_own(gateway: Gateway) -> None:
    status, why = gateway.chat("run-1", user("refund"))
    assert (status, "Refunds need a verified customer." in why) == (400, True)
    status, why = gateway.chat("run-1", user("verify refund"))  # one turn: no evidence yet
    assert (status, "Refunds need a verified customer." in why) == (400, True)
    status, message = gateway.chat("run-1", user("verify"))
    assert (status, message["tool_calls"][0]["function"]["name"]) == (200, "verify")
    said: dict[str, Any] = {"role": "assistant", "content": None}
    said["tool_calls"] = message["tool_calls"]
    told = {"role": "tool", "tool_call_id": "call-verify", "content": "refund"}
    status, message = gateway.chat("run-1", user("verify"), said, told)
    assert (status, message["tool_calls"][0]["function"]["name"]) == (200, "refund")
    status, why = gateway.chat("run-2", user("verify"), said, told)  # a history that was made up
    assert (status, "Refunds need a verified customer." in why) == (400, True)
    gateway.gate.kill()
    gateway.gate.wait()
    status, why = gateway.chat("run-1", user("hello"))
    assert status == 500
