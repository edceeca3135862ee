"""A gate for smolagents: `pip install 'bylaw[smolagents]'`.

    agent = GuardedToolCallingAgent(tools=[search, pay], model=model, guard=Guard(procedure))
    agent.run("Refund order 7.")
    report = agent.guard.finish()

- `GuardedToolCallingAgent` decides the calls of a model turn together, in the order proposed,
  before any of them runs. `GuardedCodeAgent` decides each call when the agent's code makes it: each
  is a turn of its own, and a refusal is an exception in that code.
- Arguments must be JSON, also in code: an object of another type, or of a subclass, is refused. The
  tool receives a copy of what was judged, by name.
- The agent reads a refusal in place of a result. `final_answer` is a call like any other. So is the
  answer that smolagents requests when the steps run out; as nothing can follow it, refusing it ends
  the run.
- When the gate ends the run, `run` raises `ConstraintViolationError` with the `violation_type`
  `stop`, after the calls of the same turn that were allowed before have been executed.
- Managed agents must be guarded agents with the same guard. Their calls are decided like the
  manager's. Their tasks are not messages of the user, and their answers are not the answer.
- A guard serves one run: assign a new one to `agent.guard` before the next. An answer that
  `final_answer_checks` reject is withdrawn, and the run continues.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bylaw.enforcement.decision import ConstraintViolationError, Decision
from bylaw.enforcement.execution import executed, give_up
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.turn import plain_call
from bylaw.errors import UsageError
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.trace.formats.conversation import RAW_ARGUMENTS
from bylaw.values import copied

try:
    from smolagents import CodeAgent, LocalPythonExecutor, PythonExecutor, ToolCallingAgent
    from smolagents.agents import ToolOutput
    from smolagents.memory import ActionStep, ToolCall
    from smolagents.models import ChatMessage, ChatMessageToolCall
    from smolagents.utils import AgentError

    from bylaw.adapters.smolagents_tools import (
        CodeRefusal,
        GatedExecutor,
        JudgedArguments,
        RunStopped,
        argument_error,
        parameters_of,
        written_arguments,
    )
except ModuleNotFoundError as error:
    missing = "smolagents is not installed: pip install 'bylaw[smolagents]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

_ALONE = f"{FINAL_ANSWER}: Not executed. An answer has to be the only call of its turn."
"""smolagents accepts an answer only on its own."""


class _Guarded:
    """Common to both agents: the guard, the team, the messages and the final answer."""

    state: Mapping[str, Any]
    name: str | None
    tools: dict[str, Any]
    managed_agents: dict[str, Any]

    def __init__(self, *values: Any, guard: Guard, **named: Any) -> None:
        super().__init__(*values, **named)
        self._guard = guard
        self._proposed = False
        """Has the current step proposed anything?"""
        self._delegated = 0
        """The number of runs that a manager has asked for and that have not ended."""
        self._lock = threading.Lock()
        self._check_team()

    @property
    def guard(self) -> Guard:
        """The guard of this agent and of those that it manages."""
        return self._guard

    @guard.setter
    def guard(self, guard: Guard) -> None:
        self._guard = guard
        for each in self.managed_agents.values():
            each.guard = guard

    def _check_team(self) -> None:
        for name, each in self.managed_agents.items():
            if not isinstance(each, _Guarded) or each.guard is not self.guard:
                raise ValueError(
                    f"the managed agent '{name}' acts beyond the gate's reach: use "
                    "GuardedToolCallingAgent or GuardedCodeAgent, with the same guard"
                )
            each._check_team()

    def __call__(self, task: str, **named: Any) -> Any:
        """Runs the agent for its manager."""
        with self._lock:
            self._delegated += 1
        try:
            return super().__call__(task, **named)  # type: ignore[misc]  # the agent's
        except ConstraintViolationError as end:
            raise RunStopped(end) from None  # smolagents turns exceptions into observations
        finally:
            with self._lock:
                self._delegated -= 1

    def run(self, task: str, *values: Any, **named: Any) -> Any:
        """Runs the agent as in smolagents. The task is a message of the user."""
        self._check_team()
        if not self._delegated:
            self.guard.say("user", task)
        return super().run(task, *values, **named)  # type: ignore[misc]  # the agent's

    def provide_final_answer(self, task: str) -> ChatMessage:
        """The answer that smolagents requests when the steps have run out."""
        message = super().provide_final_answer(task)  # type: ignore[misc]  # the agent's
        if not self._delegated:
            self._withdraw_answer()
            (decision,) = self._propose([Call(FINAL_ANSWER, {"answer": _text(message.content)})])
            if not decision.allowed:
                raise decision.error()
        return message

    def _step_stream(self, memory_step: ActionStep) -> Generator[Any]:
        self._proposed = False
        if memory_step.step_number > 1 and not self._delegated:
            self._withdraw_answer()
        try:
            yield from super()._step_stream(memory_step)  # type: ignore[misc]  # the agent's
        except RunStopped as end:
            raise end.violation from None
        finally:
            if not self._proposed and not self.guard.finished:
                self._propose([])  # a turn without calls is also a turn

    def _withdraw_answer(self) -> None:
        """Withdraws an answer: the run continues after one only if it was rejected."""
        if self.guard.finished and not self.guard.stopped:
            self.guard.withdraw()

    def _propose(self, calls: Sequence[Call]) -> list[Decision]:
        self._proposed = True
        return self.guard.propose(calls)

    def _is_own_answer(self, name: str) -> bool:
        """Is this how the agent answers its manager? That is no answer to the user."""
        return name == FINAL_ANSWER and self._delegated > 0


class GuardedToolCallingAgent(_Guarded, ToolCallingAgent):
    """A `ToolCallingAgent` that asks `guard` about every turn."""

    def process_tool_calls(
        self, chat_message: ChatMessage, memory_step: ActionStep
    ) -> Generator[ToolCall | ToolOutput]:
        """Executes the allowed calls, and reports why the others are refused."""
        if text := _text(chat_message.content):
            self.guard.say("assistant", text)
        calls = _with_unique_ids(chat_message.tool_calls)
        proposed, invalid = self._readable(calls)
        decisions = self._propose(list(proposed.values()))
        decided = dict(zip(proposed, decisions, strict=True))
        refusals = {id: d.message for id, d in decided.items() if not d.allowed} | invalid

        everything = [ToolCall(c.function.name, c.function.arguments, c.id) for c in calls]
        for call in everything:
            if call.id in refusals:
                yield call
                yield ToolOutput(call.id, refusals[call.id], False, refusals[call.id], call)
        memory_step.observations = "".join(f"{text}\n" for text in refusals.values()) or None
        allowed = [_judged(call, decided) for call in calls if call.id not in refusals]
        stop = next((d.error() for d in decisions if d.action == "stop"), None)
        try:
            passed_on = replace(chat_message, tool_calls=allowed)
            yield from super().process_tool_calls(passed_on, memory_step)
        except AgentError as failure:
            if stop is not None:
                raise stop from failure
            raise
        finally:
            give_up(self.guard, decisions)
        memory_step.tool_calls = everything
        if stop is not None:
            raise stop

    def _readable(
        self, calls: Sequence[ChatMessageToolCall]
    ) -> tuple[dict[str, Call], dict[str, str]]:
        """The calls to propose, by id, and the reasons against those that the guard never sees."""
        proposed: dict[str, Call] = {}
        invalid: dict[str, str] = {}
        for call in calls:
            name = call.function.name
            try:
                reason = self._answer_error(call, alone=len(calls) == 1)
                if reason is None and not self._is_own_answer(name):
                    proposed[call.id] = plain_call(self._call(call))
            except UsageError as error:
                reason = f"{name}: Not executed. {error.diagnostics[0].message}"
            if reason is not None:
                invalid[call.id] = reason
        return proposed, invalid

    def _answer_error(self, call: ChatMessageToolCall, *, alone: bool) -> str | None:
        """The reason why smolagents would reject an answer."""
        if call.function.name != FINAL_ANSWER:
            return None
        if not alone:
            return _ALONE
        wrong = argument_error(self.tools[FINAL_ANSWER], call.function.arguments)
        return f"{FINAL_ANSWER}: Not executed. {wrong}" if wrong else None

    def execute_tool_call(self, tool_name: str, arguments: Any) -> Any:
        """Executes a call that was allowed, and records its result."""
        run = super().execute_tool_call
        if self._is_own_answer(tool_name):
            return run(tool_name, arguments)
        if type(arguments) is not JudgedArguments or not self.guard.awaits(arguments.decision):
            (decision,) = self._propose([self._named_call(tool_name, arguments)])
            if not decision.allowed:  # a tool was run that no turn proposed
                raise decision.error()
            arguments = JudgedArguments(decision)
        decision = arguments.decision
        given = copied(decision.call.args)
        return executed(self.guard, decision, lambda: run(decision.call.tool, given))

    def _substitute_state_variables(self, arguments: Any) -> Any:
        return arguments  # the arguments that were judged have the values already

    def _call(self, call: ChatMessageToolCall) -> Call:
        named = self._named_call(call.function.name, call.function.arguments)
        return replace(named, id=call.id)

    def _named_call(self, name: str, given: Any) -> Call:
        """A call with the arguments that the tool receives: state variables, defaults."""
        tool = (self.tools | self.managed_agents).get(name)
        inputs = list(getattr(tool, "inputs", None) or ())
        if given is None:
            named: Mapping[str, Any] = {}
        elif isinstance(given, Mapping):
            named = dict(given)
        else:  # a bare value is the argument of a tool that takes one
            named = {inputs[0] if len(inputs) == 1 else RAW_ARGUMENTS: given}
        values = {k: self.state.get(v, v) if type(v) is str else v for k, v in named.items()}
        if tool is not None:
            values = parameters_of(name, tool).filled(values)
        return Call(name, values, agent=self.name)


class GuardedCodeAgent(_Guarded, CodeAgent):
    """A `CodeAgent` that asks `guard` about every call of its code. The executor must be local."""

    python_executor: PythonExecutor

    def __init__(self, *values: Any, guard: Guard, **named: Any) -> None:
        super().__init__(*values, guard=guard, **named)
        executor: Any = self.python_executor
        if not isinstance(executor, LocalPythonExecutor):
            kind = type(executor).__name__
            raise ValueError(f"a {kind} runs tools beyond the gate's reach: use the local executor")
        self.python_executor = GatedExecutor(executor, self._gated)

    def _gated(self, name: str, tool: Callable[..., Any]) -> Callable[..., Any]:
        parameters = parameters_of(name, tool)

        def run(*values: Any, **keywords: Any) -> Any:
            given = written_arguments(parameters, values, keywords)
            if name == FINAL_ANSWER and (reason := argument_error(tool, given)):
                raise TypeError(reason)
            if self._is_own_answer(name):
                return tool(**given)
            (decision,) = self._propose([Call(name, given, agent=self.name)])
            if decision.action == "stop":
                raise RunStopped(decision.error())
            if not decision.allowed:
                raise CodeRefusal(decision.message)
            return executed(self.guard, decision, lambda: tool(**copied(decision.call.args)))

        return run


def _judged(call: ChatMessageToolCall, decided: Mapping[str, Decision]) -> ChatMessageToolCall:
    """A call with the arguments that were judged, for smolagents to execute."""
    if call.id not in decided:
        return call  # how a managed agent answers
    arguments = JudgedArguments(decided[call.id])
    return replace(call, function=replace(call.function, arguments=arguments))


def _with_unique_ids(calls: Sequence[ChatMessageToolCall]) -> list[ChatMessageToolCall]:
    """The calls with unique ids: of calls that share one, smolagents would run only the last."""
    counts = Counter(call.id for call in calls)
    return [
        call if counts[call.id] == 1 else replace(call, id=f"{call.id}-{index}")
        for index, call in enumerate(calls)
    ]


def _text(content: Any) -> str:
    """The text of a message, which may come in parts."""
    if not isinstance(content, list):
        return str(content or "")
    return "\n".join(part["text"] for part in content if part.get("type") == "text")
