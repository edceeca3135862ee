"""The gate: a procedure that decides, call by call, what an agent may do.

One guard is one run. The agent's turn is proposed as a whole and decided in order: each call is
taken in on trial, the rules that it newly dooms are found, and the strongest of their severities
acts. A refused call leaves nothing behind. Everything is decided under one lock, so that threads
and tasks get the decisions of some order in which they could have come one after the other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswer
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from bylaw.enforcement.decision import Action, Decision, Violation
from bylaw.enforcement.events import EnforcementEvent, Statistics
from bylaw.enforcement.hints import Hints, message
from bylaw.enforcement.joint import Joint
from bylaw.enforcement.log import AuditLog, LogError
from bylaw.enforcement.severity import (
    Escalation,
    Setting,
    SoftBlockMode,
    blocks,
    severity_of,
    strongest,
)
from bylaw.errors import Diagnostic, UsageError
from bylaw.logic.walk import tools_in
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.constraint import Severity
from bylaw.procedure.procedure import Procedure
from bylaw.semantics.monitors import Monitors
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import MISSING, Call, Message, Role
from bylaw.values import Json, canonical

Ask: TypeAlias = Callable[[Call, tuple[Violation, ...]], bool]
"""Asks a person about a call and the rules that it breaks; True approves."""
SHOWN_CALLS: Final = 5
"""How many calls that led to a refusal are named."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one rule stands at the end of a run."""

    name: str
    layer: str | None
    weight: float
    passed: bool
    retired: str | None
    """Why it was no longer enforced: overridden, or lost through a result or a message."""


@dataclass(frozen=True, slots=True)
class GuardReport:
    """A run at its end: the score, and what the gate did."""

    score: float
    label: str
    constraints: tuple[Outcome, ...]
    events: tuple[EnforcementEvent, ...]
    statistics: Statistics
    stopped: bool

    def to_dict(self) -> dict[str, Json]:
        """The report as JSON."""
        return {
            "compliance_score": self.score,
            "compliance_label": self.label,
            "constraints": [
                {
                    "name": each.name,
                    "layer": each.layer,
                    "weight": each.weight,
                    "passed": each.passed,
                    "retired": each.retired,
                }
                for each in self.constraints
            ],
            "events": [event.to_dict() for event in self.events],
            "statistics": self.statistics.to_dict(),
            "stopped": self.stopped,
        }


class Guard:
    """Decides what one run of an agent may do.

    `propose` takes the calls of one model turn and decides each; `record` takes a result; `say`
    a message; `finish` ends the run and scores it. `setting` replaces the severities of the
    procedure, unless it is "as-written". `ask` is called for severity ASK, and has `ask_timeout`
    seconds; without it, such calls are refused until `answer` approves them.
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
        self.procedure: Final = procedure
        self.setting: Final[Setting] = setting
        self.hints: Final[Hints] = hints
        self._ask: Final = ask
        self._ask_timeout: Final = ask_timeout
        self._log: Final = log
        rules = procedure.constraints
        self._severities: Final = [severity_of(c, setting, enforce_l6=enforce_l6) for c in rules]
        self._named: Final = [frozenset(tools_in(c.formula)) for c in rules]
        self._monitors: Final = Monitors(
            [constraint.formula for constraint in rules],
            order=procedure.order,
            events=[procedure.events_of(constraint) for constraint in rules],
            vocabulary=procedure.vocabulary,
            labels=labels,
        )
        self._retired: dict[int, str] = {}
        self._joint: Final = Joint([constraint.formula for constraint in rules], procedure.order)
        # Rules that clash from the start would refuse everything: then only their own doom counts.
        self._joint_on = setting != "baseline" and self._joint.possible(
            self._enforced(self._joint.forms)
        )
        self._escalation = Escalation(soft_block, soft_block_limit)
        self._pointers: dict[str, set[int]] = {}
        """The calls warned about in the latest turn, and the rules that were shown."""
        self._recent: list[deque[str]] = [deque(maxlen=SHOWN_CALLS) for _ in rules]
        self._recent_of: Final[dict[str, list[deque[str]]]] = {}
        for named, recent in zip(self._named, self._recent, strict=True):
            for tool in named:
                self._recent_of.setdefault(tool, []).append(recent)
        self._calls = 0
        self.turn = 0
        """How many turns have been proposed."""
        self.stopped = False
        """Has the gate ended the run?"""
        self.finished = False
        self.events: list[EnforcementEvent] = []
        self._unresolved: list[EnforcementEvent] = []
        self._lock: Final = threading.RLock()

    # ── proposing ────────────────────────────────────────────────────────────────────────

    def propose(self, calls: Iterable[Call]) -> list[Decision]:
        """Decides the calls of one model turn, in order. A turn without calls is one, too."""
        with self._lock:
            self._check_open()
            proposed = list(calls)
            pointers, self._pointers = self._pointers, {}
            self._resolve(proposed)
            step, self.turn = self.turn, self.turn + 1
            decisions: list[Decision] = []
            for index, call in enumerate(proposed):
                call = replace(call, step=step, result=MISSING, error=None)
                decisions.append(self._decide(call, index, pointers))
            return self._logged(decisions)

    def _check_open(self) -> None:
        if self.finished:
            help = "One guard is one run: make a new one."
            raise UsageError(Diagnostic("E413", "the run has finished", help))

    def _decide(self, call: Call, index: int, pointers: dict[str, set[int]]) -> Decision:
        if self.stopped:
            told = f"{call.tool}: Not executed. The run has ended."
            return Decision(call, Action.STOP, self.turn - 1, index, message=told)
        attempt = self._monitors.attempt(call)
        violations = self._violations(call, attempt.doomed)
        before = self._joint.advance(call, self.turn - 1)
        violations |= self._conflicts(call, violations)
        waived = pointers.pop(_exactly(call), set()) if violations else set()
        against = {i: v for i, v in violations.items() if i not in waived}
        acting = [v.severity for v in against.values()]
        action = self._action(call, against, acting)
        if action is Action.ALLOW:
            return self._allowed(call, index, violations, waived)
        attempt.take_back()
        self._joint.undo(before)
        return self._refused(call, index, against, action)

    def _conflicts(self, call: Call, doomed: Collection[int]) -> dict[int, Violation]:
        """The rules that the others leave no room for any more, now that the call is made."""
        found: dict[int, Violation] = {}
        if not self._joint_on or not self._joint.can_clash(call.tool):
            return found
        related = self._joint.related(call.tool)
        alive = [i for i in self._enforced(related) if i not in doomed]
        while not self._joint.possible(alive):
            clashing = self._joint.conflict(alive)
            caps = [i for i in clashing if self._joint.forms[i].caps]
            blamed = [i for i in clashing if i not in caps] or caps
            beside = [self.procedure.constraints[i].name for i in clashing if i not in blamed]
            reason = f"together with {', '.join(beside)}" if beside else ""
            found |= {i: self._violation(i, "joint", reason) for i in blamed}
            alive = [i for i in alive if i not in blamed]
        return found

    def _enforced(self, among: Iterable[int]) -> list[int]:
        """The rules that take part in the question whether all can still be met."""
        return [
            i
            for i in among
            if i not in self._retired
            and blocks(self._severities[i])
            and self._monitors.verdicts[i] is not Verdict.VIOLATED
        ]

    def _violations(self, call: Call, doomed: Sequence[int]) -> dict[int, Violation]:
        """The rules that speak against a call that was taken in on trial."""
        found = {i: self._violation(i, "doomed") for i in sorted(doomed)}
        for i, reason in self._monitors.faults().items():
            if i not in self._retired and blocks(self._severities[i]):
                found[i] = self._violation(i, "error", reason)
        if call.tool == FINAL_ANSWER and self.procedure.finish == "met":
            for i, verdict in enumerate(self._monitors.verdicts):
                enforced = i not in self._retired and blocks(self._severities[i])
                if enforced and i not in found and verdict is Verdict.PRESUMABLY_VIOLATED:
                    found[i] = self._violation(i, "unmet")
        return found

    def _violation(self, index: int, kind: Any, reason: str = "") -> Violation:
        constraint = self.procedure.constraints[index]
        return Violation(constraint, self._severities[index], kind, reason)

    def _action(
        self, call: Call, against: dict[int, Violation], acting: Sequence[Severity]
    ) -> Action:
        if not acting:
            return Action.ALLOW
        match strongest(acting):
            case Severity.HARD_STOP:
                return Action.STOP
            case Severity.SOFT_BLOCK:
                names = [
                    v.constraint.name for v in against.values() if v.severity is Severity.SOFT_BLOCK
                ]
                return Action.STOP if self._escalation.block(names) else Action.BLOCK
            case Severity.ASK:
                return self._asked(call, tuple(against.values()))
            case Severity.BLOCK_AND_WARN:
                return Action.WARN
            case _:
                return Action.ALLOW

    def _asked(self, call: Call, violations: tuple[Violation, ...]) -> Action:
        """What a person says; silence, and a failure to ask, refuse."""
        if self._ask is None:
            return Action.ASK
        with ThreadPoolExecutor(1) as asking:
            answer = asking.submit(self._ask, call, violations)
            try:
                approved = answer.result(self._ask_timeout)
            except (NoAnswer, Exception):
                approved = False
        return Action.ALLOW if approved is True else Action.BLOCK

    def _allowed(
        self, call: Call, index: int, violations: dict[int, Violation], waived: set[int]
    ) -> Decision:
        passed = [i for i in violations if i in waived or self._severities[i] is Severity.ASK]
        for i in violations:
            reason = "overridden" if i in passed else "tolerated"
            self._retire(i, reason)
        if not violations:
            self._escalation.allow()
        if call.tool == FINAL_ANSWER:
            self.finished = True
        else:
            self._note(call)
        position = self._monitors.length - 1
        tolerated = [v for i, v in violations.items() if i not in passed]
        for violation in tolerated:
            self._event(call, violation, "tolerate")
        names = tuple(self.procedure.constraints[i].name for i in passed)
        return Decision(
            call,
            Action.ALLOW,
            self.turn - 1,
            index,
            tuple(tolerated),
            names,
            position=position,
        )

    def _refused(
        self, call: Call, index: int, against: dict[int, Violation], action: Action
    ) -> Decision:
        if action is Action.WARN:
            self._pointers.setdefault(_exactly(call), set()).update(against)
        if action is Action.STOP:
            self.stopped = True
        violations = tuple(against.values())
        for violation in violations:
            self._event(call, violation, action.value)
        led_here = sorted({shown for i in against for shown in self._recent[i]}, key=_number)
        told = message(
            action,
            call.tool,
            violations,
            self.hints,
            led_here[-SHOWN_CALLS:],
            self._still_open() if self.hints == "open" else None,
        )
        return Decision(call, action, self.turn - 1, index, violations, message=told)

    def _still_open(self) -> list[str]:
        """The tools of which some call would break nothing now, as far as the name tells."""
        known = self.procedure.tools
        names = known if known is not None else sorted(frozenset().union(*self._named))
        found = []
        for name in names:
            if name == FINAL_ANSWER:
                continue
            attempt = self._monitors.attempt(Call(name, step=self.turn - 1))
            if not any(blocks(self._severities[i]) for i in attempt.doomed):
                found.append(name)
            attempt.take_back()
        return found

    def _note(self, call: Call) -> None:
        """Remembers the latest calls that each rule names, for messages."""
        self._calls += 1
        for recent in self._recent_of.get(call.tool, ()):
            recent.append(f"#{self._calls} {call.tool}")

    def _retire(self, index: int, reason: str) -> None:
        self._retired.setdefault(index, reason)
        self._monitors.retire(index)

    # ── results, messages, approvals ─────────────────────────────────────────────────────

    def record(self, decision: Decision, result: Json, *, error: str | None = None) -> None:
        """Takes in the result of a call that ran. What is lost through it blocks nothing."""
        with self._lock:
            if decision.position is None:
                message = "the call did not run: it was refused"
                raise UsageError(Diagnostic("E413", message, "Record results of allowed calls."))
            call = replace(decision.call, result=result, error=error)
            if self.procedure.failed is not None:
                marked = self.procedure.failed.marked(call)
                error = marked.error if isinstance(marked, Call) else error
            lost = self._monitors.record(decision.position, result, error=error)
            self._lost(decision.call, lost, "lost through a result")

    def say(self, role: Role, text: str) -> None:
        """Takes in a message. What is lost through it blocks nothing."""
        with self._lock:
            lost = self._monitors.step(Message(role, text, self.turn))
            self.turn += 1
            self._lost(Call(f"{role} message", step=self.turn - 1), lost, "lost through a message")

    def _lost(self, call: Call, indices: Sequence[int], reason: str) -> None:
        for i in indices:
            self._retire(i, reason)
            self._event(call, self._violation(i, "doomed", reason), "lost")
        if indices and self._log is not None:
            names = [self.procedure.constraints[i].name for i in indices]
            self._log.append([{"kind": "lost", "constraints": names, "reason": reason}])

    # ── the end ──────────────────────────────────────────────────────────────────────────

    def finish(self, answer: str | None = None) -> GuardReport:
        """Ends the run and scores it. An answer that was proposed is not given again."""
        with self._lock:
            if not self.finished and answer is not None:
                self._monitors.step(Call(FINAL_ANSWER, {"answer": answer}, step=self.turn))
            self.finished = True
            constraints = self.procedure.constraints
            outcomes = tuple(
                Outcome(c.name, c.layer, c.weight, verdict.holds_now, self._retired.get(i))
                for i, (c, verdict) in enumerate(
                    zip(constraints, self._monitors.verdicts, strict=True)
                )
            )
            violated = [each for each in outcomes if not each.passed]
            total = sum(each.weight for each in outcomes)
            score = 1 - sum(each.weight for each in violated) / total if violated else 1.0
            label = "FULL" if not violated else "PARTIAL"
            if len(violated) == len(outcomes):
                score, label = 0.0, "NONE"
            report = GuardReport(
                score,
                label,
                outcomes,
                tuple(self.events),
                Statistics.of(self.events),
                self.stopped,
            )
            if self._log is not None:
                self._log.append([{"kind": "finish", "score": score, "label": label}])
            return report

    # ── the record ───────────────────────────────────────────────────────────────────────

    def _event(self, call: Call, violation: Violation, action: str) -> None:
        event = EnforcementEvent.of(self.turn - 1, call, violation, action, self.hints)
        self.events.append(event)
        if action != "lost":
            self._unresolved.append(event)

    def _resolve(self, proposed: Sequence[Call]) -> None:
        """Says of the refusals of the turn before whether the agent insisted."""
        if not proposed:
            return
        for event in self._unresolved:
            event.resolve(proposed)
        self._unresolved.clear()

    def _logged(self, decisions: list[Decision]) -> list[Decision]:
        """The decisions, once they are on disk; if they cannot be, nothing is allowed."""
        if self._log is None:
            return decisions
        try:
            self._log.append([_entry(decision, self.hints) for decision in decisions])
        except LogError as error:
            self.stopped = True
            told = f"Not executed: {error.diagnostics[0].message}. The run ends here."
            return [
                replace(each, action=Action.STOP, message=told, position=None) for each in decisions
            ]
        return decisions


def _exactly(call: Call) -> str:
    """A call to the byte: its name and its arguments; `1` and `1.0` differ."""
    return canonical([call.tool, dict(call.args)])


def _number(shown: str) -> int:
    return int(shown[1:].partition(" ")[0])


def _entry(decision: Decision, hints: Hints) -> dict[str, Json]:
    return {
        "kind": "decision",
        "turn": decision.turn,
        "index": decision.index,
        "tool": decision.call.tool,
        "arguments": dict(decision.call.args),
        "action": decision.action.value,
        "violations": [violation.to_dict() for violation in decision.violations],
        "overridden": list(decision.overridden),
        "hints": hints,
    }
