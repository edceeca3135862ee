"""The gate: a procedure that decides, call by call, what an agent may do.

One guard is one run. The agent's turn is proposed as a whole and decided in order: each call is
taken in on trial, the rules that it newly dooms are found, and the strongest of their severities
acts. A refused call leaves nothing behind. Everything is decided under one lock, so that threads
and tasks get the decisions of some order in which they could have come one after the other. The
lock is not held while a person is asked: what an approval lets pass is judged again after it.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from bylaw.enforcement.answer import Answer
from bylaw.enforcement.asking import Ask, Question
from bylaw.enforcement.decision import Action, Decision, Violation
from bylaw.enforcement.events import EnforcementEvent
from bylaw.enforcement.hints import HINTS, Hints, message
from bylaw.enforcement.journal import Journal
from bylaw.enforcement.judge import Judge, Trial
from bylaw.enforcement.log import AuditLog
from bylaw.enforcement.recent import RecentCalls
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.severity import (
    SETTINGS,
    Escalation,
    Setting,
    SoftBlockMode,
    blocks,
    strongest,
)
from bylaw.enforcement.tools import Tool, run_turn, run_turn_async, wrap
from bylaw.enforcement.turn import Turn, checked, exactly, one_of, unusable
from bylaw.errors import Diagnostic, UsageError, shown
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.constraint import Severity
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import MISSING, ROLES, Call, Event, Message, Role
from bylaw.values import Json, canonical, copied, problem

SAVED: Final = 1
"""The version of saved runs."""


class Guard:
    """Decides what one run of an agent may do.

    `propose` takes the calls of one model turn and decides each; `record` takes a result; `say`
    a message; `finish` ends the run and scores it. `wrap` and `run_turn` do so around plain
    Python functions. `setting` replaces the severities of the
    procedure, unless it is "as-written". `ask` is called for severity ASK, and has `ask_timeout`
    seconds; without it, such calls are refused until `approve` lets them pass. `save` and
    `restore` carry a run over to another process.
    """

    def __init__(
        self,
        procedure: Procedure,
        setting: Setting = "as-written",
        *,
        hints: Hints = "rule",
        soft_block: SoftBlockMode = SoftBlockMode.SAME_CONSTRAINT,
        soft_block_limit: int = 3,
        ask: Ask | None = None,
        ask_timeout: float | None = None,
        enforce_l6: bool = False,
        labels: Mapping[str, Json] | None = None,
        log: AuditLog | None = None,
    ) -> None:
        for given, name, choices in (
            (setting, "setting", SETTINGS),
            (hints, "hints", HINTS),
            (soft_block, "soft_block", tuple(SoftBlockMode)),
        ):
            if given not in choices:
                raise unusable(f"{name} cannot be {shown(given)}", one_of(choices))
        if type(soft_block_limit) is not int or soft_block_limit < 1:
            message = f"soft_block_limit cannot be {shown(soft_block_limit)}"
            raise unusable(message, "It is a whole number, 1 or more.")
        self.procedure: Final = procedure
        self.setting: Final[Setting] = setting
        self.hints: Final[Hints] = hints
        self._ask: Final = ask
        self._ask_timeout: Final = ask_timeout
        self._journal: Final = Journal(log, hints)
        self._judge: Final = Judge(procedure, setting, labels, enforce_l6=enforce_l6)
        self._escalation = Escalation(soft_block, soft_block_limit)
        self._pointers: dict[str, set[int]] = {}
        """The calls warned about in the latest turn, and the rules that were shown."""
        self._approved: dict[str, set[int]] = {}
        """The calls that a person let pass afterwards, and the rules that were shown."""
        self._recent: Final = RecentCalls(self._judge.named)
        self.turn = 0
        """How many turns there have been; a message is one, unless it comes with calls."""
        self._speaking = False
        """Has the assistant said something that belongs to the turn that comes next?"""
        self.stopped = False
        """Has the gate ended the run?"""
        self.finished = False
        self._answer: Answer | None = None
        """The answer that the run ended with, as long as it can be withdrawn."""
        self._lock: Final = threading.RLock()

    # ── proposing ────────────────────────────────────────────────────────────────────────

    def propose(self, calls: Iterable[Call]) -> list[Decision]:
        """Decides the calls of one model turn, in order. A turn without calls is one, too."""
        turn = Turn(checked(calls))
        while (question := self._advance(turn)) is not None and self._ask is not None:
            turn.answer(question, approved=question.put(self._ask, self._ask_timeout))
        return turn.decisions

    async def propose_async(self, calls: Iterable[Call]) -> list[Decision]:
        """As `propose`; while a person is asked, the event loop goes on."""
        turn = Turn(checked(calls))
        while (question := self._advance(turn)) is not None and self._ask is not None:
            approved = await question.put_async(self._ask, self._ask_timeout)
            turn.answer(question, approved=approved)
        return turn.decisions

    def _advance(self, turn: Turn) -> Question | None:
        """Decides the calls that are left, up to one that a person must be asked about."""
        with self._lock:
            self._begin(turn)
            while len(turn.decisions) < len(turn.calls):
                decided = self._decide(turn)
                if isinstance(decided, Decision):
                    turn.decide(decided)
                elif self._logged(turn):
                    return decided
            self._logged(turn)
            return None

    def _begin(self, turn: Turn) -> None:
        """Begins a turn, or goes on with it."""
        if turn.number < 0:
            if self.finished:
                help = "One guard is one run: make a new one."
                raise UsageError(Diagnostic("E413", "the run has finished", help))
            turn.pointers, self._pointers = self._pointers, {}
            self._journal.resolve(turn.calls)
        elif self.turn == turn.number + 1 and not self._speaking:
            return
        # A new turn; or others had theirs while a person was asked, and what is left comes after.
        turn.number, self.turn = self.turn, self.turn + 1
        turn.occupied, self._speaking = self._speaking, False

    def _decide(self, turn: Turn) -> Decision | Question:
        proposed, index = turn.calls[len(turn.decisions)], len(turn.decisions)
        if self.stopped or self.finished:
            told = f"{proposed.tool}: Not executed. The run has ended."
            action = Action.STOP if self.stopped else Action.BLOCK
            return Decision(proposed, action, turn.number, index, message=told)
        if turn.denied is not None:
            question, turn.denied = turn.denied, None
            return self._refused(
                turn, question.call, question.violations, Action.BLOCK, denied=True
            )
        alone = proposed.tool == FINAL_ANSWER and turn.occupied  # it has a step of its own
        step = turn.number + alone
        call = Call(proposed.tool, proposed.args, step=step, id=proposed.id, agent=proposed.agent)
        ends = call.tool == FINAL_ANSWER
        before = (self._judge.save(), self._escalation.save()) if ends else None
        trial = self._judge.attempt(call, step)
        violations = trial.violations
        if violations:
            same = exactly(call)
            turn.waived |= turn.pointers.pop(same, set()) | self._approved.get(same, set())
        action = self._action([v for i, v in violations.items() if i not in turn.waived])
        if action is Action.ALLOW:
            if before is not None:
                self.finished = True
                self._answer = Answer(*before, self._judge.monitors.length - 1)
            return self._allowed(turn, call, trial)
        trial.take_back()
        if action is Action.ASK and self._ask is not None:
            return Question(call, violations)
        return self._refused(turn, call, violations, action)

    def _action(self, against: Sequence[Violation]) -> Action:
        if not against:
            return Action.ALLOW
        match strongest(violation.severity for violation in against):
            case Severity.HARD_STOP:
                return Action.STOP
            case Severity.SOFT_BLOCK:
                names = [v.constraint.name for v in against if v.severity is Severity.SOFT_BLOCK]
                return Action.STOP if self._escalation.block(names) else Action.BLOCK
            case Severity.ASK:
                return Action.ASK
            case Severity.BLOCK_AND_WARN:
                return Action.WARN
            case _:
                return Action.ALLOW

    def _allowed(self, turn: Turn, call: Call, trial: Trial) -> Decision:
        violations = trial.violations
        passed = [i for i in violations if i in turn.waived]
        tolerated = [v for i, v in violations.items() if i not in passed]
        for i in violations:
            self._judge.retired.setdefault(i, "overridden" if i in passed else "tolerated")
        if violations:
            self._approved.pop(exactly(call), None)
        for violation in tolerated:
            self._journal.note(turn.number, call, violation, "tolerate")
        self._escalation.allow()
        turn.occupied = True
        if call.tool != FINAL_ANSWER:
            self._recent.note(call.tool)
        return Decision(
            call,
            Action.ALLOW,
            turn.number,
            len(turn.decisions),
            tuple(tolerated),
            tuple(self.procedure.constraints[i].name for i in passed),
            position=self._judge.monitors.length - 1,
        )

    def _refused(
        self,
        turn: Turn,
        call: Call,
        violations: dict[int, Violation],
        action: Action,
        *,
        denied: bool = False,
    ) -> Decision:
        if action is Action.WARN:
            self._pointers.setdefault(exactly(call), set()).update(violations)
        if action is Action.STOP:
            self.stopped = True
        for violation in violations.values():
            self._journal.note(turn.number, call, violation, action.value)
        # What is tolerated is not told: a rule of layer L6 would hand its values over.
        enforced = {i: v for i, v in violations.items() if blocks(v.severity)}
        tools = frozenset().union(*(self._judge.named[i] for i in enforced))
        told = message(
            action,
            call.tool,
            tuple(enforced.values()),
            self.hints,
            self._recent.of(tools),
            self._judge.still_open(turn.number) if self.hints == "open" else None,
            denied=denied,
        )
        named = [v.constraint.name for v in enforced.values()] if self.hints != "none" else []
        return Decision(
            call,
            action,
            turn.number,
            len(turn.decisions),
            tuple(violations.values()),
            message=told,
            named=tuple(named),
        )

    # ── running tools ────────────────────────────────────────────────────────────────────

    def wrap(self, tools: Mapping[str, Tool], *, defaults: bool = False) -> dict[str, Tool]:
        """The tools, each of which asks this guard before it runs, and tells it what came of it.

        A refusal is raised as `ConstraintViolationError`. Coroutine functions stay such. The
        guard sees arguments left to their defaults only if `defaults` is true.
        """
        return wrap(self, tools, defaults=defaults)

    def run_turn(self, tools: Mapping[str, Tool], calls: Sequence[Call]) -> list[Any]:
        """Decides one model turn and runs what is allowed; what the agent gets for each call."""
        return run_turn(self, tools, calls)

    async def run_turn_async(self, tools: Mapping[str, Tool], calls: Sequence[Call]) -> list[Any]:
        """As `run_turn`, for tools of which some are awaited: those run at the same time."""
        return await run_turn_async(self, tools, calls)

    # ── results, messages, approvals ─────────────────────────────────────────────────────

    def record(self, decision: Decision, result: Json, *, error: str | None = None) -> None:
        """Takes in the result of a call that ran. What is lost through it blocks nothing."""
        with self._lock:
            if decision.position is None:
                message = "the call did not run: it was refused"
                raise UsageError(Diagnostic("E413", message, "Record results of allowed calls."))
            if result is not MISSING and (reason := problem(result)):
                message = f"the result of '{decision.call.tool}' is not JSON: {reason}"
                help = "`wrap` and `run_turn` turn what tools return into JSON."
                raise UsageError(Diagnostic("E413", message, help))
            call = replace(decision.call, result=copied(result), error=error)
            if self._answer is not None:
                self._answer.since.append((decision.position, call))
            self._learn(decision.position, call)

    def say(self, role: Role, text: str) -> None:
        """Takes in a message. What is lost through it blocks nothing.

        What the assistant says belongs to the calls that it proposes next.
        """
        if role not in ROLES:
            raise unusable(f"nobody is called {shown(role)}", one_of(ROLES))
        with self._lock:
            self.turn += self._speaking
            number, self._speaking = self.turn, role == "assistant"
            self.turn += not self._speaking
            message = Message(role, text, number)
            if self._answer is not None:
                self._answer.since.append((None, message))
            self._learn(None, message)

    def _learn(self, position: int | None, event: Event, known: Container[int] = ()) -> None:
        """Takes in a call's result, or a message. Which rules are lost is told, unless known."""
        if isinstance(event, Message):
            call, reason = Call(f"{event.role} message", step=event.step), "lost through a message"
            lost = self._judge.hear(event)
        else:
            assert position is not None, "a call has its place"
            call, reason = event, "lost through a result"
            lost = self._judge.record(position, event)
        self._lost(call, [i for i in lost if i not in known], reason)
        self._judge.retired |= dict.fromkeys(lost, reason)

    def approve(self, decision: Decision) -> None:
        """A person approves a call that was refused with `ask`: proposed again, it may run."""
        if decision.action is not Action.ASK:
            message = f"the answer to the call was {decision.action.value}, not ask"
            raise UsageError(Diagnostic("E413", message, "Approve calls that wait for a person."))
        told = {violation.constraint.name for violation in decision.violations}
        names = [constraint.name for constraint in self.procedure.constraints]
        with self._lock:
            waived = self._approved.setdefault(exactly(decision.call), set())
            waived |= {i for i, name in enumerate(names) if name in told}

    def withdraw(self) -> None:
        """The answer that was allowed is not taken after all: the run goes on without it.

        For frameworks that check an answer, or let the agent try again, once it has been given.
        """
        with self._lock:
            if self._answer is None:
                message = "there is no answer to withdraw"
                help = "An answer can be withdrawn between its proposal and `finish`."
                raise UsageError(Diagnostic("E413", message, help))
            answer, known = self._answer, set(self._judge.retired)
            self._judge.restore(answer.rules)
            self._escalation.restore(answer.escalation)
            self.finished, self._answer = False, None
            for position, event in answer.since:  # what came after it still came
                if position != answer.position:
                    self._learn(position, event, known)
            self._write({"kind": "withdraw", "turn": self.turn})

    def _lost(self, call: Call, lost: Sequence[int], reason: str) -> None:
        for i in lost:
            self._judge.retired[i] = reason
            violation = self._judge.violation(i, "doomed", reason)
            self._journal.note(call.step or 0, call, violation, "lost")
        if lost:
            names: Json = [self.procedure.constraints[i].name for i in lost]
            self._write({"kind": "lost", "constraints": names, "reason": reason})

    # ── the end ──────────────────────────────────────────────────────────────────────────

    def finish(self, answer: str | None = None) -> GuardReport:
        """Ends the run and scores it. An answer that was proposed is not given again."""
        with self._lock:
            if not self.finished and answer is not None:
                step = self.turn + self._speaking
                self._judge.monitors.step(Call(FINAL_ANSWER, {"answer": answer}, step=step))
            self.finished, self._answer = True, None
            report = GuardReport.of(
                self._judge.outcomes(),
                self.events,
                stopped=self.stopped,
                fully_decided=self._judge.fully_decided,
                reason=self._journal.unlogged,
            )
            ended = {"score": report.score, "label": report.label, "reason": report.reason}
            self._write({"kind": "finish", **ended})
            return report

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> dict[str, Json]:
        """Where the run stands, as JSON; `restore` goes on from there."""
        with self._lock:
            return {
                "bylaw": SAVED,
                "procedure": self._fingerprint(),
                "turn": self.turn,
                "speaking": self._speaking,
                "stopped": self.stopped,
                "finished": self.finished,
                "answer": None if self._answer is None else self._answer.save(),
                "pointers": _written(self._pointers),
                "approved": _written(self._approved),
                "escalation": self._escalation.save(),
                "recent": self._recent.save(),
                "journal": self._journal.save(),
                "rules": self._judge.save(),
            }

    def restore(self, saved: Mapping[str, Json]) -> None:
        """Puts a guard of the same procedure and setting where another one stood."""
        with self._lock:
            if saved.get("bylaw") != SAVED or saved.get("procedure") != self._fingerprint():
                message = "the saved run is of another procedure, setting or version"
                help = "Restore with the procedure file and the setting that it was saved with."
                raise UsageError(Diagnostic("E413", message, help))
            self.turn, self._speaking = saved["turn"], saved["speaking"]
            self.stopped, self.finished = saved["stopped"], saved["finished"]
            self._answer = None if saved["answer"] is None else Answer.of(saved["answer"])
            self._pointers, self._approved = _read(saved["pointers"]), _read(saved["approved"])
            self._escalation.restore(saved["escalation"])
            self._recent.restore(saved["recent"])
            self._journal.restore(saved["journal"])
            self._judge.restore(saved["rules"])

    def _fingerprint(self) -> str:
        """What a saved run must agree on: the rules, and how they act."""
        severities: Json = [severity.value for severity in self._judge.severities]
        text = canonical([self.procedure.to_dict(), self.setting, severities])
        return hashlib.sha256(text.encode()).hexdigest()

    # ── the record ───────────────────────────────────────────────────────────────────────

    @property
    def events(self) -> list[EnforcementEvent]:
        """What the gate did so far, rule by rule."""
        return self._journal.events

    def _logged(self, turn: Turn) -> bool:
        """Puts new decisions on record; if they cannot be, nothing is allowed any more."""
        fresh = turn.decisions[turn.logged :]
        if not self._journal.log_decisions(fresh):
            self.stopped = True
            told = f"Not executed: {self._journal.unlogged}. The run ends here."
            turn.decisions[turn.logged :] = [
                replace(each, action=Action.STOP, message=told, position=None) for each in fresh
            ]
        turn.logged = len(turn.decisions)
        return not self.stopped

    def _write(self, entry: dict[str, Json]) -> None:
        """Puts something else into the log. A run whose record is not complete ends."""
        if not self._journal.log([entry]):
            self.stopped = True


def _written(calls: Mapping[str, set[int]]) -> Json:
    return [[call, sorted(rules)] for call, rules in calls.items()]


def _read(written: Json) -> dict[str, set[int]]:
    return {call: set(rules) for call, rules in written}
