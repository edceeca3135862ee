"""The report on a finished run: each rule, the score, and counts of what the gate did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from bylaw.enforcement.events import NO_CHOICE, EnforcementEvent, Resolution
from bylaw.errors import Diagnostic, UsageError
from bylaw.frozen import frozen, replace
from bylaw.procedure.procedure import UNDECIDED, Procedure, score_of, violations
from bylaw.trace.trace import Trace
from bylaw.values import Json


@frozen
class ConstraintStanding:
    """One constraint at the end of a run."""

    name: str
    layer: str | None
    weight: float
    passed: bool | None
    """None if it could not be decided."""
    excused: str | None
    """The reason why an event was excused from it: overridden, tolerated, or lost through a result
    or a message. None if there was no such event."""

    def to_dict(self) -> dict[str, Json]:
        """The standing as JSON."""
        return {
            "name": self.name,
            "layer": self.layer,
            "weight": self.weight,
            "passed": self.passed,
            "excused": self.excused,
        }


@frozen
class AcrossStanding:
    """The present standing of a constraint across runs, for one value of its label.

    It may change with every run under the value, so it is no part of the score of one.
    """

    constraint: ConstraintStanding
    label: str
    value: str

    @property
    def name(self) -> str:
        """The constraint's name."""
        return self.constraint.name

    @property
    def passed(self) -> bool | None:
        """Does it hold on all that has happened so far? None if it could not be decided."""
        return self.constraint.passed

    def to_dict(self) -> dict[str, Json]:
        """The standing as JSON."""
        return {"label": self.label, "value": self.value, **self.constraint.to_dict()}


def judged_on(
    trace: Trace,
    procedure: Procedure,
    standings: Sequence[ConstraintStanding],
    rules: Collection[str],
) -> list[ConstraintStanding]:
    """The standings, where these rules are judged on the complete trace."""
    from bylaw.scoring.verify import CheckedTrace  # slow to import

    checked = CheckedTrace(trace, procedure)
    return [
        replace(each, passed=checked.outcome(procedure[each.name]).passed)
        if each.name in rules
        else each
        for each in standings
    ]


@frozen
class Statistics:
    """Counts of events. Those that the agent had no part in are counted separately."""

    events: int
    insisted: int
    listened: int
    lost: int
    approved: int
    by_action: dict[str, int]

    @classmethod
    def of(cls, events: Iterable[EnforcementEvent]) -> Statistics:
        """The counts of some events."""
        actions: Counter[str] = Counter()
        resolutions: Counter[Resolution | None] = Counter()
        for event in events:
            actions[event.action] += 1
            resolutions[event.resolution] += event.action not in NO_CHOICE
        lost, approved = actions.pop("lost", 0), actions.pop("approve", 0)
        insisted, listened = resolutions["insisted"], resolutions["listened"]
        return cls(actions.total(), insisted, listened, lost, approved, dict(actions))

    @classmethod
    def by_layer(cls, events: Iterable[EnforcementEvent]) -> dict[str, Statistics]:
        """The counts of each layer that has events; rules without a layer are under "none"."""
        layers: dict[str, list[EnforcementEvent]] = {}
        for event in events:
            layers.setdefault(event.layer or "none", []).append(event)
        return {layer: cls.of(layers[layer]) for layer in sorted(layers)}

    @property
    def resolved(self) -> int:
        """The number of events that were followed by another turn with calls."""
        return self.insisted + self.listened

    @property
    def insist_rate(self) -> float | None:
        """The share of events after which the agent insisted."""
        return self.insisted / self.events if self.events else None

    def to_dict(self) -> dict[str, Json]:
        """The statistics as JSON."""
        return {
            "events": self.events,
            "insisted": self.insisted,
            "listened": self.listened,
            "unresolved": self.events - self.resolved,
            "lost": self.lost,
            "approved": self.approved,
            "insist_rate": self.insist_rate,
            "by_action": self.by_action,
        }


@frozen
class GuardReport:
    """The report on a finished run: the score, and what the gate did."""

    score: float | None
    """None if it is unknown; `reason` has the cause."""
    label: str | None
    constraints: tuple[ConstraintStanding, ...]
    events: tuple[EnforcementEvent, ...]
    statistics: Statistics
    stopped: bool
    fully_decided: bool = True
    """Was it certain, at every call, whether the rules could be satisfied together?"""
    reason: str | None = None
    kept: Trace | None = None
    """The trace, if it was kept."""
    across: tuple[AcrossStanding, ...] = ()
    """The present standing of each rule across runs. None of them is part of the score."""

    @classmethod
    def of(
        cls,
        standings: Sequence[ConstraintStanding],
        events: Sequence[EnforcementEvent],
        *,
        stopped: bool,
        fully_decided: bool,
        reason: str | None,
        trace: Trace | None,
        across: Sequence[AcrossStanding] = (),
    ) -> GuardReport:
        """The report on these standings. With a reason, there is no score."""
        undecided = [each.name for each in standings if each.passed is None]
        if undecided and reason is None:
            reason = f"could not be decided: {', '.join(undecided)}"
        score, label = UNDECIDED
        if reason is None:
            weights, passed = [s.weight for s in standings], [s.passed for s in standings]
            score, label = score_of(weights, passed)
        return cls(
            score,
            label,
            tuple(standings),
            tuple(events),
            Statistics.of(events),
            stopped,
            fully_decided,
            reason,
            trace,
            tuple(across),
        )

    @property
    def trace(self) -> Trace:
        """The trace of what ran, with the refusals. `verify_trace` gives it the same score."""
        if self.kept is None:
            message = "the trace of the run was not kept: there were too many events"
            help = "Make the guard with `max_trace=None`, or read the trace from the gate's log."
            raise UsageError(Diagnostic("E413", message, help))
        return self.kept

    @property
    def violated(self) -> tuple[ConstraintStanding, ...]:
        """The rules that were violated."""
        return tuple(each for each in self.constraints if each.passed is False)

    @property
    def undecided(self) -> tuple[ConstraintStanding, ...]:
        """The rules that could not be decided."""
        return tuple(each for each in self.constraints if each.passed is None)

    @property
    def details(self) -> str:
        """The result in one sentence."""
        if self.reason is not None:
            return f"No score: {self.reason}."
        return violations([each.name for each in self.violated], len(self.constraints))

    @property
    def layers(self) -> dict[str, Statistics]:
        """The statistics of each layer that has events."""
        return Statistics.by_layer(self.events)

    def to_dict(self) -> dict[str, Json]:
        """The report as JSON."""
        reason = {} if self.reason is None else {"reason": self.reason}
        return {
            "compliance_score": self.score,
            "compliance_label": self.label,
            **reason,
            "constraints": [each.to_dict() for each in self.constraints],
            **({"across": [each.to_dict() for each in self.across]} if self.across else {}),
            "events": [event.to_dict() for event in self.events],
            "statistics": {
                **self.statistics.to_dict(),
                "by_layer": {layer: counts.to_dict() for layer, counts in self.layers.items()},
            },
            "stopped": self.stopped,
            "fully_decided": self.fully_decided,
        }
