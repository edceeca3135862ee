"""A log tells the same story as the guard's report: `verify`, `view` and `explain` open it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from random_cases import share
from small_logs import lines_of, rewritten, write_log

from bylaw import AuditLog, Call, Guard, Procedure, Trace, TraceError, read_trace, read_traces
from bylaw.cli.main import main

RULES = [
    {"name": "few", "rule": "CalledN(pay, <= 3)", "severity": "SOFT_BLOCK"},
    {"name": "warned", "rule": "G !risky", "severity": "BLOCK_AND_WARN"},
    {"name": "asked", "rule": "G !wire", "severity": "ASK"},
    {"name": "seen", "rule": "G(send -> earlier call(look, ok))", "severity": "SOFT_BLOCK"},
]
PROCEDURE = Procedure.from_dict({"name": "desk", "unlisted": "allow", "constraints": RULES})
TOOLS = ("pay", "risky", "wire", "look", "send", "other")


def _same(found: Trace, expected: Trace | None) -> None:
    assert expected is not None
    assert found.to_record() == expected.to_record()


def _live(guard: Guard, random: Random, turns: int) -> None:
    """Some turns of a run: messages, calls, results, failures, insistence, approval."""
    again: list[Call] = []
    for _ in range(turns):
        if random.random() < 0.3:
            guard.say(random.choice(("user", "assistant", "system")), "Zoë says\n“go”.")
        calls = again or [
            Call(random.choice(TOOLS), {"n": random.randrange(3)}, id=f"c{random.random()}")
            for _ in range(random.randrange(1, 4))
        ]
        again = []
        for decision in guard.propose(calls):
            if decision.action == "warn" and random.random() < 0.5:
                again.append(Call(decision.call.tool, decision.call.args))
            if decision.action == "ask" and random.random() < 0.5:
                guard.approve(decision)
                again.append(Call(decision.call.tool, decision.call.args))
            if decision.allowed and random.random() < 0.8:
                failed = "timeout" if random.random() < 0.2 else None
                guard.record(decision, {"n": [1, None, "é"]}, error=failed)
        if guard.stopped:
            return


@pytest.mark.parametrize("seed", range(share(40)))
def test_a_log_is_the_trace_of_the_report(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    path = tmp_path / "gate.jsonl"
    with AuditLog(path, durable=False) as log:
        metrics, labels = {"cost": 1.5}, {"team": "a"}
        guard = Guard(PROCEDURE, log=log, metrics=metrics, labels=labels, soft_block_limit=99)
        _live(guard, random, random.randrange(8))
        if random.random() < 0.5:
            guard.propose([Call("final_answer", {"answer": "Done."})])
            if guard.finished and random.random() < 0.3:
                guard.withdraw()
        report = guard.finish("Over.", metrics={"tokens": 7})
    _same(read_trace(path), report.trace)


@pytest.mark.parametrize("seed", range(10))
def test_runs_that_share_a_log_are_separated(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    path = tmp_path / "gate.jsonl"
    with AuditLog(path, durable=False) as log:
        guards = [Guard(PROCEDURE, log=log, soft_block_limit=99) for _ in range(3)]
        for guard in guards:
            guard.say("user", "Hello.")
        for _ in range(6):
            _live(random.choice(guards), random, 1)
        reports = [guard.finish() for guard in guards]
    entries = list(read_traces(path))
    assert [entry.name for entry in entries] == [f"{path}[{n}]" for n in range(3)]
    for entry, report in zip(entries, reports, strict=True):
        _same(entry.required(), report.trace)


def test_a_run_that_was_saved_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    with AuditLog(path) as log:
        guard = Guard(PROCEDURE, log=log)
        (paid,) = guard.propose([Call("pay")])
        saved = guard.save()
        guard.record(paid, "lost with the process")
        guard.propose([Call("other")])
    with AuditLog(path) as log:
        again = Guard(PROCEDURE, log=log)
        again.restore(json.loads(json.dumps(saved)))
        again.propose([Call("look")])
        again.record(again.awaiting[0], "found")
        report = again.finish()
    _same(read_trace(path), report.trace)


def _allow(content: dict[str, Any]) -> None:
    content["action"] = "allow"


def test_an_altered_log_is_not_read_as_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    lines = lines_of(write_log(path))
    for at in range(len(lines)):
        changed = [*lines[:at], *lines[at + 1 :]]
        path.write_bytes(b"".join(changed))
        if at < len(lines) - 1:
            with pytest.raises(TraceError, match="was altered"):
                read_trace(path)
    path.write_bytes(b"".join([*lines[:4], lines[4].replace(b"block", b"allow"), lines[5]]))
    with pytest.raises(TraceError, match="entry 4 was altered"):
        read_trace(path)
    path.write_bytes(b"".join(rewritten(lines, 1, lambda content: content.update(kind="x"))))
    with pytest.raises(TraceError, match="its beginning is missing"):
        read_trace(path)


def test_commands_open_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rules = tmp_path / "gate.jsonl", tmp_path / "rules.json"
    write_log(path)
    rule = {"name": "few", "rule": "CalledN(pay, <= 1)"}
    rules.write_text(json.dumps({"constraints": [rule]}))
    assert main(["verify", "-p", str(rules), str(path)]) == 1
    assert "VIOLATED  few" in capsys.readouterr().out
    assert main(["explain", "few", "-p", str(rules), str(path)]) == 1
    page = tmp_path / "page.html"
    assert main(["view", str(path), "-p", str(rules), "-o", str(page)]) in (0, 1)
    assert page.exists()


# ── refusals in a transcript, and exported runs ───────────────────────────────────────────


def _transcript(messages: list[str]) -> list[dict[str, Any]]:
    """A chat in which each of these texts is the result of a call of `pay`."""
    chat: list[dict[str, Any]] = [{"role": "user", "content": "Pay."}]
    for number, text in enumerate(messages):
        function = {"name": "pay", "arguments": json.dumps({"n": number})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        chat.append({"role": "assistant", "content": None, "tool_calls": [call]})
        chat.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return chat


def test_a_refusal_counts_only_if_the_log_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rules, chat = tmp_path / "gate.jsonl", tmp_path / "rules.json", tmp_path / "chat.json"
    rules.write_text(json.dumps({"constraints": [{"name": "few", "rule": "CalledN(pay, <= 1)"}]}))
    strict = Procedure.load(rules)
    refused = []
    with AuditLog(path) as log:
        for logged in (log, None):  # the second gate is not the one that the run was behind
            guard = Guard(strict, log=logged, run_id="run" if logged else "other")
            refused.append(guard.propose([Call("pay"), Call("pay")])[1].message)
    chat.write_text(json.dumps(_transcript(["paid", *refused])))
    assert main(["verify", "-p", str(rules), str(chat)]) == 0, "both count as refused"
    capsys.readouterr()
    assert main(["verify", "-p", str(rules), str(chat), "--log", str(path)]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "note[W526]: 1 refusal is not in the gate's log" in shown
    chat.write_text(json.dumps(_transcript(["paid", refused[0]])))
    assert main(["verify", "-p", str(rules), str(chat), "--log", str(path)]) == 0
    assert "W52" not in capsys.readouterr().out, "nothing has to be taken on trust"
    lines = lines_of(path.read_bytes())
    path.write_bytes(b"".join(lines[1:]))
    assert main(["verify", "-p", str(rules), str(chat), "--log", str(path)]) == 2
    assert "E411" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tool", 7),
        ("tool", ["pay"]),
        ("arguments", 7),
        ("arguments", None),
        ("step", "0"),
        ("start", {}),
    ],
)
def test_a_decision_whose_fields_are_of_another_kind(
    field: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gate.jsonl"
    lines = lines_of(write_log(path))
    path.write_bytes(b"".join(rewritten(lines, 2, lambda content: content.update({field: value}))))
    with pytest.raises(TraceError, match="E321"):
        read_trace(path)
    assert main(["log", "export", str(path)]) == 1
    assert "E321" in capsys.readouterr().err, "it is not left out silently"


@pytest.mark.parametrize("field", ["run", "turn", "index", "action", "message"])
def test_an_entry_that_lacks_a_field_confirms_no_refusal(field: str, tmp_path: Path) -> None:
    path, rules, chat = tmp_path / "gate.jsonl", tmp_path / "rules.json", tmp_path / "chat.json"
    rules.write_text(json.dumps({"constraints": [{"name": "few", "rule": "CalledN(pay, <= 1)"}]}))
    with AuditLog(path) as log:
        guard = Guard(Procedure.load(rules), log=log)
        refused = guard.propose([Call("pay"), Call("pay")])[1].message
    chat.write_text(json.dumps(_transcript(["paid", refused])))
    command = ["verify", "-p", str(rules), str(chat), "--log", str(path)]
    assert main(command) == 0
    lines = rewritten(lines_of(path.read_bytes()), 3, lambda content: content.pop(field))
    path.write_bytes(b"".join(lines))
    assert main(command) == 1, "both calls count as executed"


def test_exported_runs_are_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "gate.jsonl", tmp_path / "runs.jsonl"
    log = write_log(path)
    assert main(["log", "export", str(path), "-o", str(out)]) == 0
    _same(read_trace(out), read_trace(path))
    path.write_bytes(log[:-1])
    assert main(["log", "export", str(path)]) == 1
    assert json.loads(capsys.readouterr().out)["refusals"][0]["action"] == "block"
    path.write_bytes(log.replace(b"block", b"allow"))
    assert main(["log", "export", str(path)]) == 2
    assert "E411" in capsys.readouterr().err
