"""A gate for smolagents: `pip install 'bylaw[smolagents]'`.

    agent = GuardedToolCallingAgent(tools=[search, pay], model=model, guard=Guard(procedure))
    agent.run("Refund order 7.")
    report = agent.guard.finish()

- `GuardedToolCallingAgent` decides the calls of a model turn together, in the order proposed,
  before any of them runs. `GuardedCodeAgent` decides each call when the agent's code makes it: each
  is a turn of its own, and a refusal is an exception in that code.
- The agent reads a refusal in place of a result. `final_answer` is a call like any other. So is the
  answer that smolagents requests when the steps run out; as nothing can follow it, refusing it ends
  the run.
- When the gate ends the run, `run` raises `ConstraintViolationError` with the `violation_type`
  `stop`, after the calls of the same turn that were allowed before have been executed.
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
from bylaw.enforcement.execution import executed
from bylaw.enforcement.guard import Guard
from bylaw.names import FINAL_ANSWER
from bylaw.plain import as_json
from bylaw.trace.event import Call
from bylaw.trace.formats.conversation import RAW_ARGUMENTS

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
"""smolagents accepts an answer only on its own."""


class _Guarded:
    """Common to both agents: the guard, the messages and the final answer."""

    guard: Guard

    def __init__(self, *values: Any, guard: Guard, **named: Any) -> None:
        super().__init__(*values, **named)
        self.guard = guard
        self._proposed = False
        """Has the current step proposed anything?"""

    def run(self, task: str, *values: Any, **named: Any) -> Any:
        """Runs the agent as in smolagents. The task is a message of the user."""
        self.guard.say("user", task)
        return super().run(task, *values, **named)  # type: ignore[misc]  # the agent's

    def provide_final_answer(self, task: str) -> ChatMessage:
        """The answer that smolagents requests when the steps have run out."""
        message = super().provide_final_answer(task)  # type: ignore[misc]  # the agent's
        self._withdraw_answer()
        (decision,) = self._propose([Call(FINAL_ANSWER, {"answer": _text(message.content)})])
        if not decision.allowed:
            raise decision.error()
        return message

    def _step_stream(self, memory_step: ActionStep) -> Generator[Any]:
        self._proposed = False
        if memory_step.step_number > 1:
            self._withdraw_answer()
        try:
            yield from super()._step_stream(memory_step)  # type: ignore[misc]  # the agent's
        except _RunStopped as end:
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

    def _arguments(self, tool: Any, given: Any) -> dict[str, Any]:
        """The arguments that a tool receives, with state variables replaced by their values."""
        inputs = list(getattr(tool, "inputs", None) or ())
        if given is None:
            named: Mapping[str, Any] = {}
        elif isinstance(given, Mapping):
            named = given
        else:  # a bare value is the argument of a tool that takes one
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
        """Executes the allowed calls, and reports why the others are refused."""
        if text := _text(chat_message.content):
            self.guard.say("assistant", text)
        calls = _with_unique_ids(chat_message.tool_calls)
        invalid = self._invalid_answers(calls)
        asked = [call for call in calls if call.id not in invalid]
        decisions = self._propose([self._call(call) for call in asked])
        decided = list(zip(asked, decisions, strict=True))
        refusals = {c.id: d.message for c, d in decided if not d.allowed} | invalid
        allowed = [(c, d) for c, d in decided if d.allowed]
        self._allowed = [(c.function.name, c.function.arguments, d) for c, d in allowed]

        everything = [ToolCall(c.function.name, c.function.arguments, c.id) for c in calls]
        for call in everything:
            if call.id in refusals:
                yield call
                yield ToolOutput(call.id, refusals[call.id], False, refusals[call.id], call)
        memory_step.observations = "".join(f"{text}\n" for text in refusals.values()) or None
        passed_on = replace(chat_message, tool_calls=[call for call, _ in allowed])
        stop = next((d.error() for d in decisions if d.action == "stop"), None)
        try:
            yield from super().process_tool_calls(passed_on, memory_step)
        except AgentError as failure:
            if stop is not None:
                raise stop from failure
            raise
        memory_step.tool_calls = everything
        if stop is not None:
            raise stop

    def _invalid_answers(self, calls: Sequence[ChatMessageToolCall]) -> dict[str, str]:
        """Answers that smolagents would reject, with the reasons; the guard never sees them."""
        answers = [call for call in calls if call.function.name == FINAL_ANSWER]
        if len(calls) > 1:
            return {call.id: _ALONE for call in answers}
        return {
            call.id: f"{FINAL_ANSWER}: Not executed. {reason}"
            for call in answers
            if (reason := _argument_error(self.tools[FINAL_ANSWER], call.function.arguments))
        }

    def execute_tool_call(self, tool_name: str, arguments: Any) -> Any:
        """Executes an allowed call and records its result."""
        decision = self._decision(tool_name, arguments)
        run = super().execute_tool_call
        return executed(self.guard, decision, lambda: run(tool_name, arguments))

    def _call(self, call: ChatMessageToolCall) -> Call:
        name = call.function.name
        tool = (self.tools | self.managed_agents).get(name)
        return Call(name, self._arguments(tool, call.function.arguments), id=call.id)

    def _decision(self, name: str, arguments: Any) -> Decision:
        """The decision on a call that is executed. Equal calls of a turn are interchangeable."""
        with self._lock:
            for index, (tool, given, _) in enumerate(self._allowed):
                if tool == name and repr(given or {}) == repr(arguments):
                    return self._allowed.pop(index)[2]
        (decision,) = self._propose([Call(name, self._arguments(self.tools.get(name), arguments))])
        if not decision.allowed:  # a tool was run that no turn proposed
            raise decision.error()
        return decision


class GuardedCodeAgent(_Guarded, CodeAgent):
    """A `CodeAgent` that asks `guard` about every call of its code. The executor must be local."""

    python_executor: PythonExecutor

    def __init__(self, *values: Any, guard: Guard, **named: Any) -> None:
        super().__init__(*values, guard=guard, **named)
        executor: Any = self.python_executor
        if not isinstance(executor, LocalPythonExecutor):
            kind = type(executor).__name__
            raise ValueError(f"a {kind} runs tools beyond the gate's reach: use the local executor")
        self.python_executor = _GatedExecutor(executor, self._gated)

    def _gated(self, name: str, tool: Callable[..., Any]) -> Callable[..., Any]:
        def run(*values: Any, **named: Any) -> Any:
            if len(values) == 1 and not named and isinstance(values[0], dict):
                given = values[0]  # smolagents unpacks a single mapping
            else:
                inputs = list(getattr(tool, "inputs", None) or ())
                names = [*inputs, *(f"{RAW_ARGUMENTS}{i}" for i in range(len(values)))]
                given = dict(zip(names, values, strict=False)) | named
            if name == FINAL_ANSWER and (reason := _argument_error(tool, given)):
                raise TypeError(reason)
            (decision,) = self._propose([Call(name, dict(as_json(given)))])
            if decision.action == "stop":
                raise _RunStopped(decision.error())
            if not decision.allowed:
                raise decision.error()
            return executed(self.guard, decision, lambda: tool(*values, **named))

        return run


class _GatedExecutor(PythonExecutor):
    """Gives the agent's code tools that ask the guard first."""

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


class _RunStopped(BaseException):
    """Leaves the agent's code at once: no `except` clause of that code can catch it."""

    def __init__(self, violation: ConstraintViolationError) -> None:
        super().__init__(str(violation))
        self.violation = violation


def _with_unique_ids(calls: Sequence[ChatMessageToolCall]) -> list[ChatMessageToolCall]:
    """The calls with unique ids: of calls that share one, smolagents would run only the last."""
    counts = Counter(call.id for call in calls)
    return [
        call if counts[call.id] == 1 else replace(call, id=f"{call.id}-{index}")
        for index, call in enumerate(calls)
    ]


def _argument_error(tool: Any, arguments: Any) -> str | None:
    """The reason why a tool cannot be called with these arguments, if there is one."""
    try:
        validate_tool_arguments(tool, arguments)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def _text(content: Any) -> str:
    """The text of a message, which may come in parts."""
    if not isinstance(content, list):
        return str(content or "")
    return "\n".join(part["text"] for part in content if part.get("type") == "text")
