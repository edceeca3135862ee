"""Examples: tasks with their gold traces, answers and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from bylaw.agents.habits import PlannedCall
from bylaw.agents.protocol import ChatMessage, Reply, ToolSpec
from bylaw.agents.simulated import Script
from bylaw.bench.constraints import compile_procedure
from bylaw.bench.gold import Execution, GoldCall
from bylaw.bench.instance import TaskInstance, budget
from bylaw.bench.jobs import SYSTEM
from bylaw.bench.tools import ANSWER
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call
from bylaw.training.data.alias import Alias, unchanged
from bylaw.training.data.augment import Core, Extras, execute, prompt
from bylaw.training.data.templates.pattern import POOL

PRODUCTION: Final = "production"
"""The split of the benchmark's instances."""
_MAX_CALLS: Final = ((5, 1), (15, 2), (30, 3), (60, 4))
"""The most calls of each difficulty."""


@dataclass(frozen=True, slots=True)
class Example:
    """One task of a corpus or a split."""

    name: str
    """`train/chain_then_branch/07`."""
    split: str
    template: str
    transform: str | None
    """The tool for the seed transform; None if the template has none."""
    augmentation: str
    parameters: Mapping[str, int]
    """The parameters of the core, without those of an augmentation."""
    difficulty: int
    prompt: str
    tools: tuple[Alias, ...]
    """The tools offered to the agent."""
    gold: tuple[GoldCall, ...]
    answer: int
    procedure: Procedure

    @property
    def budget(self) -> int:
        """The most calls that an agent may execute."""
        return budget(self.difficulty)

    @property
    def specs(self) -> list[ToolSpec]:
        """The tools as they are described to a model; `final_answer` is last."""
        return [*(tool.spec for tool in self.tools), ANSWER]

    @property
    def functions(self) -> dict[str, Callable[..., str]]:
        """The function of each tool. It returns JSON text, or raises an exception."""
        bound = (self.parameters["seed"], self.difficulty)
        return {tool.name: partial(tool.use, *bound) for tool in self.tools}

    @property
    def calls(self) -> list[Call]:
        """The gold trace, one call per step."""
        return [
            Call(call.tool, call.arguments, call.result, step)
            for step, call in enumerate(self.gold)
        ]

    @property
    def script(self) -> Script:
        """The plan and answer of a simulated agent that makes no mistakes."""
        plan = tuple(
            PlannedCall(
                Call(call.tool, call.arguments),
                call.given,
                Call(call.instead.tool, call.instead.arguments) if call.instead else None,
            )
            for call in self.gold
        )
        return Script(plan, self.answer)

    @property
    def opening(self) -> list[ChatMessage]:
        """The conversation before the agent's first turn."""
        return [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": self.prompt},
        ]

    @property
    def transcript(self) -> list[ChatMessage]:
        """The rest of the conversation, for an agent that makes no mistakes."""
        return turns(self.calls, self.answer)


def turns(calls: Sequence[Call], answer: int) -> list[ChatMessage]:
    """A turn for each call, followed by its result, and a final turn with the answer."""
    messages: list[ChatMessage] = []
    final = Call(FINAL_ANSWER, {"answer": answer}, "{}")
    for number, call in enumerate([*calls, final], 1):
        made = Call(call.tool, call.args, id=f"call-{number}")
        result = {"role": "tool", "tool_call_id": made.id, "name": call.tool}
        messages += [Reply(calls=(made,)).to_message(), result | {"content": call.result}]
    return messages[:-1]  # nothing follows the answer


def simplified(name: str, split: str, core: Core, extras: Extras) -> Example:
    """An example of a simplified template. The number of calls determines its difficulty."""
    run, answer = execute(core, extras)
    return Example(
        name,
        split,
        core.pattern.name,
        core.pattern.transform,
        extras.kind,
        core.parameters,
        difficulty_of(len(run.calls)),
        prompt(core, extras),
        tuple(map(unchanged, POOL)),
        tuple(run.calls),
        answer,
        rules_of(run.calls, POOL, name),
    )


def production(instance: TaskInstance) -> Example:
    """An instance of the benchmark as an example."""
    return Example(
        f"{PRODUCTION}/{instance.name}",
        PRODUCTION,
        instance.template.name,
        None,
        "none",
        instance.parameters,
        instance.difficulty,
        instance.prompt,
        tuple(map(unchanged, instance.template.tools)),
        tuple(instance.gold.calls),
        instance.answer,
        instance.procedure,
    )


def rules_of(gold: Sequence[GoldCall], tools: Sequence[str], name: str) -> Procedure:
    """The procedure that the benchmark's compiler derives from a gold trace."""
    run = Execution(seed=0, difficulty=0, calls=list(gold))  # already executed
    for call in gold:
        if call.instead is not None:
            run.branch(call.tool, call.instead.tool)
    return compile_procedure(run, tools, name)


def difficulty_of(calls: int) -> int:
    """The difficulty of a trace with this number of calls."""
    return next((difficulty for most, difficulty in _MAX_CALLS if calls <= most), 5)
