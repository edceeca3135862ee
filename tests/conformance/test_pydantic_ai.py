"""Agents of Pydantic AI: output tools, validation, other capabilities."""

# ruff: noqa: E402  # the framework may be missing

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from desk import Desk, answer, lookup, pay
from driver import TASK, Turns
from scenarios import SMALL, rules

from bylaw.errors import UsageError
from bylaw.trace.event import Call

pytest.importorskip("pydantic_ai", reason="NOT TESTED: pydantic-ai-slim is not installed")
pytestmark = pytest.mark.frameworks

from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, WebSearchTool
from pydantic_ai.capabilities import AbstractCapability, NativeTool
from pydantic_ai.models.function import FunctionModel
from pydantic_ai_driver import said

from bylaw.adapters.pydantic_ai import GateCapability


class Answer(BaseModel):
    """A structured answer."""

    text: str


def made(gate: GateCapability, *turns: list[Call], **about: Any) -> tuple[Any, Desk, Turns]:
    """An agent with the tools of a desk and a scripted model."""
    desk, script = Desk(), Turns({TASK: turns})

    async def model(messages: Any, _: Any) -> Any:
        parts = [part for message in messages for part in message.parts]
        return said(script.next("\n".join(str(getattr(p, "content", "")) for p in parts), TASK))

    about = {"capabilities": [gate], **about}
    tools = desk.functions(asynchronous=True)
    agent = Agent(FunctionModel(model), tools=tools, retries={"output": 4, "tools": 4}, **about)
    return agent, desk, script


def test_the_answer_of_an_output_tool_is_held_back() -> None:
    gate = GateCapability(rules("F lookup", finish="met"))
    final = Call("final_result", {"text": "done"})
    agent, desk, script = made(gate, [final], [lookup()], [final], output_type=Answer)
    result = asyncio.run(agent.run(TASK))
    assert "final_answer: Not executed." in script.shown[TASK][1]
    assert desk.ran == [lookup()]
    assert result.output == Answer(text="done")
    assert gate.report(result).score == 1.0


def test_an_output_function_does_not_run_with_a_refused_answer() -> None:
    ran: list[str] = []

    def send(text: str) -> str:
        """Sends the answer."""
        ran.append(text)
        return text

    gate = GateCapability(rules("G(final_answer -> O lookup)"))
    early, late = Call("final_result", {"text": "a"}), Call("final_result", {"text": "b"})
    agent, *_ = made(gate, [early], [lookup()], [late], output_type=send)
    asyncio.run(agent.run(TASK))
    assert ran == ["b"]


def test_a_capability_that_changes_a_call_is_judged_by_what_it_makes() -> None:
    class Generous(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: Any, *, call: Any, args: Any, **_: Any) -> Any:
            return {"amount": 50} if call.tool_name == "pay" else args

    for order in (0, 1):
        gate = GateCapability(rules(SMALL))
        both: list[Any] = [gate, Generous()]
        capabilities = both if order else both[::-1]
        agent, desk, script = made(gate, [pay(5)], [answer()], capabilities=capabilities)
        asyncio.run(agent.run(TASK))
        assert desk.ran == [], "wherever the gate is listed"
        assert "pay: Not executed." in script.shown[TASK][1]


def test_a_call_that_validation_changes_counts_once() -> None:
    gate = GateCapability(rules("CalledN(pay, <= 1)"))
    agent, desk, _ = made(gate, [Call("pay", {"amount": "5"})], [answer()])
    asyncio.run(agent.run(TASK))
    assert desk.received == [5]


def test_a_tool_that_asks_for_a_retry_has_failed() -> None:
    gate = GateCapability(rules("G(pay -> earlier call(flaky, ok))"))
    agent, desk, _ = made(gate, [Call("flaky", {})], [pay()], [answer()])

    @agent.tool_plain
    def flaky() -> str:
        raise ModelRetry("again")

    asyncio.run(agent.run(TASK))
    assert desk.ran == []


def test_tools_of_the_provider_are_an_error_unless_they_are_named() -> None:
    search = NativeTool(WebSearchTool())
    gate = GateCapability(rules(SMALL))
    agent, _, script = made(gate, [answer()], capabilities=[search, gate])
    with pytest.raises(UsageError, match="web_search"):
        asyncio.run(agent.run(TASK))
    assert script.shown[TASK] == [], "before the model is asked"
    gate = GateCapability(rules(SMALL), hosted=["web_search"])
    agent, *_ = made(gate, [answer()], capabilities=[search, gate])
    assert asyncio.run(agent.run(TASK)).output == "done"


def test_what_the_adapter_leans_on_is_where_it_was() -> None:
    found: list[Any] = []

    class Looks(AbstractCapability[Any]):
        async def after_model_request(self, ctx: Any, *, response: Any, **_: Any) -> Any:
            found.append(ctx.tool_manager.tools["pay"].args_validator.validate_python)
            return response

    gate = GateCapability(rules(SMALL))
    agent, *_ = made(gate, [answer()], capabilities=[Looks(), gate])
    asyncio.run(agent.run(TASK))
    assert found[0]({"amount": "5"}) == {"amount": 5}


def test_a_result_of_another_gate_has_no_report() -> None:
    gate = GateCapability(rules(SMALL))
    agent, *_ = made(gate, [answer()])
    result = asyncio.run(agent.run(TASK))
    with pytest.raises(UsageError, match="not in memory"):
        GateCapability(rules(SMALL)).report(result)
