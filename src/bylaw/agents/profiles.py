"""Profiles of simulated agents: their habits, how often they occur, and their obedience."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

EVERYTHING: Final = 10**6
"""A batch as large as the plan."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The habits of a simulated agent."""

    name: str
    about: str
    rates: Mapping[str, float] = field(default_factory=dict)
    """The probability of each habit at each possible call; of `stop early`, once per run."""
    batch: int = 1
    """Calls per turn."""
    obedience: float = 1.0
    """The probability that it obeys a refusal; otherwise it repeats the call."""


PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile("gold", "follows the procedure to the letter"),
        Profile(
            "careless",
            "skips, repeats and mistypes now and then, and heeds most warnings",
            {"skip": 0.04, "duplicate": 0.03, "misread": 0.03, "miscompute": 0.04},
            obedience=0.95,
        ),
        Profile(
            "batcher",
            "makes all calls in one turn, without waiting for results; heeds warnings",
            batch=EVERYTHING,
        ),
        Profile(
            "hasty",
            "makes three calls a turn, leaves some out, answers too early; heeds most warnings",
            {"skip": 0.08, "stop early": 0.5},
            batch=3,
            obedience=0.9,
        ),
        Profile(
            "misrouter",
            "takes wrong branches and goes a round too far; heeds most warnings",
            {"misroute": 0.25, "overrun": 0.5},
            obedience=0.9,
        ),
        Profile(
            "stubborn",
            "swaps, skips and misroutes, and mostly insists",
            {"swap": 0.08, "skip": 0.05, "misroute": 0.15, "misread": 0.03},
            obedience=0.2,
        ),
    )
}

OBEDIENT_RANDOM: Final = "obedient-random"
"""An agent without a plan that only obeys refusals: the baseline of a gate alone."""
