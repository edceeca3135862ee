"""The choice of an engine: the cheapest one that can follow a formula."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from bylaw.logic import formula as f
from bylaw.logic.walk import is_past_but_for_functions, sees_answer, with_labels
from bylaw.semantics.engine import Engine
from bylaw.semantics.history import History
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.follower import Follower, PlainFollower
from bylaw.semantics.machine.machine_cache import MachineCache
from bylaw.semantics.machine.placeholder import NoQuantifier
from bylaw.semantics.machine.search import Explorer
from bylaw.semantics.machine.slices import Slices
from bylaw.semantics.past.compiled import past_bodies
from bylaw.semantics.past.deadlines import Deadlines
from bylaw.semantics.past.registers import Registers
from bylaw.syntax.scope import check_closed
from bylaw.trace.trace import Events
from bylaw.values import Json
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.view import Order


def engine_for(
    formula: f.Formula,
    order: Order,
    events: Events,
    vocabulary: Vocabulary,
    metrics: Mapping[str, Json],
    labels: Mapping[str, Json],
    cache: MachineCache | None = None,
) -> Engine:
    """The cheapest engine that can follow a formula."""
    if cache is not None and not labels and (known := cache.known(formula, order, events)):
        return _following(known)
    check_closed(formula, vocabulary)
    original, formula = formula, with_labels(formula, labels)
    if cache is None or formula is not original:  # labels belong to one run
        cache = MachineCache(vocabulary)
    if formula.contains(f.EventuallyWithin, f.LaterWithin):
        with suppress(Unsupported):
            return Deadlines(formula, labels)
    if formula.contains(f.Compare, f.Says, f.Found):
        # A machine could follow most rules about data, too, but it would need every event.
        with suppress(Unsupported):
            return Registers(formula, labels)
    try:
        return _following(cache.explorer(formula, order, events))
    except Unsupported as error:
        reason = str(error)
    if not sees_answer(formula):
        try:
            return Slices(formula, order, events, cache)
        except NoQuantifier:
            pass  # the reason is why it has no machine
        except Unsupported as error:
            reason = str(error)
    with suppress(Unsupported):
        return Registers(formula, labels)
    with suppress(Unsupported):
        return Deadlines(formula, labels, reason=reason)
    past = past_bodies(formula, is_past_but_for_functions) is not None
    late = None if past else reason
    return History(formula, order, events, vocabulary, metrics, labels, past=past, reason=late)


def _following(explorer: Explorer) -> Engine:
    plain = explorer.machine.alphabet.never_waits
    return PlainFollower(explorer) if plain else Follower(explorer)
