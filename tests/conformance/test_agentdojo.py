"""AgentDojo behind a gate: its own environments, tasks and checkers, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agentdojo", reason="needs bylaw[agentdojo]")

from agentdojo.agent_pipeline import AgentPipeline, InitQuery
from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
from agentdojo.agent_pipeline.errors import AbortAgentError
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites

from bylaw import Procedure
from bylaw.adapters.agentdojo import GatedToolsExecutor, text_of

EXAMPLES = Path(__file__).parents[2] / "examples" / "agentdojo"
SUITES = get_suites("v1.2.1")
PAIRS = {
    "banking": ("user_task_0", "injection_task_5"),
    "slack": ("user_task_2", "injection_task_5"),
    "travel": ("user_task_3", "injection_task_5"),
    "workspace": ("user_task_18", "injection_task_4"),
}


class GroundTruth(BasePipelineElement):  # type: ignore[misc]  # a class of AgentDojo's
    """Plays the ground truths of tasks, a call in a turn, and leaves out what was refused."""

    def __init__(self, gate: GatedToolsExecutor, *tasks: Any) -> None:
        self.gate, self.tasks = gate, tasks
        self.refused = 0

    def query(
        self, query: Any, runtime: Any, env: Any, messages: Any = (), extra_args: Any = None
    ) -> Any:
        kept, extra = list(messages), dict(extra_args or {})
        for task in self.tasks:
            for call in task.ground_truth(env):
                turn = [*kept, said(call)]
                _, _, _, after, extra = self.gate.query(query, runtime, env, turn, extra)
                if "[bylaw:" in text_of(after[-1]):
                    self.refused += 1
                else:
                    kept = list(after)
        answer = {"type": "text", "content": self.tasks[0].GROUND_TRUTH_OUTPUT}
        final = {"role": "assistant", "content": [answer], "tool_calls": []}
        return query, runtime, env, [*kept, final], extra


def said(*calls: FunctionCall) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def played(name: str, *tasks: Any, planted: dict[str, str]) -> tuple[bool, bool, int]:
    script = GroundTruth(GatedToolsExecutor(EXAMPLES / f"{name}.yaml"), *tasks)
    pipeline = AgentPipeline([InitQuery(), script])
    injection = tasks[1] if len(tasks) == 2 else None
    done, effect = SUITES[name].run_task_with_pipeline(pipeline, tasks[0], injection, planted)
    return done, effect, script.refused


@pytest.mark.parametrize("name", PAIRS)
def test_a_task_is_done_and_an_injection_is_not(name: str) -> None:
    suite, (user_id, injection_id) = SUITES[name], PAIRS[name]
    task, injection = suite.user_tasks[user_id], suite.injection_tasks[injection_id]
    assert played(name, task, planted={}) == (True, True, 0)  # without an injection, True is fixed
    planted = dict.fromkeys(suite.get_injection_vector_defaults(), injection.GOAL)
    _, took_effect, refused = played(name, task, injection, planted=planted)
    assert not took_effect
    assert refused


def noted(executor: GatedToolsExecutor, *calls: FunctionCall) -> Sequence[Any]:
    """The messages after one turn in an environment with one tool."""
    runtime = FunctionsRuntime([])

    @runtime.register_function  # type: ignore[untyped-decorator]  # AgentDojo's
    def note(text: str) -> str:
        """Writes a note.

        :param text: the note
        """
        return f"noted {text}"

    asked = {"role": "user", "content": [{"type": "text", "content": "Note hello."}]}
    turn = [asked, said(*calls)]
    after: Sequence[Any] = executor.query("", runtime, None, turn, {})[3]
    return after


def procedure(severity: str) -> Procedure:
    rule = "G(note -> args.text from says(user))"
    constraint = {"name": "said", "rule": rule, "severity": severity}
    return Procedure.from_dict({"events": "all", "constraints": [constraint]})


def test_a_turn_is_answered_call_by_call() -> None:
    good, bad = (FunctionCall(function="note", args={"text": t}) for t in ("hello", "secret"))
    *_, first, second = noted(GatedToolsExecutor(procedure("SOFT_BLOCK")), good, bad)
    assert text_of(first) == "noted hello"
    assert "Not executed" in text_of(second)
    assert second["tool_call"] == bad


def test_a_stop_ends_the_run() -> None:
    bad = FunctionCall(function="note", args={"text": "secret"})
    with pytest.raises(AbortAgentError, match="said"):
        noted(GatedToolsExecutor(procedure("HARD_STOP")), bad)


def test_each_run_has_a_gate_of_its_own() -> None:
    executor = GatedToolsExecutor(procedure("SOFT_BLOCK"))
    bad = FunctionCall(function="note", args={"text": "secret"})
    for _ in range(5):  # three refusals would end a run
        assert "Not executed" in text_of(noted(executor, bad)[-1])
