"""Files that are not files, and names that no file can have: a sentence and exit code 2."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

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


RUNNER = """
import io, sys, json
from bylaw.cli.main import main
for arguments in json.load(sys.stdin):
    sys.stderr = io.StringIO()
    sys.stdout = io.StringIO()
    try:
        code = main(arguments)
    except BaseException as error:
        code = repr(error)
    shown = sys.stdout.getvalue() + sys.stderr.getvalue()
    print(json.dumps([arguments, code, shown]), file=sys.__stdout__, flush=True)
"""


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
    commands = [each for each in COMMANDS if " -o" not in each or odd not in ("missing", "~")]
    runs = [[word.format(odd) for word in command.split()] for command in commands]
    found = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps(runs),
        capture_output=True,
        text=True,
        cwd=desk,
        timeout=300,
    )
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(lines) == len(runs), found.stderr
    for arguments, code, shown in lines:
        assert code == 2, (arguments, code, shown)
        assert "Traceback" not in shown
        assert "\0" not in shown
