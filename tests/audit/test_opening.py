"""Opening a log: what is a log, what is not, and that nothing is ever lost by opening a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from small_logs import KEY, OTHER_KEY, PROCEDURE, lines_of, write_log

from bylaw import AuditLog, BylawError, Call, Guard, LogError
from bylaw.audit.check import check
from bylaw.audit.reader import read_log

NOT_LOGS: dict[str, bytes] = {
    "a line without an end": b"do not lose me",
    "a line": b"do not lose me\n",
    "a space": b" ",
    "an empty line": b"\n",
    "zeros": bytes(4096),
    "zeros, then text": bytes(512) + b"do not lose me",
    "a number": b"42",
    "JSON": b'{"a": 1}',
    "JSON lines": b'{"a": 1}\n{"a": 2}\n',
    "a list": b"[1, 2]",
    "the beginning of a procedure": b"name: desk\nconstraints:\n",
    "the beginning of another object": b'{"entr',
    "a log of an older format": b'{"v":1,"n":0,"kind":"decision","prev":"000","hash":"f1"}\n',
    "bytes": bytes(range(256)),
}


@pytest.mark.parametrize("what", NOT_LOGS)
def test_a_file_that_is_not_a_log_is_left_alone(what: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(NOT_LOGS[what])
    if what in ("zeros", "the beginning of another object"):  # an interrupted write can leave it
        AuditLog(path).close()
        aside = path.with_name("file.torn-0")
        assert aside.read_bytes() == NOT_LOGS[what]
        return
    with pytest.raises(LogError, match="the file is not an audit log"):
        AuditLog(path)
    with pytest.raises(LogError, match="the file is not an audit log"):
        check(path)
    assert path.read_bytes() == NOT_LOGS[what]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", [".", "missing/log.jsonl", "fifo", "a\0b", "/dev/null"])
def test_a_path_that_cannot_be_a_log_is_reported_at_once(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(LogError, match="the log cannot be written"):
        AuditLog(tmp_path / name)


def test_a_log_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with AuditLog(path), pytest.raises(LogError, match="another writer has it open"):
        AuditLog(path)
    AuditLog(path).close()


def test_a_log_that_is_forgotten_is_not_locked_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = AuditLog(path)
    del log
    AuditLog(path).close()
    assert check(path).interruptions == 1


@pytest.mark.parametrize("key", [None, KEY], ids=["no key", "a key"])
def test_a_torn_tail_is_set_aside_and_reported(key: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    whole = write_log(path, key)
    *kept, last = lines_of(whole)
    for size in (1, 20, len(last) // 2, len(last) - 1):
        path.write_bytes(b"".join(kept) + last[:size])
        with AuditLog(path, key=key) as log:
            aside = log.set_aside
        assert aside is not None
        assert aside.read_bytes() == last[:size]
        assert path.read_bytes().startswith(b"".join(kept))
        found = check(path)
        assert (found.state, found.set_aside) == ("intact", (aside.name,))
        assert found.interruptions == 1
    names = sorted(each.name for each in tmp_path.iterdir())
    torn = [f"log.jsonl.torn-5{suffix}" for suffix in ("", "-1", "-2", "-3")]
    assert names == ["log.jsonl", *torn], "an earlier one is never overwritten"


def test_a_tail_that_cannot_be_set_aside_stays(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    torn = write_log(path)[:-1]
    path.write_bytes(torn)
    tmp_path.chmod(0o500)
    try:
        if os.access(tmp_path, os.W_OK):
            pytest.skip("this user may write everywhere")
        with pytest.raises(LogError, match="Permission denied"):
            AuditLog(path)
    finally:
        tmp_path.chmod(0o700)
    assert path.read_bytes() == torn


KEYS: list[tuple[bytes | None, bytes | None, str]] = [
    (None, None, ""),
    (KEY, KEY, ""),
    (KEY, None, "its entries are sealed with a key, and none was given"),
    (KEY, OTHER_KEY, "the seal of entry 0 was not made with this key"),
    (None, KEY, "no entry is sealed, but there is a key to check seals with"),
]


@pytest.mark.parametrize(("first", "then", "problem"), KEYS)
def test_a_log_is_continued_with_the_key_that_it_has(
    first: bytes | None, then: bytes | None, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    before = write_log(path, first)
    if problem:
        with pytest.raises(LogError, match=problem):
            AuditLog(path, key=then)
        assert path.read_bytes() == before
    else:
        AuditLog(path, key=then).close()
        assert check(path).entries == 8


@pytest.mark.parametrize("key", [b"", b"short", "a text of enough characters", 7, b"-----BEGIN x"])
def test_a_key_that_is_none(key: object, tmp_path: Path) -> None:
    with pytest.raises(BylawError, match="key"):
        AuditLog(tmp_path / "log.jsonl", key=key)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_what_the_entries_say(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with AuditLog(path, clock=lambda: 12.5) as log:
        guard = Guard(PROCEDURE, log=log, run_id="r1")
        guard.say("user", "Pay.")
        (paid,) = guard.propose([Call("pay", {"n": 1, "to": 1.0}, id="c7", agent="clerk")])
        guard.record(paid, {"ok": True})
        guard.finish("Paid.")
    entries = [entry.content for entry in read_log(path)]
    assert [(e["kind"], e["run"]) for e in entries] == [
        ("open", None),
        *[(kind, "r1") for kind in ("start", "message", "decision", "result", "finish")],
        ("close", None),
    ]
    assert {entry["time"] for entry in entries} == {12.5}
    opened, started, _, decided, returned, _, _ = entries
    assert (opened["format"], opened["sealed_by"], opened["key"]) == (2, "none", None)
    assert started["procedure"] == "desk"
    assert len(started["procedure_hash"]) == 64
    assert decided["arguments"] == {"n": 1, "to": 1.0}
    assert '"to":1.0}' in path.read_text(), "exactly what ran: 1.0 is not 1"
    assert (decided["id"], decided["agent"], decided["action"]) == ("c7", "clerk", "allow")
    assert returned["result"] == {"ok": True}
    for line in path.read_text().splitlines():
        assert json.loads(line)["prev"]


def test_approval_is_told_from_insistence(tmp_path: Path) -> None:
    from bylaw import Procedure

    rules = [
        {"name": "warned", "rule": "G !insist", "severity": "BLOCK_AND_WARN"},
        {"name": "asked", "rule": "G !wire", "severity": "ASK"},
    ]
    path = tmp_path / "log.jsonl"
    with AuditLog(path) as log:
        guard = Guard(Procedure.from_dict({"constraints": rules}), log=log)
        for _ in range(2):
            guard.propose([Call("insist")])
        (asked,) = guard.propose([Call("wire")])
        guard.approve(asked)
        assert guard.propose([Call("wire")])[0].allowed
    said = [
        (e.content["tool"], e.content["action"], e.content["insisted"], e.content["approved"])
        for e in read_log(path)
        if e.kind == "decision"
    ]
    assert said == [
        ("insist", "warn", [], []),
        ("insist", "allow", ["warned"], []),
        ("wire", "ask", [], []),
        ("wire", "allow", [], ["asked"]),
    ]
    approvals = [e.content["constraints"] for e in read_log(path) if e.kind == "approve"]
    assert approvals == [["asked"]]
