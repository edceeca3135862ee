"""A gate for Claude Code in this process, and the events that a session sends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bylaw import Procedure
from bylaw.protocols.claude_code import handled, is_refusal
from bylaw.protocols.hook_gate import HookGate
from bylaw.protocols.store import SessionStore

CODING = Procedure.load(Path(__file__).with_name("coding.yaml"))


def procedure(*rules: str, **fields: Any) -> Procedure:
    constraints = [{"name": f"rule-{n}", "rule": rule, **fields} for n, rule in enumerate(rules)]
    return Procedure.from_dict({"constraints": constraints})


class HookedSession:
    """One session of Claude Code. Every event is handled by a gate of its own, as by a process.

    The file stays open, because closing it takes as long as all the rest.
    """

    def __init__(self, folder: Path, rules: Procedure = CODING, **options: Any) -> None:
        self.folder, self.rules, self.options = folder, rules, options
        self.name = "s"
        self._store: SessionStore | None = None

    @property
    def store(self) -> SessionStore:
        if self._store is None:
            self._store = SessionStore(self.folder)
        return self._store

    def closes(self) -> None:
        self.store.close()
        self._store = None

    def sends(self, event: str, **fields: Any) -> dict[str, Any]:
        gate = HookGate(self.rules, self.store, **self.options)
        return handled(gate, {"hook_event_name": event, "session_id": self.name, **fields})

    def begins(self) -> HookedSession:
        self.sends("SessionStart", source="startup")
        self.sends("UserPromptSubmit", prompt="Go.")
        return self

    def pre(self, id: str, tool: str = "Bash", agent: str | None = None, **given: Any) -> Any:
        about = {} if agent is None else {"agent_id": agent, "agent_type": "helper"}
        call = {"tool_name": tool, "tool_input": given, "tool_use_id": id}
        return self.sends("PreToolUse", **call, **about)

    def post(self, id: str, tool: str = "Bash", response: Any = "ok", **given: Any) -> Any:
        call = {"tool_name": tool, "tool_input": given, "tool_use_id": id}
        return self.sends("PostToolUse", **call, tool_response=response)

    def fails(self, id: str, tool: str = "Bash", **given: Any) -> Any:
        call = {"tool_name": tool, "tool_input": given, "tool_use_id": id}
        return self.sends("PostToolUseFailure", **call, error="Exit code 1")

    def ends_turn(self, **about: Any) -> Any:
        return self.sends("PostToolBatch", tool_calls=[], **about)

    def runs(self, id: str, tool: str = "Bash", **given: Any) -> bool:
        """A turn of one call. Was it allowed?"""
        allowed = not is_refusal(self.pre(id, tool, **given))
        if allowed:
            self.post(id, tool, **given)
        self.ends_turn()
        return allowed

    def stops(self, text: str = "Done.") -> Any:
        return self.sends("Stop", last_assistant_message=text, stop_hook_active=False)


def reason(answer: dict[str, Any]) -> str:
    return str(answer["hookSpecificOutput"]["permissionDecisionReason"])
