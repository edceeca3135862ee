"""The gate: a procedure that decides, call by call, what an agent may do.

One guard is one run. The agent's turn is proposed as a whole and decided in order. Decisions are
made under one lock: concurrent turns are decided as if they came one after the other. The lock is
not held while a person is asked, so an approved call is judged again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, Self

from bylaw.enforcement.asking import Ask, Question
from bylaw.enforcement.decision import (
    HINTS,
    SOFT_BLOCK_MODES,
    Decision,
    Escalation,
    Hints,
    SoftBlockMode,
)
from bylaw.enforcement.events import EnforcementEvent, Journal
from bylaw.enforcement.judge import OUTSTANDING, Judge, Outstanding
from bylaw.enforcement.log import AuditLog
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.run import Run, Turn
from bylaw.enforcement.saved_run import restore_run, save_run
from bylaw.enforcement.severity import SETTINGS, Setting
from bylaw.enforcement.tools import ToolFunction, run_turn, run_turn_async, wrap
from bylaw.enforcement.validation import check_asking, check_procedure, unusable
from bylaw.errors import Diagnostic, UsageError, not_a_choice, shown
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import MISSING, ROLES, Call, Role
from bylaw.values import Json, copied, problem


class Guard:
    """Decides what one run of an agent may do.

    `propose` decides the calls of one model turn, `record` takes a result and `say` a message, and
    `finish` ends the run and scores it. `wrap` and `run_turn` do all this for plain Python
    functions. `setting` replaces the severities of the procedure, unless it is "as-written". `ask`
    is called for severity ASK with the call and the rules that it breaks, and has `ask_timeout`
    seconds to return True or False. Without `ask`, such calls are refused until `approve` is
    called. `save` and `restore` move a run to another process.

    A call may depend on the result of another that is still outstanding. With `outstanding`
    "refuse", it is refused as too early, and the refusal counts towards nothing. With "wait",
    `run_turn` decides it once the results of its turn are in. With "hope", it is judged as if every
    outstanding call had the best outcome, as in the benchmark.

    `with Guard(procedure) as guard:` finishes the run at the end of the block, also after an
    exception, unless `finish` was called in it. The answer is the one that was proposed, if any.
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
        outstanding: Outstanding = "refuse",
        labels: Mapping[str, Json] | None = None,
        log: AuditLog | None = None,
    ) -> None:
        check_procedure(procedure)
        check_asking(ask, ask_timeout)
        for given, name, choices in (
            (setting, "setting", SETTINGS),
            (hints, "hints", HINTS),
            (soft_block, "soft_block", SOFT_BLOCK_MODES),
            (outstanding, "outstanding", OUTSTANDING),
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
        self.outstanding: Final[Outstanding] = outstanding
        judge = Judge(procedure, setting, labels, outstanding=outstanding)
        escalation = Escalation(soft_block, soft_block_limit)
        self._run: Final = Run(procedure, setting, hints, judge, Journal(log, hints), escalation)
        self._lock: Final = threading.RLock()
        self._report: GuardReport | None = None

    @property
    def turn(self) -> int:
        """The number of turns so far. A message counts as a turn, unless it comes with calls."""
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
        """The enforcement events so far, one for each rule that was concerned."""
        return self._run.journal.events

    # ── proposing ────────────────────────────────────────────────────────────────────────

    def propose(self, calls: Iterable[Call]) -> list[Decision]:
        """Decides the calls of one model turn, in order. A turn may have no calls."""
        turn = Turn.of(calls)
        self._decide(turn)
        return turn.decisions

    def rounds(self, calls: Iterable[Call]) -> Iterator[list[Decision]]:
        """Decides one model turn in rounds; run the calls of each before the next is decided.

        With `outstanding="wait"`, a call that depends on results of its turn is decided in a later
        round. Otherwise there is one round.
        """
        turn = Turn.of(calls)
        waits = self.outstanding == "wait"
        while True:
            before = set(turn.decided)
            self._decide(turn, waits=waits)
            new = [turn.decided[place] for place in sorted(turn.decided.keys() - before)]
            yield new
            if not turn.waiting:
                return
            waits = any(decision.allowed for decision in new)  # else there is nothing to wait for
            turn.todo.extend(turn.waiting)
            turn.waiting.clear()

    def _decide(self, turn: Turn, *, waits: bool = False) -> None:
        while (question := self._advance(turn, waits=waits)) is not None and self._ask is not None:
            with self._abort_turn_on_error(turn):
                turn.answer(question, question.ask(self._ask, self._ask_timeout))

    async def propose_async(self, calls: Iterable[Call]) -> list[Decision]:
        """As `propose`, without blocking the event loop while a person is asked."""
        turn = Turn.of(calls)
        while (question := self._advance(turn)) is not None and self._ask is not None:
            with self._abort_turn_on_error(turn):
                turn.answer(question, await question.ask_async(self._ask, self._ask_timeout))
        return turn.decisions

    @contextmanager
    def _abort_turn_on_error(self, turn: Turn) -> Iterator[None]:
        """Aborts the turn on any exception, Ctrl-C and cancellation included."""
        try:
            yield
        except BaseException:
            with self._lock:
                self._run.abort(turn)
            raise

    def _advance(self, turn: Turn, *, waits: bool = False) -> Question | None:
        with self._lock:
            return self._run.advance(turn, asks=self._ask is not None, waits=waits)

    # ── running tools ────────────────────────────────────────────────────────────────────

    def wrap(
        self, tools: Mapping[str, ToolFunction], *, defaults: bool = False
    ) -> dict[str, ToolFunction]:
        """The tools behind this guard: each call is proposed, runs if allowed, and is recorded.

        A refusal is raised as `ConstraintViolationError`. Coroutine functions remain coroutine
        functions. The guard sees default arguments only if `defaults` is true.
        """
        return wrap(self, tools, defaults=defaults)

    def run_turn(self, tools: Mapping[str, ToolFunction], calls: Sequence[Call]) -> list[Any]:
        """Decides one model turn and runs the allowed calls. Returns what the agent should see."""
        return run_turn(self, tools, calls)

    async def run_turn_async(
        self, tools: Mapping[str, ToolFunction], calls: Sequence[Call]
    ) -> list[Any]:
        """As `run_turn`. Tools that are coroutine functions run concurrently."""
        return await run_turn_async(self, tools, calls)

    # ── results, messages, approvals ─────────────────────────────────────────────────────

    def record(self, decision: Decision, result: Json, *, error: str | None = None) -> None:
        """Takes in the result of an allowed call. Rules lost through it no longer block calls."""
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

    def abandon(self, decision: Decision) -> None:
        """Gives up an allowed call whose result will not arrive: it has failed."""
        self.record(decision, None, error="abandoned")

    def say(self, role: Role, text: str) -> None:
        """Takes in a message. Rules lost through it no longer block calls.

        An assistant's message belongs to the calls that it proposes next.
        """
        if role not in ROLES:
            raise unusable(*not_a_choice("role", role, ROLES))
        with self._lock:
            self._run.say(role, text)

    def approve(self, decision: Decision) -> None:
        """Approves a call that was refused with `ask`: when proposed again, it may run."""
        if decision.action != "ask":
            message = f"the decision on the call was {decision.action}, not ask"
            raise UsageError(Diagnostic("E413", message, "Approve calls refused with ask."))
        with self._lock:
            self._run.approve(decision)

    def withdraw(self) -> None:
        """Withdraws the answer that was allowed: the run continues without it.

        For frameworks that check an answer once it is given, or let the agent try again.
        """
        with self._lock:
            self._run.withdraw()

    # ── the end ──────────────────────────────────────────────────────────────────────────

    def finish(self, answer: str | None = None) -> GuardReport:
        """Ends the run and scores it. `answer` is ignored if one was proposed."""
        with self._lock:
            self._report = self._run.finish(answer)
            return self._report

    @property
    def report(self) -> GuardReport | None:
        """The report that `finish` returned; None before that."""
        return self._report

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._report is None:
            self.finish()

    def save(self) -> dict[str, Json]:
        """The state of the run as JSON, for `restore`."""
        with self._lock:
            return save_run(self._run)

    def restore(self, saved: Mapping[str, Json]) -> None:
        """Resumes a run that a guard of the same procedure and setting saved."""
        with self._lock:
            restore_run(self._run, saved)
