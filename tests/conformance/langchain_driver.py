"""LangChain with a scripted model. Needs langchain."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from typing import Any

from desk import WITHOUT_CALLS, Seen
from driver import Driver, Setup, Turns
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, messages_to_dict
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bylaw.adapters.langchain import GateMiddleware
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call


class ScriptedChat(BaseChatModel):
    """Says what the script says, and keeps what it was shown."""

    turns: Any
    task: str | None = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> ScriptedChat:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        shown = "\n".join(str(message.content) for message in messages)
        message = said(self.turns.next(shown, self.task))
        return ChatResult(generations=[ChatGeneration(message=message)])


def said(calls: Sequence[Call]) -> AIMessage:
    """A model's turn."""
    if calls and calls[-1].tool == FINAL_ANSWER:
        return AIMessage(str(calls[-1].args["answer"]))
    asked: Any = [
        {
            "name": call.tool,
            "args": dict(call.args),
            "id": call.id or f"call-{9 - index}",  # the same in every turn, and out of order
            "type": "tool_call",
        }
        for index, call in enumerate(calls)
    ]
    return AIMessage("" if calls else WITHOUT_CALLS, tool_calls=asked)


def tools_of(setup: Setup, *, asynchronous: bool) -> list[BaseTool]:
    """The tools of the desk."""
    made = []
    for function in setup.desk.functions(asynchronous=asynchronous):
        as_coroutine = {"coroutine": function} if asynchronous else {"func": function}
        made.append(StructuredTool.from_function(**as_coroutine, handle_tool_error=True))
    return made


class GuardedChat:
    """An agent, its gate, and what it is made of."""

    def __init__(self, setup: Setup, *, asynchronous: bool) -> None:
        setup.desk.failure = ToolException  # LangChain's way for a tool to report a failure
        self.setup = setup
        self.gate = GateMiddleware(setup.procedure, **setup.options)
        self.saver = InMemorySaver()
        tools = tools_of(setup, asynchronous=asynchronous)
        if setup.helper:
            tools.append(self._helper(tools, asynchronous=asynchronous))
        self.agent = self._agent(setup.turns, tools, checkpointer=self.saver)
        if setup.storage is not None and (kept := setup.storage / "threads").exists():
            for name, value in pickle.loads(kept.read_bytes()).items():
                getattr(self.saver, name).update(value)

    def _agent(self, turns: Turns, tools: Any, **more: Any) -> Any:
        return create_agent(ScriptedChat(turns=turns), tools, middleware=[self.gate], **more)

    def _helper(self, tools: Sequence[BaseTool], *, asynchronous: bool) -> BaseTool:
        inner = self._agent(self.setup.turns, list(tools))

        def helper(task: str) -> str:
            """Asks a helper."""
            return str(inner.invoke({"messages": [("user", task)]})["messages"][-1].content)

        async def helper_async(task: str) -> str:
            """Asks a helper."""
            result = await inner.ainvoke({"messages": [("user", task)]})
            return str(result["messages"][-1].content)

        made = {"coroutine": helper_async} if asynchronous else {"func": helper}
        return StructuredTool.from_function(**made, name="helper")

    def keep(self) -> None:
        """Writes the conversations to the disk, as a database would."""
        if self.setup.storage is not None:
            kept = {"blobs": dict(self.saver.blobs), "writes": dict(self.saver.writes)}
            threads = {
                thread: {place: dict(points) for place, points in places.items()}
                for thread, places in self.saver.storage.items()
            }
            (self.setup.storage / "threads").write_bytes(pickle.dumps({**kept, "storage": threads}))


class LangChain(Driver):
    """The middleware `GateMiddleware`, with the agent of `create_agent`."""

    def agent(self, setup: Setup) -> GuardedChat:
        return GuardedChat(setup, asynchronous=self.asynchronous)

    def run(self, agent: GuardedChat, task: str) -> Seen:
        return self.seen(agent, task, agent.agent.invoke(_asked(task), _thread(task)))

    async def run_async(self, agent: GuardedChat, task: str) -> Seen:
        return self.seen(agent, task, await agent.agent.ainvoke(_asked(task), _thread(task)))

    def reply(self, agent: GuardedChat, task: str, yes: bool) -> Seen:
        return self.seen(agent, task, agent.agent.invoke(Command(resume=yes), _thread(task)))

    async def reply_async(self, agent: GuardedChat, task: str, yes: bool) -> Seen:
        result = await agent.agent.ainvoke(Command(resume=yes), _thread(task))
        return self.seen(agent, task, result)

    def seen(self, agent: GuardedChat, task: str, result: dict[str, Any]) -> Seen:
        agent.keep()
        seen = Seen(agent.setup.desk.ran, agent.setup.turns.shown[task])
        if waiting := result.get("__interrupt__"):
            seen.question = waiting[0].value
            return seen
        report = agent.gate.report(result)
        seen.final = str(result["messages"][-1].content)
        seen.answer = None if report.trace is None else report.trace.answer
        seen.stopped, seen.score = report.stopped, report.score
        seen.note(report.to_dict()["events"])
        seen.transcript = json.loads(json.dumps(messages_to_dict(result["messages"])))
        return seen


def _asked(task: str) -> dict[str, Any]:
    return {"messages": [("user", task)]}


def _thread(task: str) -> Any:
    return {"configurable": {"thread_id": task}}
