"""The LangChain adapter: other middleware, threads, interrupts, and attempts to get around it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from desk import Desk, answer, fetch, lookup, pay

from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call

pytestmark = pytest.mark.frameworks
pytest.importorskip("langchain", reason="NOT TESTED: langchain is not installed")

from driver import TASK, Setup  # noqa: E402  # after the framework is known to be there
from langchain.agents import create_agent  # noqa: E402
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware  # noqa: E402
from langchain.agents.structured_output import ToolStrategy  # noqa: E402
from langchain_core.messages import AIMessage, ToolMessage  # noqa: E402
from langchain_core.tools import ToolException, tool  # noqa: E402
from langchain_driver import ScriptedChat, said, tools_of  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.types import Command  # noqa: E402
from pydantic import BaseModel  # noqa: E402

from bylaw import UsageError  # noqa: E402
from bylaw.adapters.langchain import GateMiddleware  # noqa: E402

ASKED = {"messages": [("user", TASK)]}
THREAD: Any = {"configurable": {"thread_id": "1"}}
SMALL = "G(pay -> args.amount < 10)"
FOUND = "G(pay -> earlier call(lookup, ok))"


def _rules(rule: str, severity: str = "SOFT_BLOCK", **more: Any) -> Procedure:
    constraint = {"name": "rule", "rule": rule, "severity": severity}
    return Procedure.from_dict({"bylaw": 1, "constraints": [constraint], **more})


class Chat:
    """An agent with the tools of the desk."""

    def __init__(
        self,
        gate: GateMiddleware,
        script: Sequence[Sequence[Call]],
        *,
        outer: Sequence[Any] = (),
        inner: Sequence[Any] = (),
        tools: Sequence[Any] = (),
        asynchronous: bool = False,
        **more: Any,
    ) -> None:
        self.gate = gate
        self.desk = Desk(ToolException)
        self.setup = Setup(_rules("G true"), {TASK: script}, desk=self.desk)
        made = [*tools_of(self.setup, asynchronous=asynchronous), *tools]
        stack = [*outer, gate, *inner]
        model = ScriptedChat(turns=self.setup.turns)
        self.agent = create_agent(model, made, middleware=stack, **more)

    def invoke(self, given: Any = ASKED, config: Any = None) -> dict[str, Any]:
        result: dict[str, Any] = self.agent.invoke(given, config)
        return result

    @property
    def shown(self) -> list[str]:
        return self.setup.turns.shown[TASK]


# ── what was judged is what runs ─────────────────────────────────────────────────────────────


class RaisesTheAmount(AgentMiddleware):
    """Changes a call on its way to the tool."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        call = {**request.tool_call, "args": {"amount": 500}}
        return handler(request.override(tool_call=call))


class EditsTheMessage(AgentMiddleware):
    """Changes a call between the model and the tools."""

    def after_model(self, state: Any, runtime: Any) -> Any:
        message = state["messages"][-1]
        if not isinstance(message, AIMessage) or not message.tool_calls:
            return None
        raised = [{**call, "args": {"amount": 500}} for call in message.tool_calls]
        return {"messages": [message.model_copy(update={"tool_calls": raised})]}


class AddsACall(AgentMiddleware):
    """Adds a call that the model did not make."""

    def after_model(self, state: Any, runtime: Any) -> Any:
        message = state["messages"][-1]
        if not isinstance(message, AIMessage) or not message.tool_calls:
            return None
        added = {"name": "pay", "args": {"amount": 500}, "id": "added", "type": "tool_call"}
        return {
            "messages": [message.model_copy(update={"tool_calls": [*message.tool_calls, added]})]
        }


@pytest.mark.parametrize("changes", [RaisesTheAmount, EditsTheMessage])
def test_a_call_that_other_middleware_changes_is_judged_as_changed(changes: Any) -> None:
    chat = Chat(GateMiddleware(_rules(SMALL)), [[pay(5)], [answer()]], outer=[changes()])
    result = chat.invoke()
    assert chat.desk.ran == []
    assert "pay: Not executed." in chat.shown[1]
    report = chat.gate.report(result)
    assert [(event.action, event.call.args["amount"]) for event in report.events] == [
        ("block", 500)
    ]


def test_a_call_that_other_middleware_adds_is_judged() -> None:
    chat = Chat(GateMiddleware(_rules(SMALL)), [[lookup()], [answer()]], outer=[AddsACall()])
    chat.invoke()
    assert chat.desk.ran == [lookup()]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_no_tool_runs_if_other_middleware_is_nearer_to_it(asynchronous: bool) -> None:
    class Nearer(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            return handler(request)

        async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            return await handler(request)

    gate = GateMiddleware(_rules(SMALL))
    chat = Chat(gate, [[pay(5)], [answer()]], inner=[Nearer()], asynchronous=asynchronous)
    with pytest.raises(UsageError, match=r"List the gate last: middleware=\[…, gate\]"):
        asyncio.run(chat.agent.ainvoke(ASKED)) if asynchronous else chat.invoke()
    assert chat.desk.ran == []


def test_the_gate_knows_the_function_that_runs_a_tool() -> None:
    """The one thing of LangGraph's inside that the adapter relies on: where that function is."""
    from langgraph.prebuilt.tool_node import ToolNode

    from bylaw.adapters import langchain

    assert ToolNode.__module__ == langchain._NEAREST
    chat = Chat(GateMiddleware(_rules(SMALL)), [[pay(5)], [answer()]])
    chat.invoke()
    assert chat.desk.ran == [pay(5)], "the gate takes itself to be innermost, and is"


def test_a_retry_is_a_call_of_its_own() -> None:
    attempts = []

    @tool
    def flaky() -> str:
        """Fails."""
        attempts.append(1)
        raise ValueError("again")

    retry = ToolRetryMiddleware(max_retries=5, initial_delay=0, on_failure="continue")
    rules = _rules("CalledN(flaky, <= 2)", "SOFT_BLOCK")
    chat = Chat(GateMiddleware(rules), [[Call("flaky")], [answer()]], outer=[retry], tools=[flaky])
    chat.invoke()
    assert len(attempts) == 2


class Item(BaseModel):
    size: int = 3


def test_arguments_are_judged_with_the_schemas_conversions_and_defaults() -> None:
    received = []

    @tool
    def order(item: Item, note: str = "none") -> str:
        """Orders."""
        received.append((item.size, note))
        return "ordered"

    rule = 'G(order -> args.item.size = 3 & args.note = "none")'
    script = [[Call("order", {"item": {"size": "3"}})], [Call("order", {"item": {}})], [answer()]]
    chat = Chat(GateMiddleware(_rules(rule)), script, tools=[order])
    assert not chat.gate.report(chat.invoke()).events
    assert received == [(3, "none"), (3, "none")]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_arguments_that_are_not_json_are_refused_and_the_run_continues(value: float) -> None:
    calls = [Call("pay", {"amount": value}), lookup()]
    chat = Chat(GateMiddleware(_rules(SMALL)), [calls, [answer()]])
    chat.invoke()
    assert chat.desk.ran == [lookup()]
    assert "pay: Not executed. The arguments of 'pay' are not JSON" in chat.shown[1]


# ── the state ────────────────────────────────────────────────────────────────────────────────


def test_the_state_of_a_guard_cannot_be_given_as_input() -> None:
    looked = Chat(GateMiddleware(_rules(FOUND)), [[lookup()], [answer()]]).invoke()
    chat = Chat(GateMiddleware(_rules(FOUND)), [[pay()], [answer()]])
    chat.invoke({**ASKED, "bylaw": looked["bylaw"]})
    assert chat.desk.ran == []


def test_a_thread_that_someone_changed_does_not_continue() -> None:
    key, saver = b"k" * 32, InMemorySaver()
    gate = GateMiddleware(_rules(FOUND), key=key)
    Chat(gate, [[fetch()], [answer()]], checkpointer=saver).invoke(ASKED, THREAD)
    for other in (b"j" * 32, None):
        chat = Chat(GateMiddleware(_rules(FOUND), key=other), [[answer()]], checkpointer=saver)
        with pytest.raises(UsageError, match="saved run"):
            chat.invoke(ASKED, THREAD)
    chat = Chat(GateMiddleware(_rules(FOUND), key=key), [[answer("b")]], checkpointer=saver)
    assert chat.invoke(ASKED, THREAD)["messages"][-1].content == "b"


def test_a_thread_that_goes_back_has_the_guard_of_that_moment() -> None:
    script = [[lookup()], [answer()], [pay()], [answer()]]
    chat = Chat(GateMiddleware(_rules(FOUND)), script, checkpointer=InMemorySaver())
    chat.invoke(ASKED, THREAD)
    start = list(chat.agent.get_state_history(THREAD))[-2]  # before the lookup
    chat.agent.invoke(None, start.config)
    assert chat.desk.ran == [lookup()], "in this branch, nothing was looked up"


def test_who_continues_a_thread_at_the_same_time_has_another_guard() -> None:
    gate = GateMiddleware(_rules(FOUND))
    chat = Chat(gate, [[fetch()], [answer()]], checkpointer=InMemorySaver())
    state = chat.invoke(ASKED, THREAD)
    runs = [gate._runs.begin(state) for _ in range(2)]
    states = [{"bylaw": gate._runs.noted(each, save=True)} for each in runs]
    assert runs[0].run.guard is not runs[1].run.guard
    assert [gate._runs.of(each) for each in states] == runs


def test_a_stopped_thread_stays_stopped() -> None:
    script = [[pay(50)], [lookup()], [answer()]]
    gate = GateMiddleware(_rules(SMALL, "HARD_STOP"))
    chat = Chat(gate, script, checkpointer=InMemorySaver())
    for _ in range(2):
        result = chat.invoke(ASKED, THREAD)
        assert "The run ends here." in result["messages"][-1].content
    assert len(chat.shown) == 1
    assert chat.desk.ran == []


def test_nothing_stays_in_memory_when_runs_have_ended() -> None:
    chat = Chat(GateMiddleware(_rules(SMALL)), [[pay(5)], [answer()]])
    chat.invoke()
    assert len(chat.gate._runs) == 0


def test_a_run_whose_guard_is_gone_does_not_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    from bylaw.adapters import langchain_runs

    monkeypatch.setattr(langchain_runs, "MAX_LIVE", 0)
    chat = Chat(GateMiddleware(_rules(SMALL)), [[pay(5)], [answer()]])
    with pytest.raises(UsageError, match="no longer in memory"):
        chat.invoke()
    assert chat.desk.ran == []


def test_a_call_that_was_cancelled_is_decided_anew_when_the_thread_continues() -> None:
    once = "CalledN(fetch, <= 1)"
    saver, gate = InMemorySaver(), GateMiddleware(_rules(once))
    chat = Chat(gate, [[fetch("endless")], [answer()]], checkpointer=saver)
    with pytest.raises(KeyboardInterrupt):
        chat.invoke(ASKED, THREAD)
    result = chat.invoke(None, THREAD)
    assert chat.desk.ran == [fetch("endless")], "it may have happened: it does not happen again"
    assert result["messages"][-1].content == "done"


# ── asking a person ──────────────────────────────────────────────────────────────────────────


def test_an_interrupted_turn_continues_in_another_process_without_running_anything_twice() -> None:
    saver, script = InMemorySaver(), [[lookup(), pay(50)], [answer()]]
    chat = Chat(GateMiddleware(_rules(SMALL, "ASK")), script, checkpointer=saver)
    assert chat.invoke(ASKED, THREAD)["__interrupt__"]
    assert chat.desk.ran == [lookup()]
    other = Chat(GateMiddleware(_rules(SMALL, "ASK")), [[answer()]], checkpointer=saver)
    result = other.invoke(Command(resume=True), THREAD)
    assert other.desk.ran == [pay(50)]
    report = other.gate.report(result)
    assert [call.tool for call in report.trace.calls] == ["lookup", "pay"]
    assert all(call.ok for call in report.trace.calls)


@pytest.mark.parametrize("value", [False, 0, 1, "yes", {"approve": True}])
def test_only_true_approves(value: Any) -> None:
    gate = GateMiddleware(_rules(SMALL, "ASK"))
    chat = Chat(gate, [[pay(50)], [answer()]], checkpointer=InMemorySaver())
    chat.invoke(ASKED, THREAD)
    chat.invoke(Command(resume=value), THREAD)
    assert chat.desk.ran == []


def test_each_call_of_a_turn_is_asked_about() -> None:
    gate = GateMiddleware(_rules(SMALL, "ASK"))
    chat = Chat(gate, [[pay(50), pay(60)], [answer()]], checkpointer=InMemorySaver())
    asked = chat.invoke(ASKED, THREAD)["__interrupt__"]
    amounts = {each.value["arguments"]["amount"]: each.id for each in asked}
    assert set(amounts) == {50, 60}
    chat.invoke(Command(resume={amounts[50]: False, amounts[60]: True}), THREAD)
    assert chat.desk.ran == [pay(60)]


def test_an_approval_is_no_way_past_other_rules() -> None:
    large = {"name": "large", "rule": SMALL, "severity": "ASK"}
    found = {"name": "found", "rule": FOUND, "severity": "SOFT_BLOCK"}
    rules = Procedure.from_dict({"bylaw": 1, "constraints": [large, found]})
    chat = Chat(GateMiddleware(rules), [[pay(50)], [answer()]], checkpointer=InMemorySaver())
    assert "__interrupt__" not in chat.invoke(ASKED, THREAD)
    assert chat.desk.ran == []


def test_without_a_thread_nobody_can_be_asked() -> None:
    chat = Chat(GateMiddleware(_rules(SMALL, "ASK")), [[pay(50)], [answer()]])
    chat.invoke()
    assert chat.desk.ran == []
    assert "a person has to approve it first" in chat.shown[1]


# ── answers ──────────────────────────────────────────────────────────────────────────────────


class Answer(BaseModel):
    """The answer."""

    text: str


def test_a_structured_answer_is_held_back() -> None:
    structured = Call("Answer", {"text": "early"}), Call("Answer", {"text": "late"})
    script = [[structured[0]], [lookup()], [structured[1]]]
    gate = GateMiddleware(_rules("G(final_answer -> O lookup)"))
    chat = Chat(gate, script, response_format=ToolStrategy(Answer))
    result = chat.invoke()
    assert result["structured_response"] == Answer(text="late")
    assert chat.gate.report(result).trace.answer == '{"text": "late"}'
    assert "final_answer: Not executed." in chat.shown[1]


def test_a_result_that_is_the_answer_is_held_back() -> None:
    @tool(return_direct=True)
    def reply(text: str) -> str:
        """Answers."""
        return text

    script = [[Call("reply", {"text": "a"})], [lookup()], [Call("reply", {"text": "b"})]]
    gate = GateMiddleware(_rules("G(final_answer -> O lookup)"))
    chat = Chat(gate, script, tools=[reply])
    result = chat.invoke()
    assert result["messages"][-1].content == "b"
    assert chat.desk.ran == [lookup()]
    assert chat.gate.report(result).trace.answer == "b"


def test_a_rule_that_a_result_breaks_ends_the_run() -> None:
    rules = _rules("G !call(lookup, result.open = false)", "HARD_STOP")
    gate = GateMiddleware(rules, unenforceable="score")
    chat = Chat(gate, [[lookup(13)], [pay()], [answer()]])
    result = chat.invoke()
    assert chat.desk.ran == [lookup(13)]
    assert "The run ends here." in result["messages"][-1].content


# ── agents inside tools ──────────────────────────────────────────────────────────────────────


def _asking(inner: Chat) -> Any:
    @tool
    def helper(task: str) -> str:
        """Asks a helper."""
        return str(inner.invoke({"messages": [("user", task)]})["messages"][-1].content)

    return helper


def test_a_stop_in_a_helper_ends_the_whole_run() -> None:
    gate = GateMiddleware(_rules(SMALL, "HARD_STOP"))
    inner = Chat(gate, [[pay(50)], [pay(5)], [answer()]])
    script = [[Call("helper", {"task": TASK}), lookup()], [lookup(2)], [answer()]]
    outer = Chat(gate, script, tools=[_asking(inner)])
    result = outer.invoke()
    assert "The run ends here." in result["messages"][-1].content
    assert (len(inner.shown), len(outer.shown)) == (1, 1)
    assert inner.desk.ran == []


def test_helpers_at_the_same_time_share_the_run_and_not_their_decisions() -> None:
    gate = GateMiddleware(_rules("CalledN(pay, <= 2)"))
    helpers = [Chat(gate, [[pay(n)], [answer(str(n))]]) for n in range(3)]
    tools = []
    for number, each in enumerate(helpers):
        tools.append(_asking(each).model_copy(update={"name": f"helper_{number}"}))
    script = [[Call(f"helper_{n}", {"task": TASK}) for n in range(3)], [answer()]]
    outer = Chat(gate, script, tools=tools)
    report = gate.report(outer.invoke())
    assert sum(len(each.desk.ran) for each in helpers) == 2
    assert [event.action for event in report.events] == ["block"]


def test_an_agent_with_another_gate_has_a_run_of_its_own() -> None:
    inner = Chat(GateMiddleware(_rules("CalledN(pay, <= 1)")), [[pay(1)], [answer()]])
    gate = GateMiddleware(_rules("CalledN(pay, <= 1)"))
    outer = Chat(
        gate, [[pay(2)], [Call("helper", {"task": TASK})], [answer()]], tools=[_asking(inner)]
    )
    outer.invoke()
    assert (inner.desk.ran, outer.desk.ran) == ([pay(1)], [pay(2)])


# ── beyond the gate's reach ──────────────────────────────────────────────────────────────────


def test_tools_of_the_provider_have_to_be_named() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    chat = Chat(GateMiddleware(_rules(SMALL)), [[answer()]], tools=[search])
    with pytest.raises(UsageError, match=r"provider runs web_search, beyond the gate's reach"):
        chat.invoke()
    gate = GateMiddleware(_rules(SMALL), hosted=["web_search"])
    assert Chat(gate, [[answer()]], tools=[search]).invoke()["messages"][-1].content == "done"


def test_options_are_checked_when_the_gate_is_made() -> None:
    for wrong in ({"setting": "strict"}, {"run_id": "one"}, {"hints": "all"}):
        with pytest.raises(UsageError):
            GateMiddleware(_rules(SMALL), **wrong)  # type: ignore[arg-type]  # that is the point


def test_a_stream_shows_only_json() -> None:
    import json

    chat = Chat(GateMiddleware(_rules(SMALL)), [[pay(50)], [answer()]])
    for update in chat.agent.stream(ASKED, stream_mode="updates"):
        for values in update.values():
            json.dumps((values or {}).get("bylaw"))


def test_the_messages_are_those_that_providers_accept() -> None:
    """Every call is answered once, right after the message that made it."""
    script = [[lookup(), pay(50), pay(5)], [pay(60)], [answer()]]
    messages = Chat(GateMiddleware(_rules(SMALL)), script).invoke()["messages"]
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage) and message.tool_calls:
            ids = {call["id"] for call in message.tool_calls}
            replies = messages[place + 1 : place + 1 + len(ids)]
            assert all(isinstance(reply, ToolMessage) for reply in replies)
            assert {reply.tool_call_id for reply in replies} == ids
    assert said([]).content
