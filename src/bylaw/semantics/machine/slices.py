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

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.terms import Literal, ToolName
from bylaw.logic.walk import substitute
from bylaw.names import FINAL_ANSWER
from bylaw.saved import choice, fields, flag, listed, whole
from bylaw.semantics.engine import Engine, EngineMark
from bylaw.semantics.machine.alphabet import Letter
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.instances import depends_on_others, doomed_for_certain
from bylaw.semantics.machine.machine import Machine
from bylaw.semantics.machine.placeholder import (
    SLOT,
    constants_in,
    filled_probe,
    has_slot,
    values_at_slot,
)
from bylaw.semantics.machine.search import Explorer
from bylaw.semantics.past.memories import event_of, event_record
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import MISSING, Call, Event
from bylaw.trace.trace import Events
from bylaw.values import Json, canonical, identity
from bylaw.vocabulary.domains import contributed
from bylaw.vocabulary.patterns import is_tool, lookup
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.view import Order


@dataclass(eq=False, slots=True)
class Group:
    """Values whose instances are in the same state."""

    state: int
    in_domain: bool
    keys: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class QueuedEvent:
    """An event that waits for results, its own or earlier ones."""

    event: Event
    position: int
    new_step: bool


class Slices(Engine):
    """The instances of a quantified formula, followed together."""

    def __init__(
        self, formula: f.Formula, order: Order, events: Events, vocabulary: Vocabulary
    ) -> None:
        quantified = _prenex(formula)
        self.universal: Final = isinstance(quantified, f.ForAll)
        self.domain: Final = quantified.domain
        variable, body = quantified.variable, quantified.body

        def explorer(value: Json) -> Explorer:
            instance = substitute(body, variable, value)
            return Explorer(Machine(instance, order, events, vocabulary))

        self.generic: Final = explorer(SLOT)
        self.machine: Final = self.generic.machine
        self.counts_steps = self.machine.counts_steps
        self.special: Final = {identity(value): explorer(value) for value in constants_in(body)}
        """The values that the body mentions, with their own machines."""
        self.special_states = {key: each.machine.start for key, each in self.special.items()}
        self.special_in_domain: set[str] = set()
        self.fresh = self.machine.start
        """The state of every value not seen yet."""
        self.groups: list[Group] = []
        self.where: dict[str, Group] = {}
        self.values: dict[str, Json] = {}
        self._slots = [
            (number, probe)
            for number, probe in enumerate(self.machine.alphabet.probes)
            if has_slot(probe)
        ]
        self.queue: list[QueuedEvent] = []
        """The events from the first one whose result matters and is unknown."""
        self._before_record: Slices | None = None
        """A copy from before the latest result."""

    # ── taking in events ─────────────────────────────────────────────────────────────────

    def take(self, event: Event, position: int, step: int, new_step: bool) -> None:
        """Takes in an event. The formula does not see the final answer."""
        if isinstance(event, Call) and event.tool == FINAL_ANSWER:
            return
        self.queue.append(QueuedEvent(event, position, new_step))
        self._drain()

    @property
    def reason(self) -> str | None:
        return "its domain is still growing; it is final once one instance decides it"

    def mark(self) -> EngineMark:
        return self._copied()

    def undo(self, mark: EngineMark) -> None:
        self.__dict__.update(mark.__dict__)

    def awaits(self, position: int) -> bool:
        return any(each.position == position for each in self.queue)

    def record(self, position: int, call: Call) -> None:
        for place, each in enumerate(self.queue):
            if each.position == position:
                self._before_record = self._copied()
                self.queue[place] = replace(each, event=call)
                self._drain()
                return

    def drop(self, position: int) -> bool:
        assert self._before_record is not None, "a result was just recorded"
        self.undo(self._before_record)
        (place,) = (i for i, each in enumerate(self.queue) if each.position == position)
        dropped, *later = self.queue[place:]
        del self.queue[place:]
        opens = dropped.new_step
        for each in later:
            here = self._copied()
            self.queue.append(replace(each, new_step=each.new_step or opens))
            self._drain()
            opens = False
            if self.verdict_if_step_ended() is Verdict.VIOLATED:
                self.undo(here)
                opens = each.new_step
        return opens

    def _drain(self) -> None:
        while self.queue and not self._waits(self.queue[0].event):
            self._take(self.queue[0].event, self.queue[0].new_step)
            del self.queue[0]

    def _waits(self, event: Event) -> bool:
        """Does the result of this call matter, and may it still arrive?"""
        if not isinstance(event, Call) or event.result is not MISSING or event.failed:
            return False
        read = isinstance(self.domain, f.FromResults) and is_tool(event, self.domain.tool)
        return read or self.machine.alphabet.depends_on_result(event.tool)

    def _take(self, event: Event, new_step: bool) -> None:
        for key, explorer in self.special.items():
            machine = explorer.machine
            move = (machine.alphabet.letter(event), new_step, False)
            self.special_states[key] = machine.advance(self.special_states[key], move)
        base = self.machine.alphabet.letter(event)
        joining = {identity(v): v for v in self.contributed(event)}
        self.special_in_domain |= joining.keys() & self.special.keys()
        moved: list[tuple[str, int, bool]] = []
        for key, value in {**joining, **self.mentioned_by(event)}.items():
            if key not in self.special:
                letter = base | self.letter_for(event, value)
                moved.append(self._move_alone(key, value, (letter, new_step), key in joining))
        self.fresh = self.machine.advance(self.fresh, (base, new_step, False))
        for group in self.groups:
            group.state = self.machine.advance(group.state, (base, new_step, False))
        self._merge()
        for key, state, in_domain in moved:
            self._settle(key, state, in_domain)

    def _move_alone(
        self, key: str, value: Json, move: tuple[Letter, bool], joins: bool
    ) -> tuple[str, int, bool]:
        """Removes a value from its group, and advances it by its own letter."""
        self.values[key] = value
        group = self.where.pop(key, None)
        state, in_domain = (self.fresh, False) if group is None else (group.state, group.in_domain)
        if group is not None:
            group.keys.discard(key)
        return key, self.machine.advance(state, (*move, False)), in_domain or joins

    def _merge(self) -> None:
        """Merges groups that have reached the same state, the smaller into the larger."""
        met: dict[tuple[int, bool], Group] = {}
        for group in sorted(self.groups, key=lambda g: -len(g.keys)):
            if group.keys:
                larger = met.setdefault((group.state, group.in_domain), group)
                if larger is not group:
                    larger.keys |= group.keys
                    for key in group.keys:
                        self.where[key] = larger
        self.groups = list(met.values())

    def _settle(self, key: str, state: int, in_domain: bool) -> None:
        for group in self.groups:
            if (group.state, group.in_domain) == (state, in_domain):
                break
        else:
            group = Group(state, in_domain)
            self.groups.append(group)
        group.keys.add(key)
        self.where[key] = group

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
        others = [each.position for each in self.queue[:-1] if self._waits(each.event)]
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
        mark = self.mark()
        self.end_step()
        verdict = self.verdict()
        self.undo(mark)
        return verdict

    def _verdict(self, *, step_ends: bool) -> Verdict:
        verdicts = self._verdicts()
        final = Verdict.VIOLATED if self.universal else Verdict.SATISFIED
        if final in verdicts or (self.queue and doomed_for_certain(self, step_ends=step_ends)):
            return final
        if self.queue:
            verdicts = self._ahead()._verdicts()
        holds = [verdict.holds_now for verdict in verdicts]
        now = all(holds) if self.universal else any(holds)
        return Verdict.PRESUMABLY_SATISFIED if now else Verdict.PRESUMABLY_VIOLATED

    def _verdicts(self) -> set[Verdict]:
        found = {self.generic.verdict(g.state) for g in self.groups if g.in_domain and g.keys}
        for key in self.special_in_domain:
            found.add(self.special[key].verdict(self.special_states[key]))
        return found

    def _copied(self) -> Slices:
        """A copy that can move independently."""
        other = copy.copy(self)
        other.groups = [Group(g.state, g.in_domain, set(g.keys)) for g in self.groups]
        other.where = {key: group for group in other.groups for key in group.keys}
        other.values, other.special_states = dict(self.values), dict(self.special_states)
        other.special_in_domain = set(self.special_in_domain)
        other.queue = list(self.queue)
        return other

    def _ahead(self) -> Slices:
        """A copy that has taken in the waiting events with the results they have now."""
        ahead = self._copied()
        for each in self.queue:
            ahead._take(each.event, each.new_step)
        return ahead

    def end_step(self) -> None:
        for group in self.groups:
            group.state = self.machine.end_step(group.state)
        self.fresh = self.machine.end_step(self.fresh)
        for key, explorer in self.special.items():
            self.special_states[key] = explorer.machine.end_step(self.special_states[key])
        self._merge()

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> Json:
        write = self.machine.written
        return {
            "fresh": write(self.fresh),
            "groups": sorted(
                (
                    [write(g.state), g.in_domain, [self.values[key] for key in sorted(g.keys)]]
                    for g in self.groups
                    if g.keys
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
        self.groups, self.values = [], {}
        for each in listed(groups):
            state, joined, values = listed(each, 3)
            keyed = {identity(value): value for value in listed(values)}
            self.groups.append(Group(self.machine.read(state), flag(joined), set(keyed)))
            self.values |= keyed
        self.where = {key: group for group in self.groups for key in group.keys}
        states = dict(zip(self.special, fields(special, *self.special), strict=True))
        self.special_states = {k: self.special[k].machine.read(s) for k, s in states.items()}
        self.special_in_domain = {choice(key, self.special.keys()) for key in listed(in_domain)}
        self.queue = []
        for each in listed(queue):
            event, position, new_step = listed(each, 3)
            self.queue.append(QueuedEvent(event_of(event), whole(position), flag(new_step)))


def _prenex(formula: f.Formula) -> f.Quantifier:
    """The outermost quantifier, with a negation before it pushed inside."""
    match formula:
        case f.ForAll(_, f.FromArgs() | f.FromResults(), _) as found:
            return found
        case f.Exists(_, f.FromArgs() | f.FromResults(), _) as found:
            return found
        case f.Not(f.ForAll(x, domain, body)):
            return _prenex(f.Exists(x, domain, f.Not(body)))
        case f.Not(f.Exists(x, domain, body)):
            return _prenex(f.ForAll(x, domain, f.Not(body)))
        case _:
            raise Unsupported("it does not begin with a quantifier over arguments or results")
