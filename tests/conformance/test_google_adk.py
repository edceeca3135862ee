"""Behaviour specific to Google's ADK: transfers, other plugins, tools of the provider."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from desk import Script, answer, lookup, pay
from driver import TASK, Setup
from scenarios import LOOKED_UP, SMALL, rules

from bylaw.errors import UsageError
from bylaw.trace.event import Call

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _needed() -> None:
    pytest.importorskip("google.adk", reason="NOT TESTED: google-adk is not installed")


def _run(gate: Any, setup: Setup, **about: Any) -> list[Any]:
    """The events of a run of an agent with the desk's tools."""
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.runners import InMemoryRunner
    from google_adk_driver import ScriptedLlm, _message

    plugins = about.pop("plugins", [gate])
    model = ScriptedLlm(model="scripted", turns=setup.turns, task=TASK)
    tools = [*setup.desk.functions(asynchronous=True), *about.pop("more_tools", [])]
    agent = LlmAgent(name="desk", model=model, tools=tools, **about)
    runner = InMemoryRunner(app=App(name="desk", root_agent=agent, plugins=plugins))

    async def work() -> list[Any]:
        session = await runner.session_service.create_session(app_name="desk", user_id="u")
        setup.session = session  # type: ignore[attr-defined]  # for the report
        given: Any = {"user_id": "u", "session_id": session.id, "new_message": _message(TASK)}
        return [event async for event in runner.run_async(**given)]

    return asyncio.run(work())


def _setup(script: Script, rule: str = LOOKED_UP) -> Setup:
    return Setup(rules(rule), {TASK: script})


def _gate(setup: Setup, **options: Any) -> Any:
    from bylaw.adapters.google_adk import GatePlugin

    return GatePlugin(setup.procedure, **options)


def test_an_agent_that_the_work_is_transferred_to_is_judged_in_the_same_run() -> None:
    from google.adk.agents import LlmAgent
    from google_adk_driver import ScriptedLlm

    transfer = Call("transfer_to_agent", {"agent_name": "cashier"})
    setup = _setup([[pay(1)], [lookup()], [transfer], [pay(2)], [answer()]])
    model = ScriptedLlm(model="scripted", turns=setup.turns, task=TASK)
    tools = setup.desk.functions(asynchronous=True)
    cashier = LlmAgent(name="cashier", model=model, tools=tools, description="Pays.")
    gate = _gate(setup)
    _run(gate, setup, sub_agents=[cashier])
    assert setup.desk.ran == [lookup(), pay(2)]
    report = gate.report(setup.session)  # type: ignore[attr-defined]  # set by `_run`
    assert report.trace.answer == "done"
    assert [call.agent for call in report.trace.calls] == ["desk", "desk", "cashier"]


def test_another_plugin_is_not_nearer_to_the_tools() -> None:
    from google.adk.plugins.base_plugin import BasePlugin

    class Doubling(BasePlugin):
        async def before_tool_callback(self, *, tool: Any, tool_args: Any, **_: Any) -> None:
            tool_args["amount"] *= 2

    setup = _setup([[pay(9)], [pay(4)], [answer()]], SMALL)
    gate = _gate(setup)
    with pytest.raises(RuntimeError, match="nearer to the tools"):
        _run(gate, setup, plugins=[gate, Doubling(name="doubling")])
    assert setup.desk.ran == []
    setup = _setup([[pay(9)], [pay(4)], [answer()]], SMALL)
    gate = _gate(setup)
    _run(gate, setup, plugins=[Doubling(name="doubling"), gate])
    assert setup.desk.ran == [pay(8)], "a call that was changed is decided as it is then"


def test_an_agent_that_may_change_calls_runs_no_tool() -> None:
    def doubling(tool: Any, args: Any, tool_context: Any) -> None:
        args["amount"] *= 2

    setup = _setup([[pay(9)], [answer()]], SMALL)
    gate = _gate(setup)
    with pytest.raises(RuntimeError, match="may change calls"):
        _run(gate, setup, before_tool_callback=doubling)
    assert setup.desk.ran == []


def test_tools_of_the_provider_have_to_be_named() -> None:
    from google.adk.models import LlmRequest
    from google.genai import types

    from bylaw.adapters.google_adk import GatePlugin, _hosted_tools

    config = types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())])
    request = LlmRequest(config=config)
    assert _hosted_tools(request) == {"google_search"}
    context: Any = type("Context", (), {"session": _Session()})()
    about: Any = {"callback_context": context, "llm_request": request}
    with pytest.raises(UsageError, match="beyond the gate's reach"):
        asyncio.run(GatePlugin(rules(SMALL)).before_model_callback(**about))
    gate = GatePlugin(rules(SMALL), hosted=["google_search"])
    assert asyncio.run(gate.before_model_callback(**about)) is None


class _Session:
    app_name, user_id, id = "desk", "u", "s"


def test_a_session_goes_on_with_its_guard() -> None:
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.runners import InMemoryRunner
    from google_adk_driver import ScriptedLlm, _message

    setup = _setup([[lookup()], [answer()], [pay()], [answer("paid")]])
    gate = _gate(setup)
    model = ScriptedLlm(model="scripted", turns=setup.turns, task=TASK)
    tools = setup.desk.functions(asynchronous=True)
    agent = LlmAgent(name="desk", model=model, tools=tools)
    runner = InMemoryRunner(app=App(name="desk", root_agent=agent, plugins=[gate]))

    async def work() -> Any:
        session = await runner.session_service.create_session(app_name="desk", user_id="u")
        for text in ("look it up", "pay"):
            given: Any = {"user_id": "u", "session_id": session.id, "new_message": _message(text)}
            async for _ in runner.run_async(**given):
                pass
        return session

    session = asyncio.run(work())
    assert setup.desk.ran == [lookup(), pay()]
    assert gate.report(session).trace.answer == "paid"
    with pytest.raises(UsageError, match="not in memory"):
        _gate(setup).report(session)


def test_calls_with_one_id_are_told_apart() -> None:
    """People approve ids: the approval of one call must not be that of another."""
    twice = [Call("pay", {"amount": 50}, id="x"), Call("pay", {"amount": 60}, id="x")]
    setup = Setup(rules(SMALL, "ASK"), {TASK: [twice, [answer()]]})
    events = _run(_gate(setup), setup)
    asked = [
        call for event in events for call in event.get_function_calls() if "confirm" in call.name
    ]
    ids = [call.args["originalFunctionCall"]["id"] for call in asked]
    assert len(set(ids)) == 2
    amounts = [call.args["toolConfirmation"]["payload"]["arguments"] for call in asked]
    assert amounts == [{"amount": 50}, {"amount": 60}]
    assert setup.desk.ran == []


def test_defaults_are_judged() -> None:
    async def send(to: str, copies: int = 3) -> str:
        """Sends a letter."""
        return f"sent {copies}"

    setup = _setup([[Call("send", {"to": "Ada"})], [answer()]], "G(send -> args.copies < 3)")
    gate = _gate(setup)
    _run(gate, setup, more_tools=[send])
    report = gate.report(setup.session)  # type: ignore[attr-defined]  # set by `_run`
    assert report.trace.calls == ()


def test_private_names_are_where_they_were() -> None:
    """The adapter builds on one: when ADK moves it, this says so."""
    import inspect

    from google.adk.agents.llm_agent import LlmAgent
    from google.adk.tools.tool_context import ToolContext

    sources = [inspect.getsource(kind) for kind in ToolContext.__mro__[:-1]]
    assert any("self._invocation_context = " in source for source in sources)
    assert hasattr(LlmAgent, "canonical_before_tool_callbacks")
