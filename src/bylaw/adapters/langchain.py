"""A gate for agents of LangChain and LangGraph: `pip install 'bylaw[langchain]'`.

    gate = GateMiddleware("desk.yaml")
    agent = create_agent(model, tools, middleware=[gate])
    result = agent.invoke({"messages": [("user", "Refund order 7.")]})
    report = gate.report(result)

- Each run has a guard of its own. The calls of a model turn are decided together, in the order
  proposed, before any of them runs. The model reads a refusal as the call's result.
- List the gate last. It is then the innermost middleware, and what it judges is what runs: the
  tool receives the arguments that were judged, converted by the tool's own schema. A call that
  other middleware changed, added or repeats is decided again, as a turn of its own. If another
  middleware is nearer to the tools, no tool runs.
- An answer that a rule refuses is not the end: the model reads why, and works on. When the gate
  ends the run, the last message says so.
- With a checkpointer, a thread is one run: its guard is saved with the thread, and continues with
  it, also in another process. When the user writes again, the answer before is a message like any
  other. A call that needs a person's approval interrupts the graph, unless the guard itself asks;
  `Command(resume=True)` approves it, anything else does not.
- An agent that a tool calls belongs to the run if it has the same gate. Its answer is not the
  answer. Tools that the model's provider runs are beyond the gate's reach: name those that may be
  used in `hosted`; others are an error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final

from bylaw.adapters.gated_run import (
    GatedRun,
    GuardSource,
    ProcedureSource,
    question,
)
from bylaw.enforcement.agent_texts import denied_message, stop_message
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.validation import unusable
from bylaw.trace.event import Call

try:
    from langchain.agents.middleware import AgentMiddleware, hook_config
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
    from langgraph.config import get_config
    from langgraph.types import interrupt

    from bylaw.adapters.langchain_calls import (
        TurnMessages,
        judged_call,
        note_tools,
        outcome_of,
        schema_of,
        text_of,
    )
    from bylaw.adapters.langchain_runs import GateState, LiveRun, LiveRuns, Recording, is_kept
except ModuleNotFoundError as error:
    missing = "langchain is not installed: pip install 'bylaw[langchain]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

__all__ = ["GateMiddleware"]

_NEAREST: Final = "langgraph.prebuilt.tool_node"
"""The module of the function that runs a tool, which the innermost middleware is handed."""


class GateMiddleware(AgentMiddleware):
    """Middleware that asks a guard about every turn of an agent. List it last.

    The procedure is an object or the path of a file, and `options` are those of `Guard`. With a
    `key`, nobody can change a guard that is saved with a thread.
    """

    state_schema = GateState

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
        self._runs: Final = LiveRuns(self._source, key)
        self._hosted: Final = frozenset(hosted)

    def report(self, state: Mapping[str, Any]) -> GuardReport:
        """The report on a run, from the state of the agent: what `invoke` returns."""
        return self._runs.report(state)

    # ── the run ──────────────────────────────────────────────────────────────────────────

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """Begins a run, or continues that of the thread."""
        live = self._runs.begin(state)
        if not live.run.nested:
            for role, text in TurnMessages(state["messages"]).news():
                live.run.guard.say(role, text)
        return {"bylaw": self._runs.noted(live, save=is_kept())}

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """As `before_agent`."""
        return self.before_agent(state, runtime)

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """Ends the agent's work. A result that is the answer can still be refused."""
        live = self._runs.of(state)
        guard, last = live.run.guard, state["messages"][-1]
        is_open = not (live.run.nested or guard.finished or guard.stopped)
        if isinstance(last, ToolMessage) and is_open:
            decision = live.run.answer(text_of(last))
            if not decision.allowed and not guard.stopped:
                return self._held_back(live, decision)
        return {"bylaw": self._runs.ended(live)}

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """As `after_agent`."""
        return self.after_agent(state, runtime)  # type: ignore[no-any-return]  # it has a decorator

    # ── the model ────────────────────────────────────────────────────────────────────────

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Ends a run that the gate has ended, after the calls of its last turn."""
        run = self._runs.of(state).run
        for decision in run.guard.awaiting:  # results that another process has recorded
            for id, result, error in TurnMessages(state["messages"]).results():
                if decision.call.id == id and run.claim(decision.call):
                    run.record(decision, result, error)
        if not run.guard.stopped:
            return None
        return {"messages": [AIMessage(stop_message(run.guard))], "jump_to": "end"}

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """As `before_model`."""
        return self.before_model(state, runtime)  # type: ignore[no-any-return]  # it has a decorator

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Notes the tools that the model is offered."""
        self._note_tools(request)
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """As `wrap_model_call`."""
        self._note_tools(request)
        return await handler(request)

    def _note_tools(self, request: Any) -> None:
        live = self._runs.of(request.state)
        if beyond := sorted(note_tools(request.tools, live.schemas) - self._hosted):
            message = f"the model's provider runs {', '.join(beyond)}, beyond the gate's reach"
            raise unusable(message, f"Leave them out, or say so: hosted={beyond}.")

    @hook_config(can_jump_to=["model", "end"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        """Decides the calls of a model turn, or its answer."""
        live, turn = self._runs.of(state), TurnMessages(state["messages"])
        answer = turn.answer(state.get("structured_response"))
        if answer is not None:
            return self._answered(live, None if live.run.nested else live.run.answer(answer))
        return self._decided(live, turn, live.run.decide(self._calls(live, turn), turn.text))

    @hook_config(can_jump_to=["model", "end"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        """As `after_model`."""
        live, turn = self._runs.of(state), TurnMessages(state["messages"])
        answer = turn.answer(state.get("structured_response"))
        if answer is not None:
            decision = None if live.run.nested else await live.run.answer_async(answer)
            return self._answered(live, decision)
        decisions = await live.run.decide_async(self._calls(live, turn), turn.text)
        return self._decided(live, turn, decisions)

    def _calls(self, live: LiveRun, turn: TurnMessages) -> list[Call]:
        calls = turn.calls(live.schemas, _agent_name())
        both = zip(turn.proposed, calls, strict=True)
        live.judged = {made["id"]: (made, call) for made, call in both}
        return calls

    def _answered(self, live: LiveRun, decision: Decision | None) -> dict[str, Any]:
        if decision is None or decision.allowed:
            return {"bylaw": self._runs.noted(live, save=is_kept())}
        if live.run.guard.stopped:
            last = AIMessage(decision.message)
            ended = {"messages": [last], "structured_response": None, "jump_to": "end"}
            return {**ended, "bylaw": self._runs.noted(live, save=is_kept())}
        return self._held_back(live, decision)

    def _held_back(self, live: LiveRun, decision: Decision) -> dict[str, Any]:
        """The model reads why its answer is refused, and works on."""
        why: dict[str, Any] = {"messages": [HumanMessage(decision.message)]}
        why |= {"structured_response": None, "jump_to": "model"}
        return {**why, "bylaw": self._runs.noted(live, save=is_kept())}

    def _decided(
        self, live: LiveRun, turn: TurnMessages, decisions: list[Decision]
    ) -> dict[str, Any]:
        kept = is_kept()
        waits = kept and not self._source.asks  # for an interrupt, where the tool would run
        messages: list[AnyMessage] = turn.with_unique_ids()
        left = 0
        for call, decision in zip(turn.proposed, decisions, strict=True):
            if decision.allowed or (waits and decision.action == "ask"):
                left += 1
            else:
                messages.append(_refusal(call, decision.message))
        update: dict[str, Any] = {"bylaw": self._runs.noted(live, save=kept)} if kept else {}
        if left == 0 and live.run.guard.stopped:
            messages.append(AIMessage(stop_message(live.run.guard, decisions)))
            update["jump_to"] = "end"
        elif left == 0:
            update["jump_to"] = "model"
        return update | {"messages": messages} if messages else update

    # ── the tools ────────────────────────────────────────────────────────────────────────

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Runs a call that is allowed, and records its result."""
        live, call = self._about_to_run(request, handler)
        decision = self._approved(live.run, live.run.decision_on(call))
        if isinstance(decision, str):
            return _refusal(request.tool_call, decision)
        with Recording(self._source, live.run, decision):
            result = handler(_with_judged(request, decision))
        live.run.record(decision, *outcome_of(result, call.id))
        return result

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """As `wrap_tool_call`."""
        live, call = self._about_to_run(request, handler)
        decision = self._approved(live.run, await live.run.decision_on_async(call))
        if isinstance(decision, str):
            return _refusal(request.tool_call, decision)
        with Recording(self._source, live.run, decision):
            result = await handler(_with_judged(request, decision))
        live.run.record(decision, *outcome_of(result, call.id))
        return result

    def _about_to_run(self, request: Any, handler: Any) -> tuple[LiveRun, Call]:
        if getattr(handler, "__module__", None) != _NEAREST:
            message = "other middleware is nearer to the tools than the gate, and may change calls"
            raise unusable(message, "List the gate last: middleware=[…, gate].")
        live = self._runs.of(request.state)
        call = request.tool_call
        made, judged = live.judged.get(call["id"], (None, None))
        if made and judged and (made["name"], made["args"]) == (call["name"], call["args"]):
            return live, judged
        return live, judged_call(call, schema_of(request.tool, live.schemas), _agent_name())

    def _approved(self, run: GatedRun, decision: Decision) -> Decision | str:
        """The decision that lets a call run, or the text of the refusal."""
        if decision.action == "ask" and is_kept():
            with Recording(self._source, run, decision):
                yes = interrupt(question(decision))
            if yes is not True:
                return denied_message(run.guard, decision)
            decision = run.approved(decision)
        return decision if decision.allowed else decision.message


def _with_judged(request: Any, decision: Decision) -> Any:
    """The request with the arguments that were judged."""
    call = {**request.tool_call, "name": decision.call.tool, "args": dict(decision.call.args)}
    return request.override(tool_call=call)


def _refusal(call: Mapping[str, Any], text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")


def _agent_name() -> str | None:
    name = get_config().get("metadata", {}).get("lc_agent_name")
    return name if isinstance(name, str) else None
