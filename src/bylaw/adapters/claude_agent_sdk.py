"""A gate for agents of the Claude Agent SDK: `pip install 'bylaw[claude-agent-sdk]'`.

    gate = SessionGate("desk.yaml")
    async for message in query(prompt=prompt, options=gate.options(options)): …
    report = gate.report(message.session_id)

- Each session has a guard of its own. Claude Code asks about calls one by one, some of them at the
  same time: each is a turn of its own. While a result is outstanding, calls that depend on it are
  refused as too early. The calls of subagents are judged with those of the agent that called them.
- The model reads the reason of a refusal in place of the result. An answer that a rule refuses is
  not the end: the model reads why, and works on. When the gate ends the run, the session ends.
- Hooks of Claude Code fail open, so the gate's refuses whatever it cannot judge, and its time limit
  is a day. Hooks in settings files could change calls after they were judged: leave them out, with
  `setting_sources=[]`.
- A call that needs a person's approval is put to `can_use_tool`, unless the guard itself asks;
  without it, it is refused. If `can_use_tool` changes the input of a call, it is decided again.
- Tools have the names that Claude Code gives them (`Bash`, `mcp__desk__refund`). Those of MCP
  servers that are named in `servers` go by their own (`refund`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from bylaw.adapters.gated_run import GatedRun, GuardSource, ProcedureSource
from bylaw.enforcement.agent_texts import denied_message, stop_message
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.execution import give_up
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.validation import unusable
from bylaw.plain import as_json, error_text
from bylaw.trace.event import Call
from bylaw.values import Json, equal

try:
    from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny
except ModuleNotFoundError as error:
    missing = "claude-agent-sdk is not installed: pip install 'bylaw[claude-agent-sdk]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

__all__ = ["SessionGate"]

AsyncFunction: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]
"""A hook, or a `can_use_tool`."""
MAX_LIVE: Final = 4096
"""The sessions whose guards are kept in memory."""
_DAY: Final = 86_400.0
"""The time limit of a hook, in seconds: one that passes it would let the call run."""


class ClaudeSession:
    """The run of a session, and its calls by id: those that run, and those that wait."""

    def __init__(self, run: GatedRun) -> None:
        self.run: Final = run
        self.running: Final[dict[str, Decision]] = {}
        self.waiting: Final[dict[str, Decision]] = {}

    def has(self, id: str) -> bool:
        """Has this session made a call that was not refused?"""
        return id in self.waiting or id in self.running


class SessionGate:
    """Hooks that ask a guard about every call of a session.

    The procedure is an object or the path of a file, and `options` are those of `Guard`. `servers`
    names the MCP servers whose tools go by their own names. With a `key`, nobody can change a
    guard that was saved.
    """

    def __init__(
        self,
        procedure: ProcedureSource,
        *,
        servers: Collection[str] = (),
        key: bytes | None = None,
        **options: Any,
    ) -> None:
        self._source: Final = GuardSource(procedure, options)
        self._prefixes: Final = tuple(f"mcp__{server}__" for server in servers)
        self._key: Final = key
        self._live: Final[OrderedDict[str, ClaudeSession]] = OrderedDict()

    def options(self, options: Any) -> Any:
        """The options of a session, with the gate's hooks before those that are given."""
        asks = options.can_use_tool is not None

        async def before(given: Any, id: str | None, _: Any) -> Any:
            return await self._before(given, asks=asks)

        ours: dict[Any, Any] = {
            "PreToolUse": before,
            "PostToolUse": self._after,
            "PostToolUseFailure": self._failed,
            "PostToolBatch": self._batch_ended,
            "UserPromptSubmit": self._prompted,
            "Stop": self._answered,
        }
        hooks = dict(options.hooks or {})
        for event, hook in ours.items():
            matcher = HookMatcher(matcher=None, hooks=[_closed(hook, event)], timeout=_DAY)
            hooks[event] = [*hooks.get(event, []), matcher]
        can_use_tool = self._permission(options.can_use_tool) if asks else None
        return replace(options, hooks=hooks, can_use_tool=can_use_tool)

    # ── sessions ─────────────────────────────────────────────────────────────────────────

    def report(self, session: str) -> GuardReport:
        """Ends the run of a session, and scores it."""
        return self._known(session).run.guard.finish()

    def save(self, session: str) -> dict[str, Json]:
        """The guard of a session as JSON, to `restore` where the session is resumed."""
        return self._known(session).run.guard.save(key=self._key)

    def restore(self, session: str, saved: Mapping[str, Json]) -> None:
        """Continues the guard of a session that another process saved."""
        guard = self._source.new_guard()
        guard.restore(saved, key=self._key)
        self._live[session] = ClaudeSession(GatedRun.resumed(guard))

    def _known(self, session: str) -> ClaudeSession:
        if session not in self._live:
            help = "Give the `session_id` of a session with this gate's options."
            raise unusable("the guard of this session is not in memory", help)
        return self._live[session]

    def _of(self, given: Any) -> ClaudeSession:
        id = given["session_id"]
        if id not in self._live:
            self._live[id] = ClaudeSession(GatedRun(self._source.new_guard()))
            while len(self._live) > MAX_LIVE:
                self._live.popitem(last=False)
        return self._live[id]

    # ── hooks ────────────────────────────────────────────────────────────────────────────

    async def _before(self, given: Any, *, asks: bool) -> Any:
        found, id = self._of(given), given["tool_use_id"]
        guard = found.run.guard
        if guard.finished and not guard.stopped:
            guard.withdraw()  # the agent works on after an answer
        call = self._call(given["tool_name"], given["tool_input"], id, given.get("agent_type"))
        (decision,) = await guard.propose_async([call])
        if decision.allowed:
            found.running[id] = decision
            return {}
        if decision.action == "ask" and asks and not self._source.asks:
            found.waiting[id] = decision
            return _permission("ask", decision.message)
        refused = _permission("deny", decision.message)
        if guard.stopped:
            refused |= {"continue_": False, "stopReason": decision.message}
        return refused

    async def _after(self, given: Any, id: str | None, _: Any) -> Any:
        found = self._of(given)
        if (decision := found.running.pop(given["tool_use_id"], None)) is not None:
            found.run.record(decision, _content(given["tool_response"]))
        return {}

    async def _failed(self, given: Any, id: str | None, _: Any) -> Any:
        found = self._of(given)
        if (decision := found.running.pop(given["tool_use_id"], None)) is not None:
            found.run.record(decision, None, str(given["error"]))
        return {}

    async def _batch_ended(self, given: Any, id: str | None, _: Any) -> Any:
        """Gives up calls that Claude Code's own permissions have kept from running."""
        found = self._of(given)
        ended = [each.get("tool_use_id") for each in given.get("tool_calls") or ()]
        left = [found.running.pop(each) for each in ended if each in found.running]
        give_up(found.run.guard, left)
        return {}

    async def _prompted(self, given: Any, id: str | None, _: Any) -> Any:
        guard = self._of(given).run.guard
        if guard.stopped:
            return {"decision": "block", "reason": stop_message(guard)}
        if guard.finished:
            guard.withdraw()  # the user writes again
        guard.say("user", given["prompt"])
        return {}

    async def _answered(self, given: Any, id: str | None, _: Any) -> Any:
        found = self._of(given)
        guard = found.run.guard
        if guard.stopped or guard.finished:
            return {}
        give_up(guard, found.running.values())
        found.running.clear()
        decision = await found.run.answer_async(given.get("last_assistant_message") or "")
        if decision.allowed:
            return {}
        if decision.action == "stop":
            return {"continue_": False, "stopReason": decision.message}
        return {"decision": "block", "reason": decision.message}

    def _permission(self, given: AsyncFunction) -> AsyncFunction:
        """The person's part: `can_use_tool`, whose yes approves a call that waits."""

        async def can_use_tool(name: str, input: dict[str, Any], context: Any) -> Any:
            said = await given(name, input, context)
            id = context.tool_use_id
            found = next(
                (s for s in self._live.values() if id in s.waiting or id in s.running), None
            )
            if found is None:
                return said if isinstance(said, PermissionResultDeny) else _unknown()
            decision, guard = found.waiting.pop(id, None), found.run.guard
            if not isinstance(said, PermissionResultAllow):
                if decision is not None:
                    return PermissionResultDeny(message=denied_message(guard, decision))
                give_up(guard, [found.running.pop(id)])
                return said
            if decision is not None:
                found.running[id] = found.run.approved(decision)
            changed = said.updated_input
            if changed is not None and not equal(as_json(changed), as_json(input)):
                give_up(guard, [found.running.pop(id)])
                call = self._call(name, changed, id, None)
                (found.running[id],) = await guard.propose_async([call])
            decision = found.running[id]
            if decision.allowed:
                return said
            return PermissionResultDeny(message=found.running.pop(id).message)

        return can_use_tool

    def _call(self, name: str, input: Any, id: str, agent: str | None) -> Call:
        for prefix in self._prefixes:
            name = name.removeprefix(prefix)
        return Call(name, as_json(input or {}), id=id, agent=agent)


def _closed(hook: AsyncFunction, event: str) -> AsyncFunction:
    """A hook that refuses when it fails: Claude Code would let the call run."""

    async def run(given: Any, id: str | None, context: Any) -> Any:
        try:
            return await hook(given, id, context)
        except Exception as error:
            reason = f"The gate has failed: {error_text(error)}"
            refused = _permission("deny", reason) if event == "PreToolUse" else {}
            return {**refused, "continue_": False, "stopReason": reason}

    return run


def _permission(decision: str, reason: str) -> dict[str, Any]:
    about = {"permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **about}}


def _unknown() -> Any:
    return PermissionResultDeny(message="Not executed. The gate has not seen this call.")


def _content(response: Any) -> Json:
    """The result of a tool as rules see it: the texts of MCP's content, or what it is."""
    blocks: Any = response.get("content") if isinstance(response, Mapping) else response
    if not isinstance(blocks, list) or not blocks:
        return as_json(response)
    if not all(isinstance(block, Mapping) and block.get("type") == "text" for block in blocks):
        return as_json(response)
    return "\n".join(str(block["text"]) for block in blocks)
