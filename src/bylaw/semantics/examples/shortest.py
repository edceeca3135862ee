"""Rules by example: traces that satisfy, violate or doom a formula, or distinguish two.

If the formula has a machine, they come from it and are shortest; else they are generated at
random and minimised. The reference checks each before it is returned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.walk import everything
from bylaw.semantics.evaluation import holds
from bylaw.semantics.examples.trials import Trials
from bylaw.semantics.machine.alphabet import Alphabet, Sample
from bylaw.semantics.machine.closure import Closure, Unsupported
from bylaw.semantics.machine.machine import Machine
from bylaw.semantics.machine.reachability import OutOfBudget
from bylaw.semantics.machine.residual import TooLarge
from bylaw.semantics.machine.search import Explorer, Path, Step
from bylaw.semantics.past.compiled import past_bodies
from bylaw.semantics.verdict import FALSE, TRUE, Verdict
from bylaw.trace.event import Message
from bylaw.trace.trace import Events, Trace
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.tracker import Probe
from bylaw.vocabulary.view import Order

MAX_PAIRS: Final = 200_000
"""The budget for comparing two formulas, in moves."""


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """The settings under which a formula reads traces."""

    order: Order = "position"
    events: Events = "calls"
    vocabulary: Vocabulary = EMPTY
    marked: Callable[[Trace], Trace] | None = field(default=None, compare=False)
    """Marks the failed calls of a trace, if a procedure defines failure."""

    def seen(self, trace: Trace) -> Trace:
        """The trace as the formula sees it."""
        return trace if self.marked is None else self.marked(trace)


@dataclass(frozen=True, slots=True)
class Examples:
    """A trace of each kind; None if there is none, or none was found."""

    satisfying: Trace | None
    violating: Trace | None
    dooming: Trace | None
    """A prefix that dooms the formula."""
    exact: bool = True
    """Are the traces shortest, and does None mean that there is none?"""
    by_trial: bool = False
    """Were they generated at random, because a machine could not provide them?"""


PLAIN: Final = ReadingOptions()


def examples(formula: f.Formula, setting: ReadingOptions = PLAIN) -> Examples:
    """Traces that show what a formula means.

    Raises `OutOfBudget` if a search takes too long, and `Unsupported` if the value depends on a
    registered function.
    """
    try:
        machine = Machine(formula, setting.order, setting.events, setting.vocabulary)
    except Unsupported:
        if any(isinstance(part, f.OpenPredicate | f.Extracted) for part in everything(formula)):
            raise  # registered functions are not run on generated traces
        return _by_trial(formula, setting)
    explorer = Explorer(machine)
    assumes = machine.alphabet.assumes
    satisfying = explorer.shortest(machine.accepts)
    violating = explorer.shortest(lambda state: not machine.accepts(state))
    doom = explorer.shortest(lambda state: explorer.verdict(state) is Verdict.VIOLATED)
    shown = [None if path is None else trace_of(path) for path in (satisfying, violating, doom)]
    if any(trace is not None and setting.seen(trace) != trace for trace in shown):
        return _by_trial(formula, setting)  # a machine does not know how failure is defined

    def checked(trace: Trace | None, expected: bool) -> Trace | None:
        if trace is None or _holds(formula, trace, setting) is expected:
            return trace
        assert assumes, f"{trace} does not show {formula}"
        return None  # no event was found that meets an assumed condition

    satisfied, violated, doomed = map(checked, shown, (True, False, False))
    return Examples(satisfied, violated, doomed, explorer.exact and not assumes)


def _by_trial(formula: f.Formula, setting: ReadingOptions) -> Examples:
    """Generated traces. A satisfying one is not vacuous, if one is found."""
    trials = Trials(
        formula, setting.order, setting.events, setting.vocabulary, marked=setting.marked
    )
    violating = trials.find(FALSE)
    # A rule about the past is doomed as soon as it is violated.
    dooming = violating if past_bodies(formula) is not None else None
    satisfying = trials.find(TRUE)
    if satisfying is None and _holds(formula, Trace(), setting):
        satisfying = Trace()
    return Examples(satisfying, violating, dooming, exact=False, by_trial=True)


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
    """False if the budget was too small, or the formulas are not supported."""
    reason: str | None = None

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
    try:
        path = _shortest_difference(_machines((old, new), settings), settings)
    except Unsupported as error:
        return Difference(None, decided=False, reason=str(error))
    except (OutOfBudget, TooLarge):
        reason = "their machines have more states than the budget allows"
        return Difference(None, decided=False, reason=reason)
    if path is None and _differ_in_steps(settings):
        reason = "only one of them sees messages, and steps are counted"
        return Difference(None, decided=False, reason=reason)
    if path is None:
        return Difference(None)
    trace = trace_of(path)
    verdicts = [_holds(each, trace, s) for each, s in zip((old, new), settings, strict=True)]
    if verdicts[0] is verdicts[1]:
        reason = "no call could be generated that shows the difference"
        return Difference(None, decided=False, reason=reason)
    return Difference(trace, verdicts[0])


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
