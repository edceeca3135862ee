"""The gate: a procedure that decides, call by call, what an agent may do.

One guard is one run. The agent's turn is proposed as a whole and decided in order. Decisions are
made under one lock: concurrent turns are decided as if they came one after the other. The lock is
not held while a person is asked, so an approved call is judged again.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from bylaw.enforcement.asking import Ask, Question
from bylaw.enforcement.atomic import AtomicChange, interrupted
from bylaw.enforcement.deciding import abort, advance, refuse_rest
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
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.run import Run
from bylaw.enforcement.run_log import RunLog
from bylaw.enforcement.saved_run import restored_run, save_run
from bylaw.enforcement.severity import SETTINGS, UNENFORCEABLE, Setting, Unenforceable
from bylaw.enforcement.tools import ToolFunction, run_turn, run_turn_async, wrap
from bylaw.enforcement.turn import Turn
from bylaw.enforcement.validation import (
    check_asking,
    check_choice,
    check_positive,
    check_procedure,
    checked_message,
    checked_metrics,
    checked_result,
    checked_run_id,
    checked_table,
    checked_text,
)
from bylaw.names import FINAL_ANSWER
from bylaw.plain import OversizedValue
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import ROLES, Call, Role
from bylaw.trace.gate_record import GateRecord
from bylaw.values import Json
from bylaw.work import UNLIMITED

if TYPE_CHECKING:
    from bylaw.audit.log import AuditLog
    from bylaw.enforcement.coverage import RuleCoverage

MAX_WORK: Final = 1_000_000
"""The steps that one rule may take to judge one event."""
MAX_TEXT: Final = 1_000_000
"""The characters of a call, a result or a message that are judged."""
MAX_TRACE: Final = 10_000
"""The events and refusals of a run whose trace is kept."""


class Guard:
    """Decides what one run of an agent may do.

    `propose` decides the calls of one model turn, `record` takes a result and `say` a message, and
    `finish` ends the run and scores it. `wrap` and `run_turn` do all this for plain Python
    functions. `setting` replaces the severities of the procedure, unless it is "as-written". `ask`
    is called for severity ASK with the call and the rules that it breaks, and has `ask_timeout`
    seconds to return True or False. Without `ask`, such calls are refused until `approve` is
    called. `save` and `restore` move a run to another process. `run_id` is in the log and in the
    mark of every refusal; it is random unless given. `metrics` and `labels` are known to rules.

    A call may depend on the result of another that is still outstanding. With `outstanding`
    "refuse", it is refused as too early, and the refusal counts towards nothing. With "wait",
    `run_turn` decides it once the results of its turn are in. With "hope", it is judged as if every
    outstanding call had the best outcome, as in the benchmark.

    A severity that the procedure states is a promise: if a rule cannot be enforced by refusing
    calls, the guard is not made. With `unenforceable` "score", it is made all the same, and such
    rules are only scored. `coverage` says for each rule where it is enforced.

    A rule may take `max_work` steps to judge an event, and a call may have `max_text` characters; a
    call that cannot be judged within these limits is refused. The report has the trace of what ran,
    unless there were more than `max_trace` events. None stands for no limit.

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
        unenforceable: Unenforceable = "error",
        metrics: Mapping[str, Json] | None = None,
        labels: Mapping[str, Json] | None = None,
        log: AuditLog | None = None,
        run_id: str | None = None,
        max_work: int | None = MAX_WORK,
        max_text: int | None = MAX_TEXT,
        max_trace: int | None = MAX_TRACE,
    ) -> None:
        check_procedure(procedure)
        run_id = checked_run_id(run_id)
        check_asking(ask, ask_timeout)
        for given, name, choices in (
            (setting, "setting", SETTINGS),
            (hints, "hints", HINTS),
            (soft_block, "soft_block", SOFT_BLOCK_MODES),
            (outstanding, "outstanding", OUTSTANDING),
            (unenforceable, "unenforceable", UNENFORCEABLE),
        ):
            check_choice(name, given, choices)
        check_positive("soft_block_limit", soft_block_limit)
        limits = {"max_work": max_work, "max_text": max_text, "max_trace": max_trace}
        for name, limit in limits.items():
            if limit is not None:
                check_positive(name, limit, 0 if name == "max_trace" else 1)
        if unenforceable == "error" and any(rule.severity for rule in procedure.constraints):
            from bylaw.enforcement.coverage import check_promises  # slow to import

            check_promises(procedure, setting)
        self.procedure: Final = procedure
        self.setting: Final[Setting] = setting
        self.hints: Final[Hints] = hints
        self._ask: Final = ask
        self._ask_timeout: Final = ask_timeout
        self.outstanding: Final[Outstanding] = outstanding
        unlimited = max_text is None or setting == "baseline"
        self._max_text: Final = UNLIMITED if max_text is None or unlimited else max_text
        metrics, labels = checked_metrics(metrics), checked_table("labels", labels)

        def new_run() -> Run:
            limits: dict[str, Any] = {"outstanding": outstanding, "max_work": max_work}
            judge = Judge(procedure, setting, labels, metrics=metrics, **limits)
            escalation = Escalation(soft_block, soft_block_limit)
            about = run_id, procedure, setting, hints, metrics, labels
            journal = Journal(None if log is None else RunLog(log, *about), hints)
            kept = GateRecord(metrics, labels, limit=UNLIMITED if max_trace is None else max_trace)
            return Run(procedure, setting, hints, judge, journal, escalation, kept, run_id)

        self._new_run: Final = new_run
        self._run = new_run()
        self._lock: Final = threading.RLock()
        self._report: GuardReport | None = None

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._run.id

    @property
    def coverage(self) -> tuple[RuleCoverage, ...]:
        """The place where each rule is enforced: the call, the answer, or only afterwards."""
        from bylaw.enforcement.coverage import coverage  # slow to import

        return coverage(self.procedure, self.setting)

    @property
    def turn(self) -> int:
        """The number of turns so far. A message counts as a turn, unless it comes with calls."""
        return self._run.turn

    @property
    def stopped(self) -> bool:
        """Has the gate ended the run? So it has if one of its own changes was interrupted."""
        with self._lock:
            return self._run.ended

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
        """Decides the calls of one model turn, in order. A turn may have no calls.

        The arguments must be JSON, and are copied. If anything is raised, the turn is taken back,
        or the run has ended: no call counts that will not run.
        """
        turn = Turn(calls, self._max_text, self._run.turn)
        try:
            if (question := self._advance(turn)) is not None:
                self._decide(turn, question)
            return turn.decisions
        except BaseException:  # Ctrl-C included
            self._abort(turn)
            raise

    async def propose_async(self, calls: Iterable[Call]) -> list[Decision]:
        """As `propose`, without blocking the event loop while a person is asked."""
        turn = Turn(calls, self._max_text, self._run.turn)
        try:
            await self._decide_async(turn)
            return turn.decisions
        except BaseException:  # cancellation included
            self._abort(turn)
            raise

    def rounds(self, calls: Iterable[Call]) -> Iterator[list[Decision]]:
        """Decides one model turn in rounds; run the calls of each before the next is decided.

        With `outstanding="wait"`, a call that depends on results of its turn is decided in a later
        round. Otherwise there is one round.
        """
        turn = Turn(calls, self._max_text, self._run.turn)
        turn.waits = self.outstanding == "wait"
        try:
            while turn.next_round():
                self._decide(turn, self._advance(turn))
                yield turn.latest
        except GeneratorExit:  # between two rounds
            raise
        except BaseException:
            self._abort(turn)
            raise

    async def rounds_async(self, calls: Iterable[Call]) -> AsyncIterator[list[Decision]]:
        """As `rounds`, without blocking the event loop while a person is asked."""
        turn = Turn(calls, self._max_text, self._run.turn)
        turn.waits = self.outstanding == "wait"
        try:
            while turn.next_round():
                await self._decide_async(turn)
                yield turn.latest
        except GeneratorExit:
            raise
        except BaseException:
            self._abort(turn)
            raise

    def _decide(self, turn: Turn, question: Question | None) -> None:
        while question is not None and self._ask is not None:
            turn.answer(question, question.ask(self._ask, self._ask_timeout))
            question = self._advance(turn)

    async def _decide_async(self, turn: Turn) -> None:
        while (question := self._advance(turn)) is not None and self._ask is not None:
            turn.answer(question, await question.ask_async(self._ask, self._ask_timeout))

    def _advance(self, turn: Turn) -> Question | None:
        with self._lock:
            if self._run.inside is None:
                return advance(self._run, turn, asks=self._ask is not None)
            refuse_rest(self._run, turn)
            return None

    def _abort(self, turn: Turn) -> None:
        with self._lock:
            abort(self._run, turn)

    # ── running tools ────────────────────────────────────────────────────────────────────

    def wrap(self, tools: Mapping[str, ToolFunction]) -> dict[str, ToolFunction]:
        """The tools behind this guard: each call is proposed, runs if allowed, and is recorded.

        A refusal is raised as `ConstraintViolationError`. Coroutine functions and generator
        functions remain what they are. Rules see default arguments, too.
        """
        return wrap(self, tools)

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
        """Takes in the result of a call that this guard allowed, once."""
        too_large = ""
        tool = decision.call.tool if type(decision) is Decision else "?"
        try:
            result, error = checked_result(tool, result, error, self._max_text)
        except OversizedValue as reason:
            too_large = str(reason)
        with self._lock, AtomicChange(self._run) as intact:
            self._require(intact)
            if too_large:
                self._run.leave_unknown(decision, too_large)
            else:
                self._run.record(decision, result, error)

    def abandon(self, decision: Decision) -> None:
        """Gives up an allowed call whose result will not arrive: it has failed."""
        self.record(decision, None, error="abandoned")

    def awaits(self, decision: Decision) -> bool:
        """Has this guard allowed the call, and has it no result yet?"""
        with self._lock:
            run = self._run
            return run.inside is None and decision.allowed and run.issued.awaits(decision)

    @property
    def awaiting(self) -> list[Decision]:
        """The decisions on calls that were allowed and have no result yet; also after `restore`."""
        with self._lock:
            waiting = self._run.issued.waiting()
        return [each for each, call in waiting if each.allowed and call.tool != FINAL_ANSWER]

    @property
    def asked(self) -> list[Decision]:
        """The decisions that `approve` takes: refused with `ask`, and not approved yet."""
        with self._lock:
            waiting = self._run.issued.waiting()
        return [each for each, _ in waiting if each.action == "ask"]

    def say(self, role: Role, text: str) -> None:
        """Takes in a message. Rules that it breaks are followed as if it had not been.

        An assistant's message belongs to the calls that it proposes next.
        """
        check_choice("role", role, ROLES)
        text = checked_message(text, self._max_text)
        with self._lock, AtomicChange(self._run) as intact:
            self._require(intact)
            self._run.say(role, text)

    def approve(self, decision: Decision) -> None:
        """Approves a call that was refused with `ask`: when proposed again, it may run."""
        with self._lock, AtomicChange(self._run) as intact:
            self._require(intact)
            self._run.approve(decision)

    def withdraw(self) -> None:
        """Withdraws the answer that was allowed: the run continues without it.

        For frameworks that check an answer once it is given, or let the agent try again.
        """
        with self._lock, AtomicChange(self._run) as intact:
            self._require(intact)
            self._run.withdraw()

    def _require(self, intact: bool) -> None:
        if not intact:
            raise interrupted(self._run.inside or "propose")

    # ── the end ──────────────────────────────────────────────────────────────────────────

    def finish(
        self, answer: str | None = None, *, metrics: Mapping[str, Json] | None = None
    ) -> GuardReport:
        """Ends the run and scores it. `answer` is ignored if one was proposed.

        `metrics` are those known only now, such as the tokens used; rules that read metrics are
        scored with them.
        """
        answer = None if answer is None else checked_text("answer", answer)
        known = checked_metrics(metrics)
        with self._lock, AtomicChange(self._run) as intact:
            run = self._run
            self._report = run.finish(answer, known) if intact else run.finish_interrupted()
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

    def save(self, *, key: bytes | None = None) -> dict[str, Json]:
        """The state of the run as JSON, for `restore`. With a key, nobody else can change it."""
        with self._lock, AtomicChange(self._run):
            return save_run(self._run, key)

    def restore(self, saved: Mapping[str, Json], *, key: bytes | None = None) -> None:
        """Resumes a run that a guard of the same procedure, setting, metrics and labels saved.

        Everything is checked first: if the state cannot be restored, this guard stays as it is.
        With a key, only a state that was saved with that key is restored. Decisions made before
        are not this guard's: `awaiting` and `asked` list those that still wait.
        """
        run = restored_run(self._run, saved, key, self._new_run)
        with self._lock:
            self._run, self._report = run, None
