"""`bylaw serve`: mistakes are sentences, before anything is served."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from bylaw.cli.main import main

pytest.importorskip("uvicorn", reason="THE SERVER IS NOT TESTED: uvicorn is not installed")

RULES = "constraints: [{name: n, rule: 'G(refund -> O verify)'}]"
PROMISE = "constraints: [{name: n, rule: 'G(call(a, failed) -> false)', severity: SOFT_BLOCK}]"

TOKENS = {
    "no tokens": "# nothing\n",
    "no role": "desk 2f0c5d8e9b7a41c6a3d2\n",
    "another role": "admin desk 2f0c5d8e9b7a41c6a3d2\n",
    "a short token": "agent desk 2f0c5d8e\n",
    "one token twice": "agent a 2f0c5d8e9b7a41c6a3d2\nperson b 2f0c5d8e9b7a41c6a3d2\n",
    "one name for both": "agent a 2f0c5d8e9b7a41c6a3d2\nperson a 9d1e7c52f04b4a6c8e3b\n",
}


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["serve", *arguments]) == 2
    return capsys.readouterr().err


@pytest.fixture
def rules(tmp_path: Path) -> str:
    path = tmp_path / "desk.yaml"
    path.write_text(RULES)
    return str(path)


@pytest.mark.parametrize("mistake", TOKENS)
def test_a_token_file_that_cannot_be_used(
    mistake: str, rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tokens.txt"
    path.write_text(TOKENS[mistake])
    told = failed(capsys, "-p", rules, "--store", "memory", "--token-file", str(path))
    assert "E458" in told
    assert "2f0c5d8e" not in told  # a message shows no token


def test_other_mistakes(rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = tmp_path / "short.key"
    short.write_bytes(b"short")
    broken = tmp_path / "promise.yaml"
    broken.write_text(PROMISE)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for code, arguments in {
            "E451": ["--store", "gate.db"],
            "E450": ["--store", f"sqlite:{tmp_path / 'none' / 'gate.db'}"],
            "E458": ["--store", "memory", "--token-file", str(tmp_path / "none.txt")],
            "E401": ["--store", "memory", "--key-file", str(tmp_path / "none.key")],
            "E414": ["--store", "memory", "--key-file", str(short)],
            "E462": ["--store", "memory", "--port", port],
            "E402": ["--port", "70000"],
        }.items():
            assert code in failed(capsys, "-p", rules, *arguments)
    assert "E216" in failed(capsys, "-p", str(broken), "--store", "memory")
