"""AgentDojo pipelines behind a gate.

    from agentdojo.agent_pipeline import AgentPipeline, InitQuery, ToolsExecutionLoop
    from bylaw.adapters.agentdojo import GatedToolsExecutor

    tools = ToolsExecutionLoop([GatedToolsExecutor("banking.yaml"), llm])
    pipeline = AgentPipeline([InitQuery(), llm, tools])

The element takes the place of AgentDojo's `ToolsExecutor`, and runs what the gate allows in the
same way. A refused call is answered with the refusal and does not run. A stop raises AgentDojo's
`AbortAgentError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

try:
    from agentdojo.agent_pipeline.errors import AbortAgentError
    from agentdojo.agent_pipeline.tool_execution import ToolsExecutor
    from agentdojo.types import ChatToolResultMessage, text_content_block_from_string
except ImportError as error:
    raise ImportError("agentdojo is not installed: pip install 'bylaw[agentdojo]'") from error

from bylaw.adapters.gated_run import GatedRun, GuardSource, ProcedureSource
from bylaw.enforcement.decision import Decision
from bylaw.trace.event import Call

_RUN: Final = "bylaw"
"""The key of the run among a pipeline's extra arguments, which live as long as the run."""


class _DojoRun:
    """One run of a pipeline, and the number of its messages that the gate has seen."""

    def __init__(self, run: GatedRun) -> None:
        self.run: Final = run
        self._seen = 0

    def take_in(self, messages: Sequence[Any]) -> None:
        """Tells the gate what the system and the user said since the last turn."""
        for message in messages[self._seen :]:
            if message["role"] in ("system", "user"):
                self.run.guard.say(message["role"], text_of(message))
        self._seen = len(messages)


class GatedToolsExecutor(ToolsExecutor):
    """AgentDojo's tool executor, with every turn decided by a gate first. Options are Guard's."""

    def __init__(self, procedure: ProcedureSource, **options: Any) -> None:
        formatter = options.pop("tool_output_formatter", None)
        super().__init__(*([] if formatter is None else [formatter]))
        self._source: Final = GuardSource(procedure, options)

    def query(
        self, query: Any, runtime: Any, env: Any, messages: Any = (), extra_args: Any = None
    ) -> Any:
        """Decides the calls of the last message, and runs those that are allowed."""
        extra_args = {} if extra_args is None else extra_args
        last = messages[-1] if messages else {"role": "none"}
        if last["role"] != "assistant" or not last.get("tool_calls"):
            return query, runtime, env, messages, extra_args
        gated: _DojoRun = extra_args.get(_RUN) or _DojoRun(GatedRun(self._source.new_guard()))
        extra_args = {**extra_args, _RUN: gated}
        gated.take_in(messages)
        calls = last["tool_calls"]
        decisions = gated.run.decide([_as_call(call) for call in calls], text_of(last))
        stopped = next((each for each in decisions if each.action == "stop"), None)
        if stopped is not None:
            raise AbortAgentError(stopped.message, list(messages), env)
        results = [
            self._run_one(gated, decision, call, runtime, env)
            for decision, call in zip(decisions, calls, strict=True)
        ]
        return query, runtime, env, [*messages, *results], extra_args

    def _run_one(
        self, gated: _DojoRun, decision: Decision, call: Any, runtime: Any, env: Any
    ) -> Any:
        """The message that answers one call."""
        if not decision.allowed:
            return ChatToolResultMessage(
                role="tool",
                content=[text_content_block_from_string(decision.message)],
                tool_call_id=call.id,
                tool_call=call,
                error=None,
            )
        gated.run.claim(decision.call)
        alone = [{"role": "assistant", "content": None, "tool_calls": [call]}]
        _, _, _, (_, result), _ = super().query("", runtime, env, alone, {})
        gated.run.record(decision, text_of(result), result["error"])
        return result


def text_of(message: Any) -> str:
    """The text of a message, whose content is a list of blocks."""
    return "".join(block.get("content") or "" for block in message.get("content") or ())


def _as_call(call: Any) -> Call:
    return Call(call.function, dict(call.args), id=call.id or None)
