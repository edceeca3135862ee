"""The joint test of one run: rules that can each still be satisfied, but not together.

Rules of the forms in `vocabulary/joint_form.py` are decided by counting (`continuation.py`). Rules
of other forms, those connected with them, and those for which counting is not certain are
decided by their machines (`refinement.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from bylaw.enforcement.joint.continuation import CallRecord, JointTest
from bylaw.enforcement.joint.machines import FineKey, JointMachines, Rules
from bylaw.enforcement.joint.refinement import NONE, MachineTest, WideStates
from bylaw.enforcement.joint.rules import JointRules
from bylaw.frozen import frozen
from bylaw.names import FINAL_ANSWER
from bylaw.saved import choice, fields, listed, whole
from bylaw.semantics.dispatch import Attempt
from bylaw.semantics.machine.follower import PlainFollower
from bylaw.semantics.monitors import Monitors
from bylaw.trace.event import Call
from bylaw.values import Json

MAX_FINE: Final = 100_000
"""The number of states of some rules that are remembered."""


@frozen
class Conflict:
    """A minimal set of rules that cannot be satisfied together."""

    blamed: list[int]
    caps: list[int]
    """The other rules: they only limit numbers of calls."""
    outstanding: list[Call]
    """Outstanding calls, if other outcomes of theirs would leave the rules a continuation."""

    @property
    def rules(self) -> list[int]:
        """All of the rules."""
        return [*self.blamed, *self.caps]


def minimal(clash: Callable[[Collection[int]], Rules], found: Rules, count: int) -> list[int]:
    """A minimal part of some clashing rules, out of `count`; earlier rules are preferred.

    `clash` finds rules that clash, without those that it is given.
    """
    left_out: set[int] = set()
    for rule in reversed(range(count)):
        smaller = clash({*left_out, rule}) if rule in found else found
        if smaller:
            found = smaller
            left_out.add(rule)
    return sorted(found)


class Watched:
    """Some rules in one run: a quick answer for states in which they were fine before.

    Only states of machines that no result can move are remembered. All runs share them.
    """

    def __init__(self, monitors: Monitors, rules: Rules, fine: set[FineKey]) -> None:
        engines = [(i, monitors.engines[i]) for i in sorted(rules)]
        self._monitors: Final = monitors
        self.rules: Final = rules
        self._plain: Final = [(i, e, e.machine) for i, e in engines if isinstance(e, PlainFollower)]
        self._others: Final = [i for i, e in engines if not isinstance(e, PlainFollower)]
        self._fine: Final = fine

    def is_fine(self, left_out: Collection[int]) -> bool:
        """Is a common continuation known, without the rules that are left out?"""
        unmet, restless = self._monitors.unmet, self._monitors.restless
        for rule in self._others:
            if (rule in unmet or rule in restless) and rule not in left_out:
                return False
        states = self._states(left_out)
        return states is not None and states in self._fine

    def remember(self, alive: Callable[[int], bool], left_out: Collection[int]) -> None:
        """Remembers that the present states are fine, if all the other rules were asked."""
        verdicts, states = self._monitors.verdicts, self._states(left_out)
        asked = (i in left_out or alive(i) or verdicts[i].final for i in self.rules)
        if states is not None and all(asked):
            if len(self._fine) >= MAX_FINE:
                self._fine.clear()
            self._fine.add(states)

    def _states(self, left_out: Collection[int]) -> FineKey | None:
        """The present states; None if a table was full, so that other numbers stand for them."""
        states: list[int | None] = []
        for rule, engine, machine in self._plain:
            if engine.machine is not machine:
                return None
            states.append(None if rule in left_out else engine.now)
        if left_out:
            states += [rule for rule in self._others if rule in left_out]
        return tuple(states)


class Conflicts:
    """The state of the joint test.

    `takes_part` says which rules do at present. Those that `diverged` returns do not count every
    call, because some were excused; they are left to the machines.
    """

    def __init__(
        self,
        rules: JointRules,
        machines: JointMachines,
        monitors: Monitors,
        *,
        enforced: Collection[int],
        takes_part: Callable[[int], bool],
        diverged: Callable[[], Collection[int]] = tuple,
        hopes: bool = False,
    ) -> None:
        self._monitors: Final = monitors
        self._component: Final = machines.component
        self._counting: Final = JointTest(rules, enforced)
        self._shared: Final = machines
        self._enforced: Final = frozenset(enforced)
        self._hopes: Final = hopes
        self._machines: Final = MachineTest(
            machines, monitors, takes_part, self._remember_fine, hopes=hopes
        )
        self._watched: Final[dict[int, Watched]] = {}
        """The components that were asked."""
        self._counted: Final[dict[str, Watched | None]] = {}
        """For each tool, the rules to count for after a call of it."""
        self._on_trial: CallRecord | None = None
        """The call on trial, if it was counted."""
        self._takes_part: Final = takes_part
        self._diverged: Final = diverged
        self.wide: Final = bool(monitors.wide)
        """Do calls of any tool concern some rules? Then `watch` must be called before a call."""
        others = (
            enforced
            if any(i in monitors.wide for i in enforced)
            else [i for i in enforced if i not in rules.forms]
        )
        self._mixed: Final = frozenset(self._component[i] for i in others)
        """The components with rules that counting does not decide."""
        self.certain = True
        """Was the latest answer certain?"""

    def save(self) -> Json:
        """The state as JSON."""
        return {
            "counting": self._counting.save(),
            "entangled": sorted(self._machines.entangled),
            "failures": [list(pair) for pair in sorted(self._machines.failures.items())],
        }

    def restore(self, saved: Json) -> None:
        """Restores a saved state."""
        counting, entangled, failures = fields(saved, "counting", "entangled", "failures")
        self._counting.restore(counting)
        self._machines.entangled = {choice(i, self._component) for i in listed(entangled)}
        pairs = [listed(pair, 2) for pair in listed(failures)]
        counts = {choice(number, self._component): whole(count) for number, count in pairs}
        self._machines.failures = Counter(counts)

    # ── a call on trial ──────────────────────────────────────────────────────────────────

    def watch(self) -> WideStates:
        """The states to compare with after a call."""
        return self._machines.wide_states()

    def keep(self, call: Call, step: int) -> None:
        """Counts a call that was on trial."""
        if self._on_trial is None:
            self._counting.advance(call, step)
        self._on_trial = None

    def take_back(self) -> None:
        """Forgets the call that was on trial."""
        if self._on_trial is not None:
            self._counting.undo(self._on_trial)
            self._on_trial = None

    # ── questions ────────────────────────────────────────────────────────────────────────

    def after(
        self,
        call: Call,
        step: int,
        attempt: Attempt,
        before: WideStates,
        doomed: Collection[int],
    ) -> list[Conflict]:
        """The conflicts after a call on trial. The rules that it dooms take no part.

        `before` is what `watch` returned before the call. There is no need to ask if no rule is
        unmet: the trace could end here.
        """
        self.certain = True
        diverged = self._diverged()
        counted = self._counted_for(call.tool)
        apart = {*doomed, *diverged} if diverged else doomed
        if counted and (self._monitors.unmet.isdisjoint(counted.rules) or counted.is_fine(apart)):
            counted = None
        own = self._monitors.length - 1
        touched: Collection[int] = ()
        if call.tool != FINAL_ANSWER:  # nothing follows an answer
            touched = self._touched(call, attempt, before, diverged)
            touched = self._doubtful(touched, own, doomed)
        if not counted and not touched:
            return []
        self._on_trial = self._counting.advance(call, step)
        group = sorted(counted.rules) if counted else []
        self._machines.refill()
        found = self._clash(group, touched, doomed, own)
        if not found:
            if counted and self._counting.certain:
                counted.remember(self._takes_part, apart)
            return []

        def clash(left_out: Collection[int]) -> Rules:
            return self._clash(group, touched, {*doomed, *left_out}, own)

        conflicts: list[Conflict] = []
        blamed: set[int] = set()
        while found:
            outstanding = [self._monitors.outstanding[p][0] for p in self._machines.early]
            self._machines.refill()
            rules = minimal(lambda more: clash(blamed.union(more)), found, len(self._component))
            conflict = self._conflict(rules, outstanding)
            conflicts.append(conflict)
            blamed.update(conflict.blamed)
            found = clash(blamed)
        return conflicts

    def _counted_for(self, tool: str) -> Watched | None:
        """The rules to count for after a call of a tool; None if there are none."""
        if tool not in self._counted:
            rules = self._enforced.intersection(self._counted_rules(tool))
            fine = self._shared.fine(None, rules)
            self._counted[tool] = Watched(self._monitors, rules, fine) if rules else None
        return self._counted[tool]

    def _doubtful(
        self, touched: Collection[int], own: int, doomed: Collection[int]
    ) -> Collection[int]:
        """The components among some that must be asked after the call at the position `own`.

        The others were fine before in the same states.
        """
        if not touched or (self._monitors.others_wait(own) and not self._hopes):
            return touched
        return [each for each in touched if not self._is_fine(each, doomed)]

    def _is_fine(self, component: int, left_out: Collection[int]) -> bool:
        """Is a common continuation known for a component, however other components are?"""
        watched, restless = self._watch(component), self._monitors.restless
        if not watched.rules.isdisjoint(restless):
            if not restless <= watched.rules:
                return False
        elif watched.rules.isdisjoint(self._monitors.unmet):
            return True  # nothing has to happen, and calls of other tools change nothing
        # Other runs had the whole budget; with less, the same states might be undecided here.
        return not self._machines.failures[component] and watched.is_fine(left_out)

    def _watch(self, component: int) -> Watched:
        found = self._watched.get(component)
        if found is None:
            asked = self._shared.rules_of([component]) | self._monitors.wide
            rules = self._enforced & asked
            fine = self._shared.fine(component, rules)
            found = self._watched[component] = Watched(self._monitors, rules, fine)
        return found

    def _remember_fine(self, component: int, left_out: Collection[int]) -> None:
        self._watch(component).remember(self._takes_part, left_out)

    def _touched(
        self, call: Call, attempt: Attempt, before: WideStates, diverged: Collection[int]
    ) -> Collection[int]:
        """The components to ask after a call."""
        component, monitors = self._component, self._monitors
        touched = {component[state[0]] for state in attempt.before}
        if monitors.calls == 1:
            # The first call moves every rule, but not every rule can tell that there was one.
            named = monitors.concerned_by(call.tool)
            begun = monitors.sees_messages if monitors.length > 1 else frozenset()
            ignores_start = self._machines.ignores_start
            touched = {
                component[i]
                for i in attempt.moved
                if i in named or i in begun or not ignores_start(i)
            }
        if self._machines.entangled:
            touched |= self._machines.entangled
        if before and self._machines.wide_states() != before:
            touched |= {component[i] for i in self._monitors.unmet}
        if diverged:
            return touched & self._mixed.union(component[i] for i in diverged)
        return touched & self._mixed

    def clash_before(self, tool: str, rules: Collection[int]) -> Rules:
        """Rules that clash before a call of a tool, in the components of some rules."""
        touched = {self._component[i] for i in rules}
        self._machines.refill()
        return self._clash(self._counted_rules(tool), touched, (), None)

    def clash_of(self, rules: Collection[int]) -> Rules:
        """Rules that clash after the latest call, from which some rules were excused."""
        touched = {self._component[i] for i in rules}
        self._machines.refill()
        return self._clash((), touched, (), self._monitors.length - 1)

    def clash_anywhere(self) -> list[int]:
        """A minimal set of rules that clash at present; none if empty."""
        touched = self._mixed

        def clash(left_out: Collection[int]) -> Rules:
            self._machines.refill()
            return self._clash(self._counting.forms, touched, left_out, None)

        found = clash(())
        return minimal(clash, found, len(self._component)) if found else []

    def _counted_rules(self, tool: str) -> Sequence[int]:
        """The rules to count for after a call of a tool."""
        return self._counting.related(tool) if self._counting.can_clash(tool) else ()

    def _clash(
        self,
        counted: Iterable[int],
        touched: Collection[int],
        left_out: Collection[int],
        own: int | None,
    ) -> Rules:
        alive = [i for i in counted if self._takes_part(i)]
        if apart := {*left_out, *self._diverged()}:
            alive = [i for i in alive if i not in apart]
        self.certain = True
        if alive and not self._counting.possible(alive):
            return frozenset(alive)
        if alive and not self._counting.certain:
            touched = {*touched, *(self._component[i] for i in alive)}
        found = self._machines.clash(touched, left_out, own) if touched else NONE
        self.certain = not touched or self._machines.certain
        return found

    def _conflict(self, found: Collection[int], outstanding: list[Call]) -> Conflict:
        forms = self._counting.forms
        caps = [i for i in found if i in forms and forms[i].only_limits]
        blamed = [i for i in found if i not in caps] or caps
        return Conflict(blamed, [i for i in found if i not in blamed], outstanding)
