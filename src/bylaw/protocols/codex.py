"""Codex: hook events in, hook answers out. Free of transport.

Its events have the names and fields of Claude Code's, but three things differ. PostToolUse says
nothing about failure, not even the exit code of a command, and nothing tells the end of a turn:
both are read from the transcript, which is complete when the next call is about to run. Only
`deny` and exit code 2 refuse; an answer with `ask` or `continue`, and every other exit code, lets
the call run. So a call that needs a person is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from bylaw.protocols.claude_code import (
    BEGINS,
    ENDED,
    HookAnswer,
    call_of,
    denied,
    session_of,
)
from bylaw.protocols.hook_gate import HookGate
from bylaw.protocols.hooked_run import HookedRun
from bylaw.values import Json, JsonError, read_json

TAIL: Final = 16 * 2**20
"""The bytes at the end of a transcript that are read."""
_EXIT: Final = re.compile(r"^Process exited with code (-?\d+)$", re.MULTILINE)
_OUTPUT: Final = "\nOutput:\n"
"""The line between what Codex says about a command and what the command printed."""


def handled(gate: HookGate, event: Any) -> HookAnswer:
    """The answer of a gate to an event. The session is the one that Codex names."""
    key = f"codex {session_of(event)}"
    begins = event["hook_event_name"] == BEGINS
    return gate.handle(key, lambda run: answered(run, event), begins=begins)


def answered(run: HookedRun, event: Mapping[str, Any]) -> HookAnswer:
    """The answer to a hook event. Events that decide nothing have an empty one."""
    handle = _HANDLERS.get(event["hook_event_name"])
    if handle is None:
        return {}
    transcript = CodexTranscript.read(event.get("transcript_path"))
    for decision in run.guard.awaiting:
        outcome = transcript.outcome(decision.call.id or "", decision.call.tool)
        if outcome is not None:
            run.record(decision, *outcome)
    return handle(run, event, transcript)


def refusal(event: object, why: str) -> HookAnswer:
    """The answer that refuses whatever an event is about: the gate could not decide it."""
    name = event.get("hook_event_name") if isinstance(event, Mapping) else None
    if name == "PreToolUse":
        return denied(why)
    return {"decision": "block", "reason": why} if name == "UserPromptSubmit" else {}


class CodexTranscript:
    """The calls at the end of a transcript, in order, and what came of them."""

    def __init__(self, lines: list[str]) -> None:
        self._turns: Final[dict[str, str]] = {}
        """The first call of the turn of each call."""
        self._outputs: Final[dict[str, Json]] = {}
        first: str | None = None
        for line in lines:
            item = _item(line)
            id, kind = item.get("call_id"), str(item.get("type"))
            if type(id) is not str:
                continue
            if kind.endswith("_output"):
                self._outputs[id] = item.get("output")
                first = None
            elif kind.endswith("_call"):
                first = first or id
                self._turns[id] = first

    @classmethod
    def read(cls, path: object) -> CodexTranscript:
        """The transcript in a file; empty if there is none."""
        try:
            with Path(str(path)).open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - TAIL))
                return cls(file.read().decode(errors="replace").split("\n"))
        except OSError:
            return cls([])

    def turn(self, id: str) -> str:
        """The turn of a call; of its own if the transcript does not have it."""
        return f"turn {self._turns.get(id, id)}"

    def outcome(self, id: str, tool: str) -> tuple[Json, str | None] | None:
        """The result of a call, or its error; None if it is not known."""
        output = self._outputs.get(id)
        if isinstance(output, dict) and output.get("success") is False:
            return None, _text(output.get("content"))
        text = _text(output)
        if output is None or tool != "Bash":
            return None if output is None else (text, None)
        about, _, printed = text.partition(_OUTPUT)
        code = _EXIT.search(about)
        if code is None:
            return None  # it still runs, or Codex says so in other words
        return (printed, None) if code[1] == "0" else (None, f"Exit code {code[1]}\n{printed}")


def _item(line: str) -> dict[str, Json]:
    """A call or an output in a line of a transcript."""
    try:
        row = read_json(line)
    except JsonError:
        return {}
    payload = row.get("payload") if isinstance(row, dict) else None
    is_item = isinstance(row, dict) and row.get("type") == "response_item"
    return payload if is_item and isinstance(payload, dict) else {}


def _text(output: Json) -> str:
    if isinstance(output, dict):
        output = output.get("content")
    if isinstance(output, list):
        return "\n".join(str(each.get("text", "")) for each in output if isinstance(each, dict))
    return str(output or "")


# ── events ───────────────────────────────────────────────────────────────────────────────────


def _pre_tool_use(
    run: HookedRun, event: Mapping[str, Any], transcript: CodexTranscript
) -> HookAnswer:
    call = call_of(event)
    decision = run.propose(call, turn=transcript.turn(call.id or ""))
    return {} if run.passes(decision) else denied(decision.message)


def _user_prompt_submit(
    run: HookedRun, event: Mapping[str, Any], transcript: CodexTranscript
) -> HookAnswer:
    if run.guard.stopped and not run.observe:
        return {"decision": "block", "reason": ENDED}
    run.say(str(event.get("prompt") or ""))
    return {}


def _stop(run: HookedRun, event: Mapping[str, Any], transcript: CodexTranscript) -> HookAnswer:
    if run.guard.stopped:
        return {}
    decision = run.answer(str(event.get("last_assistant_message") or ""))
    if run.passes(decision) or run.guard.stopped:
        return {}
    return {"decision": "block", "reason": decision.message}


_HANDLERS: Final[
    dict[str, Callable[[HookedRun, Mapping[str, Any], CodexTranscript], HookAnswer]]
] = {"UserPromptSubmit": _user_prompt_submit, "PreToolUse": _pre_tool_use, "Stop": _stop}
EVENTS: Final = (BEGINS, *_HANDLERS)
"""The events that the gate needs."""
