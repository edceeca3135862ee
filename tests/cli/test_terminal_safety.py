"""No name, argument or file reaches a terminal raw: whatever is printed is escaped on the way."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from forked_commands import start_command

from bylaw.cli.main import main
from bylaw.terminal import safe

pty = pytest.importorskip("pty", reason="NOT TESTED: there are no pseudo-terminals here")

HOSTILE = "\x1b[32mGREEN\x1b[2J\x1b]0;title\x07\x9b31m\r\x08\x7f\u202eevil\nFULL"
"""Colours like our own, erases, a title, a one-byte sequence, overwriting, and a forged line."""
OWN = re.compile(r"\x1b\[(?:0|1|31|32|33|90)m|\r\x1b\[K|\r\n")
"""The characters that commands write themselves; the terminal turns line feeds into `\\r\\n`."""
RAW = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

RULES = {
    "bylaw": 1,
    "name": HOSTILE,
    "constraints": [
        {
            "name": f"{HOSTILE} {number}",
            "rule": rule,
            "why": HOSTILE,
            "fix": HOSTILE,
            "severity": severity,
        }
        for number, (rule, severity) in enumerate(
            [
                (f"G({json.dumps(HOSTILE)} -> O verify)", "SOFT_BLOCK"),
                (f"CalledWith(pay, text = {json.dumps(HOSTILE)})", "HARD_STOP"),
                ("G(refund -> args.n > 5)", "HARD_STOP"),
            ]
        )
    ],
}
RUN = {
    "tool_calls": [
        {
            "step": 0,
            "tool_name": HOSTILE,
            "arguments": {HOSTILE: HOSTILE, "n": 1},
            "tool_result": HOSTILE,
        },
        {"step": 1, "tool_name": "refund", "arguments": {"n": 1}, "error": HOSTILE},
    ],
    "answer": f"`{HOSTILE}` in `src/{HOSTILE}.py`",
    "messages": [{"role": "user", "text": HOSTILE, "before": 0}],
}
NAMED = f"name{HOSTILE.replace('/', '')}.json"
MODULE = f"raise ValueError({HOSTILE!r})\n"

COMMANDS: dict[str, list[str]] = {
    "verify one": ["verify", "-p", "rules.json", "run.json"],
    "verify a name": ["verify", "-p", "rules.json", NAMED],
    "verify many": ["verify", "-p", "rules.json", "runs"],
    "verify summary": ["verify", "-p", "rules.json", "runs", "--summary", "--jobs", "1"],
    "verify repair": ["verify", "-p", "rules.json", "run.json", "--repair"],
    "verify a missing file": ["verify", "-p", "rules.json", HOSTILE],
    "verify a missing procedure": ["verify", "-p", HOSTILE, "run.json"],
    "verify no JSON": ["verify", "-p", "rules.json", "raw.json"],
    "lint": ["lint", "rules.json"],
    "lint no YAML": ["lint", "raw.yaml"],
    "lint no rule": ["lint", "bad.json"],
    "explain": ["explain", f"{HOSTILE} 0", "-p", "rules.json", "run.json"],
    "explain by example": ["explain", f"{HOSTILE} 0", "-p", "rules.json"],
    "explain a formula": ["explain", f'F "{HOSTILE}"'],
    "explain nothing known": ["explain", HOSTILE, "-p", "rules.json"],
    "diff": ["diff", "rules.json", "other.json"],
    "diff on a corpus": ["diff", "rules.json", "other.json", "--jobs", "1", "--corpus", "runs"],
    "replay": ["replay", "-p", "rules.json", "runs"],
    "view": ["view", "run.json", "-p", "rules.json", "-o", f"{NAMED}.html", "--force"],
    "init": ["init", "run.json"],
    "init to a file": ["init", "run.json", "--name", HOSTILE, "-o", f"{NAMED}.yaml", "--force"],
    "log check": ["log", "check", "raw.json"],
    "log check a missing file": ["log", "check", HOSTILE],
    "ground check": ["ground", "check", "runs", "--evidence-tool", HOSTILE],
    "ground check a class": ["ground", "check", "runs", "--classes", HOSTILE],
    "ground questions": ["ground", "questions", "check", "raw.json"],
    "bench instance": ["bench", "instance", HOSTILE],
    "bench report": ["bench", "report", "raw.json"],
    "bench run": ["bench", "run", HOSTILE, "-o", "results.jsonl"],
    "bench run an option": ["bench", "run", "sim:gold", "--setting", HOSTILE],
    "train data inspect": ["train", "data", "inspect", HOSTILE, "0"],
    "train curves": ["train", "curves", f"{HOSTILE}=missing"],
    "an unknown command": [HOSTILE],
    "an unknown option": ["verify", f"--{HOSTILE}"],
    "an unknown subcommand": ["bench", HOSTILE],
    "a number that is none": ["bench", "instance", "loop_termination", "--seed", HOSTILE],
    "a module that fails": ["lint", "rules.json", "--with", "hostile_module:x"],
    "a module that is missing": ["lint", "rules.json", "--with", f"{HOSTILE}:x"],
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    (folder / "rules.json").write_text(json.dumps(RULES))
    (folder / "other.json").write_text(json.dumps(RULES).replace("O verify", "O refund"))
    (folder / "bad.json").write_text(json.dumps(RULES).replace("G(", "G(("))
    (folder / "runs").mkdir()
    for path in ("run.json", NAMED, "runs/a.json", f"runs/{NAMED}"):
        (folder / path).write_text(json.dumps(RUN))
    for path in ("raw.json", "raw.yaml", "runs/raw.json"):
        (folder / path).write_bytes(f'{{"key": "{HOSTILE}'.encode())
    (folder / "hostile_module.py").write_text(MODULE)
    return folder


def _at_a_terminal(arguments: list[str], folder: Path) -> str:
    """The bytes that a terminal receives from a command."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "120", "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    server = start_command(arguments, folder=folder, environment=environment, output=theirs)
    os.close(theirs)
    received = b""
    while piece := _read(ours):
        received += piece
    os.close(ours)
    server.wait()
    return received.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the command has ended
        return b""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_terminal_receives_only_what_commands_write_themselves(desk: Path, name: str) -> None:
    shown = _at_a_terminal(COMMANDS[name], desk)
    assert "\x1b[32mGREEN" not in shown
    assert not RAW.search(OWN.sub("", shown)), shown
    assert not re.search(r"^FULL", shown, re.MULTILINE), "a name forged a line"
    assert "Traceback" not in shown
    assert "E499" not in shown


def test_our_own_colours_pass(desk: Path) -> None:
    shown = _at_a_terminal(COMMANDS["verify one"], desk)
    assert "\x1b[31mVIOLATED" in shown


@pytest.mark.parametrize(
    "command",
    [
        "verify -p rules.json run.json --json",
        "verify -p rules.json runs --json",
        "verify -p rules.json runs --json --summary --jobs 1",
        "explain verify -p missing --json",
        "lint rules.json --json",
        "lint bad.json --json",
        "diff rules.json other.json --json",
        "replay -p rules.json run.json --json",
        "init run.json --json",
    ],
)
def test_json_is_complete(
    desk: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk)
    main(command.split())
    out = capsys.readouterr().out
    try:
        found = json.dumps(json.loads(out))
    except ValueError:
        found = json.dumps([json.loads(line) for line in out.splitlines()])
    if "missing" not in command and "bad" not in command:
        assert json.dumps(HOSTILE)[1:-1] in found


def test_a_starter_on_standard_output_is_the_starter_in_a_file(
    desk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """YAML has escapes of its own, so nothing is left to escape."""
    monkeypatch.chdir(desk)
    odd = {"tool_calls": [{"tool_name": "a\u200db\x1b[2J\u202e", "arguments": {}}]}
    Path("odd.json").write_text(json.dumps(odd))
    main(["init", "odd.json", "-o", "starter.yaml", "--force"])
    capsys.readouterr()
    main(["init", "odd.json"])
    assert capsys.readouterr().out == Path("starter.yaml").read_text()
    assert main(["verify", "-p", "starter.yaml", "odd.json"]) == 0


@pytest.mark.parametrize("character", ["\x7f", "\x85", "\u2028", "\u202e", "\U000e0001", "\ud800"])
def test_what_json_leaves_raw_is_escaped_so_that_it_is_still_json(character: str) -> None:
    shown = safe(json.dumps({"a": character}, ensure_ascii=False))
    assert shown.isprintable()
    assert json.loads(shown) == {"a": character}
