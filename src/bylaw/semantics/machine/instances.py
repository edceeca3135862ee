"""The instances of a quantified formula while results are outstanding.

Events from the first outstanding result on wait in a queue. Each instance that they can tell apart
is followed through the queue under all outcomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from bylaw.logic import formula as f
from bylaw.semantics.machine.alphabet import Letter
from bylaw.semantics.machine.machine import StateNumber
from bylaw.semantics.machine.placeholder import filled
from bylaw.semantics.machine.search import Explorer
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import MISSING, Call, Event, Missing, may_get_result
from bylaw.values import Json, identity
from bylaw.vocabulary.patterns import is_tool
from bylaw.work import spend

if TYPE_CHECKING:
    from bylaw.semantics.machine.slices import QueuedEvent, Slices

_States: TypeAlias = set[StateNumber]


@dataclass(frozen=True, slots=True)
class Instance:
    """The formula for one value, or for any value that no queued event mentions."""

    explorer: Explorer
    state: StateNumber
    """The state before the queue."""
    value: Json | Missing
    """The value; MISSING if no queued event mentions it, or if it has a machine of its own."""
    added_by: QueuedEvent | None
    """The call whose outstanding result may add the value to the domain; None if it is there."""


def doomed_for_certain(slices: Slices, *, step_ends: bool) -> bool:
    """Has some instance the same final verdict under all outcomes of the queued calls?"""
    final = Verdict.VIOLATED if slices.universal else Verdict.SATISFIED

    def decided(instance: Instance, state: StateNumber) -> bool:
        explorer = instance.explorer
        ended = explorer.machine.end_step(state) if step_ends else state
        return explorer.verdict(ended) is final

    return any(
        all(decided(each, state) for state in _states(slices, each, slices.queue))
        for each in _instances(slices)
        if each.added_by is None and each.explorer.machine.alphabet.complete
    )


def depends_on_others(slices: Slices) -> bool:
    """Would some outcomes of the earlier queued calls make the latest event fatal?

    Fatal is what violates the formula for good, whatever the result of the event itself.
    """
    *earlier, latest = slices.queue
    for each in _instances(slices):
        explorer = each.explorer
        if each.added_by is latest:
            continue  # only its own result can add the value
        if not explorer.machine.alphabet.complete:
            return True

        def doomed(state: StateNumber, explorer: Explorer = explorer) -> bool:
            ended = explorer.machine.end_step(state)
            return explorer.verdict(ended) is Verdict.VIOLATED

        for state in _states(slices, each, earlier):
            if not doomed(state) and all(map(doomed, _after(slices, each, {state}, latest))):
                return True
    return False


def _instances(slices: Slices) -> Iterator[Instance]:
    """The instances in the domain, and those that outstanding results may add to it."""
    adding: list[QueuedEvent] = []
    joining: dict[str, Json] = {}
    mentioned: dict[str, Json] = {}
    for each in slices.queue:
        added = {identity(value): value for value in slices.contributed(each.event)}
        joining |= added
        mentioned |= added | slices.mentioned_by(each.event)
        if may_get_result(each.event) and _may_add(each.event, slices.domain):
            adding.append(each)
    for key, explorer in slices.special.items():
        known = key in slices.special_in_domain or key in joining
        for by in [None] if known else adding:
            yield Instance(explorer, slices.special_states[key], MISSING, by)
    for state, in_domain in slices.groups:
        for by in [None] if in_domain else adding:
            yield Instance(slices.generic, state, MISSING, by)
    for by in adding:
        yield Instance(slices.generic, slices.fresh, MISSING, by)
    for key, value in mentioned.items():
        if key in slices.special:
            continue
        state, in_domain = slices.groups.get(key) or (slices.fresh, False)
        known = key in joining or in_domain
        for by in [None] if known else adding:
            yield Instance(slices.generic, state, value, by)


def _may_add(call: Call, domain: f.Domain) -> bool:
    return isinstance(domain, f.FromResults) and is_tool(call, domain.tool)


def _states(slices: Slices, instance: Instance, events: Iterable[QueuedEvent]) -> _States:
    """The states after some events, under all outcomes."""
    states = {instance.state}
    for each in events:
        states = _after(slices, instance, states, each)
    return states


def _after(slices: Slices, instance: Instance, states: _States, each: QueuedEvent) -> _States:
    machine = instance.explorer.machine
    outcomes = _outcomes(slices, instance, each)
    spend(len(states) * len(outcomes))
    moves = {(_letter(slices, instance, shown), each.new_step, False) for shown in outcomes}
    return {machine.advance(state, move) for state in states for move in moves}


def _outcomes(slices: Slices, instance: Instance, each: QueuedEvent) -> Sequence[Event]:
    """The event with the outcomes that it may have in this instance."""
    alphabet, event = instance.explorer.machine.alphabet, each.event
    if not may_get_result(event):
        return [event]
    outcomes: Sequence[Call] = [event]
    if alphabet.depends_on_result(event.tool):
        value = None if isinstance(instance.value, Missing) else instance.value
        found = alphabet.outcomes_of(event)
        outcomes = [replace(shown, result=filled(shown.result, value)) for shown in found]
    if each is instance.added_by:
        outcomes = [shown for shown in outcomes if shown.result is not MISSING] or [event]
    return outcomes


def _letter(slices: Slices, instance: Instance, event: Event) -> Letter:
    base = instance.explorer.machine.alphabet.letter(event)
    if isinstance(instance.value, Missing):
        return base
    return base | slices.letter_for(event, instance.value)
