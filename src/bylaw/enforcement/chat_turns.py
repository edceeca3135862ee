"""Turns of chat models, for loops of one's own around an SDK.

    messages.append(message)
    messages += guard.openai_turn(message, tools)

A message with calls is a turn: its calls are decided together, those allowed run, and each is
answered by its result, its error or the refusal. A message without calls is the answer. A refused
answer is followed by a message of the user that says why. When the gate ends the run, the last
message says so. Calls whose arguments are not a JSON object are answered, and not proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bylaw.enforcement.agent_texts import result_text, stop_message
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.tools import ToolFunction, ToolOutcome, turn_outcomes, turn_outcomes_async
from bylaw.enforcement.validation import unusable
from bylaw.errors import shown
from bylaw.frozen import frozen
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call, read_arguments
from bylaw.values import Json, JsonError

if TYPE_CHECKING:
    from bylaw.enforcement.guard import Guard


@frozen
class ChatCall:
    """A call in a message: as it is proposed, or what is wrong with it."""

    id: str | None
    tool: str
    args: Mapping[str, Json]
    problem: str = ""

    @property
    def unreadable(self) -> str:
        """The text for a call that cannot be proposed."""
        return f"{self.tool}: Not executed. The arguments are {self.problem}."


@frozen
class ChatDialect:
    """The way in which an SDK writes texts, calls and results."""

    name: str
    text: Callable[[Mapping[str, Any]], str]
    calls: Callable[[Mapping[str, Any]], list[ChatCall]]
    results: Callable[[Sequence[tuple[ChatCall, str, bool]]], list[dict[str, Json]]]
    """The messages for calls that were answered with a text, or failed with it."""


def chat_turn(
    guard: Guard, dialect: ChatDialect, message: object, tools: Mapping[str, ToolFunction]
) -> list[dict[str, Json]]:
    """Decides and runs a turn. Returns the messages to append."""
    text, calls = _read(dialect, message)
    if not calls:
        return _answered(guard, guard.propose([Call(FINAL_ANSWER, {"answer": text})])[0])
    if text.strip():
        guard.say("assistant", text)
    return _replies(guard, dialect, calls, turn_outcomes(guard, tools, _proposed(calls)))


async def chat_turn_async(
    guard: Guard, dialect: ChatDialect, message: object, tools: Mapping[str, ToolFunction]
) -> list[dict[str, Json]]:
    """As `chat_turn`. Tools that are coroutine functions run concurrently."""
    text, calls = _read(dialect, message)
    if not calls:
        (decision,) = await guard.propose_async([Call(FINAL_ANSWER, {"answer": text})])
        return _answered(guard, decision)
    if text.strip():
        guard.say("assistant", text)
    outcomes = await turn_outcomes_async(guard, tools, _proposed(calls))
    return _replies(guard, dialect, calls, outcomes)


def _read(dialect: ChatDialect, message: object) -> tuple[str, list[ChatCall]]:
    fields = message.model_dump() if hasattr(message, "model_dump") else message
    if not isinstance(fields, Mapping) or "content" not in fields:
        help = f"Give the message of the model's reply, as the {dialect.name} SDK returns it."
        raise unusable(f"expected a message, found {shown(message)}", help)
    return dialect.text(fields), dialect.calls(fields)


def _proposed(calls: Sequence[ChatCall]) -> list[Call]:
    return [Call(call.tool, call.args, id=call.id) for call in calls if not call.problem]


def _answered(guard: Guard, decision: Decision) -> list[dict[str, Json]]:
    if decision.allowed:
        return []
    role = "assistant" if guard.stopped else "user"
    return [{"role": role, "content": decision.message}]


def _replies(
    guard: Guard, dialect: ChatDialect, calls: Sequence[ChatCall], outcomes: list[ToolOutcome]
) -> list[dict[str, Json]]:
    left = iter(outcomes)
    answered = [(call, *_reply(call, None if call.problem else next(left))) for call in calls]
    messages = dialect.results(answered)
    if guard.stopped:
        text = stop_message(guard, [each.decision for each in outcomes])
        messages.append({"role": "assistant", "content": text})
    return messages


def _reply(call: ChatCall, outcome: ToolOutcome | None) -> tuple[str, bool]:
    """The text that the model reads, and whether the call failed or was refused."""
    if outcome is None:
        return call.unreadable, True
    if not outcome.decision.allowed:
        return outcome.decision.message, True
    if outcome.error is not None:
        return f"Error: {outcome.error}", True
    return result_text(outcome.result), False


# ── OpenAI ───────────────────────────────────────────────────────────────────────────────────


def _openai_text(message: Mapping[str, Any]) -> str:
    return _joined(message.get("content"))


def _openai_calls(message: Mapping[str, Any]) -> list[ChatCall]:
    return [_openai_call(entry) for entry in message.get("tool_calls") or ()]


def _openai_call(entry: Mapping[str, Any]) -> ChatCall:
    id, custom = entry.get("id"), entry.get("custom")
    if custom:  # a tool that takes a text
        return ChatCall(id, str(custom["name"]), {"input": custom.get("input", "")})
    function = entry["function"]
    try:
        return ChatCall(id, str(function["name"]), read_arguments(function.get("arguments") or ""))
    except JsonError as error:
        return ChatCall(id, str(function["name"]), {}, error.message)


def _openai_results(answered: Sequence[tuple[ChatCall, str, bool]]) -> list[dict[str, Json]]:
    return [{"role": "tool", "tool_call_id": c.id, "content": text} for c, text, _ in answered]


# ── Anthropic ────────────────────────────────────────────────────────────────────────────────


def _anthropic_text(message: Mapping[str, Any]) -> str:
    return _joined(message.get("content"))


def _anthropic_calls(message: Mapping[str, Any]) -> list[ChatCall]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    return [_anthropic_call(block) for block in uses]


def _anthropic_call(block: Mapping[str, Any]) -> ChatCall:
    id, tool, given = block.get("id"), str(block["name"]), block.get("input")
    if isinstance(given, Mapping):
        return ChatCall(id, tool, dict(given))
    return ChatCall(id, tool, {}, "not an object")


def _anthropic_results(answered: Sequence[tuple[ChatCall, str, bool]]) -> list[dict[str, Json]]:
    blocks: list[Json] = [
        {
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": text,
            **({"is_error": True} if failed else {}),
        }
        for call, text, failed in answered
    ]
    return [{"role": "user", "content": blocks}]


def _joined(content: object) -> str:
    """The text of a message, which may come in parts."""
    if not isinstance(content, list | tuple):
        return str(content or "")
    parts = [part for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    return "\n".join(str(part.get("text") or "") for part in parts)


OPENAI: Final = ChatDialect("OpenAI", _openai_text, _openai_calls, _openai_results)
ANTHROPIC: Final = ChatDialect("Anthropic", _anthropic_text, _anthropic_calls, _anthropic_results)
