"""The gate's table by Inspect's agent `react` with a scripted model. Needs inspect-ai."""

from __future__ import annotations

import gc
import tempfile
import warnings
from typing import Any

import inspect_ai
from case_script import GivenGuard, Script, ToolFailure
from gate_notation import Scenario
from inspect_ai import Task
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.tool import ToolDef, ToolError, ToolParams
from inspect_ai.util import JSONSchema
from inspect_driver import output

from bylaw.adapters.inspect import guarded


def _tool(script: Script, name: str) -> ToolDef:
    async def execute(**kwargs: Any) -> str:
        try:
            return script.run_as_text(name, kwargs)
        except ToolFailure as failure:
            raise ToolError(str(failure)) from None

    named = {each: JSONSchema(description=each) for each in script.arguments_of(name)}
    parameters = ToolParams(properties=named, required=[])
    return ToolDef(execute, name=name, description="A tool of the table.", parameters=parameters)


class InspectCases:
    """The solver `guarded`, with the agent `react`."""

    def why_not(self, scenario: Scenario) -> str | None:
        return None

    def __call__(self, script: Script) -> None:
        def said(*_: Any) -> ModelOutput:
            return output(script.next_turn())

        agent = react(tools=[_tool(script, name) for name in script.names])
        task = Task(
            dataset=[Sample(input="go")],
            solver=guarded(agent, GivenGuard(script.guard)),
            model=get_model("mockllm/model", custom_outputs=said, memoize=False),
        )
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Inspect's own
            inspect_ai.eval(
                task, display="none", log_dir=folder, log_format="json", fail_on_error=False
            )
            gc.collect()
