"""The joint test of one run: rules that can each still be satisfied, but not together.

Rules of the forms in `vocabulary/joint_form.py` are decided by counting (`continuation.py`). Rules
of other forms, those connected with them, and those for which counting is not certain are
decided by their machines (`refinement.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from bylaw.enforcement.joint.continuation import CallRecord, JointTest
from bylaw.enforcement.joint.machines import JointMachines, Rules
from bylaw.enforcement.joint.refinement import NONE, MachineTest, WideStates
from bylaw.enforcement.joint.rules import JointRules
from bylaw.frozen import frozen
from bylaw.names import FINAL_ANSWER
from bylaw.saved import choice, fields, listed
from bylaw.semantics.monitors import Attempt, Monitors
from bylaw.trace.event import Call
from bylaw.values import Json


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
        self._machines: Final = MachineTest(machines, monitors, enforced, takes_part, hopes=hopes)
        self._takes_part: Final = takes_part
        self._diverged: Final = diverged
        wide = any(i in monitors.wide for i in enforced)
        others = enforced if wide else [i for i in enforced if i not in rules.forms]
        self._mixed: Final = frozenset(self._component[i] for i in others)
        """The components with rules that counting does not decide."""
        self.certain = True
        """Was the latest answer certain?"""

    def save(self) -> Json:
        """The state as JSON."""
        return {
            "counting": self._counting.save(),
            "entangled": sorted(self._machines.entangled),
        }

    def restore(self, saved: Json) -> None:
        """Restores a saved state."""
        counting, entangled = fields(saved, "counting", "entangled")
        self._counting.restore(counting)
        self._machines.entangled = {choice(i, self._component) for i in listed(entangled)}

    def watch(self) -> WideStates:
        """The states to compare with after a call."""
        return self._machines.wide_states()

    def advance(self, call: Call, step: int) -> CallRecord:
        """Adds a call; returns its effect, for `undo`."""
        return self._counting.advance(call, step)

    def undo(self, record: CallRecord) -> None:
        """Removes the latest call."""
        self._counting.undo(record)

    # ── questions ────────────────────────────────────────────────────────────────────────

    def after(
        self, call: Call, attempt: Attempt, before: WideStates, doomed: Collection[int]
    ) -> list[Conflict]:
        """The conflicts after a call on trial. The rules that it dooms take no part.

        `before` is what `watch` returned before the call.
        """
        counted = self._counted(call.tool)
        own = self._monitors.length - 1
        touched: Collection[int] = ()
        if self._monitors.unmet and call.tool != FINAL_ANSWER:  # nothing follows an answer
            touched = self._touched(call, attempt, self._machines.wide_states() != before)
            if not doomed:
                touched = self._machines.doubtful(touched, own)
        self.certain = True
        if not counted and not touched:
            return []

        self._machines.refill(attempt.moved)
        found = self._clash(counted, touched, doomed, own)
        if not found:
            return []

        def clash(left_out: Collection[int]) -> Rules:
            return self._clash(counted, touched, {*doomed, *left_out}, own)

        conflicts: list[Conflict] = []
        blamed: set[int] = set()
        while found:
            outstanding = [self._monitors.outstanding[p][0] for p in self._machines.early]
            self._machines.refill(attempt.moved)
            rules = minimal(lambda more: clash(blamed.union(more)), found, len(self._component))
            conflict = self._conflict(rules, outstanding)
            conflicts.append(conflict)
            blamed.update(conflict.blamed)
            found = clash(blamed)
        return conflicts

    def _touched(self, call: Call, attempt: Attempt, everywhere: bool) -> set[int]:
        """The components to ask after a call."""
        component, moved = self._component, attempt.moved
        if self._monitors.length == 1:
            named = self._monitors.concerned_by(call.tool)
            moved = [i for i in moved if i in named or not self._machines.ignores_start(i)]
        touched = {component[i] for i in moved}
        touched |= self._machines.entangled
        if everywhere:
            touched |= {component[i] for i in self._monitors.unmet}
        diverged = self._diverged()
        if diverged:
            return touched & self._mixed.union(component[i] for i in diverged)
        return touched & self._mixed

    def clash_before(self, tool: str, rules: Collection[int]) -> Rules:
        """Rules that clash before a call of a tool, in the components of some rules."""
        touched = {self._component[i] for i in rules}
        self._machines.refill(rules)
        return self._clash(self._counted(tool), touched, (), None)

    def clash_of(self, rules: Collection[int]) -> Rules:
        """Rules that clash after the latest call, from which some rules were excused."""
        touched = {self._component[i] for i in rules}
        self._machines.refill(rules)
        return self._clash((), touched, (), self._monitors.length - 1)

    def clash_anywhere(self) -> list[int]:
        """A minimal set of rules that clash at present; none if empty."""
        touched = self._mixed

        def clash(left_out: Collection[int]) -> Rules:
            self._machines.refill(())
            return self._clash(self._counting.forms, touched, left_out, None)

        found = clash(())
        return minimal(clash, found, len(self._component)) if found else []

    def _counted(self, tool: str) -> Sequence[int]:
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
