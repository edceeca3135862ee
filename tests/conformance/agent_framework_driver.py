"""The Microsoft Agent Framework with a scripted model. Needs agent-framework-core."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)
from desk import WITHOUT_CALLS, Seen
from driver import ASSIST, TASK, Driver, Setup

from bylaw.adapters.agent_framework import AgentGateMiddleware
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Says what the scripts say, and keeps what it was shown."""

    def __init__(self, turns: Any, task: str | None = None) -> None:
        about: Any = {"max_iterations": 40, "max_consecutive_errors_per_request": 40}
        about["include_detailed_errors"] = True  # the model is to read why a tool failed
        super().__init__(function_invocation_configuration=about)
        self.turns = turns
        self.task = task

    def _inner_get_response(self, *, messages: Any, stream: bool, **_: Any) -> Any:
        async def whole() -> Any:
            contents = said(self.turns.next(shown_in(messages), self.task))
            return ChatResponse(messages=[Message("assistant", contents)])

        if not stream:
            return whole()

        async def pieces() -> AsyncIterator[Any]:
            for content in (await whole()).messages[0].contents:
                yield ChatResponseUpdate(contents=[content], role="assistant")

        return ResponseStream(pieces(), finalizer=ChatResponse.from_updates)


def said(calls: Sequence[Call]) -> list[Any]:
    """A model's turn."""
    if not calls or calls[-1].tool == FINAL_ANSWER:
        return [Content.from_text(str(calls[-1].args["answer"]) if calls else WITHOUT_CALLS)]
    return [
        Content.from_function_call(
            call.id or f"call-{9 - index}", call.tool, arguments=json.dumps(dict(call.args))
        )
        for index, call in enumerate(calls)
    ]


def shown_in(messages: Any) -> str:
    """Everything that a model is shown."""
    contents = [content for message in messages for content in message.contents]
    return "\n".join(str(each.text or each.result or "") for each in contents)


class GuardedDesk:
    """An agent, its gate, and what it is made of."""

    def __init__(self, setup: Setup, *, asynchronous: bool) -> None:
        self.setup = setup
        self.gate = AgentGateMiddleware(setup.procedure, **setup.options)
        tools: list[Any] = [tool(each) for each in setup.desk.functions(asynchronous=asynchronous)]
        if setup.helper:
            helper = self._agent("helper", list(tools), ASSIST)
            tools.append(helper.as_tool(arg_name="task"))
        self.agent = self._agent("desk", tools, TASK if setup.helper else None)
        self.waiting: dict[str, tuple[Any, Any]] = {}

    def _agent(self, name: str, tools: list[Any], task: str | None) -> Any:
        client = ScriptedClient(self.setup.turns, task)
        return Agent(client=client, name=name, tools=tools, middleware=[self.gate])

    def session(self, task: str) -> Any:
        """The session of a task, with the guard that an earlier run has saved."""
        if self.setup.storage is None or not self._saved(task).exists():
            return AgentSession()
        saved = json.loads(self._saved(task).read_text())
        session = AgentSession.from_dict(saved["session"])
        self.gate.restore(session, saved["guard"])
        return session

    def keep(self, session: Any, task: str) -> None:
        """Saves the session and its guard."""
        if self.setup.storage is not None:
            saved = {"session": session.to_dict(), "guard": self.gate.save(session)}
            self._saved(task).write_text(json.dumps(saved))

    def _saved(self, task: str) -> Path:
        assert self.setup.storage is not None
        return self.setup.storage / f"{task}.json"


class AgentFramework(Driver):
    """The middleware `AgentGateMiddleware`."""

    def agent(self, setup: Setup) -> GuardedDesk:
        return GuardedDesk(setup, asynchronous=self.asynchronous)

    def run(self, agent: GuardedDesk, task: str) -> Seen:
        return asyncio.run(self.run_async(agent, task))

    async def run_async(self, agent: GuardedDesk, task: str) -> Seen:
        session = agent.session(task)
        return self._seen(agent, task, session, await agent.agent.run(task, session=session))

    def reply(self, agent: GuardedDesk, task: str, yes: bool) -> Seen:
        return asyncio.run(self.reply_async(agent, task, yes))

    async def reply_async(self, agent: GuardedDesk, task: str, yes: bool) -> Seen:
        session, requests = agent.waiting.pop(task)
        replies = [each.to_function_approval_response(yes) for each in requests]
        response = await agent.agent.run(Message("user", replies), session=session)
        return self._seen(agent, task, session, response)

    def _seen(self, agent: GuardedDesk, task: str, session: Any, response: Any) -> Seen:
        seen = Seen(agent.setup.desk.ran, agent.setup.turns.shown[task])
        if response.user_input_requests:
            agent.waiting[task] = session, response.user_input_requests
            about = [each.additional_properties for each in response.user_input_requests]
            seen.question = json.dumps(about)
            return seen
        agent.keep(session, task)
        seen.final = response.messages[-1].text
        report = agent.gate.report(session)
        seen.answer = None if report.trace is None else report.trace.answer
        seen.stopped, seen.score = report.stopped, report.score
        seen.note(report.to_dict()["events"])
        return seen
