"""smolagents with a scripted model. Needs smolagents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from desk import WITHOUT_CALLS, Seen
from driver import ASSIST, Driver, Setup, Turns
from smolagents import CodeAgent, LogLevel, Model, ToolCallingAgent, tool
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
)

from bylaw.adapters.gated_run import GuardSource
from bylaw.adapters.smolagents import guarded
from bylaw.trace.event import Call

HELPER = {"name": "helper", "description": "Pays."}


def text_of(content: Any) -> str:
    """The text of a message, which comes in parts."""
    parts = content if isinstance(content, list) else [{"text": content}]
    return "\n".join(str(part.get("text", "")) for part in parts)


class Scripted(Model):
    """Says what the script says, and keeps what it was shown. Its agent has one conversation."""

    def __init__(self, turns: Turns, task: str) -> None:
        super().__init__(model_id="scripted")
        self.turns, self.task = turns, task

    def generate(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        shown = "\n".join(text_of(message.content) for message in messages)
        return self.said(self.turns.next(shown, self.task))

    def said(self, calls: Sequence[Call]) -> ChatMessage:
        made = [
            ChatMessageToolCall(
                ChatMessageToolCallFunction(name=call.tool, arguments=dict(call.args)),
                call.id or f"call-{9 - index}",  # memory sorts by id: the order must not matter
                "function",
            )
            for index, call in enumerate(calls)
        ]
        text = None if calls else WITHOUT_CALLS
        return ChatMessage(MessageRole.ASSISTANT, content=text, tool_calls=made or None)


class ScriptedCode(Scripted):
    """Writes the calls as code that survives refusals."""

    def said(self, calls: Sequence[Call]) -> ChatMessage:
        code = "".join(
            f"try:\n    print({call.tool}(**{dict(call.args)!r}))\n"
            "except Exception as error:\n    print(error)\n"
            for call in calls
        )
        text = f"Thought: so.\n<code>\n{code}</code>" if calls else WITHOUT_CALLS
        return ChatMessage(MessageRole.ASSISTANT, content=text)


class ToolCalling(Driver):
    """A guarded `ToolCallingAgent`. There is an agent for each conversation."""

    text_is_the_answer = False
    kind: type[Any] = ToolCallingAgent
    model: type[Scripted] = Scripted

    def agent(self, setup: Setup) -> tuple[Setup, list[Any], GuardSource]:
        tools = [tool(each) for each in setup.desk.functions(asynchronous=False)]
        return setup, tools, GuardSource(setup.procedure, setup.options)

    def made(self, setup: Setup, tools: list[Any], task: str, **more: Any) -> Any:
        """An agent without a gate."""
        model = self.model(setup.turns, task)
        return self.kind(tools=tools, model=model, verbosity_level=LogLevel.OFF, **more)

    def run(self, agent: tuple[Setup, list[Any], GuardSource], task: str) -> Seen:
        setup, tools, source = agent
        team = [self.made(setup, tools, ASSIST, **HELPER)] if setup.helper else []
        at_work = guarded(self.made(setup, tools, task, managed_agents=team), source)
        final = at_work.run(task)
        report = at_work.report()
        seen = Seen(setup.desk.ran, setup.turns.shown[task], final=str(final))
        seen.answer = None if report.trace is None else report.trace.answer
        seen.stopped, seen.score = report.stopped, report.score
        seen.note(report.to_dict()["events"])
        if self.turns_are_decided_together:
            seen.transcript = json.loads(json.dumps(at_work.memory.get_full_steps(), default=str))
        return seen


class Code(ToolCalling):
    """A guarded `CodeAgent`: each call is a turn of its own."""

    turns_are_decided_together = False
    kind = CodeAgent
    model = ScriptedCode
