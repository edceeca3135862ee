"""smolagents with a scripted model. Needs smolagents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from desk import WITHOUT_CALLS, Desk, Script, Seen
from smolagents import LogLevel, Model, Tool, tool
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
)

from bylaw.adapters.smolagents import GuardedCodeAgent, GuardedToolCallingAgent
from bylaw.enforcement.decision import ConstraintViolationError
from bylaw.enforcement.guard import Guard
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call


def tools_of(desk: Desk) -> list[Tool]:
    @tool
    def lookup(order: int) -> dict:  # type: ignore[type-arg]  # smolagents reads the annotation
        """Looks an order up.

        Args:
            order: its number
        """
        return desk.lookup(order)

    @tool
    def fetch(name: str) -> str:
        """Fetches a file.

        Args:
            name: its name
        """
        return desk.fetch(name)

    @tool
    def pay(amount: int) -> str:
        """Pays.

        Args:
            amount: how much
        """
        return desk.pay(amount)

    return [lookup, fetch, pay]


class Scripted(Model):
    """Says what the script says, and keeps what it was shown."""

    def __init__(self, script: Script) -> None:
        super().__init__(model_id="scripted")
        self.turns = iter(script)
        self.shown: list[str] = []

    def generate(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        self.shown.append("\n".join(str(message.content) for message in messages))
        return self.said(next(self.turns))

    def said(self, calls: Sequence[Call]) -> ChatMessage:
        return ChatMessage(
            MessageRole.ASSISTANT,
            content=None if calls else WITHOUT_CALLS,
            tool_calls=[
                ChatMessageToolCall(
                    ChatMessageToolCallFunction(name=call.tool, arguments=dict(call.args)),
                    call.id or f"call-{9 - index}",  # memory sorts by id: the order must not matter
                    "function",
                )
                for index, call in enumerate(calls)
            ]
            or None,
        )


class ScriptedCode(Scripted):
    """Writes the calls as code that survives refusals."""

    def said(self, calls: Sequence[Call]) -> ChatMessage:
        code = "".join(
            f"try:\n    print({call.tool}(*{list(call.args.values())!r}))\n"
            "except Exception as error:\n    print(error)\n"
            for call in calls
        )
        text = f"Thought: so.\n<code>\n{code}</code>" if calls else WITHOUT_CALLS
        return ChatMessage(MessageRole.ASSISTANT, content=text)


class ToolCalling:
    """`GuardedToolCallingAgent`."""

    turns_are_decided_together = True
    agent: type[Any] = GuardedToolCallingAgent
    model: type[Scripted] = Scripted

    def __call__(self, procedure: Procedure, script: Script, **options: Any) -> Seen:
        guard = Guard(procedure, **options)
        desk = Desk()
        seen = Seen(desk.ran)
        model = self.model(script)
        tools = tools_of(desk)
        agent = self.agent(tools=tools, model=model, guard=guard, verbosity_level=LogLevel.OFF)
        try:
            seen.answer = agent.run("go")
        except ConstraintViolationError as violation:
            seen.stopped = violation.violation_type == "stop"
        seen.shown = model.shown
        report = guard.finish()
        seen.score = report.score
        seen.note(report.to_dict()["events"])
        if self.turns_are_decided_together:
            seen.transcript = json.loads(json.dumps(agent.memory.get_full_steps(), default=str))
        return seen


class Code(ToolCalling):
    """`GuardedCodeAgent`: each call is a turn of its own."""

    turns_are_decided_together = False
    agent = GuardedCodeAgent
    model = ScriptedCode
