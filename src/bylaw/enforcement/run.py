"""The state of one run at the gate. Results, messages, approvals and the end change it.

Turns change it, too: `deciding` decides them. Methods that change a run check everything first,
then set `inside`; see `atomic`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

from bylaw.enforcement.admission import Admission
from bylaw.enforcement.atomic import interruption
from bylaw.enforcement.decision import Decision, Escalation, Hints
from bylaw.enforcement.events import Journal, RecentCalls
from bylaw.enforcement.issued import Issued
from bylaw.enforcement.judge import LOST_BY_MESSAGE, LOST_BY_RESULT, LOST_BY_TIME, Judge
from bylaw.enforcement.report import GuardReport, judged_on
from bylaw.enforcement.run_log import message_entry, result_entry
from bylaw.enforcement.severity import Setting
from bylaw.enforcement.turn import LatestTurn, call_key
from bylaw.enforcement.validation import unusable
from bylaw.errors import Diagnostic, UsageError, listing
from bylaw.frozen import field, record, replace
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call, Event, Message, Role
from bylaw.trace.gate_record import GateRecord
from bylaw.values import Json


@record
class AcceptedAnswer:
    """The answer that ended the run, and the state before it, so that it can be withdrawn."""

    rules: Json
    """The state of the rules before the answer."""
    escalation: Json
    """The counts of soft blocks before it."""
    position: int
    """Its position in the trace."""
    since: list[tuple[int | None, Event]] = field(default_factory=list)
    """Later events: calls with their positions and results, and messages."""
    noted: set[tuple[int, int]] = field(default_factory=set)
    """The losses that are on record already: the number of a later event, and a rule."""


class Run:
    """The state of one run. Not thread-safe: the caller holds the lock."""

    def __init__(
        self,
        procedure: Procedure,
        setting: Setting,
        hints: Hints,
        judge: Judge,
        journal: Journal,
        escalation: Escalation,
        kept: GateRecord,
        id: str,
        now: float | None,
        *,
        has_clock: bool,
        certifies: bool,
    ) -> None:
        self.id = id
        """The run's id, which is part of every decision's."""
        self.now = now
        """The time: by the clock, or the latest that was given. It never goes back."""
        self.has_clock: Final = has_clock
        """Is everything that happens stamped with the time?"""
        self.certifies: Final = certifies
        """Does the log get certificates of refusals?"""
        self.procedure: Final = procedure
        self.setting: Final[Setting] = setting
        self.hints: Final[Hints] = hints
        self.judge: Final = judge
        self.journal: Final = journal
        self.escalation: Final = escalation
        self.kept: Final = kept
        """The calls that ran or were refused."""
        tests = setting != "baseline" and (procedure.tools is not None or procedure.schemas)
        self.admission: Final = procedure.derived(Admission) if tests else None
        """The test that calls must pass before any rule is asked, if the procedure has one."""
        self.recent: Final = RecentCalls(judge.named)
        self.warned: dict[str, set[int]] = {}
        """The calls warned about in the latest turn, with the rules that were shown."""
        self.approved: dict[str, set[int]] = {}
        """The refused calls that a person has approved since, with the rules that were shown."""
        self.latest: LatestTurn | None = None
        """The latest turn, if there was no message since."""
        self.turn = 0
        """The number of turns. A message counts as a turn, unless it comes with calls."""
        self.speaking = False
        """Has the assistant said something that belongs to its next turn?"""
        self.stopped = False
        """Has the gate ended the run?"""
        self.finished = False
        self.answer: AcceptedAnswer | None = None
        """The answer that ended the run, for as long as it can be withdrawn."""
        self.issued: Final = Issued()
        """The decisions that still wait for a result or for an approval."""
        self.inside: str | None = None
        """The change that is under way, or that was interrupted; see `atomic`."""

    @property
    def untouched(self) -> bool:
        """Has nothing happened yet?"""
        begun = self.turn or self.speaking or self.finished or self.ended
        return not begun and self.judge.monitors.length == 0

    @property
    def ended(self) -> bool:
        """Has the gate ended the run, or was a change of it interrupted?"""
        return self.stopped or self.interrupted is not None

    @property
    def interrupted(self) -> str | None:
        """The change of the run, or of rules that it shares, that was interrupted."""
        return self.inside or self.judge.interrupted

    # ── results, messages, approvals ─────────────────────────────────────────────────────

    def record(self, decision: Decision, result: Json, **told: Any) -> None:
        """Takes in the result of an allowed call, once; perhaps its error, end and usage."""
        call = self.issued.allowed(decision)
        self.inside = "record"
        self.issued.settle(decision)
        position = decision.position
        assert position is not None, "an allowed call has a position"
        call = replace(call, step=decision.call.step, result=result, **told)
        self.kept.settle((decision.turn, decision.index), call)
        if self.journal.has_log:
            self.log(result_entry(decision, call), sync=False)
        if self.answer is not None:
            self.answer.since.append((position, call))
        self._learn(position, call)

    def leave_unknown(self, decision: Decision, reason: str) -> None:
        """Leaves the result of an allowed call unknown, because it is too large to be judged."""
        call = self.issued.allowed(decision)
        self.inside = "record"
        self.issued.settle(decision)
        self.kept.settle((decision.turn, decision.index), call)
        place = {"turn": decision.turn, "index": decision.index, "tool": call.tool}
        self.log({"kind": "unread", **place, "reason": reason}, sync=False)

    def say(self, role: Role, text: str, **told: Any) -> None:
        """Takes in a message, perhaps with its start, agent and usage.

        An assistant's message belongs to the calls of its next turn.
        """
        self.inside = "say"
        self.latest = None
        self.turn += self.speaking
        number, self.speaking = self.turn, role == "assistant"
        self.turn += not self.speaking
        message = Message(role, text, number, **told)
        self.kept.hear(message)
        if self.journal.has_log:
            self.log(message_entry(message), sync=False)
        if self.answer is not None:
            self.answer.since.append((None, message))
        self._learn(None, message)

    def approve(self, decision: Decision) -> None:
        """Lets a refused call past the rules that were shown, when it is proposed again."""
        call = self.issued.asked(decision)
        shown = {violation.constraint.name for violation in decision.violations}
        names = [constraint.name for constraint in self.procedure.constraints]
        excused = {i for i, name in enumerate(names) if name in shown}
        self.inside = "approve"
        self.issued.settle(decision)
        self.approved.setdefault(call_key(call), set()).update(excused)
        place = {"turn": decision.turn, "index": decision.index}
        self.log({"kind": "approve", **place, "constraints": sorted(shown)}, sync=False)

    def deny(self, decision: Decision) -> None:
        """Leaves a call refused that a person was asked about."""
        self.issued.asked(decision)
        self.inside = "deny"
        self.issued.settle(decision)
        place = {"turn": decision.turn, "index": decision.index}
        self.log({"kind": "deny", **place}, sync=False)

    def accept_answer(self, rules: Json, escalation: Json) -> None:
        """Ends the run with the answer that was just judged; these were the states before it."""
        self.finished = True
        self.answer = AcceptedAnswer(rules, escalation, self.judge.monitors.length - 1)

    def withdraw(self) -> None:
        """Removes the answer. Events after it are kept."""
        if self.answer is None:
            message = "there is no answer to withdraw"
            help = "An answer can be withdrawn between its proposal and `finish`."
            raise UsageError(Diagnostic("E413", message, help))
        self.inside = "withdraw"
        self.issued.forget_answer()
        self.finished = False
        self.kept.withdraw()
        self._take_back(self.answer)
        self.log({"kind": "withdraw", "turn": self.turn})

    def _take_back(self, answer: AcceptedAnswer) -> None:
        """Returns to the state before the answer, and takes in again what came after it."""
        self.judge.restore(answer.rules)
        self.escalation.restore(answer.escalation)
        self.answer = None
        for number, (position, event) in enumerate(answer.since):
            if position != answer.position:
                known = {i for n, i in answer.noted if n == number}
                self._learn(position, event, known, again=True)

    def _learn(
        self,
        position: int | None,
        event: Event,
        known: Container[int] = (),
        *,
        again: bool = False,
    ) -> None:
        """Takes in a call's result or a message. Lost rules are noted, unless already known."""
        if isinstance(event, Message):
            call, reason = Call(f"{event.role} message", step=event.step), LOST_BY_MESSAGE
            lost = self.judge.hear(event, again=again)
            # A message cannot be refused, and nobody knows what it allows or forbids.
            self.stopped = self.stopped or self.judge.exhausted
        else:
            assert position is not None, "a call has a position"
            call, reason = event, LOST_BY_RESULT
            lost = self.judge.record(position, event, again=again)
        self.judge.excuse(lost, reason)
        if self.answer is not None:
            self.answer.noted |= {(len(self.answer.since) - 1, i) for i in lost}
        if news := [i for i in lost if i not in known]:
            self._note_lost(news, call, reason)

    def _note_lost(
        self, rules: Sequence[int], call: Call, reason: str, due: float | None = None
    ) -> None:
        """Notes rules that no refusal could have kept, perhaps at the time they fell due."""
        for i in rules:
            violation = self.judge.violation(i, "doomed", reason)
            noted = (self.now if self.has_clock else None) if due is None else due
            self.journal.note(call.step or 0, call, violation, "lost", noted)
        names: Json = [self.procedure.constraints[i].name for i in rules]
        at: dict[str, Json] = {} if due is None else {"due": due}
        self.log({"kind": "lost", "constraints": names, "reason": reason, **at}, sync=False)
        if any(self.judge.severities[i] == "HARD_STOP" for i in rules):
            self.stopped = True

    def tick(self, now: float) -> None:
        """The time has come to `now`. Rules whose deadlines have passed are lost.

        For enforcement they are followed as if nothing had been due: otherwise every later call
        would break them. After an answer nothing is due any more.
        """
        self.inside = "tick"
        self.now = now
        for i, due in () if self.finished else self.judge.tick(now):
            self.judge.excuse([i], LOST_BY_TIME)
            self._note_lost([i], Call("deadline", step=self.turn, start=due), LOST_BY_TIME, due)

    # ── the end ──────────────────────────────────────────────────────────────────────────

    def finish(self, answer: str | None, metrics: Mapping[str, Json]) -> GuardReport:
        """Ends the run and scores it. An answer that was proposed is not added again."""
        rereading = self.judge.reads_metrics if metrics else ()
        if rereading and not self.kept.kept:
            names = listing([self.procedure.constraints[i].name for i in rereading], 3)
            help = "Give the metrics to `Guard`, or keep the trace: `max_trace=None`."
            raise unusable(f"there is no trace on which metrics could be read by {names}", help)
        self.inside = "finish"
        self._put_answer_last(answer)
        self.finished, self.answer = True, None
        answered = self.now if self.has_clock else None
        self.kept.finish(answer, metrics, answered)
        trace = self.kept.trace()
        standings = self.judge.outcomes()
        if rereading and trace is not None:
            read_again = {self.procedure.constraints[i].name for i in rereading}
            standings = judged_on(trace, self.procedure, standings, read_again)
        report = GuardReport.of(
            standings,
            self.journal.events,
            stopped=self.stopped,
            fully_decided=self.judge.fully_decided,
            reason=self.journal.unlogged,
            trace=trace,
            across=self.judge.across_outcomes(),
        )
        ended = {"score": report.score, "label": report.label, "reason": report.reason}
        given = {"answer": answer, "answered": answered, "metrics": dict(metrics)}
        self.log({"kind": "finish", **given, **ended})
        return report

    def finish_interrupted(self) -> GuardReport:
        """The report on a run of which a change was interrupted: it has no score."""
        self.finished, self.answer = True, None
        return GuardReport.of(
            [replace(each, passed=None) for each in self.judge.outcomes()],
            self.journal.events,
            stopped=True,
            fully_decided=False,
            reason=interruption(self.interrupted or "finish"),
            trace=self.kept.trace(),
            across=self.judge.across_outcomes(),
        )

    def _put_answer_last(self, answer: str | None) -> None:
        """Takes in an answer that nobody proposed, or one after which something was said again."""
        accepted = self.answer
        if accepted is not None and any(at is None for at, _ in accepted.since):
            excused = self.judge.excused
            self._take_back(accepted)
            self.judge.excused, answer = self.judge.excused | excused, self.kept.answer
        elif self.finished:
            return
        if answer is not None:
            self.judge.give_answer(answer, self.now if self.has_clock else None)

    # ── records ──────────────────────────────────────────────────────────────────────────

    def log(self, entry: dict[str, Json], *, sync: bool = True) -> None:
        """Adds an entry to the log. A run whose log is incomplete ends.

        Without `sync` it is on disk with the next decision.
        """
        if not self.journal.log(entry, sync=sync):
            self.stopped = True
