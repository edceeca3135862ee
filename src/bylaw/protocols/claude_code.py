"""Claude Code: hook events in, hook answers out. Free of transport.

    answered(run, event)     # run: the session's; event: the JSON that Claude Code sends

PreToolUse decides a call, PostToolUse and PostToolUseFailure take its result, PostToolBatch ends
the turn, and Stop is the wish to finish. A call that Claude Code's own permissions deny after we
let it pass has no result of its own: PostToolBatch shows it, and it has failed. A person is asked
by Claude Code: in every permission mode it honours `ask`, and where nobody can be asked it denies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from bylaw.enforcement.agent_texts import stop_message
from bylaw.errors import Diagnostic, UsageError
from bylaw.protocols.hook_gate import HookGate
from bylaw.protocols.hooked_run import MAIN, HookedRun
from bylaw.trace.event import Call
from bylaw.values import Json

HookAnswer: TypeAlias = dict[str, Json]
"""The JSON object that Claude Code reads."""

BEGINS: Final = "SessionStart"
"""The event that begins a session. A session without it has no record, and is refused."""
BEGINS_OVER_HTTP: Final = (BEGINS, "UserPromptSubmit")
"""Claude Code runs only commands at SessionStart, so over HTTP the first prompt begins a session,
too."""
ENDED: Final = "The gate has ended this session: start a new one (/clear, or claude again)."


def handled(gate: HookGate, event: Any, begin: Sequence[str] = (BEGINS,)) -> HookAnswer:
    """The answer of a gate to an event. The session is the one that Claude Code names."""
    key = f"claude-code {session_of(event)}"
    begins = event["hook_event_name"] in begin
    return gate.handle(key, lambda run: answered(run, event), begins=begins)


def handled_over_http(gate: HookGate, event: Any) -> HookAnswer:
    """As `handled`, for a gate that listens."""
    return handled(gate, event, BEGINS_OVER_HTTP)


def answered(run: HookedRun, event: Mapping[str, Any]) -> HookAnswer:
    """The answer to a hook event. Events that decide nothing have an empty one."""
    handle = _HANDLERS.get(event["hook_event_name"])
    return {} if handle is None else handle(run, event)


def session_of(event: object) -> str:
    """The id of the session that an event belongs to, and a check that it is an event."""
    if not isinstance(event, Mapping):
        raise _unreadable("it is not an object")
    for field in ("session_id", "hook_event_name"):
        if type(event.get(field)) is not str or not event[field]:
            raise _unreadable(f"it has no {field}")
    return str(event["session_id"])


def refusal(event: object, why: str) -> HookAnswer:
    """The answer that refuses whatever an event is about: the gate could not decide it."""
    name = event.get("hook_event_name") if isinstance(event, Mapping) else None
    if name == "PreToolUse":
        return denied(why)
    if name in ("UserPromptSubmit", "Stop", "SubagentStop", "PostToolUse", "PostToolBatch"):
        return {"decision": "block", "reason": why} if name == "UserPromptSubmit" else _halt(why)
    return {"systemMessage": why}


def _pre_tool_use(run: HookedRun, event: Mapping[str, Any]) -> HookAnswer:
    decision = run.propose(call_of(event), asks=True)
    if run.passes(decision):
        return {}  # no opinion: Claude Code's own permissions still apply
    if decision.action == "ask":
        return _permission("ask", decision.message)
    answer = denied(decision.message)
    return answer | _halt(decision.message) if run.guard.stopped else answer


def _post_tool_use(run: HookedRun, event: Mapping[str, Any]) -> HookAnswer:
    return _ran(run, event, event.get("tool_response"), None)


def _post_tool_use_failure(run: HookedRun, event: Mapping[str, Any]) -> HookAnswer:
    return _ran(run, event, None, str(event.get("error") or "it failed"))


def _ran(run: HookedRun, event: Mapping[str, Any], result: Json, error: str | None) -> HookAnswer:
    changed = run.record_ran(call_of(event), result, error)
    if changed is not None:
        return _halt(f"Another hook changed a call after it was judged. {changed.message}")
    return _stopped(run)


def _post_tool_batch(run: HookedRun, event: Mapping[str, Any]) -> HookAnswer:
    run.end_turn(_speaker(event))
    return _stopped(run)


def _stopped(run: HookedRun) -> HookAnswer:
    """A result may end the run, too."""
    return _halt(stop_message(run.guard)) if run.guard.stopped and not run.observe else {}


def _user_prompt_submit(run: HookedRun, event: Mapping[str, Any]) -> HookAnswer:
    if run.guard.stopped and not run.observe:
        return {"decision": "block", "reason": ENDED}
    run.say(str(event.get("prompt") or ""))
    return {}


def _stop(run: HookedRun, event: Mapping[str, Any]) -> HookAnswer:
    if run.guard.stopped:
        return {}
    decision = run.answer(str(event.get("last_assistant_message") or ""))
    if run.passes(decision) or run.guard.stopped:
        return {}
    return {"decision": "block", "reason": decision.message}


def _subagent_stop(run: HookedRun, event: Mapping[str, Any]) -> HookAnswer:
    """A subagent's answer is not the answer to the user, but its turn is over."""
    run.end_turn(_speaker(event))
    return {}


_HANDLERS: Final[dict[str, Callable[[HookedRun, Mapping[str, Any]], HookAnswer]]] = {
    "UserPromptSubmit": _user_prompt_submit,
    "PreToolUse": _pre_tool_use,
    "PostToolUse": _post_tool_use,
    "PostToolUseFailure": _post_tool_use_failure,
    "PostToolBatch": _post_tool_batch,
    "Stop": _stop,
    "SubagentStop": _subagent_stop,
}
EVENTS: Final = (BEGINS, *_HANDLERS)
"""The events that the gate needs."""


def _speaker(event: Mapping[str, Any]) -> str:
    """The agent of an event: a subagent has an id, the main one has none."""
    id = event.get("agent_id")
    return f"{event.get('agent_type') or 'agent'} {id}" if id else MAIN


def call_of(event: Mapping[str, Any]) -> Call:
    """The call that an event is about."""
    tool, arguments, id = (event.get(each) for each in ("tool_name", "tool_input", "tool_use_id"))
    if type(tool) is not str or type(arguments) is not dict or type(id) is not str:
        raise _unreadable("it names no call")
    speaker = _speaker(event)
    return Call(tool, arguments, id=id, agent=None if speaker == MAIN else speaker)


def denied(why: str) -> HookAnswer:
    """The answer that refuses a call."""
    return _permission("deny", why)


def _permission(decision: str, why: str) -> HookAnswer:
    told: Json = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": why,
    }
    return {"hookSpecificOutput": told}


def _halt(why: str) -> HookAnswer:
    return {"continue": False, "stopReason": why}


def is_refusal(answer: Mapping[str, Any]) -> bool:
    """Does this answer keep a call from running?"""
    told = answer.get("hookSpecificOutput")
    return isinstance(told, Mapping) and told.get("permissionDecision") == "deny"


def _unreadable(reason: str) -> UsageError:
    help = "Give a hook event of Claude Code on standard input."
    return UsageError(Diagnostic("E471", f"the event cannot be read: {reason}", help))
