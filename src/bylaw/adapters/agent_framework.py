"""A gate for agents of the Microsoft Agent Framework: `pip install 'bylaw[agent-framework]'`.

    gate = AgentGateMiddleware("desk.yaml")
    agent = Agent(client=client, tools=tools, middleware=[gate])
    response = await agent.run("Refund order 7.", session=session)
    report = gate.report(session)

- Each session has a guard of its own; a run without a session has one for itself, and no report.
  The calls of a model turn are decided together, in the order proposed, before any of them runs.
  The model reads a refusal as the result of its call.
- The gate is middleware of the agent that brings its own for the model and the tools; it is nearest
  to both, wherever you list it. Arguments are judged as the tool's own types convert them. Should
  middleware of a context provider change them afterwards, the run fails.
- An answer that a rule refuses is not the end: the model reads why, and works on; of this the
  session's history has only the answer that is accepted. When the gate ends the run, the last text
  says so. In streaming, a turn is shown when it has been decided.
- A call that needs a person's approval becomes a request for one, as for a tool with
  `approval_mode="always_require"`, unless the guard itself asks. That needs a session.
- An agent that a tool runs belongs to the run if it has the same gate. Its answer is not the
  answer, and calls that need approval are refused in it. The agents of a workflow have a run each.
- Tools that the model's provider or the caller runs are beyond the gate's reach: name those that
  may be used in `hosted`; others are an error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final

from bylaw.adapters.gated_run import (
    GatedRun,
    GuardSource,
    ProcedureSource,
    joined_run,
    running_tool,
)
from bylaw.adapters.recent_runs import RecentRuns
from bylaw.enforcement.agent_texts import denied_message, stop_message
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.validation import unusable
from bylaw.plain import as_json
from bylaw.values import Json

try:
    from agent_framework import (
        AgentMiddleware,
        ChatMiddleware,
        Content,
        FunctionMiddleware,
        Message,
        MiddlewareFailure,
    )

    from bylaw.adapters.agent_framework_calls import (
        approval_request,
        beyond_reach,
        completed,
        content_of,
        judged_call,
        make_ids_unique,
        own_response,
        proposed_call,
        runs_here,
        seal_arguments,
        streamed,
        tools_by_name,
    )
except ModuleNotFoundError as error:
    missing = "agent-framework-core is not installed: pip install 'bylaw[agent-framework]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

__all__ = ["AgentGateMiddleware"]

Next = Callable[[], Awaitable[None]]
MAX_ANSWERS: Final = 20
"""The answers of one turn that may be refused. The framework does not count them."""


class SessionTurns:
    """The run of a session, or of an agent inside a tool."""

    def __init__(self, run: GatedRun) -> None:
        self.run: Final = run
        self.waiting: Final = {str(d.call.id): d for d in run.guard.asked}
        """Calls that a person has to approve, by the id of the call."""


class AgentGateMiddleware(AgentMiddleware):
    """Middleware that asks a guard about every turn of an agent.

    The procedure is an object or the path of a file, and `options` are those of `Guard`. `hosted`
    names the tools that may be used though they cannot be refused. With a `key`, nobody can change
    a guard that was saved.
    """

    def __init__(
        self,
        procedure: ProcedureSource,
        *,
        hosted: Collection[str] = (),
        key: bytes | None = None,
        **options: Any,
    ) -> None:
        self.source: Final = GuardSource(procedure, options)
        self.hosted: Final = frozenset(hosted)
        self._key: Final = key
        self._live: Final[RecentRuns[SessionTurns]] = RecentRuns()

    # ── sessions ─────────────────────────────────────────────────────────────────────────

    def report(self, session: Any) -> GuardReport:
        """Ends the run of a session, and scores it."""
        return self._known(session).run.guard.finish()

    def save(self, session: Any) -> dict[str, Json]:
        """The guard of a session as JSON, to `restore` where the session is continued."""
        return self._known(session).run.guard.save(key=self._key)

    def restore(self, session: Any, saved: Mapping[str, Json]) -> None:
        """Continues the guard of a session that another process saved."""
        guard = self.source.new_guard()
        guard.restore(saved, key=self._key)
        self._live.keep(session.session_id, SessionTurns(GatedRun.resumed(guard)))

    def _known(self, session: Any) -> SessionTurns:
        if (found := self._live.get(session.session_id)) is None:
            help = "Give a session of an agent with this gate."
            raise unusable("the guard of this session is not in memory", help)
        return found

    def _of(self, session: Any) -> SessionTurns:
        if (inner := joined_run(self.source)) is not None:
            return SessionTurns(inner)
        if session is None:
            return SessionTurns(GatedRun(self.source.new_guard()))
        if (found := self._live.get(session.session_id)) is None:
            found = SessionTurns(GatedRun(self.source.new_guard()))
            self._live.keep(session.session_id, found)
        return found

    # ── a run ────────────────────────────────────────────────────────────────────────────

    async def process(self, context: Any, call_next: Next) -> None:
        """Runs the agent with the gate between it and its model, and before its tools."""
        found = self._of(context.session)
        run, guard = found.run, found.run.guard
        if not (run.nested or guard.stopped):
            if guard.finished:
                guard.withdraw()  # the user writes again
            for message in context.messages:
                if message.role in ("user", "system") and message.text:
                    guard.say(message.role, message.text)
        given = list(context.client_kwargs.get("middleware") or ())
        gates = [ModelGate(self, found), FunctionGate(self, found)]
        context.client_kwargs["middleware"] = [*given, *gates]
        await call_next()

    def waits(self, run: GatedRun, decision: Decision) -> bool:
        """Is it the framework that asks a person about a call?"""
        return decision.action == "ask" and not (self.source.asks or run.nested)


class ModelGate(ChatMiddleware):
    """The gate between an agent and its model, in one run."""

    def __init__(self, gate: AgentGateMiddleware, found: SessionTurns) -> None:
        self._gate: Final = gate
        self._found: Final = found
        self._held_back: Final[list[tuple[int, list[Any]]]] = []
        """Refused answers and the reasons, with their places: the framework does not keep them."""

    async def process(self, context: Any, call_next: Next) -> None:
        """Asks the model until its calls, or its answer, are decided."""
        run = self._found.run
        self._check_tools(context)
        self._explain_denials(context.messages)
        context.messages = list(context.messages)
        for place, refused in self._held_back:
            context.messages[place:place] = refused
        for _ in range(MAX_ANSWERS):
            if run.guard.stopped:
                run.give_up()
                context.result = own_response(context.stream, stop_message(run.guard))
                return
            await call_next()
            response, updates = await completed(context.result)
            refusal = await self._decided(response, context)
            if refusal is None:
                context.result = response if updates is None else streamed(updates, response)
                return
            told = Message("user", [refusal])
            if response.conversation_id:  # the provider keeps the conversation
                context.options = {**context.options, "conversation_id": response.conversation_id}
                context.messages = [told]
            else:
                refused = [*response.messages, told]
                self._held_back.append((len(context.messages), refused))
                context.messages = [*context.messages, *refused]
        raise MiddlewareFailure(f"The gate has refused {MAX_ANSWERS} answers in one turn.")

    async def _decided(self, response: Any, context: Any) -> str | None:
        """Decides the calls of a turn, or its answer; why the answer is refused, if it is."""
        run, tools = self._found.run, tools_by_name(context.options)
        contents = [each for message in response.messages for each in message.contents]
        made = [each for each in contents if runs_here(each)]
        text = response.text or ""
        if made:
            make_ids_unique(made)
            calls = [proposed_call(each, tools.get(each.name)) for each in made]
            await run.decide_async(calls, text)
            self._found.waiting.clear()
            return None
        if run.nested or any(each.type.endswith("approval_request") for each in contents):
            return None
        decision = await run.answer_async(text)
        return None if decision.allowed else decision.message

    def _check_tools(self, context: Any) -> None:
        beyond = sorted(beyond_reach(context) - self._gate.hosted)
        if beyond:
            message = f"the framework does not run {', '.join(beyond)}: beyond the gate's reach"
            raise unusable(message, f"Leave them out, or say so: hosted={beyond}.")

    def _explain_denials(self, messages: Sequence[Any]) -> None:
        """The model reads our words about a call that a person did not approve."""
        waiting, run = self._found.waiting, self._found.run
        for message in reversed(messages):
            for place, content in enumerate(message.contents):
                if content.type == "function_call":
                    return  # ids repeat: results before this turn are of other calls
                if content.type == "function_result" and content.call_id in waiting:
                    decision = waiting.pop(content.call_id)
                    run.claim(decision.call)
                    text = denied_message(run.guard, decision)
                    told = Content.from_function_result(content.call_id, result=text)
                    message.contents[place] = told


class FunctionGate(FunctionMiddleware):
    """The gate before the tools of an agent, in one run."""

    def __init__(self, gate: AgentGateMiddleware, found: SessionTurns) -> None:
        self._gate: Final = gate
        self._found: Final = found

    async def process(self, context: Any, call_next: Next) -> None:
        """Runs a call that is allowed, and records its result."""
        found, run, id = self._found, self._found.run, context.metadata.get("call_id")
        call = judged_call(context.function, as_json(context.arguments), id)
        decision = await run.decision_on_async(call)
        if self._gate.waits(run, decision):
            reply = context.metadata.get("approval_response")
            if reply is None or id not in found.waiting:
                found.waiting[str(id)] = decision
                run.put_back(decision)
                context.result = approval_request(context, decision)
                return
            del found.waiting[str(id)]
            decision = run.approved(decision)
        if not decision.allowed:
            context.result = decision.message
            return
        seal_arguments(context)
        try:
            with running_tool(self._gate.source, run):
                await call_next()
        except BaseException as error:  # cancellation included
            run.fail(decision, error)
            raise
        run.record(decision, content_of(context.result))
