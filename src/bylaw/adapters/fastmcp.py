"""A gate for your own MCP server, made with FastMCP: `pip install 'bylaw[fastmcp]'`.

    gate = ServerGate("desk.yaml")
    server.add_middleware(gate)
    server.run()

- A server does not see the agent: neither its turns, nor its answer. Each call is a turn of its
  own. While the result of a call is outstanding, calls that depend on it are refused as too early.
- On stdio, the process is the run: whoever started it has it to themselves. Over HTTP, calls of
  many agents arrive, and you have to say which run a call belongs to: `run` is a function that
  returns a key that the client cannot choose, such as `token_claim("run")`, a claim of the verified
  access token. Session ids are not used: clients choose them. A call without a key is refused.
- A refusal is a `ToolError`: the model reads it in place of the result. When the gate ends a run,
  everything after it is refused; the server cannot end the agent.
- Add the gate last. It is then the innermost middleware, and what it judges is what runs; a call
  does not run if another middleware is nearer to the tools, or if its arguments do not fit the
  tool's schema, because FastMCP would convert them after they were judged. Servers that yours
  mounts or proxies are reached through it. Resources and prompts are not judged.
- `report(run)` ends a run and scores it; until then its guard is kept. `max_runs` runs may be open
  at once: the calls of further ones are refused, so that nobody can push a guard out.
- Calls that need a person's approval ask through the guard's `ask`. MCP's elicitation asks the
  client, which is the agent's side.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from bylaw.adapters.gated_run import GatedRun, GuardSource, ProcedureSource
from bylaw.adapters.tool_arguments import ToolArguments
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.validation import check_positive, unusable
from bylaw.plain import as_json
from bylaw.trace.event import Call
from bylaw.values import Json

try:
    from fastmcp.exceptions import ToolError
    from fastmcp.server.dependencies import get_access_token
    from fastmcp.server.middleware import Middleware
except ModuleNotFoundError as error:
    missing = "fastmcp is not installed: pip install 'bylaw[fastmcp]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

__all__ = ["ServerGate", "token_claim"]

PROCESS: Final = "stdio"
"""The key of the only run of a server on stdio."""
MAX_RUNS: Final = 10_000


def token_claim(name: str) -> Callable[[], str | None]:
    """A function that returns a claim of the verified access token, as the key of a run."""

    def key() -> str | None:
        token = get_access_token()
        found = None if token is None else token.claims.get(name)
        return found if isinstance(found, str) else None

    return key


class ServerGate(Middleware):
    """Middleware that asks a guard about every tool call of a server. Add it last.

    The procedure is an object or the path of a file, and `options` are those of `Guard`. `run`
    returns the key of the run that a call belongs to; without it, only stdio is served. With a
    `key`, nobody can change a guard that was saved.
    """

    def __init__(
        self,
        procedure: ProcedureSource,
        *,
        run: Callable[[], str | None] | None = None,
        max_runs: int = MAX_RUNS,
        key: bytes | None = None,
        **options: Any,
    ) -> None:
        check_positive("max_runs", max_runs)
        self._source: Final = GuardSource(procedure, options)
        self._run_key: Final = run
        self._max_runs: Final = max_runs
        self._key: Final = key
        self._runs: Final[dict[str, GatedRun]] = {}
        self._arguments: Final[dict[str, tuple[Any, ToolArguments]]] = {}
        self._lock: Final = threading.Lock()

    # ── runs ─────────────────────────────────────────────────────────────────────────────

    def report(self, run: str = PROCESS) -> GuardReport:
        """Ends a run, and scores it. A later call with the same key begins a new one."""
        with self._lock:
            found = self._runs.pop(run, None)
        if found is None:
            raise unusable(f"there is no run with the key {run!r}", "It has made no call yet.")
        return found.guard.finish()

    def save(self, run: str = PROCESS) -> dict[str, Json]:
        """The guard of a run as JSON, to `restore` in another process."""
        return self._of(run).guard.save(key=self._key)

    def restore(self, saved: Mapping[str, Json], run: str = PROCESS) -> None:
        """Continues the guard of a run that another process saved."""
        guard = self._source.new_guard()
        guard.restore(saved, key=self._key)
        with self._lock:
            self._runs[run] = GatedRun.resumed(guard)

    def guard(self, run: str = PROCESS) -> Guard:
        """The guard of a run."""
        return self._of(run).guard

    def _of(self, key: str) -> GatedRun:
        with self._lock:
            found = self._runs.get(key)
            if found is None:
                if len(self._runs) >= self._max_runs:
                    raise ToolError(f"Not executed. {self._max_runs} runs are open already.")
                found = self._runs[key] = GatedRun(self._source.new_guard())
            return found

    def _run_of(self, context: Any) -> GatedRun:
        """The run that a call belongs to. Where nobody vouches for it, the call is refused."""
        if self._run_key is not None:
            key = self._run_key()
        else:
            key = PROCESS if context is not None and context.transport == PROCESS else None
        if not key or not isinstance(key, str):
            raise ToolError("Not executed. It is not known which run this call belongs to.")
        return self._of(key)

    # ── calls ────────────────────────────────────────────────────────────────────────────

    async def on_call_tool(self, context: Any, call_next: Callable[[Any], Any]) -> Any:
        """Runs a call that is allowed, and records its result."""
        message, around = context.message, context.fastmcp_context
        self._check_place(around)
        run = self._run_of(around)
        arguments = await self._arguments_of(message.name, around)
        given = dict(message.arguments or {})
        judged = given if arguments is None else arguments.completed(given)
        (decision,) = await run.guard.propose_async([Call(message.name, as_json(judged))])
        if not decision.allowed:
            raise ToolError(decision.message)
        args = dict(decision.call.args)
        if arguments is not None and (problem := arguments.problem(args)) is not None:
            run.record(decision, None, problem)
            raise ToolError(f"{message.name}: {problem}")
        try:
            judged_message = message.model_copy(update={"arguments": args})
            result = await call_next(context.copy(message=judged_message))
        except BaseException as error:  # cancellation included
            run.fail(decision, error)
            raise
        content, failed = _content(result)
        run.record(decision, None if failed else content, str(content) if failed else None)
        return result

    def _check_place(self, around: Any) -> None:
        chain = [] if around is None else around.fastmcp.middleware
        if self in chain and chain[-1] is not self:
            message = "other middleware is nearer to the tools than the gate, and may change calls"
            raise unusable(message, "Add the gate last.")

    async def _arguments_of(self, name: str, around: Any) -> ToolArguments | None:
        tool = None if around is None else await around.fastmcp.get_tool(name)
        if tool is None:
            return None  # FastMCP will say that there is none
        known, arguments = self._arguments.get(name, (None, None))
        if arguments is None or known != tool.parameters:
            arguments = ToolArguments(tool.parameters)
            self._arguments[name] = (tool.parameters, arguments)
        return arguments


def _content(result: Any) -> tuple[Json, bool]:
    """The result of a tool as rules see it; and whether it is an error."""
    structured = getattr(result, "structured_content", None)
    if isinstance(structured, dict) and set(structured) == {"result"}:
        structured = structured["result"]  # FastMCP wraps plain values so
    if structured is None:
        blocks = getattr(result, "content", None) or ()
        structured = "\n".join(str(getattr(block, "text", "")) for block in blocks)
    return as_json(structured), bool(getattr(result, "is_error", False))
