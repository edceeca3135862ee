"""The gate's table by agents of smolagents with a scripted model. Needs smolagents."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

from case_script import GivenGuard, Script, ScriptEnded, steps_of
from driver import Turns
from gate_notation import Scenario
from plain_cases import ONE_BY_ONE, has_parallel_calls
from smolagents import CodeAgent, LogLevel, Tool, ToolCallingAgent
from smolagents.models import ChatMessage
from smolagents.utils import AgentError
from smolagents_driver import Scripted, ScriptedCode

from bylaw.adapters.smolagents import guarded
from bylaw.names import FINAL_ANSWER
from bylaw.values import Json


def _tool(script: Script, tool_name: str) -> Tool:
    named = script.arguments_of(tool_name)

    class CaseTool(Tool):  # type: ignore[misc]  # smolagents has no types
        name = tool_name
        description = "A tool of the table."
        inputs: ClassVar[Any] = {
            each: {"type": "any", "description": each, "nullable": True} for each in named
        }
        output_type = "any"
        skip_forward_signature_validation = True

        def forward(self, **args: Json) -> Json:
            return script.run(tool_name, args)

    return CaseTool()


class ToolCallingCases:
    """A guarded `ToolCallingAgent`."""

    agent: type[Any] = ToolCallingAgent
    model: type[Scripted] = Scripted

    def why_not(self, scenario: Scenario) -> str | None:
        for step in steps_of(scenario):
            if len(step.calls) > 1 and any(call.tool == FINAL_ANSWER for call in step.calls):
                return "smolagents accepts an answer only on its own"
            if any(not call.tool.isidentifier() for call in step.calls):
                return "smolagents' tools have identifiers for names"
            if len(step.calls) > 1 and any(call.error for call in step.calls):
                return "in smolagents, a tool that fails ends its turn"
        return None

    def __call__(self, script: Script) -> None:
        class Model(self.model):  # type: ignore[name-defined, misc]  # one of two
            def generate(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
                return self.said(script.next_turn())

        tools = [_tool(script, name) for name in script.names]
        options = {"max_steps": 50, "verbosity_level": LogLevel.OFF}
        agent = self.agent(tools=tools, model=Model(Turns({}), "go"), **options)
        with suppress(AgentError, ScriptEnded):  # the log has it
            guarded(agent, GivenGuard(script.guard)).run("go")


class CodeCases(ToolCallingCases):
    """A guarded `CodeAgent`: each call is a turn of its own."""

    agent = CodeAgent
    model = ScriptedCode

    def why_not(self, scenario: Scenario) -> str | None:
        return ONE_BY_ONE if has_parallel_calls(scenario) else super().why_not(scenario)
