"""Files that are not files, and names that no file can have: a sentence and exit code 2."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from forked_commands import run_command

RULES = "bylaw: 1\nname: desk\nconstraints:\n  - {name: verified, rule: G(refund -> O verify)}\n"
RUN = {"tool_calls": [{"step": 0, "tool_name": "refund", "arguments": {}}]}

COMMANDS = [
    "verify -p rules.yaml {}",
    "verify -p {} run.json",
    "verify -p rules.yaml {} --summary",
    "lint {}",
    "explain verified -p rules.yaml {}",
    "explain verified -p {}",
    "view {} -p rules.yaml",
    "init {}",
    "diff {} rules.yaml",
    "diff rules.yaml {}",
    "replay -p rules.yaml {}",
    "log check {}",
    "log show {}",
    "log anchor {}",
    "ground check {}",
    "ground questions check {}",
    "bench report {}",
    "bench run sim:careless -o {}",
    "train data inspect {} 0",
    "train curves {}",
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    (folder / "rules.yaml").write_text(RULES)
    (folder / "run.json").write_text(json.dumps(RUN))
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "socket"))  # a short name: they are limited
    return folder


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="NOT TESTED: there are no pipes here")
@pytest.mark.parametrize(
    "odd",
    [
        *("pipe", "pipe.jsonl", "/dev/zero", "/dev/stdin", "socket", "folder", "loop", "missing"),
        *("nul\0byte", "surrogate\ud800", "long" * 2_000, "run.json/below", "~", ""),
    ],
    ids=lambda odd: ascii(odd)[:20],
)
def test_an_odd_input_is_refused_at_once(desk: Path, odd: str) -> None:
    for command in COMMANDS:
        if " -o" in command and odd in ("missing", "~"):
            continue
        arguments = [word.format(odd) for word in command.split()]
        done = run_command(arguments, folder=desk)
        assert done.returncode == 2, (arguments, done.stdout)
        assert "Traceback" not in done.stdout
        assert "\0" not in done.stdout
