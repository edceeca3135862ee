"""The gate: a procedure that decides, call by call, what an agent may do.

One guard is one run. The agent's turn is proposed as a whole and decided in order. Everything is
decided under one lock, so that threads and tasks get the decisions of some order in which they
could have come one after the other. The lock is not held while a person is asked: what an approval
lets pass is judged again after it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, Self

from bylaw.enforcement.asking import Ask, Question
from bylaw.enforcement.deciding import advance
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.events import EnforcementEvent
from bylaw.enforcement.given import check_asking, check_procedure, checked, unusable
from bylaw.enforcement.hints import HINTS, Hints
from bylaw.enforcement.journal import Journal
from bylaw.enforcement.judge import Judge
from bylaw.enforcement.log import AuditLog
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.run import Run
from bylaw.enforcement.severity import (
    SETTINGS,
    SOFT_BLOCK_MODES,
    Escalation,
    Setting,
    SoftBlockMode,
)
from bylaw.enforcement.tools import ToolFunction, run_turn, run_turn_async, wrap
from bylaw.enforcement.turn import Turn
from bylaw.errors import Diagnostic, UsageError, not_a_choice, shown
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import MISSING, ROLES, Call, Role
from bylaw.values import Json, copied, problem


class Guard:
    """Decides what one run of an agent may do.

    `propose` takes the calls of one model turn and decides each; `record` takes a result; `say`
    a message; `finish` ends the run and scores it. `wrap` and `run_turn` do so around plain
    Python functions. `setting` replaces the severities of the
    procedure, unless it is "as-written". `ask` is called for severity ASK with the call and the
    rules that it breaks, and has `ask_timeout` seconds to return True or False; without it, such
    calls are refused until `approve` lets them pass. `save` and `restore` carry a run over to
    another process.

    `with Guard(procedure) as guard:` finishes the run at the end of the block, unless that was
    done: without an answer if none was proposed, also when an exception leaves the block.
    """

    def __init__(
        self,
        procedure: Procedure,
        setting: Setting = "as-written",
        *,
        hints: Hints = "rule",
        soft_block: SoftBlockMode = "same-constraint",
        soft_block_limit: int = 3,
        ask: Ask | None = None,
        ask_timeout: float | None = None,
        enforce_l6: bool = False,
        labels: Mapping[str, Json] | None = None,
        log: AuditLog | None = None,
    ) -> None:
        check_procedure(procedure)
        check_asking(ask, ask_timeout)
        for given, name, choices in (
            (setting, "setting", SETTINGS),
            (hints, "hints", HINTS),
            (soft_block, "soft_block", SOFT_BLOCK_MODES),
        ):
            if given not in choices:
                raise unusable(*not_a_choice(name, given, choices))
        if type(soft_block_limit) is not int or soft_block_limit < 1:
            message = f"soft_block_limit cannot be {shown(soft_block_limit)}"
            raise unusable(message, "It is a whole number, 1 or more.")
        self.procedure: Final = procedure
        self.setting: Final[Setting] = setting
        self.hints: Final[Hints] = hints
        self._ask: Final = ask
        self._ask_timeout: Final = ask_timeout
        judge = Judge(procedure, setting, labels, enforce_l6=enforce_l6)
        escalation = Escalation(soft_block, soft_block_limit)
        self._run: Final = Run(procedure, setting, hints, judge, Journal(log, hints), escalation)
        self._lock: Final = threading.RLock()
        self._report: GuardReport | None = None

    @property
    def turn(self) -> int:
        """How many turns there have been; a message is one, unless it comes with calls."""
        return self._run.turn

    @property
    def stopped(self) -> bool:
        """Has the gate ended the run?"""
        return self._run.stopped

    @property
    def finished(self) -> bool:
        """Has the run ended, by an answer or by `finish`?"""
        return self._run.finished

    @property
    def events(self) -> list[EnforcementEvent]:
        """What the gate did so far, rule by rule."""
        return self._run.journal.events

    # ── proposing ────────────────────────────────────────────────────────────────────────

    def propose(self, calls: Iterable[Call]) -> list[Decision]:
        """Decides the calls of one model turn, in order. A turn without calls is one, too."""
        turn = Turn(checked(calls))
        while (question := self._advance(turn)) is not None and self._ask is not None:
            with self._in_earnest(turn):
                turn.answer(question, question.ask(self._ask, self._ask_timeout))
        return turn.decisions

    async def propose_async(self, calls: Iterable[Call]) -> list[Decision]:
        """As `propose`; while a person is asked, the event loop goes on."""
        turn = Turn(checked(calls))
        while (question := self._advance(turn)) is not None and self._ask is not None:
            with self._in_earnest(turn):
                turn.answer(question, await question.ask_async(self._ask, self._ask_timeout))
        return turn.decisions

    @contextmanager
    def _in_earnest(self, turn: Turn) -> Iterator[None]:
        """If a turn is broken off, by Ctrl-C or with its task, what was allowed does not run."""
        try:
            yield
        except BaseException:
            with self._lock:
                self._run.break_off(turn)
            raise

    def _advance(self, turn: Turn) -> Question | None:
        with self._lock:
            return advance(self._run, turn, asks=self._ask is not None)

    # ── running tools ────────────────────────────────────────────────────────────────────

    def wrap(
        self, tools: Mapping[str, ToolFunction], *, defaults: bool = False
    ) -> dict[str, ToolFunction]:
        """The tools, each of which asks this guard before it runs, and tells it what came of it.

        A refusal is raised as `ConstraintViolationError`. Coroutine functions stay such. The
        guard sees arguments left to their defaults only if `defaults` is true.
        """
        return wrap(self, tools, defaults=defaults)

    def run_turn(self, tools: Mapping[str, ToolFunction], calls: Sequence[Call]) -> list[Any]:
        """Decides one model turn and runs what is allowed; what the agent gets for each call."""
        return run_turn(self, tools, calls)

    async def run_turn_async(
        self, tools: Mapping[str, ToolFunction], calls: Sequence[Call]
    ) -> list[Any]:
        """As `run_turn`, for tools of which some are awaited: those run at the same time."""
        return await run_turn_async(self, tools, calls)

    # ── results, messages, approvals ─────────────────────────────────────────────────────

    def record(self, decision: Decision, result: Json, *, error: str | None = None) -> None:
        """Takes in the result of a call that ran. What is lost through it blocks nothing."""
        if decision.position is None:
            message = "the call did not run: it was refused"
            raise UsageError(Diagnostic("E413", message, "Record results of allowed calls."))
        if result is not MISSING and (reason := problem(result)):
            message = f"the result of '{decision.call.tool}' is not JSON: {reason}"
            help = "`wrap` and `run_turn` turn what tools return into JSON."
            raise UsageError(Diagnostic("E413", message, help))
        call = replace(decision.call, result=copied(result), error=error)
        with self._lock:
            self._run.record(decision.position, call)

    def say(self, role: Role, text: str) -> None:
        """Takes in a message. What is lost through it blocks nothing.

        What the assistant says belongs to the calls that it proposes next.
        """
        if role not in ROLES:
            raise unusable(*not_a_choice("role", role, ROLES))
        with self._lock:
            self._run.say(role, text)

    def approve(self, decision: Decision) -> None:
        """A person approves a call that was refused with `ask`: proposed again, it may run."""
        if decision.action != "ask":
            message = f"the answer to the call was {decision.action}, not ask"
            raise UsageError(Diagnostic("E413", message, "Approve calls that wait for a person."))
        with self._lock:
            self._run.approve(decision)

    def withdraw(self) -> None:
        """The answer that was allowed is not taken after all: the run goes on without it.

        For frameworks that check an answer, or let the agent try again, once it has been given.
        """
        with self._lock:
            self._run.withdraw()

    # ── the end ──────────────────────────────────────────────────────────────────────────

    def finish(self, answer: str | None = None) -> GuardReport:
        """Ends the run and scores it. An answer that was proposed is not given again."""
        with self._lock:
            self._report = self._run.finish(answer)
            return self._report

    @property
    def report(self) -> GuardReport | None:
        """What `finish` returned, once it was called."""
        return self._report

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._report is None:
            self.finish()

    def save(self) -> dict[str, Json]:
        """Where the run stands, as JSON; `restore` goes on from there."""
        with self._lock:
            return self._run.save()

    def restore(self, saved: Mapping[str, Json]) -> None:
        """Puts a guard of the same procedure and setting where another one stood."""
        with self._lock:
            self._run.restore(saved)
