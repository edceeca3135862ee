"""A gate for agents of the OpenAI Agents SDK: `pip install 'bylaw[openai-agents]'`.

    desk = GuardedAgent(agent, "desk.yaml")
    result = await desk.run("Refund order 7.")
    print(result.final_output, result.report().score)

- The agent is guarded in place, with every agent that it hands over to or has as a tool. Run it
  with `run` or `run_sync`, whose arguments are those of the SDK's `Runner`; by another way it does
  not run at all.
- Each run has a guard of its own. The calls of a model turn are decided together, in the order
  proposed, before any of them runs. A handoff is a call. The model reads a refusal as the call's
  result.
- A tool runs with the arguments that were judged, defaults included. It does not run with arguments
  that do not fit its schema: the SDK would convert them after they were judged.
- An answer that a rule refuses is not the end: the agent runs again, with the refusal as the user's
  message. When the gate ends the run, `final_output` says so.
- A call that needs a person's approval interrupts the run as a tool with `needs_approval` does,
  unless the guard itself asks. Agents inside tools cannot wait: there, such a call is refused.
- Only function tools can be refused. Tools that the provider runs, and other tools that are not
  functions, are beyond the gate's reach: name those that may be used in `hosted`; others are an
  error when the agent is guarded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from bylaw.adapters.gated_run import (
    GatedRun,
    GuardSource,
    ProcedureSource,
    joined_run,
    question,
)
from bylaw.enforcement.agent_texts import denied_message, stop_message
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.report import GuardReport
from bylaw.values import Json

try:
    from agents import Agent, RunConfig, Runner

    from bylaw.adapters.openai_agents_calls import answer_text, news
    from bylaw.adapters.openai_agents_gate import AgentGate, AgentTurns, RunEnds, entered
except ModuleNotFoundError as error:
    missing = "openai-agents is not installed: pip install 'bylaw[openai-agents]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

__all__ = ["GuardedAgent", "GuardedResult"]

DEFAULT_MAX_TURNS: Final = 10
_SERVER_KEEPS: Final = ("session", "conversation_id")
_CHAINED: Final = ("previous_response_id", "auto_previous_response_id")


class GuardedResult:
    """The outcome of a run: the SDK's own result, and what the guard says about it."""

    def __init__(self, result: Any, run: GatedRun, last: str | None, items: list[Any]) -> None:
        self.result: Final = result
        """The SDK's `RunResult`; None if the gate ended the run at a handoff."""
        self.final_output: Final = result.final_output if last is None else last
        """The answer, or the text with which the gate ended the run."""
        self.items: Final = items
        """The conversation, as the SDK's input items."""
        self.gated_run: Final = run

    @property
    def interruptions(self) -> list[Any]:
        """The calls that wait for a person. Continue with `run(state, after=this)`."""
        return [] if self.result is None else list(self.result.interruptions)

    def questions(self) -> list[dict[str, Json]]:
        """The calls that wait for a person, each with the rules that it breaks, and why."""
        return [question(decision) for decision in self.gated_run.guard.asked]

    @property
    def stopped(self) -> bool:
        """Has the gate ended the run?"""
        return self.gated_run.guard.stopped

    def report(self) -> GuardReport:
        """Ends the run, and scores it."""
        return self.gated_run.guard.finish()

    def save(self, *, key: bytes | None = None) -> dict[str, Json]:
        """The guard as JSON, to continue with `run(…, after=saved)` in another process."""
        return self.gated_run.guard.save(key=key)


class GuardedAgent:
    """An agent of the SDK behind a gate, with all agents that it can reach.

    The procedure is an object or the path of a file, and `options` are those of `Guard`. `hosted`
    names the tools that may be used though they cannot be refused. With a `key`, nobody can
    change a guard that was saved.
    """

    def __init__(
        self,
        agent: Agent[Any],
        procedure: ProcedureSource,
        *,
        hosted: Collection[str] = (),
        key: bytes | None = None,
        **options: Any,
    ) -> None:
        self._source: Final = GuardSource(procedure, options)
        self._key: Final = key
        self._gate: Final = AgentGate(self._source, hosted)
        self.agent: Final = agent
        self._gate.guard(agent)

    async def run(self, input: Any, *, after: Any = None, **options: Any) -> GuardedResult:
        """Runs the agent, as the SDK's `Runner.run` does.

        `after` continues an earlier run: its result, or what its `save` returned.
        """
        work = AgentWork(self.agent, self._begun(after), self._gate, input, options)
        with work.guarded():
            while not work.is_over:
                with work.ending():
                    work.ran(await Runner.run(work.agent, work.input, **work.options))
                if work.answer is not None:
                    work.answered(await work.run.answer_async(work.answer))
        return work.outcome()

    def run_sync(self, input: Any, *, after: Any = None, **options: Any) -> GuardedResult:
        """As `run`, as the SDK's `Runner.run_sync` does."""
        work = AgentWork(self.agent, self._begun(after), self._gate, input, options)
        with work.guarded():
            while not work.is_over:
                with work.ending():
                    work.ran(Runner.run_sync(work.agent, work.input, **work.options))
                if work.answer is not None:
                    work.answered(work.run.answer(work.answer))
        return work.outcome()

    def _begun(self, after: GuardedResult | Mapping[str, Json] | None) -> GatedRun:
        if after is None:
            return joined_run(self._source) or GatedRun(self._source.new_guard())
        if isinstance(after, GuardedResult):
            run = after.gated_run
        else:
            guard = self._source.new_guard()
            guard.restore(after, key=self._key)
            run = GatedRun.resumed(guard)
        if run.guard.finished and not run.guard.stopped:
            run.guard.withdraw()  # the user writes again
        return run


class AgentWork:
    """The runs of an agent until its answer is accepted, it waits, or the gate ends it."""

    def __init__(
        self, agent: Any, run: GatedRun, gate: AgentGate, input: Any, options: dict[str, Any]
    ) -> None:
        self.agent = agent
        self.run: Final = run
        self.input = input
        self.options: Final = dict(options)
        self.options["run_config"] = self._with_denials(options.get("run_config"))
        self.options.setdefault("max_turns", DEFAULT_MAX_TURNS)
        self.answer: str | None = None
        """The answer that waits for its decision."""
        self.is_over = run.guard.stopped
        self._gate: Final = gate
        self._result: Any = None
        self._items: list[Any] = []
        self._last: str | None = stop_message(run.guard) if self.is_over else None
        if not run.nested:
            for role, text in news(input):
                run.guard.say(role, text)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """While the agent runs: its hooks and tools find the run. A failure gives up what waits."""
        try:
            with entered(AgentTurns(self._gate, self.run)):
                yield
        except BaseException:  # cancellation included
            self.run.give_up()
            raise

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Catches the end of a run that the gate ends before the model is asked again."""
        try:
            yield
        except RunEnds as error:
            done = error.run_data
            made = [] if done is None else [item.to_input_item() for item in done.new_items]
            given = [] if done is None else done.input
            before = [{"role": "user", "content": given}] if isinstance(given, str) else given
            self._items = [*before, *made]
            self._end()

    def ran(self, result: Any) -> None:
        """Takes the result of a run of the SDK."""
        self._result, self._items = result, result.to_input_list()
        self.agent = result.last_agent
        if self.options["max_turns"] is not None:
            self.options["max_turns"] -= len(result.raw_responses)
        if result.interruptions:
            self.is_over = True
        elif self.run.guard.stopped:
            self._end()
        elif self.run.nested:
            self.is_over = True
        else:
            self.answer = answer_text(result.final_output)

    def answered(self, decision: Decision) -> None:
        """Ends with an answer that is allowed; otherwise the agent reads why it is not."""
        self.answer = None
        if decision.allowed:
            self.is_over = True
            return
        why = {"role": "user", "content": decision.message}
        if self.run.guard.stopped:
            self.is_over, self._last = True, decision.message
            self._items = [*self._items, why]
        else:
            self._hold_back(why)

    def _hold_back(self, why: dict[str, Any]) -> None:
        chained = any(self.options.get(name) for name in _CHAINED)
        if chained:
            self.options["previous_response_id"] = self._result.last_response_id
        kept = chained or any(self.options.get(name) for name in _SERVER_KEEPS)
        self.input = [why] if kept else [*self._items, why]

    def _end(self) -> None:
        self.is_over = True
        self.run.give_up()
        self._last = stop_message(self.run.guard)
        self._items = [*self._items, {"role": "assistant", "content": self._last}]

    def outcome(self) -> GuardedResult:
        """The result for the caller."""
        return GuardedResult(self._result, self.run, self._last, self._items)

    def _with_denials(self, config: Any) -> Any:
        """The configuration, where a call that a person did not approve is refused in our words."""
        from dataclasses import replace

        config = RunConfig(**config) if isinstance(config, dict) else config or RunConfig()
        given = config.tool_error_formatter

        def formatted(error: Any) -> Any:
            for decision in self.run.guard.asked:
                if error.kind == "approval_rejected" and decision.call.id == error.call_id:
                    return denied_message(self.run.guard, decision)
            return None if given is None else given(error)

        return replace(config, tool_error_formatter=formatted)
