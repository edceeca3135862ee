"""Can a gate enforce a formula by refusing calls? Only if some prefix dooms it.

A call is decided before it has a result. If only results or messages can doom the formula, the
gate learns of it too late: the call has run by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from bylaw.logic import formula as f
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.evaluation import check_closed
from bylaw.semantics.examples.trials import Trials
from bylaw.semantics.machine.alphabet import Letter
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.machine import Machine, Move, StateNumber
from bylaw.semantics.machine.reachability import OutOfBudget
from bylaw.semantics.machine.search import Explorer, Path
from bylaw.semantics.machine.slices import Slices
from bylaw.semantics.monitor import Monitor
from bylaw.semantics.past.compiled import past_bodies
from bylaw.semantics.verdict import FALSE, Verdict
from bylaw.trace.event import MISSING, Call, may_get_result
from bylaw.trace.trace import Events, Trace
from bylaw.values import canonical
from bylaw.vocabulary.predicates.called_n import Counter
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order

_LARGE_COUNT: Final = 1_000


@dataclass(frozen=True, slots=True)
class Enforceability:
    """The answer to whether some prefix dooms a formula, with the reason."""

    enforceable: bool
    reason: str
    prefix: Path | None = None
    """A shortest prefix that dooms it; one that ends in a dooming call, if there is one."""
    exact: bool = True
    """False if the search was incomplete, so that the answer is not proved."""
    too_late: bool = False
    """Do only results and messages doom it? Then no call is refused because of it."""


def enforceable(
    formula: f.Formula,
    *,
    order: Order = "position",
    events: Events = "calls",
    vocabulary: Vocabulary = EMPTY,
) -> bool:
    """Is there a prefix after which the formula is violated however the trace continues?"""
    return enforceability(formula, order=order, events=events, vocabulary=vocabulary).enforceable


def enforceability(
    formula: f.Formula,
    *,
    order: Order = "position",
    events: Events = "calls",
    vocabulary: Vocabulary = EMPTY,
) -> Enforceability:
    """Decides whether some prefix dooms the formula, and gives the reason."""
    check_closed(formula, vocabulary)
    try:
        explorer = Explorer(Machine(formula, order, events, vocabulary))
    except Unsupported as error:
        trials = Trials(formula, order, events, vocabulary)
        if past_bodies(formula) is not None:
            return _for_past_rule(trials)
        return _for_instances(trials) or Enforceability(
            False, f"it cannot be decided on prefixes: {error}", exact=False
        )
    far = _for_large_count(explorer.machine)
    if far is not None:
        return far
    try:
        prefix = explorer.shortest(lambda s: explorer.verdict(s) is Verdict.VIOLATED)
    except OutOfBudget:
        reason = "its machine has more states than the budget allows"
        return Enforceability(False, reason, exact=False)
    if prefix is None:
        return Enforceability(False, _rescue_reason(explorer), exact=explorer.exact)
    try:
        refused = _shortest_dooming_call(explorer) if prefix else prefix
    except OutOfBudget:  # no such call was found, but there may be one
        return Enforceability(True, _doom_reason(prefix), prefix, exact=False)
    if refused is None:
        assumes = explorer.machine.alphabet.assumes
        if assumes and past_bodies(formula) is not None:  # the arguments may rule out every result
            return _for_past_rule(Trials(formula, order, events, vocabulary))
        return _too_late(prefix, events, exact=explorer.exact)
    return Enforceability(True, _doom_reason(refused), refused, explorer.exact)


def _shortest_dooming_call(explorer: Explorer) -> Path | None:
    """A shortest prefix whose last call dooms the formula, whatever its result."""
    calls = list(_calls(explorer))
    last: tuple[Call, bool] | None = None

    def dooms(state: StateNumber, moves: Iterable[Move]) -> bool:
        after = (explorer.machine.advance(state, move) for move in moves)
        return all(explorer.verdict(each) is Verdict.VIOLATED for each in after)

    def wanted(state: StateNumber) -> bool:
        nonlocal last
        ended = explorer.machine.configurations[state].ended
        if ended or explorer.verdict(state) is Verdict.VIOLATED:
            return False
        dooming = ((call, new) for call, new, moves in calls if dooms(state, moves))
        last = next(dooming, None)
        return last is not None

    path = explorer.shortest(wanted)
    return None if last is None or path is None else (*path, last)


def _calls(explorer: Explorer) -> Iterator[tuple[Call, bool, list[Move]]]:
    """The calls that can be proposed, each with the moves that its possible results lead to.

    The sample of a letter is its plainest call; for another tool it may be the only letter.
    """
    alphabet = explorer.machine.alphabet
    steps = [
        (event, step.move)
        for step in explorer.steps(explorer.machine.start)
        if isinstance(event := step.sample.event, Call)
    ]
    tools = dict.fromkeys([*(event.tool for event, _ in steps), alphabet.other])
    tools.pop(FINAL_ANSWER, None)
    letters: dict[str, list[Letter]] = {}
    for event, (letter, new_step, final) in steps:
        for tool in [FINAL_ANSWER] if final else dict.fromkeys([event.tool, *tools]):
            call = Call(tool, event.args)
            key = canonical([tool, dict(event.args)])
            if key not in letters:
                letters[key] = list(alphabet.letters_of(call))
            if letter in letters[key]:
                yield call, new_step, [(each, new_step, final) for each in letters[key]]
            elif tool == event.tool:
                # Assumptions about arguments count as known: some call may meet them.
                yield event, new_step, [(letter, new_step, final)]


def _for_past_rule(trials: Trials) -> Enforceability:
    """The answer for a rule about the past: any violation dooms it."""
    violating = trials.find(FALSE)
    if violating is None:
        reason = "any violation dooms it, but no violating call could be generated"
        return Enforceability(True, reason, exact=False)

    def by_a_call(trace: Trace) -> bool:
        return _dooms_unanswered(trials, trace)

    refused = violating if by_a_call(violating) else trials.find(FALSE, by_a_call)
    path = tuple((event, True) for event in (refused or violating).events)
    if refused is None:
        return _too_late(path, trials.settings[1], sure="was found to")
    return Enforceability(True, _doom_reason(path), path)


def _for_instances(trials: Trials) -> Enforceability | None:
    """The answer for a universal over values of later events: one doomed instance dooms it."""
    try:
        slices = Slices(trials.formula, *trials.settings)
    except Unsupported:
        return None
    instance = slices.generic
    try:
        doomed = instance.shortest(lambda s: instance.verdict(s) is Verdict.VIOLATED)
    except OutOfBudget:
        return None
    if not slices.universal or doomed is None:
        return None
    found = trials.find(FALSE, lambda trace: _dooms(trials, trace))
    if found is None:
        reason = "one doomed instance dooms it, but no such trace was found"
        return Enforceability(True, reason, exact=False)
    refused = found if _dooms_unanswered(trials, found) else None
    refused = refused or trials.find(FALSE, lambda trace: _dooms_unanswered(trials, trace))
    path = tuple((event, True) for event in (refused or found).events)
    if refused is None:
        return _too_late(path, trials.settings[1], sure="was found to")
    return Enforceability(True, _doom_reason(path), path)


def _dooms(trials: Trials, trace: Trace) -> bool:
    order, events, vocabulary = trials.settings
    monitor = Monitor(trials.formula, order=order, events=events, vocabulary=vocabulary)
    for event in trace.events:
        monitor.step(event)
    return monitor.verdict is Verdict.VIOLATED


def _dooms_unanswered(trials: Trials, trace: Trace) -> bool:
    """Does the last event doom the rule while its result is still unknown?"""
    order, events, vocabulary = trials.settings
    monitor = Monitor(trials.formula, order=order, events=events, vocabulary=vocabulary)
    *before, last = trace.events
    for event in before:
        at = monitor.length
        monitor.step(event)
        if may_get_result(event):
            monitor.record(at, event.result)  # no result will arrive
    if not isinstance(last, Call) or monitor.verdict.final:
        return False
    monitor.step(replace(last, result=MISSING, error=None))
    return monitor.verdict is Verdict.VIOLATED


def _for_large_count(machine: Machine) -> Enforceability | None:
    """The answer for a single count that is too large for a search."""
    root = machine.closure.parts[machine.closure.root]
    if root.shape not in ("predicate", "not predicate"):
        return None
    tracker = machine.closure.trackers[root.below[0]]
    if not isinstance(tracker, Counter) or tracker.number < _LARGE_COUNT:
        return None
    wanted = root.shape == "predicate"
    over = tracker.outlook(tracker.number + 1)
    if over.true if wanted else over.false:
        return Enforceability(False, "no prefix can doom this: more calls always satisfy it")
    reason = f"after {tracker.number + 1:,} calls nothing can satisfy it any more"
    return Enforceability(True, reason)


def _doom_reason(prefix: Path) -> str:
    if not prefix:
        return "nothing can satisfy this: it is violated from the start"
    shown = " ".join(_shown(event) for event, _ in prefix)
    return f"after `{shown}` nothing can satisfy it any more"


def _too_late(
    prefix: Path, events: Events, *, sure: str = "can", exact: bool = True
) -> Enforceability:
    """The answer if no call dooms the formula by itself."""
    what = "a result" if events == "calls" else "a result or a message"
    reason = f"{_doom_reason(prefix)}, but only {what} {sure} do that: too late to refuse a call"
    return Enforceability(True, reason, prefix, exact, too_late=True)


def _shown(event: object) -> str:
    return event.tool if isinstance(event, Call) else "a message"


def _rescue_reason(explorer: Explorer) -> str:
    """The reason why no prefix dooms; names a call that always rescues, if there is one."""
    machine = explorer.machine
    states = [s for s in range(len(machine.configurations)) if not machine.configurations[s].ended]
    bad = [state for state in states if not machine.accepts(state)]
    if not bad:
        return "no prefix can doom this: it holds whenever the trace ends"
    for step in explorer.steps(machine.start):
        if not step.sample.final and _always_rescues(explorer, bad, step.move):
            return (
                f"no prefix can doom this: a later `{_shown(step.sample.event)}` always rescues it"
            )
    return "no prefix can doom this: every prefix has a continuation that satisfies it"


def _always_rescues(explorer: Explorer, states: Iterable[StateNumber], move: Move) -> bool:
    machine = explorer.machine
    return all(machine.accepts(machine.advance(state, move)) for state in states)
