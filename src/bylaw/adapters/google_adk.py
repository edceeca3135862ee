"""A gate for agents of Google's Agent Development Kit: `pip install 'bylaw[google-adk]'`.

    gate = GatePlugin("desk.yaml")
    runner = InMemoryRunner(app=App(name="desk", root_agent=agent, plugins=[gate]))
    async for event in runner.run_async(user_id=…, session_id=session.id, new_message=…): …
    report = gate.report(session)

- Each session has a guard of its own. The calls of a model turn are decided together, in the order
  proposed, before any of them runs. The model reads a refusal as the response of its call.
- An answer that a rule refuses is not the end: the model finds it in its history as a call of
  `final_answer` whose response is the refusal, and works on. When the gate ends the run, the last
  text says so.
- List the gate last: it is then nearest to the tools. If another plugin comes after it, or an agent
  has a `before_tool_callback`, no tool runs, because a call could be changed after it was judged.
- Agents that the agent transfers to are judged in the same run, and so are those in an `AgentTool`,
  unless it is made with `include_plugins=False`. The answers of the latter are not the answer.
- A tool that raises has failed, whatever an `on_tool_error_callback` makes of it.
- A call that needs a person's approval is confirmed as ADK confirms calls, unless the guard itself
  asks. Agents inside tools cannot wait: there, such a call is refused.
- Tools that the model's provider runs are beyond the gate's reach: name those that may be used in
  `hosted`; others are an error. Live sessions are not judged by turns: do not use them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final
from uuid import uuid4

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
from bylaw.names import FINAL_ANSWER
from bylaw.plain import as_json
from bylaw.trace.event import Call
from bylaw.values import Json

try:
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai import types
except ModuleNotFoundError as error:
    missing = "google-adk is not installed: pip install 'bylaw[google-adk]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

__all__ = ["GatePlugin"]

_CONFIRM: Final = "adk_request_confirmation"


class SessionRun:
    """The run of a session, or of an agent inside a tool: its tools, and what its turn became."""

    def __init__(self, run: GatedRun) -> None:
        self.run: Final = run
        self.tools: dict[str, Any] = {}
        self.held_back: dict[str, str] = {}
        """The refusal of the latest answer, by the id of the call that stands for it."""
        self.waiting: dict[str, Decision] = {}
        """Calls that a person has to confirm."""
        self.running: dict[str, tuple[Decision, running_tool]] = {}


class GatePlugin(BasePlugin):
    """A plugin that asks a guard about every turn of a runner's agents. List it last.

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
        name: str = "bylaw",
        **options: Any,
    ) -> None:
        super().__init__(name=name)
        self._source: Final = GuardSource(procedure, options)
        self._hosted: Final = frozenset(hosted)
        self._key: Final = key
        self._live: Final[RecentRuns[SessionRun]] = RecentRuns()

    # ── sessions ─────────────────────────────────────────────────────────────────────────

    def report(self, session: Any) -> GuardReport:
        """Ends the run of a session, and scores it."""
        return self._known(session).run.guard.finish()

    def save(self, session: Any) -> dict[str, Json]:
        """The guard of a session as JSON, to `restore` where the session is continued."""
        return self._known(session).run.guard.save(key=self._key)

    def restore(self, session: Any, saved: Mapping[str, Json]) -> None:
        """Continues the guard of a session that another process saved."""
        guard = self._source.new_guard()
        guard.restore(saved, key=self._key)
        self._live.keep(_key(session), SessionRun(GatedRun.resumed(guard)))

    def _known(self, session: Any) -> SessionRun:
        if (found := self._live.get(_key(session))) is None:
            help = "Give a session of a runner with this plugin."
            raise unusable("the guard of this session is not in memory", help)
        return found

    def _of(self, context: Any) -> SessionRun:
        """The run of a callback's context."""
        session = context.session
        found = self._live.get(_key(session))
        if found is None:
            run = joined_run(self._source) or GatedRun(self._source.new_guard())
            found = self._live.keep(_key(session), SessionRun(run))
        return found

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> None:
        """Notes what the user says."""
        guard, nested = (run := self._of(invocation_context).run).guard, run.nested
        text = _text(user_message)
        if nested or guard.stopped or not text:
            return
        if guard.finished:
            guard.withdraw()  # the user writes again
        guard.say("user", text)

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        """Gives up calls that have no result. Those that wait for a person are kept."""
        found = self._of(invocation_context)
        if not found.waiting:
            found.run.give_up()
        if found.run.nested:
            self._live.forget(_key(invocation_context.session))

    # ── the model ────────────────────────────────────────────────────────────────────────

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> Any:
        """Asks the model, unless the gate has ended the run."""
        found = self._of(callback_context)
        if found.run.guard.stopped:
            found.run.give_up()
            return _said(stop_message(found.run.guard))
        found.tools = dict(llm_request.tools_dict)
        if beyond := sorted(_hosted_tools(llm_request) - self._hosted):
            message = f"the model's provider runs {', '.join(beyond)}, beyond the gate's reach"
            raise unusable(message, f"Leave them out, or say so: hosted={beyond}.")
        return None

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> Any:
        """Decides the calls of a model turn, or its answer."""
        if llm_response.partial or llm_response.content is None:
            return None
        found, text = self._of(callback_context), _text(llm_response.content)
        run, made = found.run, llm_response.get_function_calls()
        if not made:
            return None if run.nested or run.guard.stopped else await self._answered(found, text)
        if run.guard.finished and not run.guard.stopped:
            run.guard.withdraw()  # an agent works on after an answer
        _make_ids_unique(made)
        agent = callback_context.agent_name
        calls = [_judged(each.name, each.args, each.id, found.tools, agent) for each in made]
        decided = await run.decide_async(calls, text)
        both = zip(made, decided, strict=True)
        found.waiting = {c.id: d for c, d in both if self._waits(run, d)}
        return None

    async def _answered(self, found: SessionRun, text: str) -> Any:
        if found.run.guard.finished:
            found.run.guard.withdraw()  # the answer of the agent before it
        decision = await found.run.answer_async(text)
        if decision.allowed:
            return None
        if found.run.guard.stopped:
            return _said(decision.message)
        id = f"adk-{uuid4()}"
        found.held_back = {id: decision.message}
        call = types.FunctionCall(id=id, name=FINAL_ANSWER, args={"answer": text})
        return _said_parts([types.Part(function_call=call)])

    def _waits(self, run: GatedRun, decision: Decision) -> bool:
        return decision.action == "ask" and not (self._source.asks or run.nested)

    # ── the tools ────────────────────────────────────────────────────────────────────────

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> Any:
        """Lets a call run, refuses it, or lets it wait."""
        found, id = self._of(tool_context), tool_context.function_call_id
        self._check_place(tool_context)
        if (refusal := found.held_back.pop(id, None)) is not None:
            return {"error": refusal}
        if (decision := found.waiting.get(id)) is not None:
            confirmed = tool_context.tool_confirmation
            if confirmed is None:
                tool_context.request_confirmation(
                    hint=question(decision)["message"], payload=question(decision)
                )
                tool_context.actions.skip_summarization = True
                return {"error": "This tool call requires confirmation."}
            del found.waiting[id]
            if not confirmed.confirmed:
                return {"error": denied_message(found.run.guard, decision)}
            decision = found.run.approved(decision)
        else:
            agent = tool_context.agent_name
            call = _judged(tool.name, tool_args, id, found.tools, agent)
            decision = await found.run.decision_on_async(call)
        if not decision.allowed:
            return {"error": decision.message}
        tool_args.update(decision.call.args)
        inside = running_tool(self._source, found.run)
        inside.__enter__()  # ADK runs each call in a task of its own
        found.running[id] = (decision, inside)
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any
    ) -> None:
        """Records the result of a call that ran."""
        if (ran := self._ended(tool_context)) is not None:
            found, decision = ran
            found.run.record(decision, result)

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: Any, tool_context: Any, error: BaseException
    ) -> None:
        """Records that a call raised something, cancellation included."""
        if (ran := self._ended(tool_context)) is not None:
            found, decision = ran
            found.run.fail(decision, error)

    def _ended(self, tool_context: Any) -> tuple[SessionRun, Decision] | None:
        found = self._of(tool_context)
        running = found.running.pop(tool_context.function_call_id, None)
        if running is None:
            return None
        with suppress(ValueError):  # it is another task that tells
            running[1].__exit__()
        return found, running[0]

    def _check_place(self, tool_context: Any) -> None:
        around = tool_context._invocation_context  # a test says when it moves
        agent = around.agent
        if around.plugin_manager.plugins[-1] is not self:
            message = "another plugin is nearer to the tools than the gate, and may change calls"
            raise unusable(message, "List the gate last: plugins=[…, gate].")
        if getattr(agent, "canonical_before_tool_callbacks", None):
            message = f"before_tool_callback of {agent.name!r} may change calls that were judged"
            raise unusable(message, "Make a plugin of it, and list it before the gate.")


def _key(session: Any) -> tuple[str, str, str]:
    return session.app_name, session.user_id, session.id


def _make_ids_unique(calls: Iterable[Any]) -> None:
    """Gives ids to calls that have none, as ADK would, or the id of another: people approve ids."""
    seen: set[str] = set()
    for call in calls:
        if not call.id or call.id in seen:
            call.id = f"adk-{uuid4()}"
        seen.add(call.id)


def _judged(name: str, args: Any, id: str, tools: Mapping[str, Any], agent: str) -> Call:
    """A call with the arguments that the tool will receive: those given, and its defaults."""
    return Call(name, {**_defaults(tools.get(name)), **as_json(args or {})}, id=id, agent=agent)


def _defaults(tool: Any) -> Mapping[str, Json]:
    function = getattr(tool, "func", None)
    return {} if function is None else _defaults_of(function)


@lru_cache(maxsize=1024)
def _defaults_of(function: Callable[..., Any]) -> Mapping[str, Json]:
    given = inspect.signature(function).parameters.values()
    plain = (str, int, float, bool, type(None))
    return {each.name: each.default for each in given if isinstance(each.default, plain)}


def _hosted_tools(request: Any) -> set[str]:
    """The tools of a request that are not functions: the provider runs them."""
    found: set[str] = set()
    for tool in request.config.tools or ():
        fields = tool.model_fields_set if isinstance(tool, types.Tool) else ()
        found |= {f for f in fields if f != "function_declarations" and getattr(tool, f)}
    return found


def _text(content: Any) -> str:
    parts = getattr(content, "parts", None) or ()
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _said(text: str) -> Any:
    return _said_parts([types.Part(text=text)])


def _said_parts(parts: list[Any]) -> Any:
    return LlmResponse(content=types.Content(role="model", parts=parts))
