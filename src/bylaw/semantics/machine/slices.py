"""Quantifiers over growing domains: one machine, and a state for each value seen.

`forall x in args(open, "file"): …` is followed without keeping the trace. The body's machine is
built once, with a placeholder for the variable. An event that does not mention a value moves it
like every value not seen yet, so a new value starts in the state of the unseen ones. Values in
the same state form a group and move together: the cost of an event depends on the values it
mentions and on the number of groups, not on all the values seen so far.

A value that the body itself mentions could match two places at once, which the placeholder
cannot represent; such values have machines of their own from the start.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Final

from bylaw.frozen import frozen, replace
from bylaw.logic import formula as f
from bylaw.logic.terms import Literal, ToolName
from bylaw.logic.walk import substitute
from bylaw.names import FINAL_ANSWER
from bylaw.saved import Damaged, choice, fields, flag, listed, whole
from bylaw.semantics.engine import Engine, EngineMark
from bylaw.semantics.machine.alphabet import Letter
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.instances import depends_on_others, doomed_for_certain
from bylaw.semantics.machine.machine import StateNumber
from bylaw.semantics.machine.machine_cache import MachineCache
from bylaw.semantics.machine.placeholder import (
    SLOT,
    computes_with,
    constants_in,
    filled_probe,
    has_slot,
    prenex,
    values_at_slot,
)
from bylaw.semantics.machine.search import Explorer
from bylaw.semantics.machine.value_groups import Standing, ValueGroups
from bylaw.semantics.past.records import event_of, event_record
from bylaw.semantics.undo import UndoLog, UndoMark
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import MISSING, Call, Event
from bylaw.trace.trace import Events
from bylaw.values import Json, canonical, identity, read_json
from bylaw.vocabulary.domains import contributed
from bylaw.vocabulary.patterns import is_tool, lookup
from bylaw.vocabulary.view import Order
from bylaw.work import OverBudget, spend

_NOTHING: Final[Letter] = frozenset()


@frozen
class QueuedEvent:
    """An event that waits for results, its own or earlier ones."""

    event: Event
    position: int
    new_step: bool


_position_of: Final = attrgetter("position")


class Slices(Engine):
    """The instances of a quantified formula, followed together."""

    def __init__(
        self, formula: f.Formula, order: Order, events: Events, machines: MachineCache
    ) -> None:
        quantified = prenex(formula)
        self.universal: Final = isinstance(quantified, f.ForAll)
        self.domain: Final = quantified.domain
        variable, body = quantified.variable, quantified.body
        if computes_with(body, variable):
            raise Unsupported("it computes with its quantified variable")

        def explorer(value: Json) -> Explorer:
            instance = partial(substitute, body, variable, value)
            return machines.instance(formula, value, order, events, instance)

        self.generic: Final = explorer(SLOT)
        self.machine: Final = self.generic.machine
        self.counts_steps = self.machine.counts_steps
        self.special: Final = {identity(value): explorer(value) for value in constants_in(body)}
        """The values that the body mentions, with their own machines."""
        self._log = UndoLog()
        self.special_states: Mapping[str, StateNumber] = {
            key: each.machine.start for key, each in self.special.items()
        }
        self.special_in_domain: frozenset[str] = frozenset()
        self.fresh = self.machine.start
        """The state of every value not seen yet."""
        self.groups = ValueGroups[StateNumber](self._log)
        self._slots = [
            (number, probe)
            for number, probe in enumerate(self.machine.alphabet.probes)
            if has_slot(probe)
        ]
        self.queue: deque[QueuedEvent] = deque()
        """The events from the first one whose result matters and is unknown."""
        self._before_record: UndoMark | None = None
        """The state before the latest result, until the next event."""

    # ── taking in events ─────────────────────────────────────────────────────────────────

    def take(self, event: Event, position: int, step: int, new_step: bool) -> None:
        """Takes in an event. The formula does not see the final answer."""
        if isinstance(event, Call) and event.tool == FINAL_ANSWER:
            return
        self._before_record = None
        self._append(QueuedEvent(event, position, new_step))

    @property
    def reason(self) -> str | None:
        return "its domain is still growing; it is final once one instance decides it"

    def mark(self) -> EngineMark:
        return self._log.mark()

    def undo(self, mark: EngineMark) -> None:
        self._log.undo(mark)

    def awaits(self, position: int) -> bool:
        return self._place(position) is not None

    def _place(self, position: int) -> int | None:
        """The place in the queue of the event at a position."""
        place = bisect_left(self.queue, position, key=_position_of)
        found = place < len(self.queue) and self.queue[place].position == position
        return place if found else None

    def record(self, position: int, call: Call) -> None:
        place = self._place(position)
        if place is not None:
            self._before_record = self._log.mark()
            before = self.queue[place]
            self._log.changed(partial(self.queue.__setitem__, place, before))
            self.queue[place] = replace(before, event=call)
            try:
                self._drain()
            except OverBudget:
                self._log.undo(self._before_record)
                raise

    def drop(self, position: int) -> bool:
        assert self._before_record is not None, "a result was just recorded"
        self._log.undo(self._before_record)
        place = self._place(position)
        assert place is not None, "its result was just recorded"
        later: list[QueuedEvent] = []
        while len(self.queue) > place:
            later.append(self.queue.pop())
            self._log.changed(partial(self.queue.append, later[-1]))
        opens = later.pop().new_step
        for each in reversed(later):
            here = self._log.mark()
            self._append(replace(each, new_step=each.new_step or opens))
            opens = False
            if self.verdict_if_step_ended() is Verdict.VIOLATED:
                self._log.undo(here)
                opens = each.new_step
        return opens

    def _append(self, queued: QueuedEvent) -> None:
        self._log.changed(self.queue.pop)
        self.queue.append(queued)
        self._drain()

    def _drain(self) -> None:
        while self.queue and not self._waits(self.queue[0].event):
            first = self.queue.popleft()
            self._log.changed(partial(self.queue.appendleft, first))
            self._take(first.event, first.new_step)

    def _waits(self, event: Event) -> bool:
        """Does the result of this call matter, and may it still arrive?"""
        if not isinstance(event, Call) or event.result is not MISSING or event.failed:
            return False
        return self.adds_by_result(event) or self.machine.alphabet.depends_on_result(event.tool)

    def adds_by_result(self, call: Call) -> bool:
        """May the result of this call add values to the domain?"""
        return isinstance(self.domain, f.FromResults) and is_tool(call, self.domain.tool)

    def _take(self, event: Event, new_step: bool) -> None:
        self._remember()
        base = self.machine.alphabet.letter(event)
        joining = dict.fromkeys(identity(value) for value in self.contributed(event))
        mentioned = self.mentioned_by(event)
        spend(len(joining) + len(mentioned) + len(self.groups) + len(self.special))
        self.special_in_domain |= joining.keys() & self.special.keys()
        moved: list[tuple[str, Standing[StateNumber]]] = []
        for key in joining | mentioned:
            if key not in self.special:
                own = self.letter_for(event, mentioned[key]) if key in mentioned else _NOTHING
                move = (base | own, new_step, False)
                before = self.groups.remove(key) or Standing(self.fresh, False)
                state = self.machine.advance(before.state, move)
                moved.append((key, Standing(state, before.in_domain or key in joining)))
        move = (base, new_step, False)
        self.fresh = self.machine.advance(self.fresh, move)
        self.groups.move(lambda state: self.machine.advance(state, move))
        for key, standing in moved:
            self.groups.add(key, standing)
        self.special_states = {
            key: self._special_after(key, state, event, new_step)
            for key, state in self.special_states.items()
        }

    def _special_after(
        self, key: str, state: StateNumber, event: Event, new_step: bool
    ) -> StateNumber:
        machine = self.special[key].machine
        return machine.advance(state, (machine.alphabet.letter(event), new_step, False))

    def _remember(self) -> None:
        """Lets the states of unseen and of special values be undone."""
        states = self.fresh, self.special_states, self.special_in_domain
        self._log.changed(partial(self._set, *states))

    def _set(
        self,
        fresh: StateNumber,
        special_states: Mapping[str, StateNumber],
        special_in_domain: frozenset[str],
    ) -> None:
        self.fresh = fresh
        self.special_states, self.special_in_domain = special_states, special_in_domain

    # ── the values that an event mentions ────────────────────────────────────────────────

    def contributed(self, event: Event) -> Iterable[Json]:
        """The values that an event adds to the domain."""
        match self.domain:
            case f.FromArgs(tool, path) if isinstance(event, Call) and is_tool(event, tool):
                return contributed(path, [event.args])
            case f.FromResults(tool, path) if isinstance(event, Call) and is_tool(event, tool):
                return contributed(path, [event.value] if event.result is not MISSING else [])
            case _:
                return ()

    def mentioned_by(self, event: Event) -> dict[str, Json]:
        """The values of the variable for which the event may match a probe."""
        found: list[Json] = []
        if isinstance(event, Call):
            for _, probe in self._slots:
                if isinstance(probe.tool, ToolName) and probe.tool.name == SLOT:
                    found.append(event.tool)
                for pattern in probe.patterns:
                    if isinstance(pattern, f.ArgumentIs) and isinstance(pattern.expected, Literal):
                        actual = lookup(event.args, pattern.path)
                        found += values_at_slot(pattern.expected.value, actual)
                    elif isinstance(pattern, f.ResultIs) and isinstance(pattern.expected, Literal):
                        found += values_at_slot(
                            pattern.expected.value, lookup(event.value, pattern.path)
                        )
                if probe.result is not None:
                    found += values_at_slot(probe.result.value, event.value)
        return {identity(value): value for value in found}

    def letter_for(self, event: Event, value: Json) -> Letter:
        """The probes with the variable that the event matches for this value."""
        vocabulary = self.machine.alphabet.vocabulary
        return frozenset(
            number
            for number, probe in self._slots
            if filled_probe(probe, value).matches(event, vocabulary)
        )

    def outstanding_evidence(self) -> Sequence[int]:
        others = [each.position for each in self.queue if self._waits(each.event)]
        if others and others[-1] == self.queue[-1].position:
            others.pop()  # the latest event itself
        return others if others and self.universal and depends_on_others(self) else ()

    # ── verdicts ─────────────────────────────────────────────────────────────────────────

    def verdict(self) -> Verdict:
        """Final once one instance decides it; else the verdict if the trace ended now."""
        return self._verdict(step_ends=False)

    def verdict_if_step_ended(self) -> Verdict:
        if not self.counts_steps:
            return self.verdict()
        if self.queue:
            return self._verdict(step_ends=True)
        here = self._log.mark()
        try:
            self.end_step()
            return self.verdict()
        finally:
            self._log.undo(here)

    def _verdict(self, *, step_ends: bool) -> Verdict:
        verdicts = self._verdicts()
        final = Verdict.VIOLATED if self.universal else Verdict.SATISFIED
        if final in verdicts or (self.queue and doomed_for_certain(self, step_ends=step_ends)):
            return final
        if self.queue:
            verdicts = self._verdicts_ahead()
        holds = [verdict.holds_now for verdict in verdicts]
        now = all(holds) if self.universal else any(holds)
        return Verdict.PRESUMABLY_SATISFIED if now else Verdict.PRESUMABLY_VIOLATED

    def _verdicts(self) -> set[Verdict]:
        found = {self.generic.verdict(state) for state, in_domain in self.groups if in_domain}
        for key in self.special_in_domain:
            found.add(self.special[key].verdict(self.special_states[key]))
        return found

    def _verdicts_ahead(self) -> set[Verdict]:
        """The verdicts after the waiting events, with the results that they have now."""
        here = self._log.mark()
        try:
            for each in self.queue:
                self._take(each.event, each.new_step)
            return self._verdicts()
        finally:
            self._log.undo(here)

    def end_step(self) -> None:
        self._remember()
        self.groups.move(self.machine.end_step)
        self.fresh = self.machine.end_step(self.fresh)
        self.special_states = {
            key: self.special[key].machine.end_step(state)
            for key, state in self.special_states.items()
        }

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> Json:
        write = self.machine.written
        return {
            "fresh": write(self.fresh),
            "groups": sorted(
                (
                    [write(state), in_domain, [read_json(key) for key in sorted(keys)]]
                    for (state, in_domain), keys in self.groups.members().items()
                ),
                key=lambda group: canonical(group[:2]),
            ),
            "special": {
                k: self.special[k].machine.written(s) for k, s in self.special_states.items()
            },
            "special_in_domain": sorted(self.special_in_domain),
            "queue": [
                [event_record(each.event), each.position, each.new_step] for each in self.queue
            ],
        }

    def restore(self, saved: Json) -> None:
        fresh, groups, special, in_domain, queue = fields(
            saved, "fresh", "groups", "special", "special_in_domain", "queue"
        )
        self.fresh = self.machine.read(fresh)
        self._log = UndoLog()
        self.groups = ValueGroups[StateNumber](self._log)
        for each in listed(groups):
            state, joined, values = listed(each, 3)
            standing = Standing(self.machine.read(state), flag(joined))
            for value in listed(values):
                key = identity(value)
                if self.groups.get(key) is not None:
                    raise Damaged("a value has two states")
                self.groups.add(key, standing)
        states = dict(zip(self.special, fields(special, *self.special), strict=True))
        self.special_states = {k: self.special[k].machine.read(s) for k, s in states.items()}
        self.special_in_domain = frozenset(
            choice(key, self.special.keys()) for key in listed(in_domain)
        )
        self.queue = deque()
        for each in listed(queue):
            event, position, new_step = listed(each, 3)
            least = self.queue[-1].position + 1 if self.queue else 0
            queued = QueuedEvent(event_of(event), whole(position, least), flag(new_step))
            self.queue.append(queued)
