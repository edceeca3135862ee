"""Agents of the Microsoft Agent Framework: streaming, other middleware, tools that others run."""

# ruff: noqa: E402  # the framework may be missing

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from desk import Desk, Script, answer, lookup, pay
from driver import TASK, Turns
from scenarios import FOUND, LOOKED_UP, SCENARIOS, SMALL, rules

from bylaw.errors import UsageError
from bylaw.trace.event import Call

pytest.importorskip("agent_framework", reason="NOT TESTED: agent-framework-core is not installed")
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore")]

from agent_framework import (
    Agent,
    AgentSession,
    ContextProvider,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    Message,
    MiddlewareFailure,
    tool,
)
from agent_framework_driver import AgentFramework, ScriptedClient

from bylaw.adapters.agent_framework import AgentGateMiddleware


def made(
    gate: AgentGateMiddleware, turns: Script, *more_tools: Any, **about: Any
) -> tuple[Any, Desk, Turns]:
    """An agent with the tools of a desk and a scripted model."""
    desk, script = Desk(), Turns({TASK: turns})
    tools = [*map(tool, desk.functions(asynchronous=True)), *more_tools]
    about = {"middleware": [gate], **about}
    return Agent(client=ScriptedClient(script, TASK), tools=tools, **about), desk, script


def run(agent: Any, *messages: Any, session: Any = None) -> Any:
    return asyncio.run(agent.run(*messages or (TASK,), session=session))


class Doubling(FunctionMiddleware):
    """Changes what is paid."""

    async def process(self, context: Any, call_next: Any) -> None:
        context.arguments = {"amount": 2 * context.arguments["amount"]}
        await call_next()


@pytest.mark.slow
def test_tools_in_threads_do_not_race(tmp_path: Path) -> None:
    SCENARIOS["race"].check(AgentFramework(asynchronous=False), tmp_path)


def test_a_stream_is_gated_and_shows_no_answer_that_is_refused() -> None:
    gate, session = AgentGateMiddleware(rules("F lookup", finish="met")), AgentSession()
    agent, desk, _ = made(gate, [[answer("too early")], [lookup()], [answer("in time")]])

    async def work() -> str:
        stream = agent.run(TASK, session=session, stream=True)
        return "".join([update.text async for update in stream])

    assert asyncio.run(work()) == "in time"
    assert desk.ran == [lookup()]
    assert gate.report(session).score == 1.0


def test_a_stream_ends_when_the_gate_ends_the_run() -> None:
    gate = AgentGateMiddleware(rules(SMALL, "HARD_STOP"))
    agent, desk, _ = made(gate, [[pay(50)], [answer()]])

    async def work() -> str:
        return "".join([update.text async for update in agent.run(TASK, stream=True)])

    assert "The run ends here." in asyncio.run(work())
    assert desk.ran == []


def test_calls_with_one_id_are_told_apart() -> None:
    gate, session = AgentGateMiddleware(rules(FOUND)), AgentSession()
    twice = [Call("lookup", {"order": 7}, id="x"), Call("pay", {"amount": 5}, id="x")]
    agent, desk, _ = made(gate, [twice, [answer()]])
    run(agent, session=session)
    assert desk.ran == [lookup()]
    assert [event.action for event in gate.report(session).events] == ["block"]


def test_an_approval_of_one_call_is_not_one_of_another_with_its_id() -> None:
    gate, session = AgentGateMiddleware(rules(SMALL, "ASK")), AgentSession()
    twice = [Call("pay", {"amount": 50}, id="x"), Call("pay", {"amount": 60}, id="x")]
    agent, desk, _ = made(gate, [twice, [answer()]])
    first, second = run(agent, session=session).user_input_requests
    replies = [
        first.to_function_approval_response(True),
        second.to_function_approval_response(False),
    ]
    run(agent, Message("user", replies), session=session)
    assert desk.ran == [pay(50)]


def test_an_approval_that_the_gate_did_not_ask_for_is_none() -> None:
    """A person approved the call as such, and was not told of the rule that it breaks."""

    @tool(approval_mode="always_require")
    async def wire(amount: int) -> str:
        """Wires money."""
        raise AssertionError("it does not run")

    gate, session = AgentGateMiddleware(rules("G(wire -> O lookup)", "ASK")), AgentSession()
    agent, _, _ = made(gate, [[Call("wire", {"amount": 5})], [answer()]], wire)
    (asked,) = run(agent, session=session).user_input_requests
    assert "bylaw" not in asked.additional_properties
    reply = Message("user", [asked.to_function_approval_response(True)])
    (asked,) = run(agent, reply, session=session).user_input_requests
    assert asked.additional_properties["bylaw"]["rules"] == ["looked-up"]


def test_a_call_that_other_middleware_changes_is_decided_as_it_is_then() -> None:
    gate = AgentGateMiddleware(rules(SMALL))
    agent, desk, _ = made(gate, [[pay(9)], [pay(4)], [answer()]], middleware=[Doubling(), gate])
    run(agent)
    assert desk.ran == [pay(8)]
    agent, desk, _ = made(gate, [[pay(9)], [answer()]], middleware=[gate, Doubling()])
    run(agent)
    assert desk.ran == [], "the gate is nearer to the tools, wherever it is listed"


def test_middleware_of_a_context_provider_changes_nothing_after_the_gate() -> None:
    class Provider(ContextProvider):
        async def before_run(self, *, context: Any, **_: Any) -> None:
            context.extend_middleware(self.source_id, [Doubling()])

    gate = AgentGateMiddleware(rules(SMALL))
    agent, desk, _ = made(gate, [[pay(9)], [answer()]], context_providers=[Provider("doubling")])
    with pytest.raises(MiddlewareFailure, match="arguments changed"):
        run(agent, session=AgentSession())
    assert desk.ran == []


def test_tools_that_others_run_have_to_be_named() -> None:
    declared = FunctionTool(name="sign", description="Signs.", func=None, input_model={})
    for other, name in ((declared, "sign"), ({"type": "web_search"}, "web_search")):
        gate = AgentGateMiddleware(rules(SMALL))
        agent, _, script = made(gate, [[answer()]], other)
        with pytest.raises(UsageError, match=name):
            run(agent)
        assert script.shown[TASK] == [], "before the model is asked"
        gate = AgentGateMiddleware(rules(SMALL), hosted=[name])
        agent, _, _ = made(gate, [[answer()]], other)
        assert run(agent).text == "done"


def test_a_client_that_leaves_calls_to_its_caller_is_an_error() -> None:
    agent, _, _ = made(AgentGateMiddleware(rules(SMALL)), [[answer()]])
    agent.client.function_invocation_configuration["enabled"] = False
    with pytest.raises(UsageError, match="beyond the gate's reach"):
        run(agent)


def test_a_tool_that_was_added_later_is_judged() -> None:
    @tool
    async def send(to: str) -> str:
        """Sends a letter."""
        raise AssertionError("it does not run")

    @tool
    async def more(ctx: FunctionInvocationContext) -> str:
        """Brings another tool."""
        ctx.add_tools([send])
        return "done"

    gate = AgentGateMiddleware(rules("G(send -> O lookup)"))
    turns = [[Call("more", {})], [Call("send", {"to": "Ada"})], [answer()]]
    agent, _, script = made(gate, turns, more)
    run(agent)
    assert "send: Not executed." in script.shown[TASK][2]


def test_a_converted_argument_is_no_way_around_the_turn() -> None:
    """Arguments are judged as the tool's types convert them, and with their siblings."""
    gate = AgentGateMiddleware(rules(FOUND))
    agent, desk, _ = made(gate, [[lookup(), Call("pay", {"amount": "5"})], [answer()]])
    agent.client.function_invocation_configuration["allow_concurrent_invocation"] = False
    run(agent)
    assert desk.ran == [lookup()]


def test_a_second_agent_with_the_same_tools_has_a_run_of_its_own() -> None:
    gate = AgentGateMiddleware(rules(LOOKED_UP))
    first, desk, _ = made(gate, [[lookup()], [answer()]])
    run(first, session=AgentSession())
    client = ScriptedClient(Turns({TASK: [[pay()], [answer()]]}), TASK)
    second = Agent(client=client, tools=desk.functions(asynchronous=True), middleware=[gate])
    run(second, session=AgentSession())
    assert desk.ran == [lookup()]


def test_an_answer_that_is_always_refused_ends_in_an_error() -> None:
    gate = AgentGateMiddleware(rules("F lookup", "BLOCK_AND_WARN", finish="met"))
    agent, _, script = made(gate, [[answer(str(number))] for number in range(100)])
    with pytest.raises(MiddlewareFailure, match="answers in one turn"):
        run(agent)
    assert len(script.shown[TASK]) < 30


def test_a_session_of_another_gate_has_no_report() -> None:
    with pytest.raises(UsageError, match="not in memory"):
        AgentGateMiddleware(rules(SMALL)).report(AgentSession())


def test_private_names_are_where_they_were() -> None:
    """The adapter builds on three: when the framework moves one, this says so."""
    from agent_framework import _tools

    assert _tools._SECURITY_ARGUMENTS_SNAPSHOT_CONTEXT_KEY
    assert _tools._argument_authority_token({"a": 1}, boundary="gate")
    made_tool = tool(Desk().functions(asynchronous=True)[2])
    assert made_tool._prepare_arguments({"amount": "5"}) == {"amount": 5}
