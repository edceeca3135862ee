"""The states of all rules, with assumed outcomes for the calls that have no result yet."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from typing import Final, TypeAlias

from bylaw.enforcement.joint.machines import JointMachines
from bylaw.enforcement.joint.product import Member
from bylaw.semantics.machine.follower import Follower, PlainFollower
from bylaw.semantics.machine.machine import StateNumber
from bylaw.semantics.monitors import Monitors
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call

MAX_OUTCOMES: Final = 64
"""The limit on combinations of outcomes that are tried."""

Outcomes: TypeAlias = Mapping[int, Call]
"""Outstanding calls by position, each with an assumed outcome."""


class Situation:
    """The states of all rules. Without assumed outcomes, no outstanding result arrives."""

    def __init__(self, shared: JointMachines, monitors: Monitors, outcomes: Outcomes) -> None:
        self._shared: Final = shared
        self._monitors: Final = monitors
        self._by_position: Final = outcomes
        self._by_number: Final = {monitors.outstanding[p][1]: c for p, c in outcomes.items()}
        self._states: Final[dict[int, tuple[Member, StateNumber] | None]] = {}
        self.plain = True
        """Have only rules been asked whose state is one number, whatever results arrive?"""
        self.lost: Final[set[int]] = set()
        """The rules that the assumed outcomes doom."""
        self.unmet: Final = self._find_unmet()
        """The rules that would be violated if the trace ended now."""
        self.restless: Final[set[int]] = set()
        """The rules that a call of any tool may move."""
        self.hasty: Final[set[int]] = set()
        """Those that calls of other tools could violate, or that are not satisfied yet."""
        for rule in monitors.restless:
            state = self.state(rule)
            if state is not None and not state[0].machine.idles(state[1]):
                self.restless.add(rule)
                if not state[0].calm(state[1]):
                    self.hasty.add(rule)

    def _find_unmet(self) -> set[int]:
        unmet = self._monitors.unmet
        waiting = {i for p in self._by_position for i in self._monitors.outstanding[p][2]}
        for rule in waiting:
            engine, state = self._monitors.engines[rule], self.state(rule)
            if state is not None and isinstance(engine, Follower):
                member, number = state
                if engine.explorer.verdict(number) is Verdict.VIOLATED:
                    self.lost.add(rule)
                unmet = unmet - {rule} if member.met(number) else unmet | {rule}
        return unmet

    def state(self, rule: int) -> tuple[Member, StateNumber] | None:
        """The machine of a rule and its state if the step ends now; None if it has no machine."""
        if rule not in self._states:
            self._states[rule] = self._found(rule)
        return self._states[rule]

    def _found(self, rule: int) -> tuple[Member, StateNumber] | None:
        engine = self._monitors.engines[rule]
        if isinstance(engine, PlainFollower):
            machine, now = engine.machine, engine.now
        elif isinstance(engine, Follower):
            sees_all = rule in self._monitors.sees_messages
            outcomes = self._by_position if sees_all else self._by_number
            machine, now = engine.machine, engine.state_under(outcomes)
            self.plain = False
        else:
            stateless = self._shared.stateless(rule)
            if stateless is None:
                self.plain = False
                return None
            machine, now = stateless, stateless.start
        return self._shared.member(machine), machine.end_step(now)


def outcomes_of(
    shared: JointMachines, monitors: Monitors, rules: Collection[int]
) -> dict[int, list[Call]] | None:
    """For each outstanding call that matters to some rules, its possible outcomes.

    None if they cannot be listed.
    """
    found: dict[int, list[Call]] = {}
    for position, (call, number, waiting) in monitors.outstanding.items():
        machines = []
        for i in sorted(waiting.intersection(rules)):
            engine = monitors.engines[i]
            place = position if i in monitors.sees_messages else number
            if isinstance(engine, Follower) and engine.awaits(place):
                machines.append(engine.machine)
        if machines:
            alphabet = shared.alphabet(tuple(machines))
            found[position] = list(alphabet.letters_of(call).values())
            if alphabet.assumes or not alphabet.complete:
                return None
    return found if math.prod(map(len, found.values())) <= MAX_OUTCOMES else None


def combinations(outcomes: Mapping[int, list[Call]]) -> Iterator[dict[int, Call]]:
    """One outcome for each call, in all combinations."""
    for chosen in itertools.product(*outcomes.values()):
        yield dict(zip(outcomes, chosen, strict=True))
