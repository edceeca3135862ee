"""A minimal set of events that decides a verdict.

A set of calls (and of messages, if the rule sees them) explains a verdict if the verdict follows
from these events alone, whatever the others were. The test hides the others: if the formula keeps
its value (strong Kleene logic, unknown at hidden events), the set explains it. The set is minimal:
with one more event hidden, the verdict no longer follows.

Some calls matter for what they are, the others for what they are not: only all later calls
together show that no `cite` followed a `search`. The former are `calls`, the latter `absence`;
messages are `messages` and `other_messages`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bylaw.logic.formula import Extracted, OpenPredicate
from bylaw.logic.walk import everything, tools_in
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.verify import CheckedTrace, ConstraintResult, call_indices
from bylaw.semantics.evaluation import Evaluation
from bylaw.semantics.reasons import witness
from bylaw.semantics.verdict import Outcome
from bylaw.trace.event import Message
from bylaw.trace.trace import Trace
from bylaw.values import Json
from bylaw.vocabulary.view import View

MAX_TRIALS: Final = 4_000
"""The number of sets to try before the search returns a set that may not be minimal."""
MAX_WORK: Final = 20_000_000
"""The number of events that all trials together may evaluate."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One constraint on one trace, with the events that decided it."""

    result: ConstraintResult
    calls: tuple[int, ...]
    """Calls that matter for what they are, as indices of calls. Registered functions need all."""
    absence: tuple[int, ...]
    """Calls that matter only for what they are not, as indices of calls."""
    messages: tuple[int, ...]
    """Messages that matter for what they are, as indices of events."""
    other_messages: tuple[int, ...]
    """Messages that matter only for what they are not, as indices of events."""
    minimal: bool
    """Is every event needed? False only on very long traces, or for an undecided verdict."""

    def to_dict(self) -> dict[str, Json]:
        """The explanation as JSON."""
        return {
            **self.result.to_dict(),
            "calls": list(self.calls),
            "absence": list(self.absence),
            "messages": list(self.messages),
            "other_messages": list(self.other_messages),
            "minimal": self.minimal,
        }


def explain(trace: Trace, procedure: Procedure, name: str) -> Explanation:
    """The events that decide a constraint's verdict on the trace."""
    constraint = procedure[name]
    result = CheckedTrace(trace, procedure).result(constraint)
    evaluation = result.evaluation
    if evaluation.outcome is Outcome.ERROR:
        return Explanation(result, result.witness, (), (), (), False)
    deciding, minimal = deciding_events(evaluation)
    named = set(tools_in(constraint.formula))
    events = evaluation.view.events
    opaque = any(isinstance(p, OpenPredicate | Extracted) for p in everything(constraint.formula))
    # A registered function may have read any call, so every call counts.
    found = set(deciding if opaque else result.positions)
    present = [p for p in deciding if p in found or getattr(events[p], "tool", None) in named]
    absent = [p for p in deciding if p not in present]
    return Explanation(
        result,
        tuple(call_indices(evaluation, tuple(present))),
        tuple(call_indices(evaluation, tuple(absent))),
        tuple(p for p in present if isinstance(events[p], Message)),
        tuple(p for p in absent if isinstance(events[p], Message)),
        minimal,
    )


def deciding_events(evaluation: Evaluation) -> tuple[list[int], bool]:
    """Positions that decide the value; True if none of them can be left out."""
    positions = range(len(evaluation.view))
    likely = witness(evaluation).positions
    rest = [position for position in positions if position not in set(likely)]
    trials = min(MAX_TRIALS, MAX_WORK // (len(positions) + 1))
    search = _Search(lambda kept: follows(evaluation, kept), trials)
    try:
        return sorted(search.minimal([], False, [*likely, *rest])), True
    except _OutOfTrials:
        return list(positions), False


def follows(evaluation: Evaluation, kept: Sequence[int]) -> bool:
    """Does the verdict follow from these events alone?"""
    view = evaluation.view
    hidden = frozenset(range(len(view))) - set(kept)
    shown = View(view.trace, view.events, view.order, view.vocabulary, hidden)
    return Evaluation(evaluation.formula, shown).outcome.passed is evaluation.outcome.passed


class _OutOfTrials(Exception):
    """The search used up its trials."""


class _Search:
    """Finds a minimal sufficient subset by halving (QuickXplain)."""

    def __init__(self, suffices: Callable[[Sequence[int]], bool], trials: int) -> None:
        self.suffices = suffices
        self.trials = trials

    def minimal(self, given: list[int], grown: bool, candidates: list[int]) -> list[int]:
        """The candidates needed in addition to `given`, which is untested if `grown`.

        Earlier candidates are preferred to later ones.
        """
        if (grown or not given) and self._is_enough(given):
            return []
        if len(candidates) <= 1:
            return candidates
        middle = len(candidates) // 2
        first, second = candidates[:middle], candidates[middle:]
        from_second = self.minimal(given + first, True, second)
        from_first = self.minimal(given + from_second, bool(from_second), first)
        return from_first + from_second

    def _is_enough(self, given: list[int]) -> bool:
        self.trials -= 1
        if self.trials < 0:
            raise _OutOfTrials
        return self.suffices(given)
