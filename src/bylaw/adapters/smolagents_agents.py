"""Agents of smolagents behind a gate: their runs, turns and calls.

A gate takes the place of some methods of an agent. See `bylaw.adapters.smolagents`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Final

from smolagents.agents import ActionOutput, ToolOutput
from smolagents.memory import ActionStep, ToolCall
from smolagents.models import ChatMessage, ChatMessageToolCall
from smolagents.utils import AgentError

from bylaw.adapters.gated_run import GatedRun, GuardSource, joined_run, running_tool
from bylaw.adapters.smolagents_tools import (
    CodeRefusal,
    JudgedArguments,
    RunStopped,
    argument_error,
    parameters_of,
    written_arguments,
)
from bylaw.enforcement.agent_texts import stop_message
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.execution import executed
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.validation import unusable
from bylaw.errors import UsageError
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.trace.formats.conversation import RAW_ARGUMENTS
from bylaw.values import copied

_ALONE: Final = f"{FINAL_ANSWER}: Not executed. An answer has to be the only call of its turn."
"""smolagents accepts an answer only on its own."""


class MemberGate:
    """The gate of one agent of a team, and the run that the agent is in."""

    REPLACED: ClassVar[tuple[str, ...]] = (
        "run",
        "_step_stream",
        "_validate_final_answer",
        "provide_final_answer",
    )
    """The methods of the agent that the gate's stand in for. A test says when one moves."""

    def __init__(
        self, agent: Any, source: GuardSource, guard_team: Callable[[Any, GuardSource], None]
    ) -> None:
        self.agent: Final = agent
        self.source: Final = source
        self._guard_team: Final = guard_team
        self._own: Final = {name: getattr(agent, name) for name in self.REPLACED}
        """The agent's own methods."""
        self._entrance: Final = threading.Lock()
        """Held while the agent works: it has one memory."""
        self._run: GatedRun | None = None
        self._decided = False
        """Has the current step decided anything?"""
        for name in (*self.REPLACED, "report"):
            setattr(agent, name, getattr(self, name))
        agent.gate = self

    @property
    def gated_run(self) -> GatedRun:
        """The latest run."""
        if self._run is None:
            raise unusable("the agent has not run yet", "Call `run` first.")
        return self._run

    @property
    def guard(self) -> Guard:
        """The guard of the latest run."""
        return self.gated_run.guard

    def report(self) -> GuardReport:
        """Ends the latest run, and scores it."""
        return self.guard.finish()

    # ── runs ─────────────────────────────────────────────────────────────────────────────

    def run(
        self, task: str, stream: bool = False, reset: bool = True, *values: Any, **named: Any
    ) -> Any:
        """Runs the agent as in smolagents. The task is a message of the user."""
        if stream:
            return self._streamed(task, reset, *values, **named)
        with self._entered(task, reset):
            return self._own["run"](task, False, reset, *values, **named)

    def _streamed(self, task: str, reset: bool, *values: Any, **named: Any) -> Iterator[Any]:
        with self._entered(task, reset):
            yield from self._own["run"](task, True, reset, *values, **named)

    @contextmanager
    def _entered(self, task: str, reset: bool) -> Iterator[None]:
        self._guard_team(self.agent, self.source)  # with agents that were added since
        inner = joined_run(self.source)
        if not self._entrance.acquire(blocking=inner is not None):
            help = "It holds one conversation: make an agent for each of them."
            raise unusable("the agent is already at work", help)
        try:
            self._run = run = self._begun(inner, reset=reset)
            if not run.nested and not run.guard.stopped:
                run.guard.say("user", task)
            try:
                yield
            finally:
                run.give_up()
        finally:
            self._entrance.release()

    def _begun(self, inner: GatedRun | None, *, reset: bool) -> GatedRun:
        """The run of a new task: one that is joined, a new one, or the one before."""
        if inner is not None:
            return inner
        run = self._run
        if reset or run is None or run.nested:
            return GatedRun(self.source.new_guard())
        if run.guard.finished and not run.guard.stopped:
            run.guard.withdraw()  # the user writes again
        return run

    def _step_stream(self, memory_step: ActionStep) -> Generator[Any]:
        self._decided = False
        if not self._has_ended():
            if memory_step.step_number > 1:
                self._withdraw_answer()
            try:
                yield from self._own["_step_stream"](memory_step)
            except RunStopped:
                pass
            except AgentError as failure:
                if not self._has_ended():
                    raise
                memory_step.error = failure
            finally:
                if not self._decided and not self.guard.finished:
                    self._decide([])  # a turn without calls is also a turn
        if self._has_ended():
            memory_step.action_output = stop_message(self.guard)
            yield ActionOutput(output=memory_step.action_output, is_final_answer=True)

    def _has_ended(self) -> bool:
        return self.guard.stopped

    # ── answers ──────────────────────────────────────────────────────────────────────────

    def _validate_final_answer(self, final_answer: Any) -> None:
        if not self.guard.stopped:  # then it is no answer
            self._own["_validate_final_answer"](final_answer)

    def provide_final_answer(self, task: str) -> ChatMessage:
        """The answer that smolagents requests when the steps have run out."""
        message = self._own["provide_final_answer"](task)
        if self.gated_run.nested:
            return message
        self._withdraw_answer()
        (decision,) = self._decide([Call(FINAL_ANSWER, {"answer": _text(message.content)})])
        return message if decision.allowed else replace(message, content=decision.message)

    def _withdraw_answer(self) -> None:
        """Withdraws an answer: the run continues after one only if it was rejected."""
        run = self.gated_run
        if run.guard.finished and not run.guard.stopped and not run.nested:
            run.guard.withdraw()

    def _is_own_answer(self, name: str) -> bool:
        """Is this how the agent answers its manager? That is no answer to the user."""
        return name == FINAL_ANSWER and self.gated_run.nested

    # ── calls ────────────────────────────────────────────────────────────────────────────

    def _decide(self, calls: Sequence[Call], text: str = "") -> list[Decision]:
        self._decided = True
        return self.gated_run.decide(calls, text)

    def _executed(self, decision: Decision, execute: Callable[[], Any]) -> Any:
        """Runs a call. Agents that it starts join the run."""
        with running_tool(self.source, self.gated_run):
            return executed(self.guard, decision, execute)


class ToolCallingGate(MemberGate):
    """The gate of a `ToolCallingAgent`, which decides turn by turn."""

    REPLACED = (
        *MemberGate.REPLACED,
        "process_tool_calls",
        "execute_tool_call",
        "_substitute_state_variables",
    )

    def process_tool_calls(
        self, chat_message: ChatMessage, memory_step: ActionStep
    ) -> Generator[ToolCall | ToolOutput]:
        """Executes the allowed calls, and reports why the others are refused."""
        calls = _with_unique_ids(chat_message.tool_calls)
        proposed, refusals = self._readable(calls)
        decisions = self._decide(list(proposed.values()), _text(chat_message.content))
        decided = dict(zip(proposed, decisions, strict=True))
        refusals |= {id: d.message for id, d in decided.items() if not d.allowed}

        everything = [ToolCall(c.function.name, c.function.arguments, c.id) for c in calls]
        for call in everything:
            if call.id in refusals:
                yield call
                yield ToolOutput(call.id, refusals[call.id], False, refusals[call.id], call)
        said = [refusals[call.id] for call in calls if call.id in refusals]
        memory_step.observations = "".join(f"{text}\n" for text in said) or None
        allowed = [_judged(call, decided) for call in calls if call.id not in refusals]
        try:
            passed_on = replace(chat_message, tool_calls=allowed)
            yield from self._own["process_tool_calls"](passed_on, memory_step)
        finally:
            self.gated_run.give_up()
        memory_step.tool_calls = everything

    def _readable(
        self, calls: Sequence[ChatMessageToolCall]
    ) -> tuple[dict[str, Call], dict[str, str]]:
        """The calls to propose, by id, and the reasons against those that the guard never sees."""
        proposed: dict[str, Call] = {}
        refused: dict[str, str] = {}
        for call in calls:
            name = call.function.name
            try:
                reason = self._answer_error(call, alone=len(calls) == 1)
                if reason is None and not self._is_own_answer(name):
                    proposed[call.id] = replace(
                        self._named_call(name, call.function.arguments), id=call.id
                    )
            except UsageError as error:
                reason = f"{name}: Not executed. {error.diagnostics[0].message}"
            if reason is not None:
                refused[call.id] = reason
        return proposed, refused

    def _answer_error(self, call: ChatMessageToolCall, *, alone: bool) -> str | None:
        """The reason why smolagents would reject an answer."""
        if call.function.name != FINAL_ANSWER:
            return None
        if not alone:
            return _ALONE
        wrong = argument_error(self.agent.tools[FINAL_ANSWER], call.function.arguments)
        return f"{FINAL_ANSWER}: Not executed. {wrong}" if wrong else None

    def execute_tool_call(self, tool_name: str, arguments: Any) -> Any:
        """Executes a call that was allowed, and records its result."""
        run = self._own["execute_tool_call"]
        if self._is_own_answer(tool_name):
            return run(tool_name, arguments)
        if type(arguments) is not JudgedArguments or not self.guard.awaits(arguments.decision):
            (decision,) = self.guard.propose([self._named_call(tool_name, arguments)])
            if not decision.allowed:  # a tool was run that no turn proposed
                raise decision.error()
            arguments = JudgedArguments(decision)
        decision = arguments.decision
        given = copied(decision.call.args)
        return self._executed(decision, lambda: run(decision.call.tool, given))

    def _substitute_state_variables(self, arguments: Any) -> Any:
        return arguments  # the arguments that were judged have the values already

    def _named_call(self, name: str, given: Any) -> Call:
        """A call with the arguments that the tool receives: state variables, defaults."""
        tool = (self.agent.tools | self.agent.managed_agents).get(name)
        inputs = list(getattr(tool, "inputs", None) or ())
        if given is None:
            named: Mapping[str, Any] = {}
        elif isinstance(given, Mapping):
            named = dict(given)
        else:  # a bare value is the argument of a tool that takes one
            named = {inputs[0] if len(inputs) == 1 else RAW_ARGUMENTS: given}
        values = {k: self.agent.state.get(v, v) if type(v) is str else v for k, v in named.items()}
        if tool is not None:
            values = parameters_of(name, tool).filled(values)
        return Call(name, values, agent=self.agent.name)


class CodeGate(MemberGate):
    """The gate of a `CodeAgent`, which decides each call of its code."""

    def gated(self, name: str, tool: Callable[..., Any]) -> Callable[..., Any]:
        """A tool for the agent's code, which asks the gate first."""
        parameters = parameters_of(name, tool)

        def run(*values: Any, **keywords: Any) -> Any:
            given = written_arguments(parameters, values, keywords)
            if name == FINAL_ANSWER and (reason := argument_error(tool, given)):
                raise TypeError(reason)
            if self._is_own_answer(name):
                return tool(**given)
            (decision,) = self._decide([Call(name, given, agent=self.agent.name)])
            if self._has_ended():
                raise RunStopped
            if not decision.allowed:
                raise CodeRefusal(decision.message)
            result = self._executed(decision, lambda: tool(**copied(decision.call.args)))
            if self._has_ended():  # by an agent that it managed
                raise RunStopped
            return result

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
