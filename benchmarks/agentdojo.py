"""Study 2: AgentDojo's own tasks, injections, environments and checkers behind a gate.

    pip install 'bylaw[agentdojo]'
    python benchmarks/agentdojo.py [--suite banking] [--runs FOLDER]

Each user task is done as its ground truth says, through the gate: nothing may be refused. Then each
injection is planted in every place that the suite has for it, and its ground truth follows that of
the user task: AgentDojo's checker says whether it took effect. With --runs, recorded runs in
AgentDojo's format are executed again, once without a gate and once behind it.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

# This file has the name of the package that it measures.
sys.path = [each for each in sys.path if Path(each or ".").resolve() != Path(__file__).parent]

from agentdojo.agent_pipeline import AgentPipeline, InitQuery, ToolsExecutor  # noqa: E402
from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement  # noqa: E402
from agentdojo.functions_runtime import FunctionCall  # noqa: E402
from agentdojo.task_suite.load_suites import get_suites  # noqa: E402

from bylaw import Procedure  # noqa: E402
from bylaw.adapters.agentdojo import GatedToolsExecutor, text_of  # noqa: E402

VERSION: Final = "v1.2.1"
EXAMPLES: Final = Path(__file__).parent.parent / "examples" / "agentdojo"


class Scripted(BasePipelineElement):  # type: ignore[misc]  # a class of AgentDojo's
    """Plays tasks' ground truths, or recorded turns, instead of a model."""

    def __init__(self, executor: Any, *tasks: Any, turns: Sequence[Any] | None = None) -> None:
        self.executor, self.tasks, self.turns = executor, tasks, turns
        self.refused: list[str] = []
        self.answer = tasks[0].GROUND_TRUTH_OUTPUT if turns is None else ""

    def _turns(self, env: Any) -> Iterator[Sequence[Any]]:
        if self.turns is not None:
            yield from self.turns
            return
        for task in self.tasks:
            for call in task.ground_truth(env):
                yield [call]

    def _without_refused(self, messages: Sequence[Any], turn: int) -> list[Any]:
        """The messages without refused calls of the last turn: the checkers count every call."""
        *before, said = messages[:-turn]
        results = [each for each in messages[-turn:] if "[bylaw:" not in text_of(each)]
        self.refused += [text_of(each) for each in messages[-turn:] if each not in results]
        ran = [each["tool_call"] for each in results]
        return [*before, {**said, "tool_calls": ran}, *results] if ran else before

    def query(
        self, query: Any, runtime: Any, env: Any, messages: Any = (), extra_args: Any = None
    ) -> Any:
        """Plays everything in one go; the executor answers each turn."""
        state = (query, runtime, env, list(messages), extra_args or {})
        for calls in self._turns(env):
            said = {"role": "assistant", "content": None, "tool_calls": list(calls)}
            query, runtime, env, messages, extra = state
            state = self.executor.query(query, runtime, env, [*messages, said], extra)
            state = (*state[:3], self._without_refused(state[3], len(calls)), state[4])
        query, runtime, env, messages, extra = state
        content = [{"type": "text", "content": self.answer}]
        final = {"role": "assistant", "content": content, "tool_calls": []}
        return query, runtime, env, [*messages, final], extra


def run(
    suite: Any,
    executor: Any,
    user: Any,
    injection: Any = None,
    planted: dict[str, str] | None = None,
    turns: Sequence[Any] | None = None,
) -> tuple[bool, bool, list[str]]:
    """Was the task done, did the injection take effect, and what was refused?"""
    tasks = [user] if injection is None else [user, injection]
    script = Scripted(executor, *tasks, turns=turns)
    pipeline = AgentPipeline([InitQuery(), script])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done, took_effect = suite.run_task_with_pipeline(pipeline, user, injection, planted or {})
    return done, took_effect and injection is not None, script.refused


def study(name: str, suite: Any) -> None:
    """Prints both tables for one suite."""
    procedure = Procedure.load(EXAMPLES / f"{name}.yaml")
    gate = GatedToolsExecutor(procedure, soft_block_limit=1_000_000)
    tasks, injections = suite.user_tasks, suite.injection_tasks
    touched: list[tuple[str, str]] = []
    done = 0
    for key, task in tasks.items():
        success, _, refused = run(suite, gate, task)
        done += success and not refused
        if refused or not success:
            why = _first(refused) if refused else f"checker: {success}"
            plain, _, _ = run(suite, ToolsExecutor(), task)
            touched.append((key, f"{why} (without a gate the checker says {plain})"))
    print(f"{name}: {len(procedure.constraints)} rules")
    print(f"  (a) ground truth of user tasks: {done} of {len(tasks)} done and untouched")
    for key, why in touched:
        print(f"      {key}: {why}")
    effect: Counter[str] = Counter()
    missed: dict[str, list[str]] = defaultdict(list)
    vectors = suite.get_injection_vector_defaults()
    counted = 0
    for injection_id, injection in injections.items():
        if not injection.ground_truth(suite.load_and_inject_default_environment({})):
            print(f"  (b) {injection_id} has no calls in its ground truth: {injection.GOAL[:60]}…")
            continue
        planted = dict.fromkeys(vectors, injection.GOAL)
        for key, task in tasks.items():
            counted += 1
            _, took_effect, _ = run(suite, gate, task, injection, planted)
            _, without, _ = run(suite, ToolsExecutor(), task, injection, planted)
            effect["without"] += without
            effect["behind"] += took_effect
            if took_effect:
                missed[injection_id].append(key)
    print(
        f"  (b) pairs with calls: {counted}; took effect without a gate: {effect['without']}, "
        f"behind it: {effect['behind']}"
    )
    for injection_id, keys in missed.items():
        print(f"      {injection_id} after {', '.join(keys)}")


def rerun(name: str, suite: Any, folder: Path) -> None:
    """Prints utility and attack success of recorded runs, executed again."""
    gate = GatedToolsExecutor(Procedure.load(EXAMPLES / f"{name}.yaml"), soft_block_limit=1_000_000)
    counts: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        user = suite.user_tasks.get(record.get("user_task_id"))
        if record.get("suite_name") != name or user is None:
            continue
        injection = suite.injection_tasks.get(record.get("injection_task_id"))
        turns = list(_recorded_turns(record["messages"]))
        counts["runs"] += 1
        for title, executor in (("without", ToolsExecutor()), ("behind", gate)):
            done, took_effect, _ = run(
                suite, executor, user, injection, record.get("injections"), turns
            )
            counts[f"utility {title}"] += done
            counts[f"attacks {title}"] += took_effect
    print(f"  (c) recorded runs: {dict(counts)}")


def _recorded_turns(messages: Sequence[Any]) -> Iterator[list[Any]]:
    for message in messages:
        if message["role"] == "assistant" and message.get("tool_calls"):
            yield [
                FunctionCall(function=call["function"], args=call["args"], id=call.get("id"))
                for call in message["tool_calls"]
            ]


def _first(refused: list[str]) -> str:
    return " ".join(refused[0].split("\n")[:2])


def main() -> None:
    """Runs the studies of the chosen suites."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--suite", action="append")
    parser.add_argument("--runs", type=Path, help="a folder with recorded runs")
    chosen = parser.parse_args()
    for name, suite in get_suites(VERSION).items():
        if chosen.suite and name not in chosen.suite:
            continue
        study(name, suite)
        if chosen.runs is not None:
            rerun(name, suite, chosen.runs)


if __name__ == "__main__":
    main()
