"""The Claude Agent SDK, with Claude Code and a scripted model on loopback."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    ResultMessage,
    create_sdk_mcp_server,
    query,
    tool,
)
from claude_api import served
from desk import WITHOUT_CALLS, Seen
from driver import ASSIST, Driver, Setup

from bylaw.adapters.claude_agent_sdk import SessionGate
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call

SERVER = "desk"
NAMES = [f"mcp__{SERVER}__{name}" for name in ("lookup", "fetch", "pay")]
ARGUMENTS = {"lookup": "order", "fetch": "name", "pay": "amount"}


class GuardedDesk:
    """The options of sessions, their gate, and what they are made of."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.gate = SessionGate(setup.procedure, servers=[SERVER], **setup.options)
        self.numbers = itertools.count()
        self.at_once = asyncio.Semaphore(4)

    def tools(self) -> Any:
        """A server in this process, with the tools of the desk."""
        functions = self.setup.desk.functions(asynchronous=True)
        return create_sdk_mcp_server(SERVER, tools=[self._tool(each) for each in functions])

    def _tool(self, function: Any) -> Any:
        name = function.__name__
        schema = {
            "type": "object",
            "properties": {ARGUMENTS[name]: {}},
            "required": [ARGUMENTS[name]],
        }

        @tool(name, f"The tool {name}.", schema)
        async def run(args: dict[str, Any]) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": await function(**args)}]}

        return run

    def respond(self, task: str, request: Any) -> list[dict[str, Any]]:
        """The next turn of a conversation: that of a task, or of its helper."""
        shown = [_text(message["content"]) for message in request["messages"]]
        told = "\n".join(shown)
        if ASSIST in self.setup.scripts and ASSIST in shown[0]:
            task = ASSIST
        calls = self.setup.turns.next(told, task)
        if not calls:
            return [{"type": "text", "text": WITHOUT_CALLS}]
        if calls[-1].tool == FINAL_ANSWER:
            return [{"type": "text", "text": str(calls[-1].args["answer"])}]
        return [self._use(call) for call in calls]

    def _use(self, call: Call) -> dict[str, Any]:
        name, given = f"mcp__{SERVER}__{call.tool}", dict(call.args)
        if call.tool == "helper":
            name, given = "Agent", {"prompt": call.args["task"], "description": "Pays."}
            given |= {"subagent_type": "helper", "run_in_background": False}
        return {"type": "tool_use", "id": f"tu_{next(self.numbers)}", "name": name, "input": given}

    def options(self, task: str, address: str, home: str, **more: Any) -> Any:
        """The options of a session, with the gate."""
        env = {
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": task,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "HOME": home,
        }
        about: Any = {"cwd": home, "env": env, "setting_sources": [], "max_turns": 20}
        if self.setup.helper:
            helper = AgentDefinition(description="Pays.", prompt="Pay.", tools=NAMES)
            about["agents"] = {"helper": helper}
        allowed = [*NAMES, "Agent"]
        given = {"mcp_servers": {SERVER: self.tools()}, "allowed_tools": allowed}
        return self.gate.options(ClaudeAgentOptions(**given, **about, **more))


def _text(content: Any) -> str:
    """Everything that a message of a request shows the model."""
    if isinstance(content, str):
        return content
    found = []
    for block in content:
        if block.get("type") == "text":
            found.append(block["text"])
        elif block.get("type") == "tool_result":
            found.append(_text(block["content"]))
    return "\n".join(found)


class ClaudeAgent(Driver):
    """The hooks of a `SessionGate`."""

    turns_are_decided_together = False
    races = 4

    def agent(self, setup: Setup) -> GuardedDesk:
        return GuardedDesk(setup)

    async def run_async(self, agent: GuardedDesk, task: str) -> Seen:
        storage = agent.setup.storage
        with tempfile.TemporaryDirectory() as folder, served(agent.respond) as address:
            home = folder if storage is None else str(storage)
            more: Any = {}
            saved = None if storage is None else storage / f"{task}.json"
            if saved is not None and saved.exists():
                kept = json.loads(saved.read_text())
                agent.gate.restore(kept["session"], kept["guard"])
                more["resume"] = kept["session"]
            async with agent.at_once:
                last = await self.last(agent, task, agent.options(task, address, home, **more))
            return self.seen(agent, task, last, saved)

    async def last(self, agent: GuardedDesk, task: str, options: Any) -> Any:
        """The last message of a session."""
        found = None
        async for message in query(prompt=task, options=options):
            found = message if isinstance(message, ResultMessage) else found
        return found

    def seen(self, agent: GuardedDesk, task: str, last: Any, saved: Path | None) -> Seen:
        seen = Seen(agent.setup.desk.ran, agent.setup.turns.shown[task])
        seen.final = str(last.result)
        if saved is not None:
            kept = {"session": last.session_id, "guard": agent.gate.save(last.session_id)}
            saved.write_text(json.dumps(kept))
        report = agent.gate.report(last.session_id)
        seen.answer = None if report.trace is None else report.trace.answer
        seen.stopped, seen.score = report.stopped, report.score
        seen.note(report.to_dict()["events"])
        return seen
