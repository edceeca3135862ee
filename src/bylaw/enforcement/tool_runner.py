"""The part of a guard that runs tools: model turns, messages of a chat, and scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from bylaw.enforcement.tools import ToolFunction, run_turn, run_turn_async, wrap
from bylaw.trace.event import Call
from bylaw.values import Json

if TYPE_CHECKING:
    from bylaw.enforcement.guard import Guard


class ToolRunner:
    """Runs plain Python functions behind a guard: a guard is one."""

    def run_turn(self, tools: Mapping[str, ToolFunction], calls: Sequence[Call]) -> list[Any]:
        """Decides one model turn and runs the allowed calls. Returns what the agent should see."""
        return run_turn(cast("Guard", self), tools, calls)

    async def run_turn_async(
        self, tools: Mapping[str, ToolFunction], calls: Sequence[Call]
    ) -> list[Any]:
        """As `run_turn`. Tools that are coroutine functions run concurrently."""
        return await run_turn_async(cast("Guard", self), tools, calls)

    def openai_turn(
        self, message: object, tools: Mapping[str, ToolFunction]
    ) -> list[dict[str, Json]]:
        """Decides and runs a turn of an OpenAI model. Returns the messages to append to the chat.

        The message is the SDK's own object, or its dictionary. Without calls it is the answer: if a
        rule refuses it, the model is to read why. Ask the model again until `finished` or `stopped`
        is true.
        """
        from bylaw.enforcement.chat_turns import OPENAI, chat_turn  # only some programs have chats

        return chat_turn(cast("Guard", self), OPENAI, message, tools)

    async def openai_turn_async(
        self, message: object, tools: Mapping[str, ToolFunction]
    ) -> list[dict[str, Json]]:
        """As `openai_turn`. Tools that are coroutine functions run concurrently."""
        from bylaw.enforcement.chat_turns import OPENAI, chat_turn_async

        return await chat_turn_async(cast("Guard", self), OPENAI, message, tools)

    def anthropic_turn(
        self, message: object, tools: Mapping[str, ToolFunction]
    ) -> list[dict[str, Json]]:
        """As `openai_turn`, for a message of an Anthropic model."""
        from bylaw.enforcement.chat_turns import ANTHROPIC, chat_turn

        return chat_turn(cast("Guard", self), ANTHROPIC, message, tools)

    async def anthropic_turn_async(
        self, message: object, tools: Mapping[str, ToolFunction]
    ) -> list[dict[str, Json]]:
        """As `openai_turn_async`, for a message of an Anthropic model."""
        from bylaw.enforcement.chat_turns import ANTHROPIC, chat_turn_async

        return await chat_turn_async(cast("Guard", self), ANTHROPIC, message, tools)

    def wrap(self, tools: Mapping[str, ToolFunction]) -> dict[str, ToolFunction]:
        """The tools for a script, in which every call is a turn of its own.

        Each call is proposed, runs if allowed, and is recorded. A refusal is raised as
        `ConstraintViolationError`. Coroutine functions and generator functions remain what they
        are. Rules see default arguments, too. One call at a time: a model's turn of several calls
        belongs to `run_turn`, so a call that begins while another one runs, in another thread or
        task, is an error. A tool may call another tool.
        """
        return wrap(cast("Guard", self), tools)
