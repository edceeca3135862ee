"""The gate inside an agent of the OpenAI Agents SDK: its hooks, tools and handoffs.

An agent is guarded in place, because handoffs and agents as tools refer to it. What is added to it
later is guarded when a turn begins. See `bylaw.adapters.openai_agents`.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from agents import (
    Agent,
    AgentHooks,
    AgentsException,
    FunctionTool,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    handoff,
)
from agents.tool import (  # what tells a failure from a result; a test says when it moves
    invoke_function_tool,
    maybe_invoke_function_tool_failure_error_function,
    set_function_tool_failure_error_function,
)
from agents.tool_context import ToolContext

from bylaw.adapters.gated_run import GatedRun, GuardSource, running_tool
from bylaw.adapters.openai_agents_calls import (
    arguments_schema,
    beyond_reach,
    judged_call,
    reachable,
    turn_of,
)
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.validation import unusable
from bylaw.trace.event import Call
from bylaw.values import Json, equal, write_json


class RunEnds(AgentsException):
    """The gate has ended the run, and the model would be asked again."""


class AgentTurns:
    """One agent at work in a run: the tools it has, and the refusals of its latest turn."""

    def __init__(self, gate: AgentGate, run: GatedRun) -> None:
        self.gate: Final = gate
        self.run: Final = run
        self.tools: dict[str, Any] = {}
        self.transfer: str | None = None
        """The refusal of a handoff, which stands in place of its result."""
        self._refused: list[tuple[Call, Decision]] = []

    async def decide(self, agent: Any, response: Any) -> None:
        """Decides the calls of a model's response. A text without calls is an answer."""
        items, text = turn_of(response)
        if not items:
            return
        calls = [
            judged_call(
                item.name, item.arguments, self.tools.get(item.name), item.call_id, agent.name
            )
            for item in items
        ]
        decided = await self.run.decide_async(calls, text)
        both = zip(calls, decided, strict=True)
        self._refused = [(c, d) for c, d in both if not d.allowed and not self._waits(d)]

    async def decision_on(self, call: Call) -> Decision:
        """The decision on a call that is about to run. Each is handed out once."""
        if (found := self.run.claim(call)) is not None:
            return found
        for place, (refused, decision) in enumerate(self._refused):
            if _same(refused, call):
                del self._refused[place]
                return decision
        return await self.run.decision_on_async(call)

    def waits(self, call: Call) -> bool:
        """Does a call wait for a person's approval?"""
        return any(self._waits(each) and _same(each.call, call) for each in self.run.guard.asked)

    def is_refused(self, call: Call) -> bool:
        """Was a call of the latest turn refused?"""
        return any(_same(refused, call) for refused, _ in self._refused)

    def _waits(self, decision: Decision) -> bool:
        asks = self.gate.source.asks or self.run.nested
        return decision.action == "ask" and not asks


def _same(one: Call, other: Call) -> bool:
    same_id = other.id is None or one.id == other.id
    return same_id and one.tool == other.tool and equal(one.args, other.args)


_CURRENT: Final[ContextVar[AgentTurns | None]] = ContextVar("agent_turns", default=None)


@contextmanager
def entered(turns: AgentTurns) -> Iterator[None]:
    """While an agent works, its hooks and tools find its turns."""
    token = _CURRENT.set(turns)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current(gate: AgentGate) -> AgentTurns:
    """The turns of the agent at work."""
    turns = _CURRENT.get()
    if turns is None or turns.gate is not gate:
        message = "a guarded agent is run without its gate"
        raise unusable(message, "Run it with `GuardedAgent.run` or `run_sync`.")
    return turns


# ── the agents ───────────────────────────────────────────────────────────────────────────────


class AgentGate:
    """Guards agents in place."""

    def __init__(self, source: GuardSource, hosted: Collection[str]) -> None:
        self.source: Final = source
        self._hosted: Final = frozenset(hosted)
        rules = source.procedure.constraints
        self._interrupts: Final = not source.asks and any(r.severity == "ASK" for r in rules)

    def guard(self, agent: Any) -> None:
        """Guards an agent and all that it can reach. What is guarded already stays as it is."""
        agents = list(reachable(agent))
        for each in agents:
            self._check(each)
        for each in agents:
            self._guard_one(each)

    def _check(self, agent: Any) -> None:
        if not isinstance(agent, Agent) or any(
            base.__name__ == "SandboxAgent" for base in type(agent).__mro__
        ):
            message = f"{type(agent).__name__} is not a kind of agent that can be guarded"
            raise unusable(message, "Give an `Agent` of the SDK.")
        gated = vars(agent).get("get_all_tools")
        if gated is not None and getattr(gated, "gate", None) is not self:
            message = f"the agent {agent.name!r} is already guarded by another gate"
            raise unusable(message, "Guard a copy: agent.clone(tools=[…], hooks=None).")
        if beyond := sorted(beyond_reach(agent) - self._hosted):
            message = f"{', '.join(beyond)} of the agent {agent.name!r} cannot be refused"
            raise unusable(message, f"Leave them out, or say so: hosted={beyond}.")

    def _guard_one(self, agent: Any) -> None:
        if "get_all_tools" not in vars(agent):
            agent.tools = [self._tool(tool, agent) for tool in agent.tools]
            agent.get_all_tools = OfferedTools(self, agent)
        if not isinstance(agent.hooks, TurnHooks):
            agent.hooks = TurnHooks(self, agent.hooks)
        if not all(_is_gated_handoff(each) for each in agent.handoffs):
            agent.handoffs = [self._handoff(each, agent) for each in agent.handoffs]

    def _tool(self, tool: Any, agent: Any) -> Any:
        """A tool that asks the gate. Only functions can."""
        if not isinstance(tool, FunctionTool) or isinstance(tool.on_invoke_tool, GatedInvoker):
            return tool
        gated = copy.copy(tool)
        gated.on_invoke_tool = invoker = GatedInvoker(self, tool, agent.name)
        last = ToolInputGuardrail(guardrail_function=invoker.check, name="bylaw")
        gated.tool_input_guardrails = [*(tool.tool_input_guardrails or ()), last]
        if self._interrupts:
            gated.needs_approval = invoker.needs_approval
        return gated

    def _handoff(self, given: Any, agent: Any) -> Any:
        if _is_gated_handoff(given):
            return given
        gated = copy.copy(handoff(given) if isinstance(given, Agent) else given)
        gate = GatedHandoff(self, gated, agent)
        gated.on_invoke_handoff = gate
        gated.get_transfer_message = gate.transfer_message
        return gated


def _is_gated_handoff(given: Any) -> bool:
    return isinstance(getattr(given, "on_invoke_handoff", None), GatedHandoff)


class OfferedTools:
    """The tools of an agent in a turn, in place of its `get_all_tools`.

    Tools of MCP servers, and those that were added since, are guarded here.
    """

    def __init__(self, gate: AgentGate, agent: Any) -> None:
        self.gate: Final = gate
        self._agent: Final = agent
        self._given: Final = agent.get_all_tools

    async def __call__(self, context: Any) -> list[Any]:
        self.gate.guard(self._agent)
        tools = [self.gate._tool(tool, self._agent) for tool in await self._given(context)]
        if (turns := _CURRENT.get()) is not None:
            turns.tools = {tool.name: tool for tool in tools if isinstance(tool, FunctionTool)}
        return tools


class TurnHooks(AgentHooks):
    """Decides each turn of an agent. The agent's own hooks are called, too."""

    def __init__(self, gate: AgentGate, given: Any) -> None:
        self._gate: Final = gate
        self._given: Final = AgentHooks() if given is None else given

    async def on_llm_start(self, *args: Any, **more: Any) -> None:
        if current(self._gate).run.guard.stopped:
            raise RunEnds("the gate has ended the run")
        await self._given.on_llm_start(*args, **more)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        await current(self._gate).decide(agent, response)
        await self._given.on_llm_end(context, agent, response)

    async def on_start(self, *args: Any, **more: Any) -> None:
        await self._given.on_start(*args, **more)

    async def on_end(self, *args: Any, **more: Any) -> None:
        await self._given.on_end(*args, **more)

    async def on_handoff(self, *args: Any, **more: Any) -> None:
        await self._given.on_handoff(*args, **more)

    async def on_tool_start(self, *args: Any, **more: Any) -> None:
        await self._given.on_tool_start(*args, **more)

    async def on_tool_end(self, *args: Any, **more: Any) -> None:
        await self._given.on_tool_end(*args, **more)


# ── what agents call ─────────────────────────────────────────────────────────────────────────


class GatedInvoker:
    """Runs a tool if its call is allowed, with the arguments that were judged."""

    def __init__(self, gate: AgentGate, tool: FunctionTool, agent: str) -> None:
        self._gate: Final = gate
        self._tool: Final = tool
        self._agent: Final = agent
        self._schema: Final = arguments_schema(tool)
        # A copy that raises: of the tool itself, a failure comes back as an ordinary text.
        self._raising: Final = set_function_tool_failure_error_function(copy.copy(tool), None)
        self._raising.timeout_seconds = None  # the guarded tool has it

    def _call(self, arguments: str | None, id: str) -> Call:
        return judged_call(self._tool.name, arguments, self._tool, id, self._agent)

    async def needs_approval(self, context: Any, given: dict[str, Any], id: str) -> bool:
        """Does a call wait for a person, because of a rule or of the tool's own setting?"""
        turns, call = current(self._gate), self._call(write_json(given), id)
        if turns.is_refused(call):
            return False
        if turns.waits(call):
            return True
        asks = self._tool.needs_approval
        if not callable(asks):
            return bool(asks)
        # As the SDK has it: a person decides where defaults complete the call.
        return not equal(call.args, given) or bool(await asks(context, given, id))

    async def check(self, data: Any) -> Any:
        """The guardrail before a call: the model reads a refusal in place of the result."""
        turns, context = current(self._gate), data.context
        call = self._call(context.tool_arguments, context.tool_call_id)
        decision = await turns.decision_on(call)
        if decision.allowed or turns.waits(call):
            turns.run.put_back(decision)  # it is claimed where the tool runs
            return ToolGuardrailFunctionOutput.allow()
        return ToolGuardrailFunctionOutput.reject_content(decision.message)

    async def __call__(self, context: ToolContext[Any], input: str) -> Any:
        turns = current(self._gate)
        run, call = turns.run, self._call(input, context.tool_call_id)
        waits, decision = turns.waits(call), await turns.decision_on(call)
        if waits and context.is_tool_approved(self._tool.name, context.tool_call_id):
            decision = run.approved(decision)
        if not decision.allowed:
            return decision.message
        args = decision.call.args
        if (problem := self._schema.problem(args)) is not None:
            run.record(decision, None, problem)
            return f"{self._tool.name}: Error: {problem}"
        try:
            result = await self._run(turns, context, args)
        except BaseException as error:  # cancellation included
            run.fail(decision, error)
            return await self._failed(context, error)
        run.record(decision, result)
        return result

    async def _run(self, turns: AgentTurns, context: Any, args: Mapping[str, Json]) -> Any:
        inner = AgentTurns(self._gate, GatedRun(turns.run.guard, nested=True))
        with running_tool(self._gate.source, turns.run), entered(inner):
            return await invoke_function_tool(
                function_tool=self._raising, context=context, arguments=write_json(dict(args))
            )

    async def _failed(self, context: Any, error: BaseException) -> Any:
        """The text for the model, as the tool itself would say it; or the error."""
        binds = hasattr(self._tool.on_invoke_tool, "__agents_bind_function_tool__")
        if isinstance(error, Exception) and binds:
            said = await maybe_invoke_function_tool_failure_error_function(
                function_tool=self._tool, context=context, error=error
            )
            if said is not None:
                return said
        raise error


class GatedHandoff:
    """Hands over if the call is allowed. Otherwise the agent stays, and reads why."""

    def __init__(self, gate: AgentGate, given: Any, agent: Any) -> None:
        self._gate: Final = gate
        self._agent: Final = agent
        self._tool_name: Final = given.tool_name
        self._given: Final = given.on_invoke_handoff
        self._message: Final = given.get_transfer_message

    async def __call__(self, context: Any, input: str | None = None) -> Any:
        turns = current(self._gate)
        call = judged_call(self._tool_name, input, None, None, self._agent.name)
        decision = await turns.decision_on(call)
        if not decision.allowed:
            turns.transfer = decision.message
            return self._agent
        try:
            given = write_json(dict(decision.call.args)) if input else input
            agent = await self._given(context, given)
            self._gate.guard(agent)
        except BaseException as error:  # cancellation included
            turns.run.fail(decision, error)
            raise
        turns.run.record(decision, self._message(agent))
        return agent

    def transfer_message(self, agent: Any) -> str:
        """The result of the handoff, for the model."""
        turns = current(self._gate)
        refusal, turns.transfer = turns.transfer, None
        return str(self._message(agent)) if refusal is None else refusal
