"""Simulated agents by name: what they get wrong, how often, and whether they take advice."""

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
    """How likely each habit strikes at each call where it can; `stop early`, once per run."""
    batch: int = 1
    """How many calls it makes in one turn."""
    listens: float = 1.0
    """How likely it heeds a refusal; otherwise it makes the same call again."""


PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile("gold", "follows the procedure to the letter"),
        Profile(
            "careless",
            "skips, repeats and mistypes now and then, and heeds most warnings",
            {"skip": 0.04, "duplicate": 0.03, "misread": 0.03, "miscompute": 0.04},
            listens=0.95,
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
            listens=0.9,
        ),
        Profile(
            "misrouter",
            "takes wrong branches and goes a round too far; heeds most warnings",
            {"misroute": 0.25, "overrun": 0.5},
            listens=0.9,
        ),
        Profile(
            "stubborn",
            "swaps, skips and misroutes, and mostly insists",
            {"swap": 0.08, "skip": 0.05, "misroute": 0.15, "misread": 0.03},
            listens=0.2,
        ),
    )
}

OBEDIENT_RANDOM: Final = "obedient-random"
"""Knows nothing and only follows refusals: what a gate alone buys."""
