"""Codex's transcript: turns, and what came of commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hook_events import procedure

from bylaw.protocols.claude_code import is_refusal
from bylaw.protocols.codex import CodexTranscript, handled
from bylaw.protocols.hook_gate import HookGate
from bylaw.protocols.store import SessionStore


def row(kind: str, id: str, **more: Any) -> str:
    payload = {"type": kind, "call_id": id, **more}
    return json.dumps({"type": "response_item", "payload": payload})


def call(id: str) -> str:
    return row("function_call", id, name="exec_command")


def output(id: str, text: Any) -> str:
    return row("function_call_output", id, output=text)


def ran(code: int, printed: str = "") -> str:
    return (
        f"Chunk ID: 1\nProcess exited with code {code}\nOriginal token count: 1\nOutput:\n{printed}"
    )


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (ran(0, "fine"), ("fine", None)),
        (ran(1, "bad"), (None, "Exit code 1\nbad")),
        (
            ran(1, "Process exited with code 0\n"),
            (None, "Exit code 1\nProcess exited with code 0\n"),
        ),
        (
            "Chunk ID: 1\nProcess running with session ID 5\nOutput:\nProcess exited with code 0",
            None,
        ),
        ("rejected by the user", None),
        ("", None),
        (None, None),
        ({"success": False, "content": "no"}, (None, "no")),
        ([{"type": "text", "text": ran(0, "fine")}], ("fine", None)),
    ],
)
def test_the_outcome_of_a_command(text: Any, outcome: Any) -> None:
    transcript = CodexTranscript([call("a"), output("a", text)])
    assert transcript.outcome("a", "Bash") == outcome
    assert transcript.outcome("b", "Bash") is None


def test_turns_end_with_the_first_output() -> None:
    lines = [call("a"), call("b"), "not JSON", output("b", ""), output("a", ""), call("c")]
    transcript = CodexTranscript(lines)
    turns = [transcript.turn(id) for id in "abcd"]
    assert turns == ["turn a", "turn a", "turn c", "turn d"]


class CodexSession:
    """A session of Codex, with its transcript."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.gate = HookGate(
            procedure("G(commit -> earlier call(Bash, ok))", **options),
            SessionStore(folder / "state"),
        )
        self.transcript = folder / "rollout.jsonl"
        self.transcript.touch()
        self.sends("SessionStart")

    def writes(self, *lines: str) -> None:
        with self.transcript.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def sends(self, event: str, **fields: Any) -> dict[str, Any]:
        told = {"hook_event_name": event, "session_id": "s"}
        return handled(self.gate, {**told, "transcript_path": str(self.transcript), **fields})

    def allows(self, id: str, tool: str = "Bash") -> bool:
        about = {"tool_name": tool, "tool_input": {"command": id}, "tool_use_id": id}
        return not is_refusal(self.sends("PreToolUse", **about))


def test_evidence_is_read_from_the_transcript(tmp_path: Path) -> None:
    session = CodexSession(tmp_path)
    session.writes(call("a"), call("b"))
    assert session.allows("a")
    session.sends("PostToolUse", tool_name="Bash", tool_use_id="a", tool_response="fine")
    assert not session.allows("b", "commit")  # a sibling, and no exit code yet
    session.writes(output("a", ran(1)), output("b", "refused"), call("c"))
    assert not session.allows("c", "commit")
    session.writes(output("c", "refused"), call("d"))
    assert session.allows("d")
    session.writes(output("d", ran(0)), call("e"))
    assert session.allows("e", "commit")


def test_a_transcript_that_is_gone_is_no_evidence(tmp_path: Path) -> None:
    session = CodexSession(tmp_path)
    session.writes(call("a"), output("a", ran(0)))
    session.transcript.unlink()
    assert session.allows("a")
    assert not session.allows("b", "commit")


def test_a_call_that_needs_a_person_is_refused(tmp_path: Path) -> None:
    session = CodexSession(tmp_path, severity="ASK")
    assert not session.allows("a", "commit")
