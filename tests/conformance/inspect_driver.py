"""Inspect with a scripted model. Needs inspect-ai."""

from __future__ import annotations

import asyncio
import gc
import json
import tempfile
import warnings
from collections.abc import Sequence
from typing import Any

import inspect_ai
from desk import WITHOUT_CALLS, Desk, Seen
from driver import Driver, Setup
from inspect_ai import Task
from inspect_ai.agent import Agent, react, run
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
from inspect_ai.tool import ToolCall, ToolDef, ToolError

from bylaw.adapters.inspect import compliance, guarded
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call


def tools_of(desk: Desk) -> list[ToolDef]:
    """The tools of a desk."""
    desk.failure = ToolError
    return [ToolDef(each, name=each.__name__) for each in desk.functions(asynchronous=True)]


def output(calls: Sequence[Call]) -> ModelOutput:
    """A model's turn."""
    called = [
        ToolCall(
            call.id or f"call-{9 - index}",
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


def told(message: Any) -> str:
    """The content of a message, as a model reads it."""
    error = getattr(message, "error", None)
    return f"{message.text}{error.message if error else ''}"


def scripted(setup: Setup) -> Model:
    """A model that says what the scripts say, and keeps what it was shown."""

    def said(messages: list[Any], *_: Any) -> ModelOutput:
        task = next(message.text for message in messages if message.role == "user")
        return output(setup.turns.next("\n".join(map(told, messages)), task))

    return get_model("mockllm/model", custom_outputs=said, memoize=False)


async def evaluated(task: Task, **options: Any) -> list[EvalSample]:
    """The samples of a task."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Inspect's own; some come when it is cleaned up after
        about: Any = {"log_dir": folder, "log_format": "json", "fail_on_error": False}
        (log,) = await inspect_ai.eval_async(task, max_samples=8, **about, **options)
        gc.collect()
    assert log.status == "success", log.error and log.error.message
    for sample in log.samples or []:
        assert sample.error is None, sample.error.message
    return list(log.samples or [])


class Evaluation:
    """An agent, whose runs are samples. Those that are asked for at once are one evaluation."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.solver = guarded(self._agent(setup.helper), setup.procedure, **setup.options)
        self.asked: dict[str, asyncio.Future[EvalSample]] = {}

    def _agent(self, helper: bool, **more: Any) -> Agent:
        tools = tools_of(self.setup.desk)
        if helper:
            inner = self._agent(False, name="helper")

            async def hand_over(task: str) -> str:
                """Asks a helper.

                Args:
                    task: the task
                """
                return str((await run(inner, task)).output.completion)

            tools.append(ToolDef(hand_over, name="helper"))
        return react(tools=tools, **more)

    async def sample(self, task: str) -> EvalSample:
        """The run of a task."""
        first = not self.asked
        self.asked[task] = asyncio.get_running_loop().create_future()
        if first:
            await asyncio.sleep(0.01)
            asked, self.asked = self.asked, {}
            about = {"scorer": compliance(self.setup.procedure), "model": scripted(self.setup)}
            samples = [Sample(input=each, id=each) for each in asked]
            done = await evaluated(Task(dataset=samples, solver=self.solver, **about))
            for each in done:
                asked[str(each.id)].set_result(each)
            return next(each for each in done if each.id == task)
        return await self.asked[task]


class Inspect(Driver):
    """The solver `guarded`, with the agent `react`. Everything in Inspect is asynchronous."""

    text_is_the_answer = False

    def agent(self, setup: Setup) -> Evaluation:
        return Evaluation(setup)

    async def run_async(self, agent: Evaluation, task: str) -> Seen:
        sample = await agent.sample(task)
        score = (sample.scores or {})["compliance"]
        done = (score.metadata or {})["gate"]
        seen = Seen(agent.setup.desk.ran, agent.setup.turns.shown[task], answer=score.answer)
        seen.final, seen.stopped = sample.output.completion, done["stopped"]
        seen.score = float(str(score.value))
        seen.note(done["events"])
        seen.transcript = json.loads(sample.model_dump_json())
        return seen
