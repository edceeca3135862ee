"""One run at the gate: its turns are decided, and results and messages are taken in.

A call is appended on trial, the rules that it newly dooms are found, and the strongest of their
severities acts. A refused call has no further effect.

Methods that change a run check everything first, then set `inside`; see `atomic`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from bylaw.enforcement.admission import Admission, malformed_message
from bylaw.enforcement.asking import Question
from bylaw.enforcement.atomic import interruption
from bylaw.enforcement.decision import (
    Action,
    Decision,
    Escalation,
    Hints,
    Violation,
    refusal_message,
)
from bylaw.enforcement.events import Journal, RecentCalls
from bylaw.enforcement.issued import Issued
from bylaw.enforcement.judge import Judge, Trial
from bylaw.enforcement.open_tools import open_tools
from bylaw.enforcement.report import GuardReport, judged_on
from bylaw.enforcement.severity import Setting
from bylaw.enforcement.turn import Turn, call_key, handed_out
from bylaw.enforcement.validation import unusable
from bylaw.errors import Diagnostic, UsageError, listing
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call, Event, Message, Role
from bylaw.trace.gate_record import GateRecord
from bylaw.trace.refusal import OPENING, Refusal
from bylaw.trace.refusal_mark import decision_id, marked, unmarked
from bylaw.values import Json

_WEAKER_THAN_BLOCK: Final = ("allow", "warn", "ask")


@dataclass(slots=True)
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
    ) -> None:
        self.id = id
        """The run's id, which is part of every decision's."""
        self.procedure: Final = procedure
        self.setting: Final[Setting] = setting
        self.hints: Final[Hints] = hints
        self.judge: Final = judge
        self.journal: Final = journal
        self.escalation: Final = escalation
        self.kept: Final = kept
        """What ran and what was refused."""
        self._admission: Final = None if setting == "baseline" else procedure.derived(Admission)
        self.recent: Final = RecentCalls(judge.named)
        self.warned: dict[str, set[int]] = {}
        """The calls warned about in the latest turn, with the rules that were shown."""
        self.approved: dict[str, set[int]] = {}
        """The refused calls that a person has approved since, with the rules that were shown."""
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
    def ended(self) -> bool:
        """Has the gate ended the run, or was a change of it interrupted?"""
        return self.stopped or self.inside is not None

    # ── turns ────────────────────────────────────────────────────────────────────────────

    def advance(self, turn: Turn, *, asks: bool) -> Question | None:
        """Decides the remaining calls, up to the next one that needs a person's approval.

        Such a call gives a question only if `asks` is true; otherwise it is refused. If the turn
        waits, a call that is too early is left in `turn.waiting`; otherwise it is refused.
        """
        if turn.number < 0 and self.finished:
            help = "One guard is one run: make a new one."
            raise UsageError(Diagnostic("E413", "the run has finished", help))
        self.inside = "propose"
        self._begin(turn)
        while turn.todo:
            decided = self._decide(turn, asks=asks)
            if isinstance(decided, Decision):
                turn.decide(decided if decided.allowed else self._identified(decided))
            elif decided is None:
                turn.wait()
            else:
                self._put_on_record(turn)
                if not self.stopped:
                    return decided
        self._put_on_record(turn)
        return None

    def _begin(self, turn: Turn) -> None:
        """Begins a turn, or resumes it after a question."""
        if turn.number < 0:
            turn.warned, self.warned = self.warned, {}
            turn.resolved = self.journal.resolve(turn.calls)
            turn.spoke = self.speaking
        elif self.turn == turn.number + 1 and not self.speaking:
            return
        # A new turn. Or others had turns while a person was asked: the rest comes after theirs.
        turn.number, self.turn = self.turn, self.turn + 1
        self.speaking = False

    def _decide(self, turn: Turn, *, asks: bool) -> Decision | Question | None:
        """Decides the next call, or asks about it; None if it waits for results of its turn."""
        index = turn.todo[0]
        proposed = turn.calls[index]
        if self.stopped or self.finished:
            ended = f"{proposed.tool}{OPENING}. The run has ended."
            how: Action = "stop" if self.stopped else "block"
            return Decision(handed_out(proposed), how, turn.number, index, message=ended)
        if turn.denied is not None:
            (question, why), turn.denied = turn.denied, None
            return self._refuse(turn, question.call, question.violations, "block", denied=why)
        wrong = self._admission and self._admission.problem(proposed)
        if index in turn.oversized:
            wrong = f"It could not be decided within the budget: {turn.oversized[index]}."
        if wrong:
            message = malformed_message(proposed, wrong)
            refused = handed_out(proposed)
            return Decision(refused, "block", turn.number, index, message=message, problem=wrong)
        ends = proposed.tool == FINAL_ANSWER
        step = self.judge.answer_step if ends else turn.number
        call = Call(proposed.tool, proposed.args, step=step, id=proposed.id, agent=proposed.agent)
        before = (self.judge.save(), self.escalation.save()) if ends else None
        trial = self.judge.attempt(call, step)
        action = self._action(turn, call, trial.violations) if trial.violations else "allow"
        if action == "allow":
            if before is not None:
                self.finished = True
                self.answer = AcceptedAnswer(*before, self.judge.monitors.length - 1)
            return self._allow(turn, call, trial)
        trial.take_back()
        if action is None:
            return None
        if action == "ask" and asks:
            return Question(call, trial.violations)
        return self._refuse(turn, call, trial.violations, action)

    def _action(self, turn: Turn, call: Call, violations: Mapping[int, Violation]) -> Action | None:
        """The action on a call that breaks rules; None if it waits for results of its turn."""
        key = call_key(call)
        turn.excused |= turn.warned.pop(key, set())
        turn.approve(self.approved.get(key, set()))
        broken = [v for i, v in violations.items() if i not in turn.excused and v.kind != "early"]
        early = any(v.kind == "early" for i, v in violations.items() if i not in turn.excused)
        if turn.waits and early and not broken:
            return None
        action = self.escalation.action(broken)
        return "block" if early and action in _WEAKER_THAN_BLOCK else action

    def _identified(self, refusal: Decision) -> Decision:
        """A refusal with its id, which its message is marked with."""
        id = decision_id(self.id, refusal.turn, refusal.index)
        return replace(refusal, id=id, message=marked(refusal.message, refusal.action, id))

    def _allow(self, turn: Turn, call: Call, trial: Trial) -> Decision:
        passed: list[int] = []
        tolerated: list[Violation] = []
        trial.keep()
        if trial.violations:
            passed, tolerated = self._excuse(turn, call, trial.violations)
        if self.approved:  # an approval is for one call, whether or not that call needed it
            self.approved.pop(call_key(call), None)
        self.escalation.count_allowed()
        if call.tool != FINAL_ANSWER:
            self.recent.add(call.tool)
        return Decision(
            handed_out(call),
            "allow",
            turn.number,
            turn.todo[0],
            tuple(tolerated),
            tuple([self.procedure.constraints[i].name for i in passed]),
            position=self.judge.monitors.length - 1,
            id=decision_id(self.id, turn.number, turn.todo[0]),
            decided=trial.decided,
        )

    def _excuse(
        self, turn: Turn, call: Call, violations: Mapping[int, Violation]
    ) -> tuple[list[int], list[Violation]]:
        """Notes what a call breaks that runs: the rules that it was let past, and the others."""
        passed = [i for i in violations if i in turn.excused]
        tolerated = [v for i, v in violations.items() if i not in passed]
        for i in violations:
            self.judge.excused.setdefault(i, "overridden" if i in passed else "tolerated")
        for violation in tolerated:
            self.journal.note(turn.number, call, violation, "tolerate")
        for i in passed:  # if the agent insisted, the event of the warning records it
            if i in turn.approved:
                self.journal.note(turn.number, call, violations[i], "approve")
        return passed, tolerated

    def _refuse(
        self,
        turn: Turn,
        call: Call,
        violations: dict[int, Violation],
        action: Action,
        *,
        denied: str | None = None,
    ) -> Decision:
        if action == "warn":
            self.warned.setdefault(call_key(call), set()).update(violations)
        if action == "stop":
            self.stopped = True
        for violation in violations.values():
            noted = "early" if violation.kind == "early" else action
            self.journal.note(turn.number, call, violation, noted)
        # The agent does not see tolerated rules: one of layer L6 would reveal its values.
        enforced = {i: v for i, v in violations.items() if v.enforced}
        tools = frozenset().union(*(self.judge.named[i] for i in enforced))
        message = refusal_message(
            action,
            call.tool,
            tuple(enforced.values()),
            self.hints,
            self.recent.of(tools),
            open_tools(self.judge, call) if self.hints == "open" else None,
            denied=denied,
        )
        named = [v.constraint.name for v in enforced.values()] if self.hints != "none" else []
        return Decision(
            handed_out(call),
            action,
            turn.number,
            turn.todo[0],
            tuple(violations.values()),
            message=message,
            named=tuple(named),
        )

    def refuse(self, turn: Turn) -> None:
        """Refuses the remaining calls of a turn, because a change of the run was interrupted."""
        why = interruption(self.inside or "propose")
        turn.todo.extend(turn.waiting)
        turn.waiting.clear()
        while turn.todo:
            call = turn.calls[turn.todo[0]]
            ended = f"{call.tool}{OPENING}. The run has ended: {why}."
            place = turn.todo[0]
            decision = Decision(handed_out(call), "stop", self.turn, place, message=ended)
            turn.decide(self._identified(decision))

    def abort(self, turn: Turn) -> None:
        """Takes a turn back whose decisions will reach nobody; if that is impossible, the run ends.

        The calls that it allowed will not run, but the rules have seen them, and refusals have
        been counted. If nothing was decided, but others had turns while a person was asked, it
        counts as a turn without calls.
        """
        self.kept.forget((each.turn, each.index) for each in turn.latest)
        if self.inside is not None or turn.number < 0:
            return  # it was interrupted in the middle of a decision, or before the first
        self.inside = "propose"
        if turn.decided:
            self._log({"kind": "broken off", "turn": turn.number})
            return
        if self.turn == turn.number + 1:
            self.turn, self.speaking, self.warned = turn.number, turn.spoke, turn.warned
            self.journal.reopen(turn.resolved)
        self.inside = None

    # ── results, messages, approvals ─────────────────────────────────────────────────────

    def record(self, decision: Decision, result: Json, error: str | None) -> None:
        """Takes in the result of an allowed call, once."""
        call = self.issued.allowed(decision)
        self.inside = "record"
        self.issued.settle(decision)
        position = decision.position
        assert position is not None, "an allowed call has a position"
        call = replace(call, step=decision.call.step, result=result, error=error)
        self.kept.settle((decision.turn, decision.index), call)
        if self.answer is not None:
            self.answer.since.append((position, call))
        self._learn(position, call)

    def leave_unknown(self, decision: Decision, reason: str) -> None:
        """Leaves the result of an allowed call unknown, because it is too large to be judged."""
        call = self.issued.allowed(decision)
        self.inside = "record"
        self.issued.settle(decision)
        self.kept.settle((decision.turn, decision.index), call)
        self._log({"kind": "unread", "turn": decision.turn, "tool": call.tool, "reason": reason})

    def say(self, role: Role, text: str) -> None:
        """Takes in a message. An assistant's message belongs to the calls of its next turn."""
        self.inside = "say"
        self.turn += self.speaking
        number, self.speaking = self.turn, role == "assistant"
        self.turn += not self.speaking
        message = Message(role, text, number)
        self.kept.hear(message)
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
        self._log({"kind": "withdraw", "turn": self.turn})

    def _take_back(self, answer: AcceptedAnswer) -> None:
        """Returns to the state before the answer, and takes in again what came after it."""
        self.judge.restore(answer.rules)
        self.escalation.restore(answer.escalation)
        self.answer = None
        for number, (position, event) in enumerate(answer.since):
            if position != answer.position:
                self._learn(position, event, {i for n, i in answer.noted if n == number})

    def _learn(self, position: int | None, event: Event, known: Container[int] = ()) -> None:
        """Takes in a call's result or a message. Lost rules are noted, unless already known."""
        if isinstance(event, Message):
            call, reason = Call(f"{event.role} message", step=event.step), "lost through a message"
            lost = self.judge.hear(event)
            # A message cannot be refused, and nobody knows what it allows or forbids.
            self.stopped = self.stopped or self.judge.exhausted
        else:
            assert position is not None, "a call has a position"
            call, reason = event, "lost through a result"
            lost = self.judge.record(position, event)
        self.judge.excused = dict.fromkeys(lost, reason) | self.judge.excused
        news = [i for i in lost if i not in known]
        if self.answer is not None:
            self.answer.noted |= {(len(self.answer.since) - 1, i) for i in lost}
        for i in news:
            violation = self.judge.violation(i, "doomed", reason)
            self.journal.note(call.step or 0, call, violation, "lost")
        if news:
            names: Json = [self.procedure.constraints[i].name for i in news]
            self._log({"kind": "lost", "constraints": names, "reason": reason})
            if any(self.judge.severities[i] == "HARD_STOP" for i in news):
                self.stopped = True

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
        self.kept.finish(answer, metrics)
        trace = self.kept.trace()
        standings = self.judge.outcomes()
        if rereading and trace is not None:
            standings = judged_on(trace, self.procedure, standings, rereading)
        report = GuardReport.of(
            standings,
            self.journal.events,
            stopped=self.stopped,
            fully_decided=self.judge.fully_decided,
            reason=self.journal.unlogged,
            trace=trace,
        )
        ended = {"score": report.score, "label": report.label, "reason": report.reason}
        self._log({"kind": "finish", **ended})
        return report

    def finish_interrupted(self) -> GuardReport:
        """The report on a run of which a change was interrupted: it has no score."""
        self.finished, self.answer = True, None
        return GuardReport.of(
            [replace(each, passed=None) for each in self.judge.outcomes()],
            self.journal.events,
            stopped=True,
            fully_decided=False,
            reason=interruption(self.inside or "finish"),
            trace=self.kept.trace(),
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
            self.judge.give_answer(answer)

    # ── the log ──────────────────────────────────────────────────────────────────────────

    def _put_on_record(self, turn: Turn) -> None:
        """Logs the new decisions of a turn. If that fails, they become stops, and the run ends."""
        fresh, turn.unlogged = turn.unlogged, []
        if not self.journal.log_decisions([turn.decided[place] for place in fresh]):
            self.stopped = True
            why = f"{OPENING}: {self.journal.unlogged}. The run ends here."
            for place in fresh:
                unsafe = turn.decided[place]
                turn.decided[place] = self._identified(
                    replace(unsafe, action="stop", message=unsafe.call.tool + why, position=None)
                )
        else:
            for place in fresh:
                self.issued.add(turn.decided[place], turn.calls[place])
        for place in fresh:
            self._keep(turn.decided[place], turn.calls[place])

    def _keep(self, decision: Decision, call: Call) -> None:
        """Keeps a call for the trace, or its refusal."""
        if decision.action == "allow":
            self.kept.allow((decision.turn, decision.index), call, decision.call.step or 0)
        else:
            call, message = replace(call, step=decision.turn), unmarked(decision.message)
            self.kept.refuse(Refusal(call, decision.action, message, decision.id))

    def _log(self, entry: dict[str, Json]) -> None:
        """Logs anything else. A run whose log is incomplete ends."""
        if not self.journal.log([entry]):
            self.stopped = True
