"""`openai_turn` and `anthropic_turn`: the SDKs' own messages, and what is appended to a chat."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from bylaw import UsageError
from bylaw.enforcement.guard import Guard
from bylaw.procedure.procedure import Procedure


def _guard(rule: str = "G(pay -> args.amount < 10)", severity: str = "SOFT_BLOCK") -> Guard:
    constraint = {"name": "rule", "rule": rule, "severity": severity}
    return Guard(Procedure.from_dict({"bylaw": 1, "constraints": [constraint]}))


def pay(amount: int, to: str = "shop") -> dict[str, Any]:
    if to == "nobody":
        raise LookupError("who is nobody?")
    return {"paid": amount, "to": to}


async def pay_later(amount: int, to: str = "shop") -> dict[str, Any]:
    await asyncio.sleep(0)
    return pay(amount, to)


ARGUMENTS = [
    ('{"amount": 5}', '{"paid": 5, "to": "shop"}', False),
    ('{"amount": 5, "to": "Zoë"}', '{"paid": 5, "to": "Zoë"}', False),
    ('{"amount": 50}', "pay: Not executed.\nRule rule:", True),
    ('{"amount": 5, "to": "nobody"}', "Error: LookupError: who is nobody?", True),
    ('{"amount": 5, "when": 1}', "Error: TypeError:", True),
]
"""The arguments of a call, what the model reads, and whether that is an error."""
UNREADABLE = [
    ('{"amount": ', "pay: Not executed. The arguments are not JSON: "),
    ("[5]", "pay: Not executed. The arguments are a list, not an object."),
    ('{"amount": NaN}', "pay: Not executed. The arguments are not JSON: "),
]


def _openai(*arguments: str, tool: str = "pay") -> dict[str, Any]:
    calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": tool, "arguments": each}}
        for i, each in enumerate(arguments)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _anthropic(*arguments: str) -> dict[str, Any]:
    uses = [
        {"type": "tool_use", "id": f"c{i}", "name": "pay", "input": json.loads(each)}
        for i, each in enumerate(arguments)
    ]
    return {"role": "assistant", "content": [{"type": "text", "text": "I pay."}, *uses]}


@pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(("arguments", "read", "failed"), ARGUMENTS)
def test_a_call_is_answered(arguments: str, read: str, failed: bool, later: bool) -> None:
    if later:
        tools = {"pay": pay_later}
        (message,) = asyncio.run(_guard().openai_turn_async(_openai(arguments), tools))
        (other,) = asyncio.run(_guard().anthropic_turn_async(_anthropic(arguments), tools))
    else:
        (message,) = _guard().openai_turn(_openai(arguments), {"pay": pay})
        (other,) = _guard().anthropic_turn(_anthropic(arguments), {"pay": pay})
    assert message.keys() == {"role", "tool_call_id", "content"}
    assert (message["role"], message["tool_call_id"]) == ("tool", "c0")
    assert message["content"].startswith(read)
    (block,) = other["content"]
    assert (other["role"], block["type"], block["tool_use_id"]) == ("user", "tool_result", "c0")
    assert block["content"].startswith(read)
    assert block.get("is_error", False) is failed


@pytest.mark.parametrize(("arguments", "read"), UNREADABLE)
def test_arguments_that_cannot_be_read_are_answered_and_not_proposed(
    arguments: str, read: str
) -> None:
    guard = _guard()
    first, second = guard.openai_turn(_openai(arguments, '{"amount": 5}'), {"pay": pay})
    assert first["content"].startswith(read)
    assert second == {"role": "tool", "tool_call_id": "c1", "content": '{"paid": 5, "to": "shop"}'}
    assert [dict(call.args) for call in guard.finish().trace.calls] == [{"amount": 5, "to": "shop"}]


def test_the_text_of_a_turn_is_a_message_that_rules_see() -> None:
    rule = {"name": "rule", "rule": 'G(pay -> O (says(assistant) & text = "I pay."))'}
    procedure = Procedure.from_dict({"bylaw": 1, "constraints": [rule], "events": "all"})
    guard = Guard(procedure)
    (message,) = guard.anthropic_turn(_anthropic('{"amount": 5}'), {"pay": pay})
    assert "is_error" not in message["content"][0]


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_an_answer_is_held_back_and_then_accepted(dialect: str) -> None:
    guard = _guard("G(final_answer -> O pay)")
    said = {"role": "assistant", "content": "Done."}
    (refused,) = getattr(guard, f"{dialect}_turn")(said, {})
    assert refused["role"] == "user"
    assert refused["content"].startswith("final_answer: Not executed.")
    assert not guard.finished
    guard.openai_turn(_openai('{"amount": 5}'), {"pay": pay})
    assert getattr(guard, f"{dialect}_turn")(said, {}) == []
    assert guard.finished


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_the_last_message_says_that_the_run_was_stopped(dialect: str) -> None:
    write = _openai if dialect == "openai" else _anthropic
    guard = _guard(severity="HARD_STOP")
    messages = getattr(guard, f"{dialect}_turn")(write('{"amount": 50}'), {"pay": pay})
    assert guard.stopped
    assert messages[-1]["role"] == "assistant"
    assert "The run ends here." in messages[-1]["content"]


def test_so_it_does_when_a_result_ended_the_run() -> None:
    constraint = {"name": "paid", "rule": "G !call(pay, result.paid = 5)", "severity": "HARD_STOP"}
    procedure = Procedure.from_dict({"bylaw": 1, "constraints": [constraint]})
    for hints, named in (("rule", True), ("none", False)):
        guard = Guard(procedure, unenforceable="score", hints=hints)  # type: ignore[arg-type]
        result, last = guard.openai_turn(_openai('{"amount": 5}'), {"pay": pay})
        assert result["content"] == '{"paid": 5, "to": "shop"}'
        assert "The run ends here." in last["content"]
        assert ("Rule paid" in last["content"]) is named


def test_a_custom_tool_takes_a_text() -> None:
    def run(input: str) -> str:
        return f"ran {input}"

    call = {"id": "c0", "type": "custom", "custom": {"name": "run", "input": "ls"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    (answered,) = _guard('G(run -> args.input = "ls")').openai_turn(message, {"run": run})
    assert answered["content"] == "ran ls"


@pytest.mark.parametrize("given", ["Done.", None, {"choices": []}, [{"role": "assistant"}]])
def test_anything_but_a_message_is_an_error(given: Any) -> None:
    for turn in (_guard().openai_turn, _guard().anthropic_turn):
        with pytest.raises(UsageError, match="expected a message"):
            turn(given, {})


# ── the SDKs' own objects ────────────────────────────────────────────────────────────────────


@pytest.mark.frameworks
def test_messages_of_the_openai_sdk() -> None:
    chat = pytest.importorskip("openai.types.chat", reason="NOT TESTED: openai is not installed")
    message = chat.ChatCompletionMessage.model_validate(_openai('{"amount": 5}', '{"amount": 50}'))
    first, second = _guard().openai_turn(message, {"pay": pay})
    assert first["content"] == '{"paid": 5, "to": "shop"}'
    assert second["content"].startswith("pay: Not executed.")
    answer = chat.ChatCompletionMessage(role="assistant", content="Done.")
    guard = _guard()
    assert guard.openai_turn(answer, {}) == []
    assert guard.finish().trace.answer == "Done."


@pytest.mark.frameworks
def test_messages_of_the_anthropic_sdk() -> None:
    types = pytest.importorskip("anthropic.types", reason="NOT TESTED: anthropic is not installed")
    usage = types.Usage(input_tokens=1, output_tokens=1)

    def said(content: Any) -> Any:
        around = {"id": "m", "model": "claude", "type": "message", "usage": usage}
        return types.Message(**around, role="assistant", content=content, stop_reason="tool_use")

    message = said(_anthropic('{"amount": 5}', '{"amount": 50}')["content"])
    (reply,) = _guard().anthropic_turn(message, {"pay": pay})
    first, second = reply["content"]
    assert first["content"] == '{"paid": 5, "to": "shop"}'
    assert second["is_error"]
    guard = _guard()
    assert guard.anthropic_turn(said([{"type": "text", "text": "Done."}]), {}) == []
    assert guard.finish().trace.answer == "Done."
