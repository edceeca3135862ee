"""A gate for agents of Pydantic AI: `pip install 'bylaw[pydantic-ai]'`.

    gate = GateCapability("desk.yaml")
    agent = Agent(model, tools=tools, capabilities=[gate], retries={"output": 3})
    result = agent.run_sync("Refund order 7.")
    report = gate.report(result)

- Each conversation has a guard of its own; a run that is given the messages of an earlier one
  continues its guard. The calls of a model turn are decided together, in the order proposed, before
  any of them runs. The model reads a refusal as the call's result.
- The gate is innermost: a tool receives the arguments that were judged, converted by its schema. A
  call that another capability changed is decided again as it is then, as a turn of its own.
- An answer, be it a text or a call of an output tool, is decided before it is processed. One that a
  rule refuses is sent back with the reason, which counts as a retry of the output. When the gate
  ends the run, the output says so.
- A call that needs a person's approval is deferred, as a tool with `requires_approval` is, unless
  the guard itself asks. `gate.replies(result, yes)` makes the results to continue with.
- An agent that a tool runs belongs to the run if it has the same gate. Its answer is not the
  answer, and calls that need approval are refused in it. Tools that the model's provider runs are
  beyond the gate's reach: name those that may be used in `hosted`; others are an error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final

from bylaw.adapters.gated_run import (
    GatedRun,
    GuardSource,
    ProcedureSource,
    joined_run,
    question,
    running_tool,
)
from bylaw.adapters.recent_runs import RecentRuns
from bylaw.enforcement.agent_texts import denied_message, stop_message
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.validation import unusable
from bylaw.plain import as_json
from bylaw.trace.event import Call
from bylaw.values import Json, write_json

try:
    from pydantic_ai import DeferredToolRequests, DeferredToolResults, ModelRetry, ToolDenied
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
    from pydantic_ai.exceptions import ApprovalRequired, SkipToolExecution
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
except ModuleNotFoundError as error:
    missing = "pydantic-ai is not installed: pip install 'bylaw[pydantic-ai]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

__all__ = ["GateCapability"]


class ClaimedDecision:
    """The decision on the call that a task is about to run."""

    def __init__(self) -> None:
        self.decision: Decision | None = None


_CLAIMED: Final[ContextVar[ClaimedDecision | None]] = ContextVar("claimed", default=None)


class GateCapability(AbstractCapability[Any]):
    """A capability that asks a guard about every turn of an agent.

    The procedure is an object or the path of a file, and `options` are those of `Guard`. `hosted`
    names the tools of the provider that may be used though they cannot be refused. With a `key`,
    nobody can change a guard that was saved.
    """

    def __init__(
        self,
        procedure: ProcedureSource,
        *,
        hosted: Collection[str] = (),
        key: bytes | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self._source: Final = GuardSource(procedure, options)
        self._hosted: Final = frozenset(hosted)
        self._key: Final = key
        self._live: Final[RecentRuns[GatedRun]] = RecentRuns()

    def get_ordering(self) -> CapabilityOrdering:
        """The gate is nearest to the tools, so that what it judges is what runs."""
        return CapabilityOrdering(position="innermost")

    async def for_run(self, ctx: Any) -> AbstractCapability[Any]:
        """The gate of one run."""
        run = joined_run(self._source)
        if run is None:
            run = self._live.get(ctx.conversation_id)
            if run is None:
                run = GatedRun(self._source.new_guard())
                self._live.keep(ctx.conversation_id, run)
            elif run.guard.finished and not run.guard.stopped:
                run.guard.withdraw()  # the user writes again
        return RunGate(self._source, self._hosted, run)

    def _run_of(self, result: Any) -> GatedRun:
        if (found := self._live.get(result.conversation_id)) is None:
            help = "Give the result of a run with this gate."
            raise unusable("the guard of this conversation is not in memory", help)
        return found

    def report(self, result: Any) -> GuardReport:
        """Ends the conversation's run, and scores it."""
        return self._run_of(result).guard.finish()

    def replies(self, result: Any, yes: bool) -> DeferredToolResults:
        """A person's reply to all calls that wait, to continue with."""
        guard, requests = self._run_of(result).guard, result.output
        asked = {decision.call.id: decision for decision in guard.asked}
        replies: dict[str, Any] = {}
        for call in requests.approvals:
            decision = asked.get(call.tool_call_id)
            no = ToolDenied() if decision is None else ToolDenied(denied_message(guard, decision))
            replies[call.tool_call_id] = True if yes else no
        return DeferredToolResults(approvals=replies)

    def save(self, result: Any) -> dict[str, Json]:
        """The guard of a conversation as JSON, to `restore` where its messages are continued."""
        return self._run_of(result).guard.save(key=self._key)

    def restore(self, conversation: str, saved: Mapping[str, Json]) -> None:
        """Continues the guard of a conversation that another process saved."""
        guard = self._source.new_guard()
        guard.restore(saved, key=self._key)
        self._live.keep(conversation, GatedRun.resumed(guard))


class RunGate(AbstractCapability[Any]):
    """The gate of one run."""

    def __init__(self, source: GuardSource, hosted: frozenset[str], run: GatedRun) -> None:
        super().__init__()
        self._source: Final = source
        self._hosted: Final = hosted
        self._run: Final = run

    def get_ordering(self) -> CapabilityOrdering:
        """As that of the capability that it stands for."""
        return CapabilityOrdering(position="innermost")

    async def before_run(self, ctx: Any) -> None:
        """Notes what the user says."""
        if self._run.nested or ctx.prompt is None:
            return
        said = ctx.prompt if isinstance(ctx.prompt, str) else write_json(as_json(ctx.prompt))
        self._run.guard.say("user", said)

    # ── the model ────────────────────────────────────────────────────────────────────────

    async def wrap_model_request(
        self, ctx: Any, *, request_context: Any, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Asks the model, unless the gate has ended the run."""
        guard = self._run.guard
        if guard.stopped:
            self._run.give_up()
            return ModelResponse(parts=[TextPart(stop_message(guard))])
        offered = request_context.model_request_parameters
        names = {str(getattr(tool, "kind", tool)) for tool in offered.native_tools}
        if beyond := sorted(names - self._hosted):
            message = f"the model's provider runs {', '.join(beyond)}, beyond the gate's reach"
            raise unusable(message, f"Leave them out, or say so: hosted={beyond}.")
        return await handler(request_context)

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        """Decides the calls of a model turn. Calls of output tools are answers."""
        answers = {tool.name for tool in request_context.model_request_parameters.output_tools}
        parts = [part for part in response.parts if isinstance(part, ToolCallPart)]
        calls = [_proposed(part, ctx) for part in parts if part.tool_name not in answers]
        if calls:
            text = "\n".join(p.content for p in response.parts if isinstance(p, TextPart))
            await self._run.decide_async(calls, text)
        return response

    async def wrap_output_process(
        self, ctx: Any, *, output_context: Any, output: Any, handler: Callable[[Any], Any]
    ) -> Any:
        """Decides the answer, before it is processed."""
        run = self._run
        skipped = ctx.partial_output or run.nested or run.guard.stopped
        if skipped or isinstance(output, DeferredToolRequests):
            return await handler(output)
        decision = await run.answer_async(_answer_text(output))
        if not decision.allowed:
            raise ModelRetry(decision.message)
        return await handler(output)

    # ── the tools ────────────────────────────────────────────────────────────────────────

    async def wrap_tool_execute(
        self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Callable[[Any], Any]
    ) -> Any:
        """Records the result of a call that is allowed."""
        claimed = ClaimedDecision()
        token = _CLAIMED.set(claimed)
        try:
            with running_tool(self._source, self._run):
                result = await handler(args)
        except BaseException as error:  # cancellation included
            if claimed.decision is not None:
                self._run.fail(claimed.decision, error)
            raise
        finally:
            _CLAIMED.reset(token)
        if claimed.decision is not None:
            self._run.record(claimed.decision, result)
        return result

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        """Lets a call run, refuses it, or lets it wait. It is the last hook before the tool."""
        made = Call(call.tool_name, as_json(args), id=call.tool_call_id, agent=_agent_name(ctx))
        decision = await self._decision_on(made)
        if self._waits(decision):
            if not ctx.tool_call_approved:
                self._run.put_back(decision)
                raise ApprovalRequired(question(decision))
            decision = self._run.approved(decision)
        if not decision.allowed:
            raise SkipToolExecution(decision.message)
        claimed = _CLAIMED.get()
        assert claimed is not None, "a tool runs inside `wrap_tool_execute`"
        claimed.decision = decision
        return args

    async def _decision_on(self, call: Call) -> Decision:
        if (found := self._run.claim(call) or self._run.refusal_of(call)) is not None:
            return found
        for outstanding in self._run.guard.awaiting:  # the call before it was validated
            earlier = outstanding.call
            if (earlier.id, earlier.tool) == (call.id, call.tool) and self._run.claim(earlier):
                self._run.guard.abandon(outstanding)
        return await self._run.decision_on_async(call)

    def _waits(self, decision: Decision) -> bool:
        return decision.action == "ask" and not (self._source.asks or self._run.nested)


def _proposed(part: Any, ctx: Any) -> Call:
    """A call with the arguments that the tool will receive, as its schema converts them.

    What the schema rejects is judged as it is: the tool will not run with it. What is not the JSON
    of an object is kept as a list, so that the gate refuses it.
    """
    try:
        args: Any = as_json(part.args_as_dict(raise_if_invalid=True))
    except (ValueError, AssertionError, TypeError):
        args = [part.args]
    else:
        with suppress(Exception):  # of pydantic, or of the author's own validators
            tool = ctx.tool_manager.tools[part.tool_name]
            args = as_json(tool.args_validator.validate_python(args))
    return Call(part.tool_name, args, id=part.tool_call_id, agent=_agent_name(ctx))


def _agent_name(ctx: Any) -> str | None:
    name = getattr(getattr(ctx, "agent", None), "name", None)
    return name if isinstance(name, str) else None


def _answer_text(output: Any) -> str:
    if isinstance(output, str):
        return output
    plain = output.model_dump(mode="json") if hasattr(output, "model_dump") else output
    return write_json(as_json(plain))
