"""Can a gate enforce a formula by refusing calls? Only if some prefix dooms it.

A call is decided before it has a result. If only results or messages can doom the formula, the
gate learns of it too late: the call has run by then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.walk import everything, is_past_but_for_functions
from bylaw.semantics.abstraction import abstraction
from bylaw.semantics.dooming import Enforceability, doom_reason, event_title, too_late
from bylaw.semantics.dooming_calls import DoomingCalls
from bylaw.semantics.enforceability_by_search import for_past_rule, for_universal
from bylaw.semantics.engines import engine_for
from bylaw.semantics.examples.reading_options import ReadingOptions
from bylaw.semantics.examples.trace_search import TraceSearch
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.machine import Machine, Move, StateNumber
from bylaw.semantics.machine.reachability import OutOfBudget
from bylaw.semantics.machine.search import Explorer
from bylaw.semantics.past.compiled import past_bodies
from bylaw.semantics.verdict import Verdict
from bylaw.syntax.scope import check_closed
from bylaw.trace.trace import Events
from bylaw.vocabulary.predicates.called_n import Counter
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order

_LARGE_COUNT: Final = 1_000


def enforceable(
    formula: f.Formula,
    *,
    order: Order = "position",
    events: Events = "calls",
    vocabulary: Vocabulary = EMPTY,
) -> bool:
    """Is there a prefix after which the formula is violated however the trace continues?"""
    f.check_formula(formula)
    return enforceability(formula, order=order, events=events, vocabulary=vocabulary).enforceable


def enforceability(
    formula: f.Formula,
    *,
    order: Order = "position",
    events: Events = "calls",
    vocabulary: Vocabulary = EMPTY,
    examples: bool = True,
) -> Enforceability:
    """Decides whether some prefix dooms the formula, and gives the reason.

    Without `examples`, no time is spent on traces that only illustrate the reason.
    """
    check_closed(formula, vocabulary)
    if engine_for(formula, order, events, vocabulary, {}, {}).has_deadlines:
        reason = "it is lost when a deadline passes, whatever is refused"
        return Enforceability("time", reason, can_be_unmet=True)
    search = TraceSearch(formula, ReadingOptions(order, events, vocabulary))
    try:
        machine = Machine(formula, order, events, vocabulary)
    except Unsupported as error:
        if past_bodies(formula) is not None:
            return for_past_rule(search)
        return for_universal(search, examples=examples) or _for_unseen(search, str(error))
    return _for_large_count(machine) or _for_machine(Explorer(machine), search)


def _for_machine(explorer: Explorer, search: TraceSearch) -> Enforceability:
    calls = DoomingCalls(explorer)
    try:
        prefix = explorer.shortest(lambda s: explorer.verdict(s) is Verdict.VIOLATED)
        unmet = calls.can_be_unmet()
    except OutOfBudget:
        reason = "its machine has more states than the budget allows"
        return Enforceability(None, reason, exact=False, can_be_unmet=True, undecided=reason)
    exact = explorer.exact
    if prefix is None:
        return Enforceability(None, _rescue_reason(explorer), exact=exact, can_be_unmet=unmet)
    if not prefix:
        return Enforceability("call", doom_reason(prefix), prefix, exact)
    try:
        refused = calls.shortest()
        lost = calls.can_be_lost()
    except OutOfBudget:  # no such call was found, but there may be one
        reason = doom_reason(prefix)
        return Enforceability("call", reason, prefix, exact=False, can_be_unmet=unmet)
    if refused is not None:
        by, path = refused
        return Enforceability(by, doom_reason(path), path, exact, lost, unmet)
    assumes = explorer.machine.alphabet.assumes
    if assumes and past_bodies(search.formula) is not None:
        return for_past_rule(search)  # the arguments may rule out every result
    return too_late(prefix, search.settings[1], exact=exact, can_be_unmet=unmet)


def _for_unseen(search: TraceSearch, why: str) -> Enforceability:
    """The answer for a rule that is followed by keeping the trace."""
    formula, (order, events, vocabulary) = search.formula, search.settings
    predicates = {p.name for p in everything(formula) if isinstance(p, f.OpenPredicate)}
    past = past_bodies(formula, is_past_but_for_functions) is not None
    if past and predicates <= vocabulary.final_when_false:
        reason = "it is doomed at the first event where a registered predicate makes it false"
        return Enforceability("call", reason, exact=False)
    simpler = abstraction(formula)
    unseen = simpler != formula and (
        enforceability(simpler, order=order, events=events, examples=False).doomed_by == "call"
    )
    return Enforceability(
        None,
        f"it cannot be decided on prefixes: {why}",
        exact=False,
        can_be_unmet=True,
        undecided=why,
        breaks_unseen=unseen,
    )


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
        reason = "no prefix can doom this: more calls always satisfy it"
        return Enforceability(None, reason, can_be_unmet=True)
    reason = f"after {tracker.number + 1:,} calls nothing can satisfy it any more"
    return Enforceability("call", reason, can_be_unmet=True)


def _rescue_reason(explorer: Explorer) -> str:
    """The reason why no prefix dooms; names a call that always rescues, if there is one."""
    machine = explorer.machine
    states = [s for s in range(len(machine.configurations)) if not machine.configurations[s].ended]
    bad = [state for state in states if not machine.accepts(state)]
    if not bad:
        return "no prefix can doom this: it holds whenever the trace ends"
    for step in explorer.steps(machine.start):
        if not step.sample.final and _always_rescues(explorer, bad, step.move):
            rescue = event_title(step.sample.event)
            return f"no prefix can doom this: a later `{rescue}` always rescues it"
    return "no prefix can doom this: every prefix has a continuation that satisfies it"


def _always_rescues(explorer: Explorer, states: Iterable[StateNumber], move: Move) -> bool:
    machine = explorer.machine
    return all(machine.accepts(machine.advance(state, move)) for state in states)
