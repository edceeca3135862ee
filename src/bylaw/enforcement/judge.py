"""The rules that a call would break: each by itself, or together with the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bylaw.enforcement.decision import Violation, ViolationKind
from bylaw.enforcement.joint.continuation import JointTest
from bylaw.enforcement.joint.rules import JointRules
from bylaw.enforcement.report import ConstraintStanding
from bylaw.enforcement.severity import Setting, severity_of
from bylaw.errors import listing
from bylaw.logic.walk import tools_in
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.semantics.machine.machine_cache import MachineCache
from bylaw.semantics.monitors import Monitors
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Message
from bylaw.values import Json

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


@dataclass(slots=True)
class Trial:
    """A call that was appended on trial, and the rules that it breaks."""

    violations: dict[int, Violation]
    take_back: Callable[[], None]
    """Removes the call again."""


class Judge:
    """The state of the rules in one run, and the rules that are no longer enforced."""

    def __init__(
        self,
        procedure: Procedure,
        setting: Setting,
        labels: Mapping[str, Json] | None,
        *,
        enforce_l6: bool,
    ) -> None:
        self.procedure: Final = procedure
        rules = procedure.constraints
        self.severities: Final = [severity_of(c, setting, enforce_l6=enforce_l6) for c in rules]
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
        )
        self.retired: dict[int, str] = {}
        """The rules that are no longer enforced, with the reason."""
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
        violations = self._violations(call, attempt.doomed)
        if not self._joint_on:
            return Trial(violations, attempt.take_back)
        before = self._joint.advance(call, step)
        violations |= self._conflicts(call, violations)

        def take_back() -> None:
            attempt.take_back()
            self._joint.undo(before)

        return Trial(violations, take_back)

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
        verdicts, retired, blocking = self.monitors.verdicts, self.retired, self._blocking
        return [
            i for i in among if i in blocking and i not in retired and verdicts[i] not in _FINAL
        ]

    def _violations(self, call: Call, doomed: Sequence[int]) -> dict[int, Violation]:
        """The rules that a call on trial breaks, each by itself."""
        found = {i: self.violation(i, "doomed") for i in sorted(doomed) if i not in self.retired}
        for i, reason in self.monitors.faults().items():
            if i not in self.retired and i in self._blocking:
                found[i] = self.violation(i, "error", reason)
        if call.tool == FINAL_ANSWER and self.procedure.finish == "met":
            for i in sorted(self._blocking - self.retired.keys() - found.keys()):
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
        violations = self._violations(call, attempt.doomed)
        attempt.take_back()
        return [i for i in violations if i in self._blocking]

    # ── results and messages ─────────────────────────────────────────────────────────────

    def record(self, position: int, call: Call) -> list[int]:
        """Takes in the result of a call; returns the enforced rules that are lost through it."""
        if self.procedure.failed is not None:
            marked = self.procedure.failed.marked(call)
            assert isinstance(marked, Call), "a call stays a call"
            call = marked
        lost = self.monitors.record(position, call.result, error=call.error)
        return [i for i in lost if i not in self.retired]

    def hear(self, message: Message) -> list[int]:
        """Takes in a message; returns the enforced rules that are lost through it."""
        return [i for i in self.monitors.step(message) if i not in self.retired]

    # ── the end ──────────────────────────────────────────────────────────────────────────

    @property
    def fully_decided(self) -> bool:
        """Was it certain, at every call, whether the rules could be satisfied together?"""
        if not self._enforcing:
            return True
        return self._joint_on and self._joint.decided and self._joint.include(self._blocking)

    def outcomes(self) -> list[ConstraintStanding]:
        """The standing of each rule."""
        faults = self.monitors.faults()
        return [
            ConstraintStanding(
                constraint.name,
                constraint.layer,
                constraint.weight,
                None if i in faults else verdict.holds_now,
                self.retired.get(i),
            )
            for i, (constraint, verdict) in enumerate(
                zip(self.procedure.constraints, self.monitors.verdicts, strict=True)
            )
        ]

    def save(self) -> Json:
        """The state of the rules as JSON."""
        return {
            "retired": [[i, reason] for i, reason in self.retired.items()],
            "monitors": self.monitors.save(),
            "joint": self._joint.save(),
        }

    def restore(self, saved: Json) -> None:
        """Resumes a saved state."""
        self.retired = dict(saved["retired"])
        self.monitors.restore(saved["monitors"])
        self._joint.restore(saved["joint"])
