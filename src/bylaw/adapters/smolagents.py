"""smolagents behind a gate: `pip install 'bylaw[smolagents]'`.

    agent = GuardedToolCallingAgent(tools=[search, pay], model=model, guard=Guard(procedure))
    agent.run("Refund order 7.")
    report = agent.guard.finish()

- `GuardedToolCallingAgent` decides the calls of a model turn together, in the order proposed,
  before any of them runs. `GuardedCodeAgent` decides each call where the agent's code makes it:
  each is a turn of its own, and a refusal is an exception in that code.
- The agent reads a refusal where it would have read a result. `final_answer` is a call like any
  other; so is the answer that smolagents asks for when the steps run out, but as nothing can
  follow that one, a refusal of any kind ends the run.
- When the gate ends the run, `run` raises `ConstraintViolationError`, with the `violation_type`
  `stop`. Calls of the same turn that were allowed before are carried out first.
- One guard is one run: give `agent.guard` a new one before the next. An answer that
  `final_answer_checks` reject is withdrawn, and the run goes on.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bylaw.enforcement.decision import Action, ConstraintViolationError, Decision
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.tools import as_json, executed
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.trace.formats import RAW_ARGUMENTS

try:
    from smolagents import CodeAgent, LocalPythonExecutor, PythonExecutor, ToolCallingAgent
    from smolagents.agents import ToolOutput
    from smolagents.memory import ActionStep, ToolCall
    from smolagents.models import ChatMessage, ChatMessageToolCall
    from smolagents.tools import validate_tool_arguments
    from smolagents.utils import AgentError
except ModuleNotFoundError as error:
    missing = "smolagents is not installed: pip install 'bylaw[smolagents]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

_ALONE = f"{FINAL_ANSWER}: Not executed. An answer has to be the only call of its turn."
"""smolagents accepts no other."""


class _Guarded:
    """What both agents have in common: the guard, and what is said."""

    guard: Guard

    def __init__(self, *values: Any, guard: Guard, **named: Any) -> None:
        super().__init__(*values, **named)
        self.guard = guard
        self._proposed = False
        """Has the present step proposed anything?"""

    def run(self, task: str, *values: Any, **named: Any) -> Any:
        """As in smolagents. The task is a message of the user."""
        self.guard.say("user", task)
        return super().run(task, *values, **named)  # type: ignore[misc]  # the agent's

    def provide_final_answer(self, task: str) -> ChatMessage:
        """The answer that is asked for when the steps have run out."""
        message = super().provide_final_answer(task)  # type: ignore[misc]  # the agent's
        self._without_answer()
        (decision,) = self._propose([Call(FINAL_ANSWER, {"answer": _text(message.content)})])
        if not decision.allowed:
            raise decision.error()
        return message

    def _step_stream(self, memory_step: ActionStep) -> Generator[Any]:
        self._proposed = False
        if memory_step.step_number > 1:
            self._without_answer()
        try:
            yield from super()._step_stream(memory_step)  # type: ignore[misc]  # the agent's
        except _Ended as end:
            raise end.violation from None
        finally:
            if not self._proposed and not self.guard.finished:
                self._propose([])  # a turn without calls is a turn, too

    def _without_answer(self) -> None:
        """The run goes on: it does so behind an answer only if that was rejected."""
        if self.guard.finished and not self.guard.stopped:
            self.guard.withdraw()

    def _propose(self, calls: Sequence[Call]) -> list[Decision]:
        self._proposed = True
        return self.guard.propose(calls)

    def _seen(self, tool: Any, given: Any) -> dict[str, Any]:
        """The arguments that a tool gets: names of state variables stand for their values."""
        inputs = list(getattr(tool, "inputs", None) or ())
        if given is None:
            named: Mapping[str, Any] = {}
        elif isinstance(given, Mapping):
            named = given
        else:  # a value by itself is the argument of a tool that takes one
            named = {inputs[0] if len(inputs) == 1 else RAW_ARGUMENTS: given}
        state: Mapping[str, Any] = self.state  # type: ignore[attr-defined]  # the agent's
        values = {k: state.get(v, v) if isinstance(v, str) else v for k, v in named.items()}
        return dict(as_json(values))


class GuardedToolCallingAgent(_Guarded, ToolCallingAgent):
    """A `ToolCallingAgent` that asks `guard` about every turn."""

    def __init__(self, *values: Any, guard: Guard, **named: Any) -> None:
        super().__init__(*values, guard=guard, **named)
        self._allowed: list[tuple[str, Any, Decision]] = []
        self._lock = threading.Lock()

    def process_tool_calls(
        self, chat_message: ChatMessage, memory_step: ActionStep
    ) -> Generator[ToolCall | ToolOutput]:
        """Carries out the calls that are allowed, and says why the others are not."""
        if text := _text(chat_message.content):
            self.guard.say("assistant", text)
        calls = _told_apart(chat_message.tool_calls)
        told = self._unasked(calls)
        asked = [call for call in calls if call.id not in told]
        decisions = self._propose([self._call(call) for call in asked])
        told |= {c.id: d.message for c, d in zip(asked, decisions, strict=True) if not d.allowed}
        allowed = [(c, d) for c, d in zip(asked, decisions, strict=True) if d.allowed]
        self._allowed = [(c.function.name, c.function.arguments, d) for c, d in allowed]

        everything = [ToolCall(c.function.name, c.function.arguments, c.id) for c in calls]
        for call in everything:
            if call.id in told:
                yield call
                yield ToolOutput(call.id, told[call.id], False, told[call.id], call)
        memory_step.observations = "".join(f"{text}\n" for text in told.values()) or None
        passed_on = replace(chat_message, tool_calls=[call for call, _ in allowed])
        stop = next((d.error() for d in decisions if d.action is Action.STOP), None)
        try:
            yield from super().process_tool_calls(passed_on, memory_step)
        except AgentError as failure:
            if stop is not None:
                raise stop from failure
            raise
        memory_step.tool_calls = everything
        if stop is not None:
            raise stop

    def _unasked(self, calls: Sequence[ChatMessageToolCall]) -> dict[str, str]:
        """Answers that smolagents would not accept, and why. They would end the guard."""
        answers = [call for call in calls if call.function.name == FINAL_ANSWER]
        if len(calls) > 1:
            return {call.id: _ALONE for call in answers}
        return {
            call.id: f"{FINAL_ANSWER}: Not executed. {reason}"
            for call in answers
            if (reason := _unusable(self.tools[FINAL_ANSWER], call.function.arguments))
        }

    def execute_tool_call(self, tool_name: str, arguments: Any) -> Any:
        """Carries out a call that was allowed, and records what came of it."""
        decision = self._decision(tool_name, arguments)
        run = super().execute_tool_call
        return executed(self.guard, decision, lambda: run(tool_name, arguments))

    def _call(self, call: ChatMessageToolCall) -> Call:
        name = call.function.name
        tool = (self.tools | self.managed_agents).get(name)
        return Call(name, self._seen(tool, call.function.arguments), id=call.id)

    def _decision(self, name: str, arguments: Any) -> Decision:
        """The decision on a call that is carried out. Equal calls of a turn are as good as one."""
        with self._lock:
            for index, (tool, given, _) in enumerate(self._allowed):
                if tool == name and repr(given or {}) == repr(arguments):
                    return self._allowed.pop(index)[2]
        (decision,) = self._propose([Call(name, self._seen(self.tools.get(name), arguments))])
        if not decision.allowed:  # somebody runs a tool that no turn has proposed
            raise decision.error()
        return decision


class GuardedCodeAgent(_Guarded, CodeAgent):
    """A `CodeAgent` that asks `guard` about every call its code makes. The executor is local."""

    python_executor: PythonExecutor

    def __init__(self, *values: Any, guard: Guard, **named: Any) -> None:
        super().__init__(*values, guard=guard, **named)
        executor: Any = self.python_executor
        if not isinstance(executor, LocalPythonExecutor):
            kind = type(executor).__name__
            raise ValueError(f"a {kind} runs tools out of the gate's reach: use the local executor")
        self.python_executor = _GatedExecutor(executor, self._gated)

    def _gated(self, name: str, tool: Callable[..., Any]) -> Callable[..., Any]:
        def run(*values: Any, **named: Any) -> Any:
            if len(values) == 1 and not named and isinstance(values[0], dict):
                given = values[0]  # smolagents takes a mapping for the arguments in it
            else:
                inputs = list(getattr(tool, "inputs", None) or ())
                names = [*inputs, *(f"{RAW_ARGUMENTS}{i}" for i in range(len(values)))]
                given = dict(zip(names, values, strict=False)) | named
            if name == FINAL_ANSWER and (reason := _unusable(tool, given)):
                raise TypeError(reason)
            (decision,) = self._propose([Call(name, dict(as_json(given)))])
            if decision.action is Action.STOP:
                raise _Ended(decision.error())
            if not decision.allowed:
                raise decision.error()
            return executed(self.guard, decision, lambda: tool(*values, **named))

        return run


class _GatedExecutor(PythonExecutor):
    """Hands the agent's code tools that ask first."""

    def __init__(self, inner: LocalPythonExecutor, gated: Callable[..., Any]) -> None:
        self.inner = inner
        self.gated = gated

    def send_tools(self, tools: Mapping[str, Any]) -> None:
        self.inner.send_tools({name: self.gated(name, tool) for name, tool in tools.items()})

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        self.inner.send_variables(variables)

    def __call__(self, code_action: str) -> Any:
        return self.inner(code_action)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class _Ended(BaseException):
    """Leaves the agent's code at once: no `except` clause of that code can hold it."""

    def __init__(self, violation: ConstraintViolationError) -> None:
        super().__init__(str(violation))
        self.violation = violation


def _told_apart(calls: Sequence[ChatMessageToolCall]) -> list[ChatMessageToolCall]:
    """The calls, with ids that differ: of calls that share one, smolagents would run the last."""
    counts = Counter(call.id for call in calls)
    return [
        call if counts[call.id] == 1 else replace(call, id=f"{call.id}-{index}")
        for index, call in enumerate(calls)
    ]


def _unusable(tool: Any, arguments: Any) -> str | None:
    """Why a tool cannot be called with these arguments, if it cannot."""
    try:
        validate_tool_arguments(tool, arguments)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def _text(content: Any) -> str:
    """The text of a message, whether it came as one or in parts."""
    if not isinstance(content, list):
        return str(content or "")
    return "\n".join(part["text"] for part in content if part.get("type") == "text")
