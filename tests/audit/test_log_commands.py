"""`bylaw log check`, `show` and `anchor`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from small_logs import KEY, OTHER_KEY, RULE, lines_of, rewritten, write_log

from bylaw import AuditLog, Call, Guard, Procedure
from bylaw.cli.main import main

PRIVATE = b"""-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
"""
PUBLIC = b"""-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
"""


class Desk:
    """A folder with logs, keys and anchors, and the command."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.log = folder / "gate.jsonl"
        for name, key in (("key", KEY), ("other", OTHER_KEY), ("pem", PRIVATE), ("pub", PUBLIC)):
            (folder / name).write_bytes(key)

    def run(self, line: str) -> tuple[int, str]:
        """The exit code of a command, and what it prints."""
        words = [str(self.folder / word[1:]) if word[0] == "@" else word for word in line.split()]
        code = main(["log", *words])
        captured = self.capsys.readouterr()
        rows = [row for row in captured.out.splitlines() if str(self.folder) not in row]
        assert all(len(row) <= 80 or row.startswith("{") for row in rows)
        return code, captured.out + captured.err


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> Desk:
    monkeypatch.setenv("COLUMNS", "80")
    return Desk(tmp_path, capsys)


def test_an_intact_log(desk: Desk) -> None:
    write_log(desk.log)
    code, shown = desk.run("check @gate.jsonl")
    assert code == 0
    assert shown.startswith("INTACT")
    assert "6 entries. The last one closes the log." in shown
    assert "somebody who can write the file can rewrite it" in shown


def test_a_torn_log(desk: Desk) -> None:
    desk.log.write_bytes(write_log(desk.log)[:-1])
    code, shown = desk.run("check @gate.jsonl")
    assert code == 1
    assert shown.startswith("TORN")
    assert "5 entries, then" in shown
    AuditLog(desk.log).close()
    code, shown = desk.run("check @gate.jsonl")
    assert code == 0
    assert "A torn tail was set aside in gate.jsonl.torn-5." in shown
    assert "Sessions that were not closed: 1." in shown


def test_an_altered_log(desk: Desk) -> None:
    lines = lines_of(write_log(desk.log))
    desk.log.write_bytes(b"".join([*lines[:4], lines[4].replace(b"block", b"allow"), lines[5]]))
    code, shown = desk.run("check @gate.jsonl")
    assert code == 1
    assert shown.startswith("ALTERED")
    assert "entry 4 was changed." in shown
    assert "4 entries before that" in shown
    code, shown = desk.run("check @gate.jsonl --json")
    found = json.loads(shown)
    assert (code, found["state"], found["entries"]) == (1, "altered", 4)
    assert desk.run("anchor @gate.jsonl")[0] == 1
    code, shown = desk.run("show @gate.jsonl")
    assert (code, shown.count(" decision ")) == (1, 2)
    assert "entry 4 was changed" in shown


@pytest.mark.parametrize(
    ("written", "options", "code", "says"),
    [
        (KEY, "--key @key", 0, "Made with the key"),
        (KEY, "--key @other", 1, "the seal of entry 0 was not made with this key"),
        (KEY, "", 0, "Not checked: give --key or --public-key (hmac-sha256"),
        (KEY, "--public-key @pub", 1, "sealed by hmac-sha256, and the key is for ed25519"),
        (PRIVATE, "--public-key @pub", 0, "Made with the key"),
        (PRIVATE, "--key @pem", 0, "Made with the key"),
        (PRIVATE, "--key @key", 1, "sealed by ed25519, and the key is for hmac-sha256"),
        (PRIVATE, "--public-key @pem", 2, "the public key cannot be read"),
        (PRIVATE, "--key @pub", 2, "the private key cannot be read"),
        (None, "--key @key", 1, "no entry is sealed, but there is a key"),
        (None, "--key @none", 2, "cannot be read"),
        (None, "--key @key --public-key @pub", 2, "not allowed with argument"),
    ],
)
def test_keys(written: bytes | None, options: str, code: int, says: str, desk: Desk) -> None:
    if written == PRIVATE or "pub" in options or "pem" in options:
        pytest.importorskip("cryptography")
    write_log(desk.log, written)
    found, shown = desk.run(f"check @gate.jsonl {options}")
    assert says in " ".join(shown.split())
    assert found == code


def test_a_signed_log_that_was_rewritten_shows_to_everybody(desk: Desk) -> None:
    pytest.importorskip("cryptography")
    lines = lines_of(write_log(desk.log, PRIVATE))
    forged = rewritten(lines, 4, lambda content: content.update(action="allow"))
    desk.log.write_bytes(b"".join(forged))
    assert desk.run("check @gate.jsonl")[0] == 0
    code, shown = desk.run("check @gate.jsonl --public-key @pub")
    assert code == 1
    assert "the seal of entry 4 was not made with this key" in shown


def test_anchors(desk: Desk) -> None:
    lines = lines_of(write_log(desk.log))
    anchors = []
    for size in (3, 6):
        desk.log.write_bytes(b"".join(lines[:size]))
        code, anchor = desk.run("anchor @gate.jsonl")
        assert code == 0
        anchors.append(anchor)
    (desk.folder / "anchors").write_text("".join(anchors))
    assert json.loads(anchors[1])["entries"] == 6
    code, shown = desk.run("check @gate.jsonl --anchor @anchors")
    assert code == 0
    assert "The log contains what was anchored, up to entry 5." in shown
    desk.log.write_bytes(b"".join(lines[:5]))
    assert desk.run("check @gate.jsonl")[0] == 0
    code, shown = desk.run("check @gate.jsonl --anchor @anchors")
    assert code == 1
    assert "it was cut: it has 5 entries, and had 6 when the anchor was taken" in " ".join(
        shown.split()
    )


DESK = """\
name: desk
constraints:
  - {name: few, rule: 'CalledN(pay, <= 2)', severity: SOFT_BLOCK}
"""
PROCEDURES = {
    "the same": (DESK, 0, "Every run was decided by the procedure in the file, hash "),
    "with comments, in another order": (
        """\
constraints:
  - {severity: SOFT_BLOCK, rule: 'CalledN(pay, <= 2)', name: few}
name: desk # by the till
""",
        0,
        "Every run was decided by",
    ),
    "a rule spelt otherwise": (DESK.replace("<= 2", "<=2"), 1, "by another procedure, desk"),
    "another rule": (DESK.replace("2", "3"), 1, "Run run, entry 1, was decided by another"),
    "another severity": (DESK.replace("SOFT_BLOCK", "HARD_STOP"), 1, "by another procedure, desk"),
    "another name": (DESK.replace("desk", "till"), 1, "another procedure: 1 of 1."),
    "not a procedure": ("rules", 2, "error"),
}


@pytest.mark.parametrize("which", PROCEDURES)
def test_the_procedure_that_decided(which: str, desk: Desk) -> None:
    text, code, says = PROCEDURES[which]
    write_log(desk.log)
    (desk.folder / "p.yaml").write_text(text)
    found, shown = desk.run("check @gate.jsonl --procedure @p.yaml")
    assert says in " ".join(shown.split())
    assert found == code
    if code < 2:
        assert shown.startswith("INTACT")
        found, shown = desk.run("check @gate.jsonl --json -p @p.yaml")
        assert (found, json.loads(shown)["other_procedures"]) == (code, code)


def test_a_log_of_runs_under_several_procedures(desk: Desk) -> None:
    (desk.folder / "p.yaml").write_text(DESK)
    AuditLog(desk.log, durable=False).close()
    code, shown = desk.run("check @gate.jsonl --procedure @p.yaml")
    assert (code, "No run was started, so no procedure decided anything." in shown) == (0, True)
    write_log(desk.log, run="a")
    other = Procedure.from_dict({"name": "till", "constraints": [RULE]})
    with AuditLog(desk.log, durable=False) as log:
        for run in ("b", "c"):
            Guard(other, log=log, run_id=run).propose([])
            Guard(other, log=log, run_id=run).propose([Call("pay")])
    code, shown = desk.run("check @gate.jsonl --procedure @p.yaml")
    assert code == 1
    said = " ".join(shown.split())
    assert "Run b, entry" in said
    assert "was decided by another procedure, till" in said
    assert "Runs under another procedure: 2 of 3." in said


@pytest.mark.parametrize("text", ["", "x", "{}", "[]", '{"anchor": 1}', "\0", '{"anchor": true}'])
def test_an_anchor_that_is_none(text: str, desk: Desk) -> None:
    write_log(desk.log)
    (desk.folder / "anchors").write_text(text)
    code, shown = desk.run("check @gate.jsonl --anchor @anchors")
    assert code == 2
    assert "the anchor cannot be used" in shown


def test_entries_for_people(desk: Desk) -> None:
    write_log(desk.log)
    code, shown = desk.run("show @gate.jsonl")
    rows = shown.splitlines()
    assert code == 0
    assert rows[0].startswith("    0 2025-11-16 15:00:00 -        open     format 2, bylaw 0.1.0")
    assert rows[1].startswith("    1 2025-11-16 15:00:00 run      start    desk ")
    assert 'decision allow pay {"n": 0, "to": "Zoë' in rows[2]
    assert "decision block pay" in rows[4]
    code, shown = desk.run("show @gate.jsonl --run run --json")
    entries = [json.loads(row) for row in shown.splitlines()]
    assert [entry["entry"] for entry in entries] == [1, 2, 3, 4]
    assert [v["constraint"] for v in entries[3]["violations"]] == ["few"]
    assert desk.run("show @gate.jsonl --run nobody") == (0, "")


def test_entries_with_escape_sequences_and_odd_contents(desk: Desk) -> None:
    odd: list[dict[str, Any]] = [
        {"kind": "decision", "arguments": {"a": "\x1b[2J\r\n"}, "violations": "x", "approved": 7},
        {"kind": "\x1b[31m", "time": "never", "run": ["\x07"]},
        {"kind": "open", "format": 2, "sealed_by": "none", "key": None, "torn": "\x1b"},
        {"kind": "start", "procedure": {"\x1b": 1}},
        {"kind": "result"},
        {"kind": "message", "text": "\u202e\x1b]0;x\x07"},
        {"kind": "finish", "score": "\x1b"},
    ]
    with AuditLog(desk.log) as log:
        log.append(odd)
    code, shown = desk.run("show @gate.jsonl")
    assert code == 0
    assert all(character.isprintable() or character == "\n" for character in shown)


@pytest.mark.parametrize("command", ["check", "show", "anchor"])
@pytest.mark.parametrize("name", [".", "fifo", "none", "text"])
def test_a_log_must_be_a_log(command: str, name: str, desk: Desk) -> None:
    os.mkfifo(desk.folder / "fifo")
    (desk.folder / "text").write_text("name: desk\n")
    code, shown = desk.run(f"{command} @{name}")
    assert code == 2
    assert ("E419" if name == "text" else "E310") in shown
