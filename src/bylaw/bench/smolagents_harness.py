"""The paper's harness: a chat model inside a guarded smolagents agent.

smolagents builds the prompt, keeps the memory, and asks for an answer when the steps run out. The
gate, the tools, the budget and the record are the same as in the built-in loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from smolagents import LogLevel, Tool, ToolCallingAgent
from smolagents.memory import ActionStep
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
    Model,
)
from smolagents.monitoring import TokenUsage
from smolagents.utils import AgentGenerationError, AgentMaxStepsError

from bylaw.adapters.smolagents import GuardSource, guarded
from bylaw.agents.loop import Episode, RefusedCall, outcome_text, refusal_text
from bylaw.agents.protocol import Chat, ChatModel, Reply, ToolSpec
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.guard import Guard
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.trace.refusal_mark import unmarked
from bylaw.values import Json

_ROLES = {
    MessageRole.SYSTEM: "system",
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.TOOL_CALL: "assistant",
    MessageRole.TOOL_RESPONSE: "user",
}
"""The chat roles that smolagents' roles are sent as, following smolagents itself."""


def run_episode(episode: Episode, model: ChatModel) -> None:
    """Runs a whole episode."""
    (task,) = (m["content"] for m in episode.conversation.messages if m["role"] == "user")
    tools = [each for each in episode.conversation.tools if each.name != FINAL_ANSWER]
    agent = ToolCallingAgent(
        tools=[_EpisodeTool(episode, each) for each in tools],
        model=_EpisodeModel(episode, model),
        max_steps=episode.max_turns,
        verbosity_level=LogLevel.OFF,
    )
    source = _EpisodeSource(episode)
    try:
        answer = guarded(agent, source).run(task)
    except _BudgetSpentError:
        episode.ending = "truncated"
    except AgentGenerationError as error:
        episode.failure = episode.failure or str(error)
    else:
        if source.guard.stopped or not source.guard.finished:
            episode.ending = "stopped"
            return
        last = [step for step in agent.memory.steps if isinstance(step, ActionStep)][-1]
        episode.answer = answer
        out_of_steps = isinstance(last.error, AgentMaxStepsError)
        episode.ending = "truncated" if out_of_steps else "answered"


class _BudgetSpentError(BaseException):
    """Ends a run whose budget is spent. A BaseException, so that no agent catches it."""


class _RecordingGuard(Guard):
    """A guard that records executed and refused calls in the episode."""

    def __init__(self, episode: Episode) -> None:
        inner = episode.guard
        assert isinstance(inner, Guard), "benchmark runs are guarded, if only to be counted"
        options: dict[str, Any] = {"hints": inner.hints, "outstanding": inner.outstanding}
        super().__init__(inner.procedure, inner.setting, clock=None, **options)
        self._episode = episode
        episode.guard = self

    def propose(self, calls: Iterable[Call], *, same_turn: bool = False) -> list[Decision]:
        """Decides a turn, within the budget."""
        listed = list(calls)
        spent = len(self._episode.executed) >= self._episode.budget
        if spent and any(call.tool != FINAL_ANSWER for call in listed):
            raise _BudgetSpentError
        return [self._noted(decision) for decision in super().propose(listed, same_turn=same_turn)]

    def _noted(self, decision: Decision) -> Decision:
        """The decision, recorded if it is a refusal; without the mark, which is random."""
        if decision.allowed:
            return decision
        broken = tuple(each.constraint.name for each in decision.violations)
        decision = replace(decision, message=unmarked(decision.message))
        self._episode.answer_call(decision.call, refusal_text(decision.action, decision.message))
        self._episode.refused.append(
            RefusedCall(decision.turn, decision.call, decision.action, decision.message, broken)
        )
        return decision

    def record(
        self, decision: Decision, result: Json, *, error: str | None = None, **told: Any
    ) -> None:
        """Records a result."""
        super().record(decision, result, error=error, **told)
        if decision.call.tool != FINAL_ANSWER:
            call = decision.call
            made = Call(call.tool, call.args, result, call.step, error, call.id)
            self._episode.executed.append(made)
            self._episode.events.append(made)
            self._episode.answer_call(call, outcome_text(result, error))


class _EpisodeSource(GuardSource):
    """The guard of an episode, which is one run."""

    def __init__(self, episode: Episode) -> None:
        self.guard = _RecordingGuard(episode)
        super().__init__(self.guard.procedure, {})

    def new_guard(self) -> Guard:
        """The guard of the only run."""
        return self.guard


class _EpisodeTool(Tool):
    """A tool of the benchmark as a smolagents tool."""

    output_type = "string"
    skip_forward_signature_validation = True

    def __init__(self, episode: Episode, spec: ToolSpec) -> None:
        self.name, self.description = spec.name, spec.description
        self.inputs = {
            name: {"description": f"{name}, an argument", **schema}
            for name, schema in spec.parameters.items()
        }
        self._run = episode.tools[spec.name]
        super().__init__()

    def forward(self, **arguments: Any) -> str:
        """Runs the tool."""
        return self._run(**arguments)


class _EpisodeModel(Model):
    """A chat model as a smolagents model, for one run."""

    def __init__(self, episode: Episode, model: ChatModel) -> None:
        super().__init__(model_id=model.name)
        self._episode = episode
        self._inner = model

    def generate(self, messages: Sequence[ChatMessage], *_: Any, **__: Any) -> ChatMessage:
        """The model's next turn."""
        asked = self._episode.conversation
        said = [{"role": _ROLES[m.role], "content": _text(m.content)} for m in messages]
        if self._inner.about.get("simulated"):  # these read the outcomes of calls, and not prose
            said = asked.messages
        (reply,) = self._inner.reply([Chat(asked.key, asked.tools, said, asked.seed)])
        return self._taken(reply)

    def _taken(self, reply: Reply) -> ChatMessage:
        episode = self._episode
        if reply.failure is not None or reply.full:
            episode.failure = reply.failure
            if reply.full:
                raise _BudgetSpentError
            raise RuntimeError(reply.failure)
        episode.turns += 1
        episode.conversation.messages.append(reply.to_message())
        episode.malformed += len(reply.malformed)
        episode.input_tokens += reply.input_tokens
        episode.output_tokens += reply.output_tokens
        calls = [
            ChatMessageToolCall(
                ChatMessageToolCallFunction(dict(call.args), call.tool), call.id or "", "function"
            )
            for call in reply.calls
        ]
        usage = TokenUsage(reply.input_tokens, reply.output_tokens)
        return ChatMessage(MessageRole.ASSISTANT, reply.text, calls or None, token_usage=usage)


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(part.get("text", "") for part in content)
