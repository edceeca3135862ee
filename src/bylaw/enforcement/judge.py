"""The rules that a call would break: each by itself, or together with the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from bylaw.enforcement.decision import Violation, ViolationKind
from bylaw.enforcement.joint.continuation import JointTest
from bylaw.enforcement.joint.rules import JointRules
from bylaw.enforcement.report import ConstraintStanding
from bylaw.enforcement.severity import Setting, severity_of
from bylaw.errors import listing
from bylaw.logic.walk import tools_in
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.saved import fields, listed, places, text, whole
from bylaw.semantics.machine.machine_cache import MachineCache
from bylaw.semantics.monitors import Attempt, Monitors
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Message
from bylaw.values import Json

_EXCUSES: Final = ("doomed", "error", "early")
"""The violations after which a rule is followed as if the call had not been made."""
_FINAL: Final = (Verdict.SATISFIED, Verdict.VIOLATED)


class PreparedRules:
    """The rules of a procedure, prepared once and shared by all of its guards."""

    def __init__(self, procedure: Procedure) -> None:
        formulas = [constraint.formula for constraint in procedure.constraints]
        self.named: Final = [frozenset(tools_in(formula)) for formula in formulas]
        """The tools that each rule names."""
        self.joint: Final = JointRules(formulas, procedure.order)
        self.machines: Final = MachineCache(procedure.vocabulary)
        self._compatible: Final[dict[frozenset[int], tuple[bool, bool]]] = {}

    def compatible(self, enforced: Iterable[int]) -> tuple[bool, bool]:
        """Can these rules be satisfied together at all? And is the answer certain?"""
        key = frozenset(enforced)
        found = self._compatible.get(key)
        if found is None:
            joint = JointTest(self.joint)
            found = self._compatible[key] = joint.possible(sorted(key)), joint.decided
        return found


Outstanding: TypeAlias = Literal["refuse", "wait", "hope"]
"""A call whose evidence is the result of a call that is still outstanding: is refused; is decided
when the results of its turn are in, where the gate runs the tools, and else refused; or is judged
by the best outcome."""
OUTSTANDING: Final[tuple[Outstanding, ...]] = get_args(Outstanding)


@dataclass(slots=True)
class Trial:
    """A call that was appended on trial, and the rules that it breaks."""

    violations: dict[int, Violation]
    take_back: Callable[[], None]
    """Removes the call again."""
    keep: Callable[[], None]
    """Keeps the call, and excuses it from the rules that it breaks."""


class Judge:
    """The state of the rules in one run.

    A call that breaks a rule and runs nevertheless is excused: for enforcement, the rule is
    followed as if the call had not been made. The score is that of what was executed.
    """

    def __init__(
        self,
        procedure: Procedure,
        setting: Setting,
        labels: Mapping[str, Json] | None,
        *,
        outstanding: Outstanding = "refuse",
    ) -> None:
        self.procedure: Final = procedure
        self.labels: Final = dict(labels or {})
        self._hopes: Final = outstanding == "hope"
        rules = procedure.constraints
        self.severities: Final = [severity_of(c, setting) for c in rules]
        shared = procedure.derived(PreparedRules)
        self.named: Final = shared.named
        """The tools that each rule names."""
        self.monitors: Final = Monitors(
            [constraint.formula for constraint in rules],
            order=procedure.order,
            events=[procedure.events_of(constraint) for constraint in rules],
            vocabulary=procedure.vocabulary,
            labels=labels,
            cache=shared.machines,
            excuses=True,
        )
        self.excused: dict[int, str] = {}
        """The rules from which an event was excused, with the reason for the first."""
        self._clashed: set[int] = set()
        """The rules that cannot be satisfied together with the others any more."""
        self._blocking: Final = {
            i for i, severity in enumerate(self.severities) if severity != "TOLERATE"
        }
        self._joint: Final = JointTest(shared.joint, self._blocking)
        self._enforcing: Final = setting != "baseline"
        # Rules that clash from the start would refuse everything, so the joint test is then off.
        self._joint_on = False
        if self._enforcing:
            alive = self._enforced(self._joint.forms)
            self._joint_on, self._joint.decided = shared.compatible(alive)

    def attempt(self, call: Call, step: int) -> Trial:
        """Appends a call on trial."""
        attempt = self.monitors.attempt(call)
        violations = self._violations(call, attempt)
        before = None
        if self._joint_on:
            before = self._joint.advance(call, step)
            violations |= self._conflicts(call, violations)

        def take_back() -> None:
            attempt.take_back()
            if before is not None:
                self._joint.undo(before)

        def keep() -> None:
            attempt.keep(i for i, v in violations.items() if v.kind in _EXCUSES)
            self._clashed |= {i for i, v in violations.items() if v.kind == "joint"}

        return Trial(violations, take_back, keep)

    def _conflicts(self, call: Call, doomed: Collection[int]) -> dict[int, Violation]:
        """The rules that, after this call, can no longer be satisfied together with the others."""
        found: dict[int, Violation] = {}
        if not self._joint.can_clash(call.tool):
            return found
        related = self._joint.related(call.tool)
        alive = [i for i in self._enforced(related) if i not in doomed]
        while not self._joint.possible(alive):
            clashing = self._joint.conflict(alive)
            caps = [i for i in clashing if self._joint.forms[i].only_limits]
            blamed = [i for i in clashing if i not in caps] or caps
            others = [self.procedure.constraints[i].name for i in clashing if i not in blamed]
            reason = f"together with {listing(others, 3)}" if others else ""
            found |= {i: self.violation(i, "joint", reason) for i in blamed}
            alive = [i for i in alive if i not in blamed]
        return found

    def _enforced(self, among: Iterable[int]) -> list[int]:
        """The rules that take part in the joint test: enforced, and not decided for good."""
        verdicts = self.monitors.verdicts
        enforced = self._blocking - self.excused.keys() - self._clashed
        return [i for i in among if i in enforced and verdicts[i] not in _FINAL]

    def _violations(self, call: Call, attempt: Attempt) -> dict[int, Violation]:
        """The rules that a call on trial breaks, each by itself."""
        found = {i: self.violation(i, "doomed") for i in sorted(attempt.doomed)}
        for i, reason in self.monitors.faults().items():
            if i in self._blocking:
                found[i] = self.violation(i, "error", reason)
        if not self._hopes:
            for i, waiting in attempt.early.items():
                if i in self._blocking:
                    names = dict.fromkeys(each.tool for each in waiting)
                    found[i] = self.violation(i, "early", listing(list(names), 3))
        if call.tool == FINAL_ANSWER and self.procedure.finish == "met":
            for i in sorted(self._blocking - self._clashed - found.keys()):
                if self.monitors.verdicts[i] is Verdict.PRESUMABLY_VIOLATED:
                    found[i] = self.violation(i, "unmet")
        return found

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

    def record(self, position: int, call: Call) -> list[int]:
        """Takes in the result of a call; returns the enforced rules that are lost through it."""
        if self.procedure.failed is not None:
            marked = self.procedure.failed.marked(call)
            assert isinstance(marked, Call), "a call stays a call"
            call = marked
        return self.monitors.record(position, call.result, error=call.error)

    def hear(self, message: Message) -> list[int]:
        """Takes in a message; returns the enforced rules that are lost through it."""
        return self.monitors.step(message)

    # ── the end ──────────────────────────────────────────────────────────────────────────

    @property
    def fully_decided(self) -> bool:
        """Was it certain, at every call, whether the rules could be satisfied together?"""
        if not self._enforcing:
            return True
        return self._joint_on and self._joint.decided and self._joint.include(self._blocking)

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

    def save(self) -> Json:
        """The state of the rules as JSON."""
        return {
            "excused": [[i, reason] for i, reason in self.excused.items()],
            "clashed": sorted(self._clashed),
            "monitors": self.monitors.save(),
            "joint": self._joint.save(),
        }

    def restore(self, saved: Json) -> None:
        """Resumes a saved state."""
        excused, clashed, monitors, joint = fields(saved, "excused", "clashed", "monitors", "joint")
        size = len(self.procedure.constraints)
        pairs = [listed(each, 2) for each in listed(excused)]
        self.excused = {whole(i, 0, size - 1): text(reason) for i, reason in pairs}
        self._clashed = set(places(clashed, size))
        self.monitors.restore(monitors)
        self._joint.restore(joint)
