"""A gate for many sessions: finds the run of an event, and keeps what came of it.

    gate = HookGate(procedure, SessionStore(folder))
    answer = gate.handle("session-1", lambda run: answered(run, event))

A state on disk is sealed with a key, and bound to the procedure: after an edit of the procedure, a
session that began under the old one is refused. A process that stays keeps guards in memory, and
uses them as long as no other process has written the session.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from bylaw.enforcement.guard import Guard
from bylaw.errors import Diagnostic, UsageError
from bylaw.frozen import replace
from bylaw.procedure.procedure import Procedure
from bylaw.protocols.hooked_run import HookedRun, restored
from bylaw.protocols.store import SessionStore

_T = TypeVar("_T")

MAX_LIVE: Final = 1024
"""The sessions whose guards are kept in memory; the others are restored from disk."""


class HookGate:
    """The sessions of one procedure. With `observe`, nothing is refused, only noted."""

    def __init__(
        self,
        procedure: Procedure,
        store: SessionStore,
        *,
        observe: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.procedure: Final = observing(procedure) if observe else procedure
        self.store: Final = store
        self.observe: Final = observe
        # The trace is kept in the store, entry by entry: a state must not grow with the run.
        self._options: Final = {"max_trace": 0, **(options or {}), **(OBSERVING if observe else {})}
        self._key: Final = store.key()
        self._live: Final[OrderedDict[str, tuple[int, HookedRun]]] = OrderedDict()

    def new_guard(self) -> Guard:
        """A guard for one session."""
        return Guard(self.procedure, **self._options)

    def handle(self, session: str, work: Callable[[HookedRun], _T], *, begins: bool = False) -> _T:
        """Does something with the run of a session, and saves it. Only `begins` makes a new one."""
        with self.store.session(session) as stored:
            if not (stored.exists or begins):
                raise _unknown(session)
            run = self._run(session, stored.version, stored.state if stored.exists else None)
            self._live.pop(session, None)  # if anything fails, it is restored from disk
            result = work(run)
            state = run.save(self._key)
            name = self.procedure.name
            stored.save(run.guard.run_id, state, run.happened, name, observed=self.observe)
            run.happened = []
        self._live[session] = (stored.version, run)
        while len(self._live) > MAX_LIVE:
            self._live.popitem(last=False)
        return result

    def _run(self, session: str, version: int, state: Any) -> HookedRun:
        known, live = self._live.get(session, (0, None))
        if live is not None and known == version:
            return live
        if state is None:
            return HookedRun(self.new_guard(), observe=self.observe)
        return restored(self.new_guard, state, self._key, observe=self.observe)


OBSERVING: Final[dict[str, Any]] = {"unenforceable": "score", "outstanding": "hope"}
"""The options of guards that only observe: no promise is made, and no call is too early."""


def observing(procedure: Procedure) -> Procedure:
    """The procedure with rules that ask where they would refuse: the observer says yes."""
    listed = {tool: procedure.schemas.get(tool) for tool in procedure.tools or ()}
    return Procedure(
        [
            each if each.effective_severity == "TOLERATE" else replace(each, severity="ASK")
            for each in procedure.constraints
        ],
        name=procedure.name,
        tools=None if procedure.tools is None else listed,
        groups=procedure.groups,
        constants=procedure.constants,
        define=procedure.define,
        failed=procedure.failed,
        unlisted=procedure.unlisted,
        order=procedure.order,
        events=procedure.events,
        finish=procedure.finish,
        vocabulary=procedure.vocabulary,
    )


def _unknown(session: str) -> UsageError:
    message = f"the gate has no record of session {session}"
    help = (
        "It began before the gate was installed, or its record was removed. Start a new session, "
        "so that the gate sees all of it."
    )
    return UsageError(Diagnostic("E472", message, help))
