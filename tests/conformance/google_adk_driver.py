"""Google's Agent Development Kit with a scripted model. Needs google-adk."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from desk import WITHOUT_CALLS, Seen
from driver import ASSIST, TASK, Driver, Setup
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from bylaw.adapters.google_adk import GatePlugin
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call

APP, USER = "desk", "ada"
CONFIRM = "adk_request_confirmation"


def said(calls: Sequence[Call]) -> Any:
    """A model's turn."""
    if calls and calls[-1].tool == FINAL_ANSWER:
        parts = [types.Part(text=str(calls[-1].args["answer"]))]
    else:
        made = [types.FunctionCall(name=c.tool, args=dict(c.args), id=c.id) for c in calls]
        parts = [types.Part(function_call=each) for each in made]
    parts = parts or [types.Part(text=WITHOUT_CALLS)]
    return LlmResponse(content=types.Content(role="model", parts=parts))


def shown_in(contents: Any) -> str:
    """Everything that a model is shown."""
    found = []
    for content in contents:
        for part in content.parts or ():
            if part.text:
                found.append(part.text)
            if part.function_response:
                response = part.function_response.response or {}
                found += map(str, response.values())
    return "\n".join(found)


class ScriptedLlm(BaseLlm):
    """Says what the scripts say, and keeps what it was shown."""

    turns: Any
    task: str | None = None

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncIterator[Any]:
        yield said(self.turns.next(shown_in(llm_request.contents), self.task))


async def told(tool: Any, args: Any, tool_context: Any, error: Exception) -> Any:
    """The model reads the error of a tool; by default ADK ends the run."""
    return {"error": str(error)}


class GuardedDesk:
    """A runner, its gate, and what it is made of."""

    def __init__(self, setup: Setup, *, asynchronous: bool) -> None:
        self.setup = setup
        self.gate = GatePlugin(setup.procedure, **setup.options)
        tools: list[Any] = setup.desk.functions(asynchronous=asynchronous)
        if setup.helper:
            helper = self._agent("helper", list(tools), ASSIST)
            tools.append(HelperTool(helper))
        self.sessions: Any = InMemorySessionService()
        if setup.storage is not None:
            self.sessions = SqliteSessionService(str(setup.storage / "sessions.db"))
        agent = self._agent("desk", tools, TASK if setup.helper else None)
        app = App(name=APP, root_agent=agent, plugins=[self.gate])
        self.runner = Runner(app=app, session_service=self.sessions)
        self.waiting: dict[str, Any] = {}

    async def session(self, task: str) -> Any:
        """The session of a task, with the guard that an earlier run has saved."""
        about = {"app_name": APP, "user_id": USER, "session_id": task}
        session = await self.sessions.get_session(**about)
        if session is None:
            return await self.sessions.create_session(**about)
        self.gate.restore(session, json.loads(self._saved(task).read_text()))
        return session

    def keep(self, session: Any) -> None:
        """Saves the guard beside the session."""
        if self.setup.storage is not None:
            self._saved(session.id).write_text(json.dumps(self.gate.save(session)))

    def _saved(self, task: str) -> Path:
        assert self.setup.storage is not None
        return self.setup.storage / f"{task}.json"

    def _agent(self, name: str, tools: list[Any], task: str | None) -> Any:
        model = ScriptedLlm(model="scripted", turns=self.setup.turns, task=task)
        about: Any = {"on_tool_error_callback": told, "description": "Works."}
        return LlmAgent(name=name, model=model, tools=tools, **about)


class HelperTool(AgentTool):
    """An agent as a tool, whose argument is `task`."""

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return await super().run_async(args={"request": args["task"]}, tool_context=tool_context)


class GoogleADK(Driver):
    """The plugin `GatePlugin`."""

    def agent(self, setup: Setup) -> GuardedDesk:
        return GuardedDesk(setup, asynchronous=self.asynchronous)

    def run(self, agent: GuardedDesk, task: str) -> Seen:
        session = asyncio.run(agent.session(task))
        return self._finished(agent, session, self._events(agent, task, _message(task)))

    async def run_async(self, agent: GuardedDesk, task: str) -> Seen:
        session = await agent.session(task)
        events = await self._events_async(agent, task, _message(task))
        return self._finished(agent, session, events)

    def reply(self, agent: GuardedDesk, task: str, yes: bool) -> Seen:
        session, asked = agent.waiting.pop(task)
        return self._finished(agent, session, self._events(agent, task, _reply(asked, yes)))

    async def reply_async(self, agent: GuardedDesk, task: str, yes: bool) -> Seen:
        session, asked = agent.waiting.pop(task)
        events = await self._events_async(agent, task, _reply(asked, yes))
        return self._finished(agent, session, events)

    def _events(self, agent: GuardedDesk, task: str, message: Any) -> list[Any]:
        about: Any = {"user_id": USER, "session_id": task, "new_message": message}
        with own_warnings():
            return list(agent.runner.run(**about))

    async def _events_async(self, agent: GuardedDesk, task: str, message: Any) -> list[Any]:
        about: Any = {"user_id": USER, "session_id": task, "new_message": message}
        with own_warnings():
            return [event async for event in agent.runner.run_async(**about)]

    def _finished(self, agent: GuardedDesk, session: Any, events: list[Any]) -> Seen:
        task = session.id
        seen = Seen(agent.setup.desk.ran, agent.setup.turns.shown[task])
        asked = [c for e in events for c in e.get_function_calls() if c.name == CONFIRM]
        if asked:
            agent.waiting[task] = session, asked[0]
            seen.question = json.dumps(asked[0].args, default=str)
            return seen
        agent.keep(session)
        seen.final = "\n".join(p.text or "" for p in events[-1].content.parts)
        report = agent.gate.report(session)
        seen.answer = None if report.trace is None else report.trace.answer
        seen.stopped, seen.score = report.stopped, report.score
        seen.note(report.to_dict()["events"])
        return seen


@contextmanager
def own_warnings() -> Iterator[None]:
    """ADK warns of what it does itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _message(text: str) -> Any:
    return types.Content(role="user", parts=[types.Part(text=text)])


def _reply(asked: Any, yes: bool) -> Any:
    response = types.FunctionResponse(id=asked.id, name=CONFIRM, response={"confirmed": yes})
    return types.Content(role="user", parts=[types.Part(function_response=response)])
