"""A gate for agents of smolagents: `pip install 'bylaw[smolagents]'`.

    agent = guarded(ToolCallingAgent(tools=tools, model=model), "desk.yaml")
    answer = agent.run("Refund order 7.")
    report = agent.report()

- The agent is guarded in place, with all agents that it manages. Each run has a guard of its own;
  `run(…, reset=False)` continues the conversation, and its guard. An agent of smolagents holds one
  conversation: a second run at the same time is an error.
- The calls of a `ToolCallingAgent`'s turn are decided together, in the order proposed, before any
  of them runs. The code of a `CodeAgent` makes its calls one after the other: each is a turn of its
  own, and a refusal is an exception in that code.
- The agent reads a refusal in place of a result. Arguments must be JSON, also in code: an object of
  another type, or of a subclass, is refused. The tool receives a copy of what was judged, by name.
- `final_answer` is a call like any other. So is the answer that smolagents requests when the steps
  run out. An answer that `final_answer_checks` reject is withdrawn.
- When the gate ends the run, `run` returns a text that says so, after the calls of the same turn
  that were allowed before have been executed.
- The calls of managed agents are decided in the same run. Their tasks are not messages of the user,
  and their answers are not the answer. Agents that a tool runs belong to the run if they were
  guarded with the same `GuardSource`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bylaw.adapters.gated_run import GuardSource, ProcedureSource
from bylaw.enforcement.validation import unusable

try:
    from smolagents import CodeAgent, LocalPythonExecutor, ToolCallingAgent

    from bylaw.adapters.smolagents_agents import CodeGate, MemberGate, ToolCallingGate
    from bylaw.adapters.smolagents_tools import GatedExecutor
except ModuleNotFoundError as error:
    missing = "smolagents is not installed: pip install 'bylaw[smolagents]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

__all__ = ["GuardSource", "guarded"]

_KINDS: Final[dict[type[Any], type[MemberGate]]] = {
    ToolCallingAgent: ToolCallingGate,
    CodeAgent: CodeGate,
}
"""The agents that can be guarded, and how."""
_BETWEEN: Final = frozenset({*ToolCallingGate.REPLACED, "_run_stream"})
"""The methods between the gate and the tools."""


def guarded(agent: Any, procedure: ProcedureSource | GuardSource, **options: Any) -> Any:
    """The same agent behind a gate, with the agents that it manages.

    The procedure is an object or the path of a file, and `options` are those of `Guard`. A
    `GuardSource` has both, and lets several agents share a run.
    """
    if not isinstance(procedure, GuardSource):
        procedure = GuardSource(procedure, options)
    elif options:
        raise unusable("a `GuardSource` has its options", "Give them to the `GuardSource`.")
    guard_team(agent, procedure)
    return agent


def guard_team(agent: Any, source: GuardSource) -> None:
    """Guards an agent and those that it manages. Those that are guarded stay as they are."""
    team = list(_team(agent, ()))
    for each in team:
        _check(each, source)
    for each in team:
        if _gate_of(each) is None:
            _KINDS[_base(each)](each, source, guard_team)
        if isinstance(each, CodeAgent) and not isinstance(each.python_executor, GatedExecutor):
            each.python_executor = GatedExecutor(each.python_executor, each.gate.gated)


def _gate_of(agent: Any) -> MemberGate | None:
    found = vars(agent).get("gate")
    return found if isinstance(found, MemberGate) else None


def _team(agent: Any, managers: tuple[Any, ...]) -> Iterator[Any]:
    """An agent and all that it manages, however indirectly."""
    if any(agent is each for each in managers):
        raise unusable(f"the agent {agent.name!r} manages itself", "Leave it out of the team.")
    yield agent
    for each in getattr(agent, "managed_agents", {}).values():
        yield from _team(each, (*managers, agent))


def _check(agent: Any, source: GuardSource) -> None:
    base = _base(agent)
    gate = _gate_of(agent)
    if gate is not None and gate.source is not source:
        message = f"the agent {agent.name!r} is already guarded by another gate"
        raise unusable(message, "Guard the manager: its team is guarded with it.")
    for name in sorted(_BETWEEN):
        own = getattr(type(agent), name, None) is getattr(base, name, None)
        if not own or (gate is None and name in vars(agent)):
            message = f"{name} of {type(agent).__name__} may change calls after they are judged"
            raise unusable(message, "Guard an agent that does not override it.")
    if base is CodeAgent and not isinstance(
        agent.python_executor, LocalPythonExecutor | GatedExecutor
    ):
        kind = type(agent.python_executor).__name__
        raise unusable(f"a {kind} runs tools beyond the gate's reach", "Use the local executor.")


def _base(agent: Any) -> type[Any]:
    for base in _KINDS:
        if isinstance(agent, base):
            return base
    message = f"{type(agent).__name__} is not a kind of agent that can be guarded"
    raise unusable(message, "Give a ToolCallingAgent or a CodeAgent of smolagents.")
