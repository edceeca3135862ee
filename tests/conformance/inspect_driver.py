"""Inspect with a scripted model. Needs inspect-ai."""

from __future__ import annotations

import gc
import json
import tempfile
import warnings
from collections.abc import Sequence
from typing import Any

import inspect_ai
from desk import WITHOUT_CALLS, Desk, Script, Seen
from inspect_ai import Task
from inspect_ai.agent import react
from inspect_ai.approval import ApprovalPolicy
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.tool import Tool, ToolCall, ToolError, tool

from bylaw.adapters.inspect import compliance, gate
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call


def tools_of(desk: Desk) -> list[Tool]:
    @tool
    def lookup() -> Tool:
        async def execute(order: int) -> str:
            """Looks an order up.

            Args:
                order: its number
            """
            return json.dumps(desk.lookup(order))

        return execute

    @tool
    def fetch() -> Tool:
        async def execute(name: str) -> str:
            """Fetches a file.

            Args:
                name: its name
            """
            return desk.fetch(name)

        return execute

    @tool
    def pay() -> Tool:
        async def execute(amount: int) -> str:
            """Pays.

            Args:
                amount: how much
            """
            return desk.pay(amount)

        return execute

    return [lookup(), fetch(), pay()]


def output(calls: Sequence[Call]) -> ModelOutput:
    """A model's turn."""
    called = [
        ToolCall(
            call.id or f"call-{index}",
            "submit" if call.tool == FINAL_ANSWER else call.tool,
            dict(call.args),
        )
        for index, call in enumerate(calls)
    ]
    text = "" if called else WITHOUT_CALLS
    message = ChatMessageAssistant(content=text, tool_calls=called, source="generate")
    # Without usage, the model would count tokens with a table that it downloads.
    usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    choice = ChatCompletionChoice(message=message, stop_reason="stop")
    return ModelOutput(model="mockllm", choices=[choice], usage=usage)


def scripted(script: Script, shown: list[str]) -> Model:
    """A model that says what the script says, and keeps what it was shown."""
    turns = iter(script)

    def said(messages: list[Any], *_: Any) -> ModelOutput:
        shown.append("\n".join(told(message) for message in messages))
        return output(next(turns))

    def told(message: Any) -> str:
        error = getattr(message, "error", None)
        return f"{message.text}{error.message if error else ''}"

    return get_model("mockllm/model", custom_outputs=said, memoize=False)


def evaluated(task: Task, **options: Any) -> list[EvalSample]:
    """The samples of a task."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Inspect's own; some come when it is cleaned up after
        (log,) = inspect_ai.eval(
            task, display="none", log_dir=folder, log_format="json", fail_on_error=False, **options
        )
        gc.collect()
    assert log.status == "success", log.error and log.error.message
    for sample in log.samples or []:
        assert sample.error is None, sample.error.message
    return list(log.samples or [])


class Inspect:
    """The approver `gate`, with the agent `react`. Everything in Inspect is asynchronous."""

    turns_are_decided_together = True

    def __call__(self, procedure: Procedure, script: Script, **options: Any) -> Seen:
        desk = Desk(ToolError)
        seen = Seen(desk.ran)
        task = Task(
            dataset=[Sample(input="go")],
            solver=react(tools=tools_of(desk)),
            approval=[ApprovalPolicy(gate(procedure, **options), "*")],
            scorer=compliance(procedure),
            model=scripted(script, seen.shown),
        )
        (sample,) = evaluated(task)
        score = (sample.scores or {})["compliance"]
        seen.answer = score.answer
        done = (score.metadata or {})["gate"]
        seen.stopped = done["stopped"]
        seen.note(done["events"])
        seen.score = float(str(score.value))
        seen.transcript = json.loads(sample.model_dump_json())
        return seen
