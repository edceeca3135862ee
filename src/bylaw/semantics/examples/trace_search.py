"""A search for traces on which rules have given values, for rules that no machine can follow.

Each attempt starts from an empty trace, or from one that is to be edited, and changes it until the
rules have the wanted values, working backwards from what they say. Where there are several ways,
the first attempt takes the plainest, later ones choose at random. The reference judges every trace.
The search is deterministic. It may miss a trace that exists, and one that it finds is minimal (no
part of it can be left out) but need not be the shortest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from time import process_time
from typing import Final

from bylaw.logic import formula as f
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.semantics.examples.achieving import FormulaBuilder
from bylaw.semantics.examples.draft import Draft
from bylaw.semantics.examples.nearby import nearby
from bylaw.semantics.examples.reading_options import PLAIN, ReadingOptions
from bylaw.semantics.examples.shrinking import minimised, size_of
from bylaw.semantics.verdict import FALSE, TRUE, UNKNOWN, VACUOUS, Value
from bylaw.trace.trace import Trace
from bylaw.values import canonical

MAX_ATTEMPTS: Final = 400
MAX_SECONDS: Final = 4.0
"""The time limit of one search, in seconds of work."""
_ROUNDS: Final = 8
"""The number of times that one attempt works on each rule."""
_MORE_ATTEMPTS: Final = 20
"""The number of attempts to find a smaller trace after one was found."""


@dataclass(frozen=True, slots=True)
class RuleGoal:
    """A value that a rule is to have. VACUOUS means: true, whether or not something is checked."""

    formula: f.Formula
    wanted: Value
    setting: ReadingOptions = PLAIN

    def value(self, trace: Trace) -> Value:
        """The value that the rule has on a trace."""
        setting = self.setting
        order, events, vocabulary = setting.order, setting.events, setting.vocabulary
        view = view_of(self.formula, setting.seen(trace), order, events, vocabulary)
        return evaluate(self.formula, view).value

    def truth(self, trace: Trace) -> bool | None:
        """Does the rule hold on a trace? None if that cannot be decided."""
        value = self.value(trace)
        return None if value is UNKNOWN else value.is_true

    def met(self, trace: Trace) -> bool:
        """Does the rule have the wanted value?"""
        value = self.value(trace)
        return value is self.wanted if self.wanted in (TRUE, FALSE) else value.is_true


def attempts(
    alternatives: Sequence[Sequence[RuleGoal]],
    start: Draft,
    number: int = MAX_ATTEMPTS,
    seconds: float = MAX_SECONDS,
) -> Iterator[Draft | None]:
    """Drafts that meet all goals of an alternative; None for each attempt that failed."""
    until = process_time() + seconds
    for attempt in range(number):
        goals = alternatives[attempt % len(alternatives)]
        again = attempt // len(alternatives)
        yield _attempt(goals, start, Random(attempt), (0.0, 0.3, 0.6, 0.9)[min(again, 3)])
        if process_time() > until:
            return


def _attempt(
    goals: Sequence[RuleGoal], start: Draft, random: Random, boldness: float
) -> Draft | None:
    draft = start.copy()
    for _ in range(_ROUNDS):
        before = draft.trace
        unmet = [goal for goal in goals if not goal.met(before)]
        if not unmet:
            return draft
        for goal in unmet:
            FormulaBuilder(draft, goal.formula, goal.setting, random, boldness).pursue(goal.wanted)
        if draft.trace == before and boldness == 0:
            return None
    return draft if all(goal.met(draft.trace) for goal in goals) else None


def find_trace(
    alternatives: Sequence[Sequence[RuleGoal]],
    suits: Callable[[Trace], bool],
    *,
    thorough: bool = True,
    look_around: bool = False,
) -> Trace | None:
    """A minimal trace that suits, if one is found, among those that meet an alternative's goals.

    If it is `thorough`, some more attempts are made to find a smaller one. With `look_around`,
    traces are tried, too, that differ from those in one detail.
    """
    best: Trace | None = None
    left, tried = MAX_ATTEMPTS, set[str]()
    for draft in attempts(alternatives, Draft()):
        left -= 1
        written = "" if draft is None else canonical(draft.trace.to_record())
        if draft is not None and written not in tried:
            tried.add(written)
            around = nearby(draft.trace) if look_around else ()
            found = next(filter(suits, chain([draft.trace], around)), None)
            if found is not None:
                found = minimised(found, suits)
                if best is None:
                    left = min(left, _MORE_ATTEMPTS if thorough else 0)
                if best is None or size_of(found) < size_of(best):
                    best = found
        if left <= 0:
            break
    return best


def find_difference(old: RuleGoal, new: RuleGoal) -> Trace | None:
    """A minimal trace on which only one of two rules holds, if one is found."""

    def differ(trace: Trace) -> bool:
        return old.truth(trace) is not new.truth(trace) and None not in (
            old.truth(trace),
            new.truth(trace),
        )

    def valued(goal: RuleGoal, wanted: Value) -> RuleGoal:
        return replace(goal, wanted=wanted)

    alternatives = [
        [valued(old, TRUE)],
        [valued(new, TRUE)],
        [valued(old, FALSE), valued(new, VACUOUS)],
        [valued(old, VACUOUS), valued(new, FALSE)],
        [valued(old, FALSE)],
        [valued(new, FALSE)],
    ]
    return find_trace(alternatives, differ, look_around=True)


class TraceSearch:
    """Finds traces on which one formula has a given value."""

    def __init__(self, formula: f.Formula, setting: ReadingOptions = PLAIN) -> None:
        self.formula: Final = formula
        self.setting: Final = setting
        self.settings: Final = (setting.order, setting.events, setting.vocabulary)

    def find(
        self,
        wanted: Value,
        accepted: Callable[[Trace], bool] = lambda _: True,
        *,
        thorough: bool = False,
    ) -> Trace | None:
        """A minimal accepted trace on which the formula has the value, if one is found."""
        goal = RuleGoal(self.formula, wanted, self.setting)

        def suits(trace: Trace) -> bool:
            return goal.met(trace) and accepted(trace)

        return find_trace([[goal]], suits, thorough=thorough)
