"""Environments for TRL: one object per rollout, whose public methods are the tools.

Tools differ between examples, so there is a class for each set of tools. An environment wraps an
episode of the benchmark with its budget, gate and trace; the trace is rewarded. TRL runs the calls
of a turn one after another, so each call is a step of its own. Calls of unknown tools never arrive.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from bylaw.agents.clock import Clock
from bylaw.agents.loop import Episode
from bylaw.agents.protocol import Reply, ToolSpec
from bylaw.enforcement.severity import Setting
from bylaw.trace.event import Call
from bylaw.training.data.example import Example
from bylaw.training.reward.reward import Rollout
from bylaw.training.run.episodes import rollout, start_episode
from bylaw.values import Json, canonical

TASK_OVER: Final = '{"error": "The task is over."}'
_TYPES: Final[Mapping[str, type]] = {"integer": int, "array": list[int]}
_DESCRIPTIONS: Final = {"integer": "An integer.", "array": "A list of integers."}


class Environment:
    """One rollout at a time; `reset` starts the next."""

    def __init__(self, examples: Mapping[str, Example], setting: Setting, clock: Clock) -> None:
        self._examples: Final = examples
        self._setting: Final[Setting] = setting
        self._clock: Final = clock
        self._run: Episode | None = None

    def reset(self, name: str, **_: Any) -> None:
        """Starts the example with this name."""
        self._run = start_episode(self._examples[name], setting=self._setting)

    @property
    def rollout(self) -> Rollout:
        """The rollout so far."""
        assert self._run is not None, "an environment is reset before it is used"
        return rollout(self._run)

    def _use(self, tool: str, arguments: dict[str, Json]) -> str:
        run = self._run
        assert run is not None, "an environment is reset before it is used"
        if run.done:
            return TASK_OVER
        with self._clock.in_own_code():
            id = f"call-{len(run.conversation.messages)}"
            run.take(Reply(calls=(Call(tool, arguments, id=id),)))
            results = [each for each in run.conversation.messages if each["role"] == "tool"]
            return str(results[-1]["content"])


def environments(
    examples: Iterable[Example], setting: Setting, clock: Clock
) -> dict[str, partial[Environment]]:
    """A factory of environments for each set of tools; see `tool_set`."""
    known = {example.name: example for example in examples}
    sets = {tool_set(example): example.specs for example in known.values()}
    return {
        name: partial(_with_tools(specs), known, setting, clock) for name, specs in sets.items()
    }


def tool_set(example: Example) -> str:
    """A key for the set of tools that an example offers."""
    return canonical([spec.to_dict() for spec in example.specs])


def _with_tools(specs: Iterable[ToolSpec]) -> type[Environment]:
    """A subclass with a method for each tool."""
    return type("Environment", (Environment,), {spec.name: _method(spec) for spec in specs})


def _method(spec: ToolSpec) -> Any:
    def call(self: Environment, **arguments: Json) -> str:
        return self._use(spec.name, arguments)

    schemas: Mapping[str, Any] = spec.parameters
    kinds = {name: schema["type"] for name, schema in schemas.items()}
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=_TYPES[kind])
        for name, kind in kinds.items()
    ]
    listed = "\n".join(f"    {name}: {_DESCRIPTIONS[kind]}" for name, kind in kinds.items())
    described: Any = call  # TRL derives the schema from these attributes
    described.__name__ = described.__qualname__ = spec.name
    described.__doc__ = f"{spec.description}\n\nArgs:\n{listed}\n"
    described.__signature__ = inspect.Signature([itself, *parameters], return_annotation=str)
    described.__annotations__ = {name: _TYPES[kind] for name, kind in kinds.items()}
    return described
