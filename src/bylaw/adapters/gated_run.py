"""One run of an agent behind a gate, for frameworks that ask about calls one by one.

Many frameworks run their hooks per call, in threads and out of order. A `GatedRun` decides a model
turn as a whole, in the order proposed, and hands each decision out once, to the call that it is
about: decisions are keyed by run, turn and place in the turn. `GuardSource` makes one guard per
run. Agents that run inside a tool join the run of the agent that called it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, TypeAlias

from bylaw.enforcement.decision import Decision
from bylaw.enforcement.execution import give_up
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.turn import plain_call
from bylaw.enforcement.validation import unusable
from bylaw.errors import UsageError
from bylaw.names import FINAL_ANSWER
from bylaw.plain import OversizedValue, as_json, error_text
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call
from bylaw.trace.refusal_mark import unmarked
from bylaw.values import Json, equal

ProcedureSource: TypeAlias = str | Path | Procedure
"""A procedure, or the path of its file."""


class GuardSource:
    """Makes a guard for each run, of one procedure and with the same options."""

    def __init__(self, procedure: ProcedureSource, options: Mapping[str, Any]) -> None:
        loaded = procedure if isinstance(procedure, Procedure) else Procedure.load(procedure)
        if "run_id" in options:
            raise unusable("run_id names a single run", "Leave it out: each run gets its own.")
        self.procedure: Final = loaded
        self.options: Final = dict(options)
        self.new_guard()  # a mistake in the options shows now, not in the first run

    def new_guard(self) -> Guard:
        """A guard for one run."""
        return Guard(self.procedure, **self.options)

    @property
    def asks(self) -> bool:
        """Does the guard itself ask a person? Otherwise, the framework may."""
        return self.options.get("ask") is not None


class GatedRun:
    """The turns of one agent, and the decisions on the latest that no call has claimed yet.

    Several agents may share a guard. Each has a `GatedRun` of its own.
    """

    def __init__(self, guard: Guard, *, nested: bool = False) -> None:
        self.guard: Final = guard
        self.nested: Final = nested
        """Does this agent work for another? Then its answer is not the answer to the user."""
        self._unclaimed: list[Decision] = []
        self._refused: list[tuple[Call, Decision]] = []
        self._lock: Final = threading.Lock()

    @classmethod
    def resumed(cls, guard: Guard) -> GatedRun:
        """The run of a guard that was restored: the calls that wait are those of the last turn."""
        run = cls(guard)
        run._unclaimed = [*guard.awaiting, *guard.asked]
        return run

    # ── deciding ─────────────────────────────────────────────────────────────────────────

    def decide(self, calls: Sequence[Call], text: str = "") -> list[Decision]:
        """Decides a model turn, with the text that came with it.

        A call whose arguments are not JSON is refused, and the others are decided without it.
        """
        self._begin(text)
        try:
            return self._keep(calls, self.guard.propose(calls))
        except UsageError as error:
            readable, refused = _set_apart(calls, self.guard.turn, error)
        return self._keep(calls, self.guard.propose(readable), refused)

    async def decide_async(self, calls: Sequence[Call], text: str = "") -> list[Decision]:
        """As `decide`, without blocking the event loop while a person is asked."""
        self._begin(text)
        try:
            return self._keep(calls, await self.guard.propose_async(calls))
        except UsageError as error:
            readable, refused = _set_apart(calls, self.guard.turn, error)
        return self._keep(calls, await self.guard.propose_async(readable), refused)

    def answer(self, text: str) -> Decision:
        """Decides the agent's answer."""
        return self.decide([Call(FINAL_ANSWER, {"answer": text})])[0]

    async def answer_async(self, text: str) -> Decision:
        """As `answer`."""
        return (await self.decide_async([Call(FINAL_ANSWER, {"answer": text})]))[0]

    def _begin(self, text: str) -> None:
        self.give_up()
        if text.strip():
            self.guard.say("assistant", text)

    def _keep(
        self,
        calls: Sequence[Call],
        decided: list[Decision],
        unreadable: Mapping[int, Decision] | None = None,
    ) -> list[Decision]:
        for place, refusal in sorted((unreadable or {}).items()):
            decided.insert(place, refusal)
        both = list(zip(calls, decided, strict=True))
        with self._lock:
            self._unclaimed = [each for each in decided if each.action in ("allow", "ask")]
            self._refused = [each for each in both if each[1].action not in ("allow", "ask")]
        return decided

    def give_up(self) -> None:
        """Gives up the calls of the latest turn that never ran: they have failed."""
        with self._lock:
            unclaimed, self._unclaimed = self._unclaimed, []
        give_up(self.guard, unclaimed)

    # ── running ──────────────────────────────────────────────────────────────────────────

    def claim(self, call: Call) -> Decision | None:
        """The decision on a call that is about to run. Each decision is handed out once.

        None if no turn contained the call: it was changed, or it is run again.
        """
        with self._lock:
            for place, decision in enumerate(self._unclaimed):
                if _same(decision.call, call):
                    return self._unclaimed.pop(place)
        return None

    def refusal_of(self, call: Call) -> Decision | None:
        """The refusal of a call of the latest turn. Each is handed out once."""
        with self._lock:
            for place, (refused, decision) in enumerate(self._refused):
                if _same(refused, call):
                    del self._refused[place]
                    return decision
        return None

    def put_back(self, decision: Decision) -> None:
        """Returns a decision whose call did not run after all: it will be claimed again."""
        with self._lock:
            self._unclaimed.append(decision)

    def decision_on(self, call: Call) -> Decision:
        """The decision on a call that is about to run, or is refused in this turn.

        A call that no turn contained is decided now, as a turn of its own.
        """
        return self.claim(call) or self.refusal_of(call) or self.guard.propose([call])[0]

    async def decision_on_async(self, call: Call) -> Decision:
        """As `decision_on`, without blocking the event loop while a person is asked."""
        known = self.claim(call) or self.refusal_of(call)
        return known or (await self.guard.propose_async([call]))[0]

    def approved(self, decision: Decision) -> Decision:
        """The decision on a call that was refused with `ask`, now that a person approves it."""
        self.guard.approve(decision)
        return self.guard.propose([decision.call])[0]

    def record(self, decision: Decision, result: Any, error: str | None = None) -> None:
        """Records a result, unless the call was given up in the meantime."""
        if self.guard.awaits(decision):
            self.guard.record(decision, as_json(result), error=error)

    def fail(self, decision: Decision, error: BaseException) -> None:
        """Records that a call raised something: an error, a cancellation, Ctrl-C."""
        self.record(decision, None, error_text(error))


def _same(decided: Call, call: Call) -> bool:
    same_id = call.id is None or decided.id == call.id
    return same_id and decided.tool == call.tool and equal(decided.args, call.args)


def _set_apart(
    calls: Sequence[Call], turn: int, error: UsageError
) -> tuple[list[Call], dict[int, Decision]]:
    """The calls that can be judged, and the refusals of the others, by place.

    If all can be judged, they are not what the error is about.
    """
    found = [_unreadable(call, turn, place) for place, call in enumerate(calls)]
    refused = {place: refusal for place, refusal in enumerate(found) if refusal is not None}
    if not refused:
        raise error
    return [call for place, call in enumerate(calls) if place not in refused], refused


def _unreadable(call: Call, turn: int, place: int) -> Decision | None:
    """The refusal of a call that no rule can judge, because its arguments are not JSON."""
    try:
        plain_call(call)
    except UsageError as error:
        reason = error.diagnostics[0].message
        message = f"{call.tool}: Not executed. {reason[:1].upper()}{reason[1:]}."
        return Decision(Call(str(call.tool)), "block", turn, place, message=message, problem=reason)
    except OversizedValue:
        return None  # the guard refuses it, with the reason
    return None


# ── agents inside tools ──────────────────────────────────────────────────────────────────────

_OUTER: Final[ContextVar[tuple[GuardSource, GatedRun] | None]] = ContextVar("outer", default=None)


class running_tool:  # noqa: N801  # a context manager reads like a function
    """While a tool runs: agents that it starts, with a gate of the same source, join the run."""

    def __init__(self, source: GuardSource, run: GatedRun) -> None:
        self._outer: Final = (source, run)
        self._token: Any = None

    def __enter__(self) -> None:
        self._token = _OUTER.set(self._outer)

    def __exit__(self, *_: object) -> None:
        _OUTER.reset(self._token)


def joined_run(source: GuardSource) -> GatedRun | None:
    """A run that joins the one whose tool is running, if there is one."""
    outer = _OUTER.get()
    if outer is None or outer[0] is not source:
        return None
    return GatedRun(outer[1].guard, nested=True)


# ── people ───────────────────────────────────────────────────────────────────────────────────


def question(decision: Decision) -> dict[str, Json]:
    """The call that a person is asked to approve, the rules that it breaks, and why."""
    return {
        "tool": decision.call.tool,
        "arguments": dict(decision.call.args),
        "rules": [violation.constraint.name for violation in decision.violations],
        "message": unmarked(decision.message),
    }
