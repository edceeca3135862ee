"""A rule that might be proposed, and what the runs say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

RunMask: TypeAlias = NDArray[np.bool_]
"""A truth value for each run."""


@dataclass(frozen=True, slots=True)
class RuleKind:
    """A shape of rules."""

    layer: str
    cost: float
    """The effort of reading such a rule. Of two rules with the same evidence, the cheaper wins."""
    meaning: str
    """A sentence about such rules, for the table of kinds."""


KINDS: Final = {
    "called": RuleKind("L1", 1.0, "A tool is called in every run."),
    "never": RuleKind("L1", 1.0, "A tool is not called at all."),
    "count": RuleKind("L5", 1.2, "A tool is called at most, or at least, so many times."),
    "precedence": RuleKind("L4", 1.5, "A call comes after some call of another tool."),
    "response": RuleKind("L3", 1.5, "A call is followed by some call of another tool."),
    "not after": RuleKind("L4", 1.6, "After a call, another tool is not called any more."),
    "together": RuleKind("L3", 1.8, "If a tool is called, so is another."),
    "apart": RuleKind("L3", 1.8, "Two tools are not called in the same run."),
    "alternate precedence": RuleKind("L4", 2.2, "Each call has a call of another tool before it."),
    "alternate response": RuleKind("L3", 2.2, "Each call has an answer before the next one."),
    "any before": RuleKind("L4", 2.2, "A call comes after one of several tools."),
    "any after": RuleKind("L3", 2.2, "A call is followed by one of several tools."),
    "group count": RuleKind("L5", 2.2, "Two tools together are called at most so many times."),
    "chain precedence": RuleKind("L4", 2.0, "A call comes right after one of another tool."),
    "chain response": RuleKind("L3", 2.0, "A call is followed at once by one of another tool."),
    "value": RuleKind("L6", 1.8, "An argument is one of a few values."),
    "bound": RuleKind("L6", 1.7, "An argument stays within a bound."),
    "combination": RuleKind("L6", 2.4, "Two arguments do not have certain values at once."),
    "lookup": RuleKind("L4", 2.4, "An argument was looked up by an earlier call."),
    "source": RuleKind("L6", 2.6, "An argument was returned by an earlier call."),
    "said": RuleKind("L6", 2.4, "An argument was named by the user."),
    "follow-up": RuleKind("L3", 2.4, "A later call has the same argument."),
    "done before": RuleKind("L5", 2.6, "No earlier call of another tool has the same argument."),
    "confirmed": RuleKind("L4", 2.2, "The user's last message is a yes."),
    "state": RuleKind("L6", 3.0, "The last lookup of an argument shows one of a few values."),
    "state bound": RuleKind("L6", 3.0, "The last lookup of an argument shows a bounded number."),
    "agreement": RuleKind("L6", 3.0, "An argument agrees with what the last lookup shows."),
    "per key": RuleKind("L5", 2.4, "So many calls with the same argument."),
    "total": RuleKind("L5", 2.6, "An argument adds up to so much."),
    "total per key": RuleKind("L5", 3.2, "An argument adds up to so much for each of another."),
    "rate": RuleKind("L5", 2.4, "A tool is called at most so many times within a while."),
    "window total": RuleKind("L5", 3.6, "An argument adds up to so much within a while."),
    "recent": RuleKind("L4", 2.2, "A call comes soon after some call of another tool."),
    "deadline": RuleKind("L3", 2.2, "A call is followed soon by some call of another tool."),
}
"""The kinds of rules, the easiest to read first within a family."""


@dataclass(frozen=True, slots=True, eq=False)
class RuleCandidate:
    """A rule, the runs that it concerns, and those that break it."""

    kind: str
    tools: tuple[str, ...]
    """The tools it names, the one that it restricts first."""
    rule: str
    meaning: str
    """A sentence that says what it asks for."""
    violated: RunMask
    active: RunMask
    chance: float = 0.0
    """The logarithm of the probability that so few runs break it by chance alone; 0 if unknown."""
    extra: float = 0.0
    """The effort of reading it beyond that of its kind."""
    about: tuple[str, ...] = ()
    """The arguments and fields that it reads; two rules about the same ones compete."""

    members: tuple[tuple[str, ...], ...] = ()
    """The identities of the rules that were merged into this one."""

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for rules that differ in their bounds or values alone."""
        tools = sorted(self.tools) if self.kind == "apart" else self.tools
        return (self.kind, *tools, *self.about)

    @property
    def cost(self) -> float:
        """The effort of reading it."""
        return KINDS[self.kind].cost + self.extra

    @property
    def layer(self) -> str:
        """The layer that a rule of its kind belongs to."""
        return KINDS[self.kind].layer
