"""The runs of LangChain agents: in memory, in the state of a graph, in a thread that is kept.

See `bylaw.adapters.langchain`. The state of a graph names its run, and how often the guard was
saved by then. A thread that goes back to an earlier moment gets the guard of that moment.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Annotated, Any, Final, NotRequired

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import OmitFromInput
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp

from bylaw.adapters.gated_run import GatedRun, GuardSource, joined_run, running_tool
from bylaw.adapters.langchain_calls import ToolSchemas
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.validation import unusable
from bylaw.trace.event import Call

MAX_LIVE: Final = 4096
"""The runs whose guards are kept in memory. Of older ones, only saved threads can continue."""


class GateState(AgentState):
    """The state of an agent, with that of its guard."""

    bylaw: NotRequired[Annotated[dict[str, Any], OmitFromInput]]  # type: ignore[valid-type]  # it is a TypedDict


class LiveRun:
    """A run in this process, and how often its guard has been saved."""

    def __init__(self, run: GatedRun, key: str, saves: int = 0) -> None:
        self.run: Final = run
        self.key: Final = key
        self.saves = saves
        self.schemas: Final[ToolSchemas] = {}
        """The schemas of the tools that the model was offered, by name."""
        self.judged: dict[str, tuple[Mapping[str, Any], Call]] = {}
        """The calls of the latest turn by id: as the model made them, and as they were judged."""


class LiveRuns:
    """The runs of one gate."""

    def __init__(self, source: GuardSource, key: bytes | None) -> None:
        self._source: Final = source
        self._key: Final = key
        self._live: Final[OrderedDict[str, LiveRun]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._live)

    def begin(self, state: Any) -> LiveRun:
        """A new run, or the one of the thread, or the one of the agent whose tool is running."""
        if (inner := joined_run(self._source)) is not None:
            return self._keep(LiveRun(inner, self._new_key()))
        noted = state.get("bylaw")
        if not noted:
            return self._keep(LiveRun(GatedRun(self._source.new_guard()), self._new_key()))
        if not noted["saved"]:
            raise _gone()
        # Not the guard in memory: someone may continue the same thread at the same time.
        run = GatedRun.resumed(self._restored(noted["saved"]))
        if run.guard.finished and not run.guard.stopped:
            run.guard.withdraw()  # the user writes again
        return self._keep(LiveRun(run, self._new_key()))

    def _new_key(self) -> str:
        return secrets.token_hex(8)

    def of(self, state: Any) -> LiveRun:
        """The run of a state: the one in memory, unless the state is of another moment."""
        noted = state.get("bylaw")
        if not noted:  # the thread began without the gate
            return self.begin(state)
        live = self._live.get(noted["run"])
        if live is not None and live.saves == noted["saves"]:
            return live
        if (inner := joined_run(self._source)) is not None:
            return self._keep(LiveRun(inner, noted["run"], noted["saves"]))
        if not noted["saved"]:
            raise _gone()
        run = GatedRun.resumed(self._restored(noted["saved"]))
        return self._keep(LiveRun(run, noted["run"], noted["saves"]))

    def noted(self, live: LiveRun, *, save: bool) -> dict[str, Any]:
        """The entry of a run in the state. A guard is only saved where something keeps it."""
        saved = None
        if save and not live.run.nested:
            live.saves += 1
            saved = live.run.guard.save(key=self._key)
        return {"run": live.key, "saves": live.saves, "saved": saved}

    def ended(self, live: LiveRun) -> dict[str, Any]:
        """The last entry of a run, which then leaves the memory."""
        live.run.give_up()
        self._live.pop(live.key, None)
        return self.noted(live, save=True)

    def report(self, state: Mapping[str, Any]) -> GuardReport:
        """The report on the run of a state."""
        noted = state.get("bylaw")
        if not noted:
            help = "Give the result of `invoke`, or the values of `get_state`."
            raise unusable("the state holds no guard", help)
        if noted["saved"]:
            return self._restored(noted["saved"]).finish()
        if noted["run"] not in self._live:
            raise _gone()
        return self._live[noted["run"]].run.guard.finish()

    def _keep(self, live: LiveRun) -> LiveRun:
        self._live[live.key] = live
        while len(self._live) > MAX_LIVE:
            self._live.popitem(last=False)
        return live

    def _restored(self, saved: Mapping[str, Any]) -> Guard:
        guard = self._source.new_guard()
        guard.restore(saved, key=self._key)
        return guard


class Recording:
    """While a tool runs: agents that it starts join the run, and what it raises is recorded."""

    def __init__(self, source: GuardSource, run: GatedRun, decision: Decision) -> None:
        self._inside: Final = running_tool(source, run)
        self._run: Final = run
        self._decision: Final = decision

    def __enter__(self) -> None:
        self._inside.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self._inside.__exit__(kind, error, traceback)
        if isinstance(error, GraphBubbleUp):  # the graph pauses, and will run the call again
            self._run.put_back(self._decision)
        elif error is not None:  # cancellation included
            self._run.fail(self._decision, error)


def is_kept() -> bool:
    """Is the state of this run kept in a thread?"""
    return "thread_id" in get_config().get("configurable", {})


def _gone() -> Exception:
    help = "A run that no checkpointer keeps ends with its `invoke`."
    return unusable("the guard of this run is no longer in memory", help)
