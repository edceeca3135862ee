"""One run at the gate: where it stands, what it learns, how it ends, how it is carried over."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Final

from bylaw.enforcement.answer import PendingAnswer
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.hints import Hints
from bylaw.enforcement.journal import Journal
from bylaw.enforcement.judge import Judge
from bylaw.enforcement.recent import RecentCalls
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.severity import Escalation, Setting
from bylaw.enforcement.turn import Turn, exactly
from bylaw.errors import Diagnostic, UsageError
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call, Event, Message, Role
from bylaw.values import Json, canonical

SAVED: Final = 1
"""The version of saved runs."""


class Run:
    """What is known of one run. Who uses it sees to it that nobody else does so meanwhile."""

    def __init__(
        self,
        procedure: Procedure,
        setting: Setting,
        hints: Hints,
        judge: Judge,
        journal: Journal,
        escalation: Escalation,
    ) -> None:
        self.procedure: Final = procedure
        self.setting: Final[Setting] = setting
        self.hints: Final[Hints] = hints
        self.judge: Final = judge
        self.journal: Final = journal
        self.escalation: Final = escalation
        self.recent: Final = RecentCalls(judge.named)
        self.pointers: dict[str, set[int]] = {}
        """The calls warned about in the latest turn, and the rules that were shown."""
        self.approved: dict[str, set[int]] = {}
        """The calls that a person let pass afterwards, and the rules that were shown."""
        self.turn = 0
        """How many turns there have been; a message is one, unless it comes with calls."""
        self.speaking = False
        """Has the assistant said something that belongs to the turn that comes next?"""
        self.stopped = False
        """Has the gate ended it?"""
        self.finished = False
        self.answer: PendingAnswer | None = None
        """The answer that it ended with, as long as that can be withdrawn."""

    # ── what it learns ───────────────────────────────────────────────────────────────────

    def record(self, position: int, call: Call) -> None:
        """Takes in a call that ran, with its result."""
        if self.answer is not None:
            self.answer.since.append((position, call))
        self._learn(position, call)

    def say(self, role: Role, text: str) -> None:
        """Takes in a message. What the assistant says belongs to the calls of its next turn."""
        self.turn += self.speaking
        number, self.speaking = self.turn, role == "assistant"
        self.turn += not self.speaking
        message = Message(role, text, number)
        if self.answer is not None:
            self.answer.since.append((None, message))
        self._learn(None, message)

    def approve(self, decision: Decision) -> None:
        """A person lets a call pass that was refused, should it be proposed again."""
        told = {violation.constraint.name for violation in decision.violations}
        names = [constraint.name for constraint in self.procedure.constraints]
        waived = self.approved.setdefault(exactly(decision.call), set())
        waived |= {i for i, name in enumerate(names) if name in told}

    def withdraw(self) -> None:
        """Goes on as if the answer had not been given; what came after it still came."""
        if self.answer is None:
            message = "there is no answer to withdraw"
            help = "An answer can be withdrawn between its proposal and `finish`."
            raise UsageError(Diagnostic("E413", message, help))
        answer, known = self.answer, set(self.judge.retired)
        self.judge.restore(answer.rules)
        self.escalation.restore(answer.escalation)
        self.finished, self.answer = False, None
        for position, event in answer.since:
            if position != answer.position:
                self._learn(position, event, known)
        self._write({"kind": "withdraw", "turn": self.turn})

    def _learn(self, position: int | None, event: Event, known: Container[int] = ()) -> None:
        """Takes in a call's result, or a message. Which rules are lost is told, unless known."""
        if isinstance(event, Message):
            call, reason = Call(f"{event.role} message", step=event.step), "lost through a message"
            lost = self.judge.hear(event)
        else:
            assert position is not None, "a call has its place"
            call, reason = event, "lost through a result"
            lost = self.judge.record(position, event)
        self._lost(call, [i for i in lost if i not in known], reason)
        self.judge.retired |= dict.fromkeys(lost, reason)

    def _lost(self, call: Call, lost: Sequence[int], reason: str) -> None:
        for i in lost:
            self.judge.retired[i] = reason
            violation = self.judge.violation(i, "doomed", reason)
            self.journal.note(call.step or 0, call, violation, "lost")
        if lost:
            names: Json = [self.procedure.constraints[i].name for i in lost]
            self._write({"kind": "lost", "constraints": names, "reason": reason})

    def break_off(self, turn: Turn) -> None:
        """Nobody gets the decisions of a turn: calls that it allowed are in no trace, but here.

        What the rules have seen then never happened, so nothing more is allowed.
        """
        if any(decision.allowed for decision in turn.decisions):
            self.stopped = True
            self._write({"kind": "broken off", "turn": turn.number})

    # ── the end ──────────────────────────────────────────────────────────────────────────

    def finish(self, answer: str | None) -> GuardReport:
        """Ends and is scored. An answer that was proposed is not given again."""
        if not self.finished and answer is not None:
            step = self.turn + self.speaking
            self.judge.monitors.step(Call(FINAL_ANSWER, {"answer": answer}, step=step))
        self.finished, self.answer = True, None
        report = GuardReport.of(
            self.judge.outcomes(),
            self.journal.events,
            stopped=self.stopped,
            fully_decided=self.judge.fully_decided,
            reason=self.journal.unlogged,
        )
        ended = {"score": report.score, "label": report.label, "reason": report.reason}
        self._write({"kind": "finish", **ended})
        return report

    # ── the record ───────────────────────────────────────────────────────────────────────

    def put_on_record(self, turn: Turn) -> None:
        """Logs the new decisions of a turn; if that fails, nothing is allowed any more."""
        fresh = turn.decisions[turn.logged :]
        if not self.journal.log_decisions(fresh):
            self.stopped = True
            told = f"Not executed: {self.journal.unlogged}. The run ends here."
            turn.decisions[turn.logged :] = [
                replace(each, action="stop", message=told, position=None) for each in fresh
            ]
        turn.logged = len(turn.decisions)

    def _write(self, entry: dict[str, Json]) -> None:
        """Puts something else into the log. A run whose record is not complete ends."""
        if not self.journal.log([entry]):
            self.stopped = True

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> dict[str, Json]:
        """Where it stands, as JSON."""
        return {
            "bylaw": SAVED,
            "procedure": self._fingerprint(),
            "turn": self.turn,
            "speaking": self.speaking,
            "stopped": self.stopped,
            "finished": self.finished,
            "answer": None if self.answer is None else self.answer.save(),
            "pointers": _written(self.pointers),
            "approved": _written(self.approved),
            "escalation": self.escalation.save(),
            "recent": self.recent.save(),
            "journal": self.journal.save(),
            "rules": self.judge.save(),
        }

    def restore(self, saved: Mapping[str, Json]) -> None:
        """Goes on where another run of the same procedure and setting stood."""
        if saved.get("bylaw") != SAVED or saved.get("procedure") != self._fingerprint():
            message = "the saved run is of another procedure, setting or version"
            help = "Restore with the procedure file and the setting that it was saved with."
            raise UsageError(Diagnostic("E413", message, help))
        self.turn, self.speaking = saved["turn"], saved["speaking"]
        self.stopped, self.finished = saved["stopped"], saved["finished"]
        self.answer = None if saved["answer"] is None else PendingAnswer.of(saved["answer"])
        self.pointers, self.approved = _read(saved["pointers"]), _read(saved["approved"])
        self.escalation.restore(saved["escalation"])
        self.recent.restore(saved["recent"])
        self.journal.restore(saved["journal"])
        self.judge.restore(saved["rules"])

    def _fingerprint(self) -> str:
        """What a saved run must agree on: the rules, and how they act."""
        import hashlib  # slow to import, and most runs are not saved

        severities: Json = list(self.judge.severities)
        text = canonical([self.procedure.to_dict(), self.setting, severities])
        return hashlib.sha256(text.encode()).hexdigest()


def _written(calls: Mapping[str, set[int]]) -> Json:
    return [[call, sorted(rules)] for call, rules in calls.items()]


def _read(written: Json) -> dict[str, set[int]]:
    return {call: set(rules) for call, rules in written}
