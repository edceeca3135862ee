"""The instances of a quantified formula while results are outstanding.

Events from the first outstanding result on wait in a queue. The instances are followed through it
under all outcomes. Those that no queued event distinguishes move together: the cost grows with the
queue and with the values that it mentions, and not with their product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from bylaw.frozen import replace
from bylaw.semantics.machine.alphabet import Letter
from bylaw.semantics.machine.machine import StateNumber
from bylaw.semantics.machine.placeholder import filled
from bylaw.semantics.machine.search import Explorer
from bylaw.semantics.machine.value_groups import Standing, ValueGroups
from bylaw.semantics.undo import UndoLog
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import MISSING, Event, Missing, may_get_result
from bylaw.values import Json, identity
from bylaw.work import spend

if TYPE_CHECKING:
    from bylaw.semantics.machine.slices import QueuedEvent, Slices

_States: TypeAlias = frozenset[StateNumber]
_Advance: TypeAlias = Callable[[_States], _States]


def doomed_for_certain(slices: Slices, *, step_ends: bool) -> bool:
    """Has some instance the same final verdict under all outcomes of the queued calls?"""
    final = Verdict.VIOLATED if slices.universal else Verdict.SATISFIED

    def decided(explorer: Explorer, state: StateNumber) -> bool:
        ended = explorer.machine.end_step(state) if step_ends else state
        return explorer.verdict(ended) is final

    instances = Instances(slices, None)
    for each in slices.queue:
        instances.advance(each)
    return any(
        explorer.machine.alphabet.complete and all(decided(explorer, state) for state in states)
        for explorer, states in instances
    )


def depends_on_others(slices: Slices) -> bool:
    """Would some outcomes of the earlier queued calls make the latest event fatal?

    Fatal is what violates the formula for good, whatever the result of the event itself.
    """
    *earlier, latest = slices.queue
    for by in (None, *_adding(slices, earlier)):
        instances = Instances(slices, by)
        if not all(explorer.machine.alphabet.complete for explorer, _ in instances):
            return True
        for each in earlier:
            instances.advance(each)
        for explorer, states, advance in instances.ways_on(latest):
            doomed = {state for state in states if _is_doomed(explorer, state)}
            for state in states - doomed:
                if all(_is_doomed(explorer, after) for after in advance(frozenset({state}))):
                    return True
    return False


def _is_doomed(explorer: Explorer, state: StateNumber) -> bool:
    return explorer.verdict(explorer.machine.end_step(state)) is Verdict.VIOLATED


def _adding(slices: Slices, events: Sequence[QueuedEvent]) -> list[QueuedEvent]:
    """The calls whose outstanding results may add values. Of those that are alike, the first."""
    alphabets = [each.machine.alphabet for each in (slices.generic, *slices.special.values())]
    found: list[QueuedEvent] = []
    alike = False
    for each in events:
        event = each.event
        if not may_get_result(event) or not slices.adds_by_result(event):
            continue
        if any(alphabet.depends_on_result(event.tool) for alphabet in alphabets):
            found.append(each)
        elif not alike:
            found.append(each)
            alike = True
    return found


class Instances:
    """Instances in groups: the events so far do not distinguish the values of a group."""

    def __init__(self, slices: Slices, by: QueuedEvent | None) -> None:
        """The instances before the queue.

        `by` is the call whose outstanding result may add their values to the domain; None stands
        for the instances whose values are in it.
        """
        self._slices: Final = slices
        self._by: Final = by
        self._values: Final[dict[str, Json]] = {}
        """The values that queued events mention."""
        self._groups: Final = ValueGroups[_States](UndoLog())
        joining: dict[str, Json] = {}
        mentioned: dict[str, Json] = {}
        for each in slices.queue:
            added = {identity(value): value for value in slices.contributed(each.event)}
            joining |= added
            mentioned |= added | slices.mentioned_by(each.event)
        spend(len(mentioned) + len(slices.groups))
        in_domain = by is None
        for number, standing in enumerate(slices.groups):
            if standing.in_domain is in_domain:
                self._add(f"group {number}", standing.state)
        if not in_domain:
            self._add("unseen", slices.fresh)
        for key, value in mentioned.items():
            state, known = slices.groups.get(key) or (slices.fresh, False)
            if key not in slices.special and (known or key in joining) is in_domain:
                self._values[key] = value
                self._add(key, state)
        self._special = {
            key: frozenset({state})
            for key, state in slices.special_states.items()
            if (key in slices.special_in_domain or key in joining) is in_domain
        }

    def _add(self, key: str, state: StateNumber) -> None:
        self._groups.add(key, Standing(frozenset({state}), True))

    def __iter__(self) -> Iterator[tuple[Explorer, _States]]:
        """The states that instances may be in now."""
        for standing in self._groups:
            yield self._slices.generic, standing.state
        for key, states in self._special.items():
            yield self._slices.special[key], states

    def advance(self, each: QueuedEvent) -> None:
        """Takes in an event, with all outcomes that it may have."""
        separated = self._separated(each)
        self._groups.move(self._advance_by(self._slices.generic, each, MISSING))
        for key, states, advance in separated:
            self._groups.add(key, Standing(advance(states), True))
        for key, states in self._special.items():
            explorer = self._slices.special[key]
            self._special[key] = self._advance_by(explorer, each, MISSING)(states)

    def ways_on(self, each: QueuedEvent) -> Iterator[tuple[Explorer, _States, _Advance]]:
        """The states that instances may be in, and how the latest event would move them."""
        generic = self._slices.generic
        for _, states, advance in self._separated(each):
            yield generic, states, advance
        together = self._advance_by(generic, each, MISSING)
        for standing in self._groups:
            yield generic, standing.state, together
        for key, states in self._special.items():
            explorer = self._slices.special[key]
            yield explorer, states, self._advance_by(explorer, each, MISSING)

    def _separated(self, each: QueuedEvent) -> list[tuple[str, _States, _Advance]]:
        """Takes the values out of their groups for which the event may differ."""
        keys = self._values if self._returns_values(each) else self._slices.mentioned_by(each.event)
        spend(1 + len(keys) + len(self._groups))
        found: list[tuple[str, _States, _Advance]] = []
        for key in keys:
            if key in self._values:
                standing = self._groups.remove(key)
                assert standing is not None, "every value is in a group"
                advance = self._advance_by(self._slices.generic, each, self._values[key])
                found.append((key, standing.state, advance))
        return found

    def _returns_values(self, each: QueuedEvent) -> bool:
        """May the result of this call be the value of the variable, and does that matter?"""
        alphabet, event = self._slices.machine.alphabet, each.event
        return (
            may_get_result(event)
            and alphabet.depends_on_result(event.tool)
            and any(filled(o.result, None) != o.result for o in alphabet.outcomes_of(event))
        )

    def _advance_by(self, explorer: Explorer, each: QueuedEvent, value: Json | Missing) -> _Advance:
        """The move by an event; `value` is MISSING for values that it does not distinguish."""
        machine = explorer.machine
        letters = {
            self._letter(explorer, shown, value) for shown in self._outcomes(explorer, each, value)
        }

        def advance(states: _States) -> _States:
            spend(len(states) * len(letters))
            return frozenset(
                machine.advance(state, (letter, each.new_step, False))
                for state in states
                for letter in letters
            )

        return advance

    def _outcomes(
        self, explorer: Explorer, each: QueuedEvent, value: Json | Missing
    ) -> Sequence[Event]:
        """The event with the outcomes that it may have for a value."""
        alphabet, event = explorer.machine.alphabet, each.event
        if not may_get_result(event) or not alphabet.depends_on_result(event.tool):
            return [event]
        shown = None if isinstance(value, Missing) else value
        outcomes = [
            replace(outcome, result=filled(outcome.result, shown))
            for outcome in alphabet.outcomes_of(event)
        ]
        if each is self._by:
            return [each for each in outcomes if each.result is not MISSING] or [event]
        return outcomes

    def _letter(self, explorer: Explorer, event: Event, value: Json | Missing) -> Letter:
        base = explorer.machine.alphabet.letter(event)
        if isinstance(value, Missing):
            return base
        return base | self._slices.letter_for(event, value)
