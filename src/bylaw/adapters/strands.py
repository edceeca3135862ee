"""A gate for agents of Strands: `pip install 'bylaw[strands]'`.

    gate = GateHooks("desk.yaml")
    agent = Agent(model=model, tools=tools, hooks=[gate])
    result = agent("Refund order 7.")
    report = gate.report(agent)

- An agent of Strands is a conversation, so each has a guard of its own. The calls of a model turn
  are decided together, in the order proposed, before any of them runs. The model reads a refusal as
  the result of its call.
- What is judged is what runs: a call that a hook or middleware has changed is decided again as it
  is then, as a turn of its own, and one whose arguments do not fit the tool's schema does not run,
  because Strands would convert them after they were judged.
- An answer that a rule refuses is not the end: the agent is invoked again with the reason. When the
  gate ends the run, the last text says so.
- A call that needs a person's approval interrupts the agent, unless the guard itself asks.
  `gate.replies(result, yes)` makes the responses to continue with.
- Agents that a tool runs belong to the run if they have the same gate, and so do the agents of a
  swarm or graph that has it, too. Their answers are not the answer, and calls that need approval
  are refused in them.
- Tools that the model's provider runs are beyond the gate's reach, and Strands does not show them.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, Final
from weakref import WeakKeyDictionary

from bylaw.adapters.gated_run import (
    GatedRun,
    GuardSource,
    ProcedureSource,
    joined_run,
    question,
    running_tool,
)
from bylaw.adapters.tool_arguments import ToolArguments
from bylaw.enforcement.agent_texts import denied_message, stop_message
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.validation import unusable
from bylaw.plain import as_json
from bylaw.trace.event import Call
from bylaw.values import Json, write_json

try:
    from strands.hooks import (
        AfterInvocationEvent,
        AfterMultiAgentInvocationEvent,
        BeforeInvocationEvent,
        BeforeModelCallEvent,
        BeforeMultiAgentInvocationEvent,
        BeforeToolCallEvent,
        BeforeToolsEvent,
        HookProvider,
    )
    from strands.interrupt import InterruptException
    from strands.tools.structured_output.structured_output_tool import StructuredOutputTool
    from strands.types.tools import AgentTool
except ModuleNotFoundError as error:
    missing = "strands-agents is not installed: pip install 'bylaw[strands]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

__all__ = ["GateHooks"]

LAST: Final = math.inf
"""The order of hooks that nothing may follow."""


class ConversationRun:
    """The run of an agent, or of a swarm or graph, and what its latest turn became."""

    def __init__(self, run: GatedRun) -> None:
        self.run: Final = run
        self.waiting: Final = {decision.call.id for decision in run.guard.asked}
        """The ids of calls that are to be made again when the agent is resumed."""
        self.held_back = False
        """Is the agent invoked again because its answer was refused?"""
        self.inside: running_tool | None = None


class GateHooks(HookProvider):
    """Hooks that ask a guard about every turn of an agent.

    The procedure is an object or the path of a file, and `options` are those of `Guard`. With a
    `key`, nobody can change a guard that was saved.
    """

    def __init__(
        self, procedure: ProcedureSource, *, key: bytes | None = None, **options: Any
    ) -> None:
        self.source: Final = GuardSource(procedure, options)
        self._key: Final = key
        self._runs: Final[WeakKeyDictionary[Any, ConversationRun]] = WeakKeyDictionary()
        self._arguments: Final[dict[str, tuple[Any, ToolArguments]]] = {}

    def register_hooks(self, registry: Any, **_: Any) -> None:
        """Adds the gate's hooks to those of an agent, a swarm or a graph."""
        hooks = {
            BeforeInvocationEvent: self._begin,
            BeforeModelCallEvent: self._before_model,
            BeforeToolsEvent: self._decide,
            BeforeToolCallEvent: self._before_tool,
            AfterInvocationEvent: self._end,
            BeforeMultiAgentInvocationEvent: self._begin_together,
            AfterMultiAgentInvocationEvent: self._end_together,
        }
        for event, hook in hooks.items():
            registry.add_callback(event, hook, order=LAST)

    # ── runs ─────────────────────────────────────────────────────────────────────────────

    def report(self, agent: Any) -> GuardReport:
        """Ends the run of an agent, a swarm or a graph, and scores it."""
        return self._known(agent).run.guard.finish()

    def replies(self, result: Any, yes: bool) -> list[dict[str, Any]]:
        """A person's reply to all calls that wait, to continue the agent with."""
        ids = [interrupt.id for interrupt in result.interrupts]
        return [{"interruptResponse": {"interruptId": id, "response": yes}} for id in ids]

    def save(self, agent: Any) -> dict[str, Json]:
        """The guard of an agent as JSON, to `restore` where its conversation is continued."""
        return self._known(agent).run.guard.save(key=self._key)

    def restore(self, agent: Any, saved: Mapping[str, Json]) -> None:
        """Continues the guard of a conversation that another process saved."""
        guard = self.source.new_guard()
        guard.restore(saved, key=self._key)
        self._runs[agent] = ConversationRun(GatedRun.resumed(guard))

    def _known(self, agent: Any) -> ConversationRun:
        if agent not in self._runs:
            raise unusable("this agent has not run with this gate", "Give one with these hooks.")
        return self._runs[agent]

    def _of(self, agent: Any) -> ConversationRun:
        """The run that an agent works in: that of the tool which runs it, or its own."""
        found, outer = self._runs.get(agent), joined_run(self.source)
        if outer is None:
            if found is None or found.run.nested:
                found = self._runs[agent] = ConversationRun(GatedRun(self.source.new_guard()))
        elif found is None or found.run.guard is not outer.guard:
            found = self._runs[agent] = ConversationRun(outer)
        return found

    async def _begin_together(self, event: Any) -> None:
        """The agents of a swarm or graph join its run."""
        found = self._of(event.source)
        if found.run.guard.finished and not found.run.guard.stopped:
            found.run.guard.withdraw()
        found.inside = running_tool(self.source, found.run)
        found.inside.__enter__()

    async def _end_together(self, event: Any) -> None:
        if (inside := self._of(event.source).inside) is not None:
            with suppress(ValueError):  # the stream is closed from elsewhere
                inside.__exit__()

    # ── the conversation ─────────────────────────────────────────────────────────────────

    async def _begin(self, event: Any) -> None:
        """Notes what the user says."""
        found = self._of(event.agent)
        run, guard = found.run, found.run.guard
        resumed, found.held_back = found.held_back, False
        if run.nested or resumed or guard.stopped:
            return
        if guard.finished:
            guard.withdraw()  # the user writes again
        said = [each for each in event.messages or () if each["role"] == "user"]
        if text := "\n".join(filter(None, map(_text, said))):
            guard.say("user", text)

    async def _before_model(self, event: Any) -> None:
        """Asks the model, unless the gate has ended the run."""
        run = self._of(event.agent).run
        if run.guard.stopped:
            run.give_up()
            event.cancel = stop_message(run.guard)

    async def _end(self, event: Any) -> None:
        """Decides the answer. One that is refused is followed by another invocation."""
        found, result = self._of(event.agent), event.result
        run = found.run
        if result is not None and result.stop_reason == "interrupt":
            return
        found.waiting.clear()
        run.give_up()
        if result is None or run.nested or run.guard.stopped:
            return
        structured = result.structured_output
        plain = None if structured is None else structured.model_dump(mode="json")
        decision = await run.answer_async(
            _text(result.message) if plain is None else write_json(as_json(plain))
        )
        if not decision.allowed:
            found.held_back = True
            event.resume = decision.message

    # ── turns ────────────────────────────────────────────────────────────────────────────

    async def _decide(self, event: Any) -> None:
        """Decides the calls of a model turn, unless they are made again after a reply."""
        found = self._of(event.agent)
        uses = [block["toolUse"] for block in event.message["content"] if "toolUse" in block]
        if any(use["toolUseId"] in found.waiting for use in uses):
            return
        tools = [_tool(event.agent, use["name"]) for use in uses]
        both = zip(uses, tools, strict=True)
        calls = [self.call(u, t, event.agent) for u, t in both if not _is_answer(t)]
        if calls:
            await found.run.decide_async(calls, _text(event.message))

    async def _before_tool(self, event: Any) -> None:
        """Lets a call run, refuses it, or lets it wait."""
        if event.cancel_tool or event.selected_tool is None or _is_answer(event.selected_tool):
            return
        agent, tool = event.agent, event.selected_tool
        if list(agent.hooks.get_callbacks_for(event))[-1] != self._before_tool:
            message = "another hook is nearer to the tools than the gate, and may change calls"
            raise unusable(message, "List the gate last: hooks=[…, gate].")
        found = self._of(agent)
        call = self.call(event.tool_use, tool, agent)
        decision = await found.run.decision_on_async(call)
        if decision.action == "ask" and not (self.source.asks or found.run.nested):
            decision = self._asked(event, found, decision)
        if not decision.allowed:
            event.cancel_tool = _refusal(found.run, decision)
            return
        found.run.put_back(decision)  # the tool claims it when it runs
        event.selected_tool = JudgedTool(tool, self, agent, found)

    def _asked(self, event: Any, found: ConversationRun, decision: Decision) -> Decision:
        """The decision on a call that a person is asked about, once there is a reply."""
        found.waiting.add(decision.call.id)
        found.run.put_back(decision)
        name = f"bylaw {decision.turn}.{decision.index}"  # ids of calls may repeat
        reply = event.interrupt(name, reason=question(decision))  # raises until there is one
        found.run.claim(decision.call)
        found.waiting.discard(decision.call.id)
        return found.run.approved(decision) if reply is True else decision

    def call(self, use: Any, tool: Any, agent: Any) -> Call:
        """A call with the arguments that the tool will receive: those given, and its defaults."""
        name = use["name"] if tool is None else tool.tool_name
        given, id = as_json(use["input"]), use["toolUseId"]
        if tool is not None and isinstance(given, dict):
            given = self.arguments_of(tool).completed(given)
        return Call(name, given, id=id, agent=agent.name)

    def arguments_of(self, tool: Any) -> ToolArguments:
        """The arguments that a tool takes."""
        schema = tool.tool_spec["inputSchema"].get("json")
        known = self._arguments.get(tool.tool_name)
        if known is None or (known[0] is not schema and known[0] != schema):
            # Strands drops what a tool has no parameter for.
            whole = {"additionalProperties": False, **(schema or {})}
            known = self._arguments[tool.tool_name] = (schema, ToolArguments(whole))
        return known[1]


class JudgedTool(AgentTool):
    """A tool that runs if its call is allowed as it arrives, and records the result."""

    def __init__(self, tool: Any, gate: GateHooks, agent: Any, found: ConversationRun) -> None:
        super().__init__()
        self._tool: Final = tool
        self._gate: Final = gate
        self._agent: Final = agent
        self._found: Final = found

    @property
    def tool_name(self) -> str:
        """As the tool's."""
        return str(self._tool.tool_name)

    @property
    def tool_spec(self) -> Any:
        """As the tool's."""
        return self._tool.tool_spec

    @property
    def tool_type(self) -> str:
        """As the tool's."""
        return str(self._tool.tool_type)

    async def stream(self, tool_use: Any, invocation_state: Any, **more: Any) -> AsyncIterator[Any]:
        """Runs the tool with what was judged. A call that was changed is decided as it is now."""
        run = self._found.run
        call = self._gate.call(tool_use, self._tool, self._agent)
        decision = await run.decision_on_async(call)
        if not decision.allowed:
            yield _failure(tool_use, _refusal(run, decision))
            return
        problem = self._gate.arguments_of(self._tool).problem(decision.call.args)
        if problem is not None:
            run.record(decision, None, problem)
            yield _failure(tool_use, f"{call.tool}: {problem}")
            return
        judged = {**tool_use, "input": as_json(decision.call.args)}  # a copy, to be changed
        events = self._tool.stream(judged, invocation_state, **more)
        event: Any = None
        try:
            while True:
                with running_tool(self._gate.source, run):  # not while Strands handles the event
                    event = await anext(events)
                if hasattr(event, "tool_result"):  # nothing is asked for after it
                    self._record(decision, event.tool_result)
                elif getattr(event, "interrupts", None):
                    self._wait(decision)
                yield event
        except StopAsyncIteration:  # of other tools, the last value is the result
            self._record(decision, event)
        except InterruptException:
            self._wait(decision)
            raise
        except BaseException as error:  # cancellation included
            if decision.call.id not in self._found.waiting:
                run.fail(decision, error)
            raise

    def _record(self, decision: Decision, result: Any) -> None:
        content, failed = _content(result)
        error = (str(content) or "failed") if failed else None
        self._found.run.record(decision, None if failed else content, error)

    def _wait(self, decision: Decision) -> None:
        """The tool asks a person something, and will run again with the reply."""
        self._found.waiting.add(decision.call.id)
        self._found.run.put_back(decision)


def _refusal(run: GatedRun, decision: Decision) -> str:
    asked = decision.action == "ask"
    return denied_message(run.guard, decision) if asked else decision.message


def _tool(agent: Any, name: str) -> Any:
    registry = agent.tool_registry
    return registry.dynamic_tools.get(name) or registry.registry.get(name)


def _is_answer(tool: Any) -> bool:
    """Is it the tool by which a model gives a structured answer? It only keeps it."""
    return isinstance(tool, StructuredOutputTool)


def _text(message: Any) -> str:
    return "\n".join(block["text"] for block in message["content"] if block.get("text"))


def _content(result: Any) -> tuple[Json, bool]:
    """The result of a tool as rules see it; and whether it is an error."""
    if not isinstance(result, Mapping) or "status" not in result:
        return "the tool has returned no result", True
    found = [block.get("json", block.get("text")) for block in result.get("content") or ()]
    content = found[0] if len(found) == 1 else "\n".join(str(each or "") for each in found)
    return as_json(content), result["status"] != "success"


def _failure(tool_use: Any, text: str) -> dict[str, Any]:
    content = [{"text": text}]
    return {"toolUseId": tool_use["toolUseId"], "status": "error", "content": content}
