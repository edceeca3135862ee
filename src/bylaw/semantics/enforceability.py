"""Can a call be refused for the sake of a formula? Only if some prefix dooms it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from bylaw.logic import formula as f
from bylaw.semantics.closure import Unsupported
from bylaw.semantics.compiled import past_bodies
from bylaw.semantics.machine import Machine, Move, StateNumber
from bylaw.semantics.reference import check_closed
from bylaw.semantics.search import Explorer, OutOfBudget, Path
from bylaw.semantics.trials import Trials
from bylaw.semantics.verdict import FALSE, Verdict
from bylaw.trace.event import Call
from bylaw.trace.trace import Events
from bylaw.vocabulary.predicates.called_n import Counter
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order

_FAR: Final = 1_000


@dataclass(frozen=True, slots=True)
class Enforceability:
    """Whether some prefix dooms a formula, and why or why not."""

    enforceable: bool
    reason: str
    prefix: Path | None = None
    """A shortest prefix that dooms it."""
    exact: bool = True
    """False if the answer could not be decided, and is the safe one: not enforceable."""


def enforceable(
    formula: f.Formula,
    *,
    order: Order = "position",
    events: Events = "calls",
    vocabulary: Vocabulary = EMPTY,
) -> bool:
    """Is there a prefix after which the formula is violated however the trace goes on?"""
    return enforceability(formula, order=order, events=events, vocabulary=vocabulary).enforceable


def enforceability(
    formula: f.Formula,
    *,
    order: Order = "position",
    events: Events = "calls",
    vocabulary: Vocabulary = EMPTY,
) -> Enforceability:
    """Whether some prefix dooms the formula, with the reason in words."""
    check_closed(formula, vocabulary)
    try:
        explorer = Explorer(Machine(formula, order, events, vocabulary))
    except Unsupported as error:
        if past_bodies(formula) is None:
            return Enforceability(False, f"it cannot be decided on prefixes: {error}", exact=False)
        return _of_the_past(Trials(formula, order, events, vocabulary))
    far = _far_counter(explorer.machine)
    if far is not None:
        return far
    try:
        prefix = explorer.shortest(lambda s: explorer.verdict(s) is Verdict.VIOLATED)
    except OutOfBudget:
        reason = "its machine has more states than the budget allows"
        return Enforceability(False, reason, exact=False)
    if prefix is None:
        return Enforceability(False, _rescue(explorer), exact=explorer.exact)
    return Enforceability(True, _doom(prefix), prefix, explorer.exact)


def _of_the_past(trials: Trials) -> Enforceability:
    """The answer for a rule about the past: it is doomed by whatever violates it."""
    violating = trials.find(FALSE)
    if violating is None:
        reason = "it is lost as soon as it is violated, but no such call could be made up"
        return Enforceability(True, reason, exact=False)
    path = tuple((event, True) for event in violating.events)
    return Enforceability(True, _doom(path), path)


def _far_counter(machine: Machine) -> Enforceability | None:
    """The answer for a lone count that is too large to be reached by walking."""
    root = machine.closure.parts[machine.closure.root]
    if root.shape not in ("predicate", "not predicate"):
        return None
    tracker = machine.closure.trackers[root.below[0]]
    if not isinstance(tracker, Counter) or tracker.number < _FAR:
        return None
    wanted = root.shape == "predicate"
    over = tracker.outlook(tracker.number + 1)
    if over.true if wanted else over.false:
        return Enforceability(False, "no prefix can doom this: more calls always satisfy it")
    reason = f"after {tracker.number + 1:,} calls nothing can satisfy it any more"
    return Enforceability(True, reason)


def _doom(prefix: Path) -> str:
    if not prefix:
        return "nothing can satisfy this: it is violated from the start"
    shown = " ".join(_shown(event) for event, _ in prefix)
    return f"after `{shown}` nothing can satisfy it any more"


def _shown(event: object) -> str:
    return event.tool if isinstance(event, Call) else "a message"


def _rescue(explorer: Explorer) -> str:
    """Why no prefix dooms: which single call always rescues, if one does."""
    machine = explorer.machine
    states = [s for s in range(len(machine.configurations)) if not machine.configurations[s].ended]
    bad = [state for state in states if not machine.accepts(state)]
    if not bad:
        return "no prefix can doom this: it holds whenever the trace ends"
    for step in explorer.steps(machine.start):
        if not step.sample.final and _always(explorer, bad, step.move):
            return (
                f"no prefix can doom this: a later `{_shown(step.sample.event)}` always rescues it"
            )
    return "no prefix can doom this: whatever has happened, some way on satisfies it"


def _always(explorer: Explorer, states: Iterable[StateNumber], move: Move) -> bool:
    machine = explorer.machine
    return all(machine.accepts(machine.advance(state, move)) for state in states)
