"""What a gate did, rule by rule, and what the agent made of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from bylaw.enforcement.decision import Violation
from bylaw.enforcement.hints import Hints
from bylaw.frozen import frozen
from bylaw.trace.event import Call
from bylaw.values import Json, equal

Resolution: TypeAlias = Literal["insisted", "listened"]
NO_CHOICE: Final = ("approve", "lost")
"""The actions that the agent has no part in: what a person approved, and what a result cost."""


@dataclass(slots=True)
class EnforcementEvent:
    """A rule that a refused, tolerated or approved call would break, or that was lost."""

    turn: int
    call: Call
    constraint: str
    layer: str | None
    action: str
    """What became of the call, `tolerate` or `approve`; `lost` of a rule that a result broke."""
    hints: Hints
    resolution: Resolution | None = None
    """Did the next turn with calls make the same call again? None: there was none."""
    time: float = field(default_factory=time.time)

    @classmethod
    def of(
        cls, turn: int, call: Call, violation: Violation, action: str, hints: Hints
    ) -> EnforcementEvent:
        """The event of one violation."""
        constraint = violation.constraint
        return cls(turn, call, constraint.name, constraint.layer, action, hints)

    @classmethod
    def from_dict(cls, data: Mapping[str, Json]) -> EnforcementEvent:
        """The event that `to_dict` wrote."""
        resolution = data["resolution"]
        return cls(
            data["turn"],
            Call(data["tool"], data["arguments"]),
            data["constraint"],
            data["layer"],
            data["action"],
            data["hints"],
            None if resolution == "unresolved" else resolution,
            data["time"],
        )

    def resolve(self, proposed: Sequence[Call]) -> None:
        """Takes note of the next turn that has calls."""
        same = any(
            call.tool == self.call.tool and equal(dict(call.args), dict(self.call.args))
            for call in proposed
        )
        self.resolution = "insisted" if same else "listened"

    def to_dict(self) -> dict[str, Json]:
        """The event as JSON."""
        return {
            "time": self.time,
            "turn": self.turn,
            "tool": self.call.tool,
            "arguments": dict(self.call.args),
            "constraint": self.constraint,
            "layer": self.layer,
            "action": self.action,
            "hints": self.hints,
            "resolution": self.resolution or "unresolved",
        }


@frozen
class Statistics:
    """Events counted, over all and by layer. What the agent had no part in is apart."""

    events: int
    insisted: int
    listened: int
    lost: int
    approved: int
    by_action: dict[str, int]

    @classmethod
    def of(cls, events: Iterable[EnforcementEvent]) -> Statistics:
        """The counts of some events."""
        every = list(events)
        apart = Counter(event.action for event in every if event.action in NO_CHOICE)
        listed = [event for event in every if event.action not in NO_CHOICE]
        ways = Counter(event.resolution for event in listed)
        return cls(
            len(listed),
            ways["insisted"],
            ways["listened"],
            apart["lost"],
            apart["approve"],
            dict(Counter(event.action for event in listed)),
        )

    @classmethod
    def by_layer(cls, events: Iterable[EnforcementEvent]) -> dict[str, Statistics]:
        """The counts of each layer that has events; rules without a layer are under "none"."""
        layers: dict[str, list[EnforcementEvent]] = {}
        for event in events:
            layers.setdefault(event.layer or "none", []).append(event)
        return {layer: cls.of(layers[layer]) for layer in sorted(layers)}

    @property
    def resolved(self) -> int:
        """How many were followed by another turn with calls."""
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
