"""Rules by example: traces that satisfy, violate or doom a formula, or distinguish two.

If the formula has a machine, they come from it and are shortest; else a search finds them. The
reference checks each before it is returned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from bylaw.logic import formula as f
from bylaw.semantics.evaluation import holds
from bylaw.semantics.examples.reading_options import PLAIN, ReadingOptions
from bylaw.semantics.examples.same_by_rewriting import provably_same
from bylaw.semantics.examples.trace_search import RuleGoal, TraceSearch, find_difference
from bylaw.semantics.machine.alphabet import Alphabet, Sample
from bylaw.semantics.machine.closure import Closure, Unsupported
from bylaw.semantics.machine.machine import Machine
from bylaw.semantics.machine.reachability import OutOfBudget
from bylaw.semantics.machine.residual import TooLarge
from bylaw.semantics.machine.search import Explorer, Path, Step
from bylaw.semantics.past.compiled import past_bodies
from bylaw.semantics.verdict import FALSE, TRUE, Verdict
from bylaw.trace.event import Message
from bylaw.trace.trace import Trace
from bylaw.vocabulary.predicate import Probe

MAX_LENGTH: Final = 5
MAX_WORDS: Final = 1_500
"""The limits within which a shortest trace that is not vacuous is looked for."""
MAX_PAIRS: Final = 200_000
"""The budget for comparing two formulas, in moves."""


@dataclass(frozen=True, slots=True)
class Examples:
    """A trace of each kind; None if there is none, or none was found."""

    satisfying: Trace | None
    violating: Trace | None
    dooming: Trace | None
    """A prefix that dooms the formula."""
    exact: bool = True
    """Are the traces shortest, and does None mean that there is none?"""
    by_search: bool = False
    """Was one of them found by search, or none, because a machine could not provide it?"""
    checked: bool = False
    """Do shorter traces satisfy the formula, but only vacuously?"""


def examples(formula: f.Formula, setting: ReadingOptions = PLAIN) -> Examples:
    """Traces that show what a formula means. The satisfying one is not vacuous, if one is found.

    Raises `OutOfBudget` if a search takes too long, and `Unsupported` if the value depends on a
    registered function and the setting does not say to run it.
    """
    if not setting.run_functions and calls_functions(formula):
        raise Unsupported("it calls a registered function, which is not run on generated traces")
    try:
        machine = Machine(formula, setting.order, setting.events, setting.vocabulary)
    except Unsupported:
        return _by_search(formula, setting)
    explorer = Explorer(machine)
    assumes = machine.alphabet.assumes
    satisfying = explorer.shortest(machine.accepts)
    violating = explorer.shortest(lambda state: not machine.accepts(state))
    doom = explorer.shortest(lambda state: explorer.verdict(state) is Verdict.VIOLATED)
    shown = [None if path is None else trace_of(path) for path in (satisfying, violating, doom)]
    if any(trace is not None and setting.seen(trace) != trace for trace in shown):
        return _by_search(formula, setting)  # a machine does not know how failure is defined

    def checked(trace: Trace | None, expected: bool) -> Trace | None:
        if trace is None or _holds(formula, trace, setting) is expected:
            return trace
        assert assumes, f"{trace} does not show {formula}"
        return None  # no event was found that meets an assumed condition

    satisfied, violated, doomed = map(checked, shown, (True, False, False))
    search = TraceSearch(formula, setting)
    searched = False
    if satisfied is not None and not RuleGoal(formula, TRUE, setting).met(satisfied):
        better = None if assumes else _shortest_checked(explorer, formula, setting)
        searched = better is None
        satisfied = better or search.find(TRUE, thorough=True) or satisfied
    if violated is None and assumes:
        searched, violated = True, search.find(FALSE, thorough=True)
    exact = explorer.exact and not assumes and not searched
    return Examples(satisfied, violated, doomed, exact, searched, satisfied not in (None, shown[0]))


def calls_functions(formula: f.Formula) -> bool:
    """Does the value depend on a registered function?"""
    return formula.contains(f.OpenPredicate, f.Extracted)


def _shortest_checked(
    explorer: Explorer, formula: f.Formula, setting: ReadingOptions
) -> Trace | None:
    """A shortest trace that satisfies the formula and is not vacuous; None if it is longer."""
    goal = RuleGoal(formula, TRUE, setting)
    steps = [step for step in explorer.steps(explorer.machine.start) if not step.sample.final]
    for length in range(MAX_LENGTH):
        if len(steps) ** length > MAX_WORDS:
            break
        for word in product(steps, repeat=length):
            trace = trace_of(tuple((step.sample.event, step.move[1]) for step in word))
            if goal.met(trace):
                return trace
    return None


def _by_search(formula: f.Formula, setting: ReadingOptions) -> Examples:
    """Examples without a machine."""
    search = TraceSearch(formula, setting)
    violating = search.find(FALSE, thorough=True)
    # A rule about the past is doomed as soon as it is violated.
    dooming = violating if past_bodies(formula) is not None else None
    satisfying = search.find(TRUE, thorough=True)
    if satisfying is None and _holds(formula, Trace(), setting):
        satisfying = Trace()
    return Examples(satisfying, violating, dooming, exact=False, by_search=True)


def _holds(formula: f.Formula, trace: Trace, setting: ReadingOptions) -> bool:
    return holds(
        formula,
        setting.seen(trace),
        order=setting.order,
        events=setting.events,
        vocabulary=setting.vocabulary,
    )


def trace_of(path: Path) -> Trace:
    """The trace of a path."""
    events, step = [], -1
    for event, new_step in path:
        step += new_step or step < 0
        events.append(replace(event, step=step))
    return Trace(events)


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two formulas."""

    trace: Trace | None
    """A shortest trace on which they differ; None if there is none, or none was found."""
    old_holds: bool | None = None
    """The value of the first on the trace; the second has the opposite value."""
    decided: bool = True
    """False if no trace was found, and it was not proved that there is none."""
    reason: str | None = None
    shortest: bool = True
    """Is the trace a shortest one? Not if a search found it."""

    @property
    def equivalent(self) -> bool:
        """Do they agree on every trace?"""
        return self.decided and self.trace is None


def difference(
    old: f.Formula,
    new: f.Formula,
    old_setting: ReadingOptions = PLAIN,
    new_setting: ReadingOptions | None = None,
) -> Difference:
    """A shortest trace on which two formulas differ, or the proof that there is none."""
    settings = (old_setting, new_setting or old_setting)
    if old == new and settings[0] == settings[1]:
        return Difference(None)
    if provably_same(old, new, *settings):
        return Difference(None)
    try:
        path = _shortest_difference(_machines((old, new), settings), settings)
    except Unsupported as error:
        return _searched_difference((old, new), settings, str(error))
    except (OutOfBudget, TooLarge):
        reason = "their machines have more states than the budget allows"
        return _searched_difference((old, new), settings, reason)
    if path is None and _differ_in_steps(settings):
        reason = "only one of them sees messages, and steps are counted"
        return _searched_difference((old, new), settings, reason)
    if path is None:
        return Difference(None)
    trace = trace_of(path)
    verdicts = [_holds(each, trace, s) for each, s in zip((old, new), settings, strict=True)]
    if verdicts[0] is verdicts[1]:
        reason = "no call could be generated that shows the difference"
        return _searched_difference((old, new), settings, reason)
    return Difference(trace, verdicts[0])


def _searched_difference(
    formulas: Sequence[f.Formula], settings: Sequence[ReadingOptions], reason: str
) -> Difference:
    """A trace that a search finds. `reason` is why no machine could decide."""
    pairs = list(zip(formulas, settings, strict=True))
    if any(calls_functions(formula) and not s.run_functions for formula, s in pairs):
        return Difference(None, decided=False, reason=reason)
    old, new = (RuleGoal(formula, TRUE, setting) for formula, setting in pairs)
    trace = find_difference(old, new)
    if trace is None:
        reason = f"{reason}; a search found no trace on which they differ"
        return Difference(None, decided=False, reason=reason)
    return Difference(trace, old.truth(trace), shortest=False)


def _machines(formulas: Iterable[f.Formula], settings: Iterable[ReadingOptions]) -> list[Machine]:
    """The machines of several formulas, over one alphabet."""
    pairs = list(zip(formulas, settings, strict=True))
    probes: list[Probe] = []
    for formula, setting in pairs:
        closure = Closure(formula, setting.order)
        probes += [*closure.probes, *(p for t in closure.trackers for p in t.probes)]
    alphabet = Alphabet(
        probes,
        answer=True,
        messages=any(setting.events == "all" for _, setting in pairs),
        vocabulary=pairs[0][1].vocabulary,
    )
    return [
        Machine(formula, setting.order, setting.events, setting.vocabulary, alphabet)
        for formula, setting in pairs
    ]


def _differ_in_steps(settings: Sequence[ReadingOptions]) -> bool:
    """Does only one see messages, so that a call may open a step for only one of them?"""
    seen = {setting.events for setting in settings}
    return len(seen) > 1 and any(setting.order == "step" for setting in settings)


def _shortest_difference(
    machines: list[Machine], settings: Sequence[ReadingOptions]
) -> Path | None:
    first, second = machines
    deaf = [setting.events == "calls" for setting in settings]
    steps_of = Explorer(first if first.counts_steps else second)
    steps = list(steps_of.steps(steps_of.machine.start))
    if any(deaf) and not all(deaf):  # only one of them sees messages
        message = Message("user", "")
        letter = first.alphabet.letter(message)
        steps.append(Step((letter, True, False), Sample(letter, message, final=False)))
    start = (first.start, second.start)
    came_from: dict[tuple[int, int], tuple[tuple[int, int], Step] | None] = {start: None}
    waiting = deque([start])
    moves = 0
    while waiting:
        pair = waiting.popleft()
        if first.accepts(pair[0]) is not second.accepts(pair[1]):
            return _path(came_from, pair)
        if first.configurations[pair[0]].ended or second.configurations[pair[1]].ended:
            continue
        for step in steps:
            moves += 1
            if moves > MAX_PAIRS:
                raise OutOfBudget
            said = isinstance(step.sample.event, Message)
            target = (
                pair[0] if said and deaf[0] else first.advance(pair[0], step.move),
                pair[1] if said and deaf[1] else second.advance(pair[1], step.move),
            )
            if target not in came_from:
                came_from[target] = (pair, step)
                waiting.append(target)
    if not first.alphabet.complete:
        raise OutOfBudget
    return None


def _path(
    came_from: dict[tuple[int, int], tuple[tuple[int, int], Step] | None], pair: tuple[int, int]
) -> Path:
    backwards = []
    while (link := came_from[pair]) is not None:
        pair, step = link
        backwards.append((step.sample.event, step.move[1]))
    return tuple(reversed(backwards))
