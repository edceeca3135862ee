"""Agents of the OpenAI Agents SDK: handoffs, agents as tools, tools beyond reach."""

# ruff: noqa: E402  # the SDK may be missing

from __future__ import annotations

import asyncio
from dataclasses import fields
from typing import Any

import pytest
from desk import Desk, answer, lookup, pay
from driver import TASK, Turns, own_loop
from scenarios import FOUND, LOOKED_UP, SMALL, rules

from bylaw.errors import UsageError
from bylaw.trace.event import Call

pytest.importorskip("agents.tool", reason="NOT TESTED: openai-agents is not installed")
pytestmark = pytest.mark.frameworks

import agents.tool
from agents import (
    Agent,
    AgentHooks,
    CodeInterpreterTool,
    FunctionTool,
    Runner,
    WebSearchTool,
    function_tool,
    handoff,
)
from openai_agents_driver import ScriptedModel

from bylaw.adapters.openai_agents import GuardedAgent, GuardedResult

TRANSFER = Call("transfer_to_cashier", {})


def made(*turns: list[Call], **about: Any) -> tuple[Agent[Any], Desk, Turns]:
    """An agent with the tools of a desk and a scripted model."""
    desk, script = Desk(), Turns({TASK: turns})
    tools = [function_tool(each) for each in desk.functions(asynchronous=True)]
    return Agent(name="clerk", model=ScriptedModel(script), tools=tools, **about), desk, script


def run(agent: Any, rule: str, severity: str = "SOFT_BLOCK", **options: Any) -> GuardedResult:
    guarded = GuardedAgent(agent, rules(rule, severity), **options)
    return asyncio.run(guarded.run(TASK))


# ── what the SDK does not promise ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (agents.tool, "set_function_tool_failure_error_function"),
        (agents.tool, "maybe_invoke_function_tool_failure_error_function"),
        (agents.tool, "invoke_function_tool"),
        (function_tool(Desk().functions(asynchronous=True)[0]).on_invoke_tool,
         "__agents_bind_function_tool__"),
        (handoff(Agent(name="other")), "_agent_ref"),
    ],
)  # fmt: skip
def test_what_the_adapter_leans_on_is_where_it_was(owner: object, name: str) -> None:
    assert hasattr(owner, name), f"{name} has moved: failures or handoffs would go unnoticed"


def test_an_agent_as_a_tool_still_names_its_agent() -> None:
    inner = Agent(name="inner")
    assert "_agent_instance" in {field.name for field in fields(FunctionTool)}
    assert inner.as_tool("ask", "Asks.")._agent_instance is inner


# ── agents ───────────────────────────────────────────────────────────────────────────────────


def test_a_handoff_is_judged_and_the_next_agent_with_the_first() -> None:
    agent, desk, script = made([TRANSFER], [lookup()], [TRANSFER], [pay(50)], [pay(5)], [answer()])
    cashier = Agent(name="cashier", model=agent.model, tools=list(agent.tools))
    agent.handoffs = [cashier]
    both = f"G(transfer_to_cashier -> O lookup) & {SMALL}"
    seen = run(agent, both)
    assert "transfer_to_cashier: Not executed." in script.shown[TASK][1]
    assert desk.ran == [lookup(), pay(5)]
    assert seen.result.last_agent.name == "cashier"
    assert [event.call.tool for event in seen.report().events] == ["transfer_to_cashier", "pay"]


def test_a_refused_handoff_can_end_the_run() -> None:
    agent, desk, script = made([TRANSFER], [pay()], [answer()])
    agent.handoffs = [Agent(name="cashier", model=agent.model, tools=list(agent.tools))]
    seen = run(agent, "G !transfer_to_cashier", "HARD_STOP")
    assert seen.stopped
    assert "The run ends here." in seen.final_output
    assert (desk.ran, len(script.shown[TASK])) == ([], 1)


def test_an_agent_that_a_handoff_makes_on_the_way_is_guarded() -> None:
    agent, desk, _ = made([TRANSFER], [pay(50)], [answer()])
    made_later = handoff(Agent(name="cashier"))
    ungated = [function_tool(each) for each in desk.functions(asynchronous=True)]

    async def invoke(*_: Any) -> Agent[Any]:
        return Agent(name="cashier", model=agent.model, tools=list(ungated))

    made_later.on_invoke_handoff = invoke
    agent.handoffs = [made_later]
    run(agent, SMALL)
    assert desk.ran == []


def test_agents_that_hand_over_to_each_other_are_guarded_once() -> None:
    agent, desk, _ = made([TRANSFER], [Call("transfer_to_clerk", {})], [pay(50)], [answer()])
    agent.handoffs = [Agent(name="cashier", model=agent.model, handoffs=[agent])]
    run(agent, SMALL)
    assert desk.ran == []


def test_a_tool_that_is_added_later_is_guarded() -> None:
    agent, desk, _ = made([pay(50)], [answer()])
    tools, agent.tools = agent.tools, []
    guarded = GuardedAgent(agent, rules(SMALL))
    agent.tools.extend(tools)
    asyncio.run(guarded.run(TASK))
    assert desk.ran == []


def test_hooks_that_are_set_later_do_not_replace_the_gate() -> None:
    agent, desk, _ = made([lookup(), pay()], [answer()])
    guarded = GuardedAgent(agent, rules(FOUND))
    agent.hooks = AgentHooks()
    asyncio.run(guarded.run(TASK))
    assert desk.ran == [lookup()], "the turn is decided as a whole"


def test_a_guarded_agent_runs_only_through_its_gate() -> None:
    agent, desk, script = made([pay()], [answer()])
    GuardedAgent(agent, rules(LOOKED_UP))
    with pytest.raises(UsageError, match="without its gate"):
        asyncio.run(Runner.run(agent, TASK))
    assert (desk.ran, script.shown[TASK]) == ([], [])


def test_an_agent_has_one_gate() -> None:
    agent, *_ = made([answer()])
    GuardedAgent(agent, rules(SMALL))
    with pytest.raises(UsageError, match="already guarded"):
        GuardedAgent(agent, rules(SMALL))


# ── tools ────────────────────────────────────────────────────────────────────────────────────


def test_tools_beyond_reach_are_an_error_when_the_agent_is_guarded() -> None:
    interpreter = CodeInterpreterTool(
        tool_config={"type": "code_interpreter", "container": {"type": "auto"}}
    )
    inner = Agent(name="inner", tools=[WebSearchTool()])
    agent, *_ = made([answer()], handoffs=[inner])
    agent.tools.append(interpreter)
    with pytest.raises(UsageError, match="code_interpreter of the agent 'clerk'"):
        GuardedAgent(agent, rules(SMALL))
    with pytest.raises(UsageError, match="web_search of the agent 'inner'"):
        GuardedAgent(agent, rules(SMALL), hosted=["code_interpreter"])
    GuardedAgent(agent, rules(SMALL), hosted=["code_interpreter", "web_search"])


@pytest.mark.parametrize("arguments", ["", "[]", "{", '{"amount": NaN}', '{"amount": "50"}', "{}"])
def test_arguments_that_cannot_be_judged_do_not_run(arguments: str) -> None:
    agent, desk, script = made([pay()], [answer()])
    original = agent.model.get_response

    async def damaged(*asked: Any, **options: Any) -> Any:
        response = await original(*asked, **options)
        for item in response.output:
            if item.type == "function_call":
                item.arguments = arguments
        return response

    agent.model.get_response = damaged
    run(agent, "G(pay -> !(args.amount > 10))")
    assert desk.ran == []
    assert len(script.shown[TASK]) == 2, "the run continues"


def test_a_default_is_judged() -> None:
    agent, _, script = made([Call("spend", {})], [answer()])
    spent: list[int] = []

    @function_tool(strict_mode=False)
    def spend(amount: int = 50) -> str:
        """Spends."""
        spent.append(amount)
        return "spent"

    agent.tools.append(spend)
    run(agent, "G(spend -> args.amount < 10)")
    assert spent == []
    assert "spend: Not executed." in script.shown[TASK][1]


def test_a_tool_that_is_made_by_hand_fails_the_run_as_before() -> None:
    async def broken(*_: Any) -> str:
        raise LookupError("gone")

    agent, *_ = made([Call("broken", {})], [answer()])
    agent.tools.append(FunctionTool("broken", "Fails.", {"type": "object"}, broken, False))
    with pytest.raises(Exception, match="gone"):
        run(agent, SMALL)


def test_a_timeout_is_a_failure() -> None:
    agent, desk, script = made([Call("slow", {})], [pay()], [answer()])

    @function_tool(timeout=0.01)
    async def slow() -> str:
        """Takes long."""
        await asyncio.sleep(5)
        return "done"

    agent.tools.append(slow)
    run(agent, "G(pay -> earlier call(slow, ok))")
    assert desk.ran == []
    assert "timed out" in script.shown[TASK][1]


def test_max_turns_counts_the_runs_after_a_refused_answer() -> None:
    agent, _, script = made(*[[answer("too early")]] * 9)
    guarded = GuardedAgent(agent, rules("F lookup", finish="met"), soft_block_limit=50)
    with pytest.raises(Exception, match="turns"):
        asyncio.run(guarded.run(TASK, max_turns=3))
    assert len(script.shown[TASK]) == 3


def test_the_synchronous_runner_is_guarded_too() -> None:
    agent, desk, _ = made([pay(50)], [answer()])
    with own_loop():
        GuardedAgent(agent, rules(SMALL)).run_sync(TASK)
    assert desk.ran == []
