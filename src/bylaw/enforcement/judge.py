"""The rules that a call would break: each by itself, or together with the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from operator import attrgetter
from typing import Final, Literal, TypeAlias, get_args

from bylaw.enforcement.decision import Violation, ViolationKind
from bylaw.enforcement.joint.conflicts import Conflict, Conflicts
from bylaw.enforcement.joint.machines import JointMachines
from bylaw.enforcement.joint.rules import JointRules
from bylaw.enforcement.report import AcrossStanding, ConstraintStanding
from bylaw.enforcement.severity import Setting, severity_of
from bylaw.errors import listing
from bylaw.frozen import replace
from bylaw.logic import formula as f
from bylaw.logic.walk import tools_in
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.saved import fields, flag, listed, places, text, whole
from bylaw.semantics.dispatch import Attempt
from bylaw.semantics.machine.machine_cache import MachineCache
from bylaw.semantics.monitors import Monitors
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Message
from bylaw.trace.trace import answer_text
from bylaw.values import Json
from bylaw.work import UNLIMITED, OverBudget, allot

_EXCUSES: Final = ("doomed", "error", "early", "joint")
"""The violations after which a rule is followed as if the call had not been made."""
LOST_BY_RESULT: Final = "lost through a result"
LOST_BY_MESSAGE: Final = "lost through a message"
LOST_BY_TIME: Final = "lost when its deadline passed"
_TOOL: Final[Callable[[Call], str]] = attrgetter("tool")
_READ_METRICS: Final = (f.FromMetrics, f.OpenPredicate, f.Extracted)


def _named_tools(procedure: Procedure) -> list[frozenset[str]]:
    return [frozenset(tools_in(constraint.formula)) for constraint in procedure.constraints]


class PreparedRules:
    """The rules of a procedure, prepared once and shared by all of its guards."""

    def __init__(self, procedure: Procedure) -> None:
        formulas = [constraint.formula for constraint in procedure.constraints]
        self.reads_metrics: Final = tuple(
            i for i, formula in enumerate(formulas) if formula.contains(*_READ_METRICS)
        )
        """The rules that may read metrics."""
        self.forms: Final = JointRules(formulas, procedure.order)
        self.machines: Final = MachineCache(procedure.vocabulary)
        self.products: Final = JointMachines.of(procedure, {})


Outstanding: TypeAlias = Literal["refuse", "wait", "hope"]
"""A call whose evidence is the result of a call that is still outstanding: is refused; is decided
when the results of its turn are in, where the gate runs the tools, and else refused; or is judged
by the best outcome."""
OUTSTANDING: Final[tuple[Outstanding, ...]] = get_args(Outstanding)


class Trial:
    """A call that was appended on trial, and the rules that it breaks."""

    __slots__ = ("_attempt", "_call", "_judge", "_step", "clashing", "decided", "violations")

    def __init__(self, judge: Judge, attempt: Attempt, call: Call, step: int) -> None:
        self._judge, self._attempt, self._call, self._step = judge, attempt, call, step
        self.violations: dict[int, Violation] = {}
        self.decided = True
        """Is it certain that the other rules can still be satisfied together?"""
        self.clashing: Collection[int] = ()
        """The rules that clash after the call."""

    def take_back(self) -> None:
        """Removes the call again."""
        self._attempt.take_back()
        self._judge._joint.take_back()

    def keep(self, reasons: Mapping[int, str]) -> None:
        """Keeps the call, and excuses it from the rules that it breaks, for these reasons."""
        judge = self._judge
        judge._joint.keep(self._call, self._step)
        if self.violations:
            self._attempt.keep(i for i, v in self.violations.items() if v.kind in _EXCUSES)
        if not self.decided:
            judge.fully_decided = False
        if self.clashing:
            judge._drop_clashing({i for i in self.clashing if i in self.violations})
        for i, reason in reasons.items():
            judge.excused.setdefault(i, reason)


class Judge:
    """The state of the rules in one run.

    A call that breaks a rule and runs nevertheless is excused: for enforcement, the rule is
    followed as if the call had not been made. The score is that of what was executed.

    `part` has the same constraints as the procedure, where `true` stands for the rules that this
    judge does not follow.
    """

    interrupted: str | None = None
    """The change of rules across runs that was interrupted, if one was."""

    def __init__(
        self,
        procedure: Procedure,
        setting: Setting,
        labels: Mapping[str, Json] | None,
        *,
        metrics: Mapping[str, Json] | None = None,
        outstanding: Outstanding = "refuse",
        max_work: int | None = None,
        part: Procedure | None = None,
    ) -> None:
        self.procedure: Final = procedure
        part = procedure if part is None else part
        self.labels: Final = dict(labels or {})
        self.metrics: Final = dict(metrics or {})
        self._hopes: Final = outstanding == "hope"
        rules = procedure.constraints
        self.severities: Final = [severity_of(c, setting) for c in rules]
        shared = part.derived(PreparedRules)
        self.named: Final = procedure.derived(_named_tools)
        """The tools that each rule names."""
        self.reads_metrics: Final = shared.reads_metrics
        limited = max_work is not None and setting != "baseline"
        self._max_work: Final = max_work if max_work is not None and limited else UNLIMITED
        self.monitors: Final = Monitors(
            [constraint.formula for constraint in part.constraints],
            order=procedure.order,
            events=[procedure.events_of(constraint) for constraint in rules],
            vocabulary=procedure.vocabulary,
            metrics=self.metrics,
            labels=labels,
            cache=shared.machines,
            excuses=True,
            max_work=self._max_work,
        )
        self.outstanding_name: Callable[[Call], str] = _TOOL
        """The name of an outstanding call in a refusal."""
        self.excused: dict[int, str] = {}
        """The rules from which an event was excused, with the reason for the first."""
        self._clashed: set[int] = set()
        """The rules that cannot be satisfied together with the others any more."""
        self._blocking: Final = {
            i for i, severity in enumerate(self.severities) if severity != "TOLERATE"
        }
        self._enforcing: Final = setting != "baseline"
        self._joint: Final = Conflicts(
            shared.forms,
            JointMachines.of(part, labels) if labels else shared.products,
            self.monitors,
            enforced=self._blocking,
            takes_part=self._takes_part,
            diverged=lambda: self.excused,
            hopes=self._hopes,
        )
        self.fully_decided = True
        """Was it certain, at every call, that the rules could still be satisfied together?"""

    def _takes_part(self, index: int) -> bool:
        """Does the rule take part in the joint test? Not if it is decided for good."""
        if index not in self._blocking or index in self._clashed:
            return False
        verdict = self.monitors.verdicts[index]
        return verdict is not Verdict.SATISFIED and verdict is not Verdict.VIOLATED

    def attempt(self, call: Call, step: int) -> Trial:
        """Appends a call on trial. An answer is judged as a trace has it: as a text."""
        if call.tool == FINAL_ANSWER:
            call = replace(call, args={"answer": answer_text(call)})
        trial = self._tried(call, step, joint=self._enforcing)
        if trial.clashing:
            # Rules that have clashed before would refuse everything, so they are not asked.
            trial.take_back()
            clashed = bool(self._joint.clash_before(call.tool, trial.clashing))
            trial = self._tried(call, step, joint=not clashed)
            trial.decided = trial.decided and not clashed
        return trial

    def _tried(self, call: Call, step: int, *, joint: bool) -> Trial:
        watched = self._joint.watch() if joint and self._joint.wide else []
        attempt = self.monitors.attempt(call)
        trial = Trial(self, attempt, call, step)
        monitors = self.monitors
        fallible = monitors.fallible or monitors.broken
        if attempt.doomed or attempt.early or fallible or call.tool == FINAL_ANSWER:
            trial.violations = self._violations(call, attempt)
        if joint and monitors.unmet:  # else the trace may end here
            conflicts = self._joint.after(call, step, attempt, watched, trial.violations)
            trial.decided = self._joint.certain
            for conflict in conflicts:
                trial.violations |= self._conflicting(conflict)
                trial.clashing = {*trial.clashing, *conflict.rules}
        return trial

    def _drop_clashing(self, excused: set[int]) -> None:
        """Drops the rules that clash with the others even if the call does not count for them."""
        while found := excused & self._joint.clash_of(excused):
            self._clashed |= found

    def _conflicting(self, conflict: Conflict) -> dict[int, Violation]:
        """The violations of the rules that are blamed for a conflict."""
        names = {i: self.procedure.constraints[i].name for i in conflict.rules}
        outstanding = dict.fromkeys(map(self.outstanding_name, conflict.outstanding))
        found = {}
        for i in conflict.blamed:
            others = [name for j, name in names.items() if j != i]
            reason = f"together with {listing(others, 3)}" if others else ""
            if outstanding:
                found[i] = self.violation(i, "early", listing(list(outstanding), 3))
            else:
                found[i] = self.violation(i, "joint", reason)
        return found

    def _violations(self, call: Call, attempt: Attempt) -> dict[int, Violation]:
        """The rules that a call on trial breaks, each by itself."""
        faults = self.monitors.faults()
        found = {i: self.violation(i, "doomed") for i in sorted(attempt.doomed)}
        for i, reason in faults.items():
            if i in self._blocking:
                found[i] = self.violation(i, "error", reason)
        if not self._hopes:
            for i, waiting in attempt.early.items():
                if i in self._blocking:
                    names = dict.fromkeys(map(self.outstanding_name, waiting))
                    found[i] = self.violation(i, "early", listing(list(names), 3))
        if call.tool == FINAL_ANSWER and self.procedure.finish == "met":
            for i in sorted(self._blocking - self._clashed - found.keys()):
                if self.monitors.verdicts[i] is Verdict.PRESUMABLY_VIOLATED:
                    found[i] = self.violation(i, "unmet")
        return found

    def excuse(self, rules: Iterable[int], reason: str) -> None:
        """An event was excused from these rules."""
        for i in rules:
            self.excused.setdefault(i, reason)

    def violation(self, index: int, kind: ViolationKind, reason: str = "") -> Violation:
        """The violation of one rule."""
        constraint = self.procedure.constraints[index]
        return Violation(constraint, self.severities[index], kind, reason)

    def against(self, call: Call) -> list[int]:
        """The enforced rules that a call would break, each by itself. The call is not kept."""
        attempt = self.monitors.attempt(call)
        violations = self._violations(call, attempt)
        attempt.take_back()
        return [i for i in violations if i in self._blocking]

    # ── results and messages ─────────────────────────────────────────────────────────────

    def record(self, position: int, call: Call, *, again: bool = False) -> list[int]:
        """Takes in the result of a call; returns the enforced rules that are lost through it.

        It is taken in `again` if the rules of the run returned to an earlier state.
        """
        if self.procedure.failed is not None:
            allot(self._max_work)
            try:
                marked = self.procedure.failed.marked(call)
            except OverBudget:
                return []  # the result stays unknown
            finally:
                allot(UNLIMITED)
            assert isinstance(marked, Call), "a call stays a call"
            call = marked
        return self.monitors.record(
            position, call.result, error=call.error, end=call.end, usage=call.usage
        )

    def hear(self, message: Message, *, again: bool = False) -> list[int]:
        """Takes in a message; returns the enforced rules that are lost through it."""
        return self.monitors.step(message)

    @property
    def with_deadlines(self) -> bool:
        """Can the passing of time break a rule?"""
        return bool(self.monitors.with_deadlines)

    def tick(self, now: float) -> list[tuple[int, float]]:
        """The time has come to `now`; returns the rules that are lost, and their deadlines."""
        return self.monitors.tick(now)

    def next_deadline(self) -> float | None:
        """The time by which some rule needs something to happen, if one does."""
        return self.monitors.next_deadline()

    @property
    def exhausted(self) -> bool:
        """Did the latest event take more work than an enforced rule may take?"""
        return bool(self.monitors.exhausted & self._blocking)

    # ── the end ──────────────────────────────────────────────────────────────────────────

    @property
    def answer_step(self) -> int:
        """The step of an answer that is given now: its own, right after the last event."""
        return self.monitors.next_step

    def give_answer(self, text: str, start: float | None) -> None:
        """Takes in an answer that nobody proposed."""
        self.monitors.step(Call(FINAL_ANSWER, {"answer": text}, step=self.answer_step, start=start))

    def outcomes(self) -> list[ConstraintStanding]:
        """The standing of each rule, on what was executed."""
        verdicts = map(self.monitors.executed_verdict, range(len(self.procedure.constraints)))
        return [
            ConstraintStanding(
                constraint.name,
                constraint.layer,
                constraint.weight,
                None if verdict is None else verdict.holds_now,
                self.excused.get(i),
            )
            for i, (constraint, verdict) in enumerate(
                zip(self.procedure.constraints, verdicts, strict=True)
            )
        ]

    def across_outcomes(self) -> list[AcrossStanding]:
        """The present standing of each rule across runs; none here."""
        return []

    def next_time(self, now: float) -> float:
        """The time of an event at `now`: rules across runs may have seen a later one."""
        return now

    def is_latest(self, turn: int) -> bool:
        """Do rules across runs have no events of other runs after those of this turn?"""
        return True

    def disown(self, position: int) -> None:
        """An allowed call will not run, and the run has ended: others need not wait for it."""

    def save(self) -> Json:
        """The state of the rules as JSON."""
        return {
            "excused": [[i, reason] for i, reason in self.excused.items()],
            "clashed": sorted(self._clashed),
            "decided": self.fully_decided,
            "monitors": self.monitors.save(),
            "joint": self._joint.save(),
        }

    def restore(self, saved: Json) -> None:
        """Resumes a saved state."""
        names = ("excused", "clashed", "decided", "monitors", "joint")
        excused, clashed, decided, monitors, joint = fields(saved, *names)
        size = len(self.procedure.constraints)
        pairs = [listed(each, 2) for each in listed(excused)]
        self.excused = {whole(i, 0, size - 1): text(reason) for i, reason in pairs}
        self._clashed, self.fully_decided = set(places(clashed, size)), flag(decided)
        self.monitors.restore(monitors)
        self._joint.restore(joint)
