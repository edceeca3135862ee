"""The gate: a procedure that decides, call by call, what an agent may do.

One guard is one run. The agent's turn is proposed as a whole and decided in order (`turn_gate`).
Results, messages and approvals arrive in between.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Self

from bylaw.enforcement.asking import Ask
from bylaw.enforcement.atomic import AtomicChange
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
from bylaw.enforcement.listening import GuardListener, notify
from bylaw.enforcement.promises import check_promises
from bylaw.enforcement.report import ConstraintStanding, GuardReport
from bylaw.enforcement.run import Run
from bylaw.enforcement.run_log import RunLog
from bylaw.enforcement.saved_run import restore_run, save_run
from bylaw.enforcement.severity import SETTINGS, UNENFORCEABLE, Setting, Unenforceable
from bylaw.enforcement.tool_runner import ToolRunner
from bylaw.enforcement.turn_gate import TurnGate
from bylaw.enforcement.validation import (
    check_asking,
    check_choice,
    check_clock,
    check_limit,
    check_positive,
    check_procedure,
    check_shared,
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
from bylaw.trace.event import ROLES, Role
from bylaw.trace.gate_record import GateRecord
from bylaw.values import Json
from bylaw.work import UNLIMITED

if TYPE_CHECKING:
    from bylaw.audit.log import AuditLog
    from bylaw.enforcement.coverage import RuleCoverage
    from bylaw.enforcement.shared.rules import SharedRules

MAX_WORK: Final = 1_000_000
"""The steps that one rule may take to judge one event."""
MAX_TEXT: Final = 1_000_000
"""The characters of a call, a result or a message that are judged."""
MAX_TRACE: Final = 10_000
"""The events and refusals of a run whose trace is kept."""


class Guard(TurnGate, ToolRunner):
    """Decides what one run of an agent may do.

    `propose` decides the calls of one model turn, `record` takes a result and `say` a message, and
    `finish` ends the run and scores it. `run_turn`, `openai_turn` and `anthropic_turn` do all this
    for plain Python functions, and `wrap` for scripts. `setting` replaces the severities of the
    procedure, unless it is "as-written". `ask` is called for severity ASK with the call and the
    rules that it breaks, and has `ask_timeout` seconds to return True or False. Without `ask`, such
    calls are refused until `approve` is called. `save` and `restore` move a run to another process.
    `run_id` is in the log and in the mark of every refusal; it is random unless given. `metrics`
    and `labels` are known to rules. `shared` has the state of rules across runs: such a procedure
    needs it, and the labels that these rules name.

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

    `clock` returns the time in seconds since 1970, UTC: calls, results and messages are stamped
    with it, and it is never taken to go back. Deadlines that pass are lost; see `tick`. With None,
    calls start when they say themselves, and `say`, `record` and `tick` are given the time.

    `listener` learns what is decided; see `bylaw.telemetry`. With `certify`, entries of refusals in
    the `log` have certificates, which `bylaw-check` proves without Bylaw.

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
        shared: SharedRules | None = None,
        log: AuditLog | None = None,
        certify: bool = False,
        run_id: str | None = None,
        max_work: int | None = MAX_WORK,
        max_text: int | None = MAX_TEXT,
        max_trace: int | None = MAX_TRACE,
        clock: Callable[[], float] | None = time.time,
        listener: GuardListener | None = None,
    ) -> None:
        check_procedure(procedure)
        run_id = checked_run_id(run_id)
        check_asking(ask, ask_timeout)
        check_choice("setting", setting, SETTINGS)
        check_choice("hints", hints, HINTS)
        check_choice("soft_block", soft_block, SOFT_BLOCK_MODES)
        check_choice("outstanding", outstanding, OUTSTANDING)
        check_choice("unenforceable", unenforceable, UNENFORCEABLE)
        check_positive("soft_block_limit", soft_block_limit)
        check_limit("max_work", max_work)
        check_limit("max_text", max_text)
        check_limit("max_trace", max_trace, least=0)
        check_clock(clock)
        if unenforceable == "error":
            check_promises(procedure, setting)
        self.procedure: Final = procedure
        self.setting: Final[Setting] = setting
        self.hints: Final[Hints] = hints
        self._report: GuardReport | None = None
        metrics, labels = checked_metrics(metrics), checked_table("labels", labels)
        check_shared(shared, procedure, setting, outstanding)

        def new_run(now: float | None) -> Run:
            limits: dict[str, Any] = {"outstanding": outstanding, "max_work": max_work}
            judge = (
                Judge(procedure, setting, labels, metrics=metrics, **limits)
                if shared is None
                else shared.judge(labels, run_id, metrics=metrics, **limits)
            )
            escalation = Escalation(soft_block, soft_block_limit)
            about = run_id, procedure, setting, hints, metrics, labels
            journal = Journal(None if log is None else RunLog(log, *about), hints)
            kept = GateRecord(metrics, labels, limit=UNLIMITED if max_trace is None else max_trace)
            rest = journal, escalation, kept, run_id, now
            certifies, has_clock = certify and log is not None, clock is not None
            about_run = procedure, setting, hints, judge, *rest
            return Run(*about_run, has_clock=has_clock, certifies=certifies)

        self._new_run: Final = new_run
        super().__init__(
            new_run,
            lock=threading.RLock() if shared is None else shared.lock,
            clock=clock,
            ask=ask,
            ask_timeout=ask_timeout,
            outstanding=outstanding,
            max_text=UNLIMITED if max_text is None or setting == "baseline" else max_text,
            shared=shared is not None,
            listener=listener,
        )

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
    def standings(self) -> list[ConstraintStanding]:
        """Each rule as it would be scored if the run ended now, on what was executed."""
        with self._lock:
            return [] if self._run.inside is not None else self._run.judge.outcomes()

    @property
    def events(self) -> list[EnforcementEvent]:
        """The enforcement events so far, one for each rule that was concerned."""
        return self._run.journal.events

    # ── results, messages, approvals ─────────────────────────────────────────────────────

    def record(
        self,
        decision: Decision,
        result: Json,
        *,
        error: str | None = None,
        usage: Mapping[str, Json] | None = None,
        end: float | None = None,
    ) -> None:
        """Takes in the result of a call that this guard allowed, once.

        `usage` is what the call used, such as tokens. It ends now by the clock; `end` is for
        guards without a clock.
        """
        too_large = ""
        tool = decision.call.tool if type(decision) is Decision else "?"
        try:
            result, error = checked_result(tool, result, error, self._max_text)
        except OversizedValue as reason:
            too_large = str(reason)
        used = None if usage is None else checked_table("usage", usage)
        now = self._stated("end", end)
        with self._lock, AtomicChange(self._run) as intact:
            self._require(intact)
            self._pass_time(now)
            if too_large:
                self._run.leave_unknown(decision, too_large)
            else:
                ended = self._run.now if self._run.has_clock else end
                self._run.record(decision, result, error=error, end=ended, usage=used)

    def abandon(self, decision: Decision) -> None:
        """Gives up an allowed call whose result will not arrive: it has failed."""
        self.record(decision, None, error="abandoned")

    def awaits(self, decision: Decision) -> bool:
        """Has this guard allowed the call, and has it no result yet?"""
        with self._lock:
            run = self._run
            return run.interrupted is None and decision.allowed and run.issued.awaits(decision)

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

    def say(
        self,
        role: Role,
        text: str,
        *,
        agent: str | None = None,
        usage: Mapping[str, Json] | None = None,
        start: float | None = None,
    ) -> None:
        """Takes in a message. Rules that it breaks are followed as if it had not been.

        An assistant's message belongs to the calls that it proposes next. `agent` is who says it,
        and `usage` what it used, such as tokens. It starts now by the clock; `start` is for guards
        without a clock.
        """
        check_choice("role", role, ROLES)
        text = checked_message(text, self._max_text)
        name = None if agent is None else checked_text("agent", agent)
        used = None if usage is None else checked_table("usage", usage)
        now = self._stated("start", start)
        with self._lock, AtomicChange(self._run) as intact:
            self._require(intact)
            self._pass_time(now)
            begun = self._run.now if self._run.has_clock else start
            self._run.say(role, text, start=begun, agent=name, usage=used)

    def approve(self, decision: Decision) -> None:
        """Approves a call that was refused with `ask`: when proposed again, it may run."""
        with self._lock, AtomicChange(self._run) as intact:
            self._require(intact)
            self._run.approve(decision)

    def deny(self, decision: Decision) -> None:
        """Denies a call that was refused with `ask`: the refusal stands, and nobody waits for it.

        If the agent proposes the call again, a person is asked again.
        """
        with self._lock, AtomicChange(self._run) as intact:
            self._require(intact)
            self._run.deny(decision)

    def withdraw(self) -> None:
        """Withdraws the answer that was allowed: the run continues without it.

        For frameworks that check an answer once it is given, or let the agent try again.
        """
        with self._lock, AtomicChange(self._run) as intact:
            self._require(intact)
            self._run.withdraw()

    # ── the end ──────────────────────────────────────────────────────────────────────────

    def finish(
        self, answer: str | None = None, *, metrics: Mapping[str, Json] | None = None
    ) -> GuardReport:
        """Ends the run and scores it. `answer` is ignored if one was proposed.

        `metrics` are those known only now, such as the tokens used; rules that read metrics are
        scored with them.
        """
        answer = None if answer is None else checked_text("answer", answer)
        known, now = checked_metrics(metrics), self._time()
        with self._lock, AtomicChange(self._run) as intact:
            run = self._run
            if intact:
                self._pass_time(now)
            report = run.finish(answer, known) if intact else run.finish_interrupted()
            self._report = report
            if self._listener is None:
                return report
        notify(self._listener.finished, self, report)
        return report

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
        with self._lock:
            before = self._run
            run = before if before.untouched else self._new_run(self._time())
            try:
                restore_run(run, saved, key)
            except BaseException:
                self._run = self._new_run(self._time()) if run is before else before
                raise
            self._run, self._report = run, None
