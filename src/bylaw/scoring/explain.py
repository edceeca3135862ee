"""Which events decided a verdict: a set from which none can be removed.

A set of calls, and of messages where a rule sees them, explains a verdict if the verdict follows
from those events alone, whatever the others of the trace were. That is tested by hiding the
others: if the formula still has its value (strong Kleene logic, unknown where hidden), the set
explains it. The set found is minimal: hide one more event, and the verdict no longer follows.

Some of its calls are there for what they are, the rest for what they are not: that no `cite`
followed a `search` takes every later call to see. They are told apart, as `calls` and
`absence`, and so are messages, as `messages` and `other_messages`.
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
"""How many sets are tried before the search settles for one that may not be minimal."""
MAX_WORK: Final = 20_000_000
"""How many events those trials may look at altogether."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One constraint on one trace, and the calls that decided it, as indices of calls."""

    result: ConstraintResult
    calls: tuple[int, ...]
    """Calls that matter for what they are; all that count, where a registered function decided."""
    absence: tuple[int, ...]
    """Calls that matter only for what they are not."""
    messages: tuple[int, ...]
    """Messages that matter for what they are, as indices of events."""
    other_messages: tuple[int, ...]
    """Messages that matter only for what they are not, as indices of events."""
    minimal: bool
    """Can no event be left out? False only on very long traces, or for an open verdict."""

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
    """Why a constraint of the procedure has its verdict on the trace."""
    constraint = procedure[name]
    result = CheckedTrace(trace, procedure).result(constraint)
    evaluation = result.evaluation
    if evaluation.outcome is Outcome.ERROR:
        return Explanation(result, result.witness, (), (), (), False)
    deciding, minimal = deciding_events(evaluation)
    named = set(tools_in(constraint.formula))
    events = evaluation.view.events
    opaque = any(isinstance(p, OpenPredicate | Extracted) for p in everything(constraint.formula))
    # Nobody can say what a registered function looked at: then every call counts.
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
    """A set of positions that decides the value, and whether none of them can be left out."""
    positions = range(len(evaluation.view))
    likely = witness(evaluation).positions
    rest = [position for position in positions if position not in set(likely)]
    trials = min(MAX_TRIALS, MAX_WORK // (len(positions) + 1))
    search = _Search(lambda kept: follows(evaluation, kept), trials)
    try:
        return sorted(search.smallest([], False, [*likely, *rest])), True
    except _OutOfTrials:
        return list(positions), False


def follows(evaluation: Evaluation, kept: Sequence[int]) -> bool:
    """Does the verdict follow from these events alone?"""
    view = evaluation.view
    hidden = frozenset(range(len(view))) - set(kept)
    shown = View(view.trace, view.events, view.order, view.vocabulary, hidden)
    return Evaluation(evaluation.formula, shown).outcome.passed is evaluation.outcome.passed


class _OutOfTrials(Exception):
    """The search took more trials than it may."""


class _Search:
    """Finds a smallest sufficient subset by halving (QuickXplain)."""

    def __init__(self, suffices: Callable[[Sequence[int]], bool], trials: int) -> None:
        self.suffices = suffices
        self.trials = trials

    def smallest(self, given: list[int], grown: bool, candidates: list[int]) -> list[int]:
        """The candidates needed beside `given`; `grown` says that `given` is untried.

        Earlier candidates are preferred to later ones.
        """
        if (grown or not given) and self._tried(given):
            return []
        if len(candidates) <= 1:
            return candidates
        middle = len(candidates) // 2
        first, second = candidates[:middle], candidates[middle:]
        from_second = self.smallest(given + first, True, second)
        from_first = self.smallest(given + from_second, bool(from_second), first)
        return from_first + from_second

    def _tried(self, given: list[int]) -> bool:
        self.trials -= 1
        if self.trials < 0:
            raise _OutOfTrials
        return self.suffices(given)
