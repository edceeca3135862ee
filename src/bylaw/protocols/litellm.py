"""LiteLLM's generic guardrail: requests of the gateway in, blocks or passes out. No transport.

The gateway asks before a model is called (`input_type: "request"`, with the conversation so far)
and after it answered (`"response"`, with the calls of its turn). A turn is decided as a whole: if
one of its calls is refused, the gateway hands the client none of them, so the others have failed.
Results come with the next request, and are what the client says they are. A run is one trace id of
one key of the gateway: the key is what the gateway has authenticated, the trace id is the client's
choice among its own runs. Whoever must not begin a new run at will gets a key per run: with runs by
"key", the trace id does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

from bylaw.enforcement.chat_turns import OPENAI, ChatCall
from bylaw.errors import Diagnostic, UsageError
from bylaw.protocols.hook_gate import HookGate
from bylaw.protocols.hooked_run import HookedRun, Observed
from bylaw.trace.event import Call
from bylaw.values import Json

PATH: Final = "/beta/litellm_basic_guardrail_api"
RunsBy: TypeAlias = Literal["trace", "key"]
"""A run is a trace id of a key, or the key alone."""
RUNS_BY: Final[tuple[RunsBy, ...]] = get_args(RunsBy)
_BROKEN_OFF: Final = "it did not run: another call of its turn was refused"


def handled(gate: HookGate, request: Any, by: RunsBy = "trace") -> dict[str, Json]:
    """The answer of a gate to a request."""
    key = session_of(request, by)
    if request["input_type"] == "request":
        return gate.handle(key, lambda run: _before(run, request), begins=True)
    return gate.handle(key, lambda run: _after(run, request), begins=True)


def session_of(request: object, by: RunsBy = "trace") -> str:
    """The session of a request: the gateway's key, and the trace id."""
    if not isinstance(request, Mapping) or request.get("input_type") not in ("request", "response"):
        raise _unreadable("it has no input_type")
    about = request.get("request_data")
    principal = about.get("user_api_key_hash") if isinstance(about, Mapping) else None
    trace = request.get("litellm_trace_id")
    if type(principal) is not str or not principal:
        raise _unreadable("the gateway names no key: give clients virtual keys, or a master key")
    if by == "key":
        return f"litellm {principal}"
    if type(trace) is not str or not trace:
        raise _unreadable("it has no litellm_trace_id")
    return f"litellm {principal} {trace}"


def refusal(request: object, why: str) -> dict[str, Json]:
    """The answer that blocks a request which the gate could not decide."""
    return {"action": "BLOCKED", "blocked_reason": why}


def _before(run: HookedRun, request: Mapping[str, Any]) -> dict[str, Json]:
    """Takes in the results that the conversation holds, and what the user says now."""
    if run.guard.stopped and not run.observe:
        return refusal(request, "The gate has ended this run: begin another one.")
    messages = [each for each in request.get("structured_messages") or () if type(each) is dict]
    for id, result in _results(messages):
        decision = run.awaited(id)
        if decision is not None:
            run.record(decision, result)
    run.end_turn(error="the client did not report its result")
    if messages and messages[-1].get("role") == "user":
        run.say(OPENAI.text(messages[-1]))
    return {"action": "NONE"}


def _results(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for message in messages:
        if message.get("role") == "tool" and type(message.get("tool_call_id")) is str:
            yield message["tool_call_id"], OPENAI.text(message)


def _after(run: HookedRun, request: Mapping[str, Any]) -> dict[str, Json]:
    """Decides the calls of a model turn, or its answer."""
    calls = OPENAI.calls({"tool_calls": request.get("tool_calls") or ()})
    if not calls:
        text = "\n".join(each for each in request.get("texts") or () if type(each) is str)
        decision = run.answer(text)
        passes = run.passes(decision)
        return {"action": "NONE"} if passes else refusal(request, decision.message)
    run.end_turn(error="the client did not report its result")
    messages = [message for call in calls if (message := _decided(run, call))]
    if not messages:
        return {"action": "NONE"}
    run.end_turn(error=_BROKEN_OFF)
    run.happened.append(Observed("blocked", {"calls": [call.tool for call in calls]}))
    return refusal(request, "\n".join(messages))


def _decided(run: HookedRun, call: ChatCall) -> str:
    """The text that refuses a call; empty if it may run."""
    if call.problem:
        return "" if run.observe else call.unreadable
    if not call.id:
        return f"{call.tool}: Not executed. It has no id, so its result could not be recognised."
    decision = run.propose(Call(call.tool, call.args, id=call.id))
    return "" if run.passes(decision) else decision.message


def _unreadable(reason: str) -> UsageError:
    help = "Give a request of LiteLLM's generic guardrail."
    return UsageError(Diagnostic("E471", f"the request cannot be read: {reason}", help))
