"""The joint test of rules of any form: do their machines still have a common continuation?

The product of all machines is never built. The rules that are not satisfied yet are asked first,
for a plan: events that would satisfy them. A rule that objects to the plan joins them, until a
plan suits all rules, or some rules provably have none.

Rules connected by common tools form a component, and each component is asked by itself. That is
enough if its plan ends calm: satisfied, whatever calls of other tools follow. Then the plans of the
components can be carried out one after the other. First comes the plan of those components that
calls of other tools would move at present; they are asked together. If a plan does not end
calm, all rules are asked together.

The answer that rules clash is always right. `certain` says whether the answer that they do not is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeAlias

from bylaw.enforcement.joint.machines import JointMachines, Rules
from bylaw.enforcement.joint.product import JointGoal, JointPlan
from bylaw.enforcement.joint.situation import Outcomes, Situation, combinations, outcomes_of
from bylaw.semantics.machine.follower import Follower, PlainFollower
from bylaw.semantics.machine.machine import StateNumber
from bylaw.semantics.machine.reachability import MoveBudget, OutOfBudget
from bylaw.semantics.monitors import Monitors
from bylaw.trace.event import Call

MAX_MOVES: Final = 40_000
"""The budget of one decision about some components, in moves of single machines."""
MIN_MOVES: Final = 1_000
"""The same for components that have used up theirs again and again."""
NONE: Final[Rules] = frozenset()
WideStates: TypeAlias = list[StateNumber | None]
"""The states of the rules that all calls concern; None for one without a machine."""


class _Unclear(Exception):
    """A rule without a machine may object."""


class MachineTest:
    """One run: finds rules that provably have no common continuation."""

    def __init__(
        self,
        shared: JointMachines,
        monitors: Monitors,
        takes_part: Callable[[int], bool],
        found_fine: Callable[[int, Collection[int]], None],
        *,
        hopes: bool = False,
    ) -> None:
        self._shared: Final = shared
        self._monitors: Final = monitors
        self._alive: Final = takes_part
        self._found_fine: Final = found_fine
        """Called with a component that has a continuation, and the rules that took no part."""
        self._hopes: Final = hopes
        self._wide: Final = monitors.wide
        self.entangled: set[int] = set()
        """The components whose plan once depended on others: they are asked after every call."""
        self._left_out: Collection[int] = ()
        self._lost: Collection[int] = ()
        self.failures: Counter[int] = Counter()
        """The number of times that the budget of each component was too small in this run."""
        self._budgets: dict[frozenset[int], MoveBudget] = {}
        """The budgets of the components, as far as the present decision has not spent them."""
        self._budget = MoveBudget(0)
        self.certain = True
        """Was the latest answer certain?"""
        self.early: Collection[int] = ()
        """The positions of outstanding calls, if rules clash with some outcomes of theirs only."""

    def wide_states(self) -> WideStates:
        """The states of the rules that all calls concern. Without a machine, none changes."""
        engines = self._monitors.engines
        moving = [i for i in self._wide if isinstance(engines[i], Follower | PlainFollower)]
        if not moving:
            return []
        now = Situation(self._shared, self._monitors, {})
        found = map(now.state, moving)
        return [None if state is None else state[1] for state in found]

    def ignores_start(self, rule: int) -> bool:
        """Does it make no difference to a rule if a call of another tool comes first?"""
        state = Situation(self._shared, self._monitors, {}).state(rule)
        return state is not None and state[0].ignores_start

    def refill(self) -> None:
        """Begins a decision, with new budgets of moves."""
        self._budgets = {}

    def _budget_of(self, cluster: Collection[int]) -> MoveBudget:
        """The moves for questions about some components: fewer where many were in vain."""
        failures = max(self.failures[number] for number in cluster)
        moves = max(MAX_MOVES >> failures, MIN_MOVES)
        return self._budgets.setdefault(frozenset(cluster), MoveBudget(moves))

    def clash(
        self, touched: Collection[int], left_out: Collection[int] = (), own: int | None = None
    ) -> Rules:
        """Rules that have no common continuation; none if empty.

        Only the components `touched` are asked. The rules in `left_out` take no part. Rules clash
        if, for some outcomes of the outstanding calls, they do for every outcome of the call at the
        position `own`.
        """
        self._left_out, self._lost, self.early = left_out, (), ()
        if self._hopes or not self._monitors.others_wait(own):
            # If it is fine that no result arrives, no other outcome need be tried.
            found = self._clash(touched, {})
            if not found:
                return found
        asked = self._shared.rules_of(touched) | self._wide
        outcomes = outcomes_of(self._shared, self._monitors, self._among(asked))
        if outcomes is None:
            self.certain = False
            return NONE
        hoped = {p: calls for p, calls in outcomes.items() if p == own or self._hopes}
        others = {p: calls for p, calls in outcomes.items() if p not in hoped}
        answers = []
        for assumed in combinations(others):
            answers.append((self._clash_for_all(touched, assumed, hoped), self.certain))
        self.certain = all(certain for _, certain in answers)
        clashes = [found for found, _ in answers if found]
        if 0 < len(clashes) < len(answers):
            self.early = others
        return clashes[0] if clashes else NONE

    def _clash_for_all(
        self, touched: Collection[int], assumed: Outcomes, hoped: Mapping[int, list[Call]]
    ) -> Rules:
        """Rules that clash whatever the outcomes of the calls that are hoped for."""
        together, doubtful = NONE, False
        for outcomes in combinations(hoped):
            found = self._clash(touched, {**assumed, **outcomes})
            if not found and self.certain:
                return NONE
            doubtful = doubtful or not found
            together |= found
        self.certain = not doubtful
        return NONE if doubtful else together

    def _clash(self, touched: Collection[int], outcomes: Outcomes) -> Rules:
        """Rules that clash with these outcomes."""
        self.certain = True
        if not touched:
            return NONE
        here = Situation(self._shared, self._monitors, outcomes)
        self._lost = here.lost
        if not here.unmet:
            return NONE
        first = {self._shared.component[i] for i in here.restless}
        first = {each for each in first.intersection(touched) if self._open(here, {each})}
        clusters = [first] if first else []
        clusters += [{each} for each in sorted(set(touched) - first)]
        for cluster in clusters:
            if found := self._clash_in(here, cluster):
                return found
        return NONE

    def _among(self, rules: Iterable[int]) -> list[int]:
        left_out, lost, alive = self._left_out, self._lost, self._alive
        return [i for i in rules if i not in left_out and i not in lost and alive(i)]

    def _open(self, here: Situation, cluster: Iterable[int]) -> Rules:
        """The rules of components that are not satisfied, or that other calls could violate."""
        rules = self._shared.rules_of(cluster)
        unmet = self._among(rules & here.unmet)
        hasty = self._among(rules & here.hasty)
        return frozenset([*unmet, *hasty])

    # ── refinement ───────────────────────────────────────────────────────────────────────

    def _clash_in(self, here: Situation, cluster: set[int]) -> Rules:
        """The rules of a cluster that clash, possibly with others."""
        opened = self._open(here, cluster)
        self._budget = self._budget_of(cluster)
        exhausted = self._budget.left < 0
        try:
            if not opened or not self._refined(here, opened, "calm", cluster):
                if here.plain and len(cluster) == 1:
                    self._found_fine(min(cluster), self._left_out)
                return NONE
            self.entangled |= cluster
            unmet = self._among(self._shared.rules_of(cluster) & here.unmet)
            for chosen, scope in ((unmet, cluster), (self._among(here.unmet), None)):
                if found := self._refined(here, frozenset(chosen), "met", scope):
                    return found
        except OutOfBudget:
            self.failures.update(() if exhausted else cluster)
            self.certain = False
        except _Unclear:
            self.certain = False
        return NONE

    def _refined(
        self, here: Situation, chosen: Rules, goal: JointGoal, scope: set[int] | None
    ) -> Rules:
        """Rules that cannot reach the goal together, beginning with some; none if empty.

        Rules outside the scope do not count, unless all calls concern them.
        """
        doubtful = any(here.state(i) is None for i in chosen)
        chosen = frozenset(i for i in chosen if here.state(i) is not None)
        while chosen:
            plan = self._plan(here, chosen, goal)
            if plan is None:
                return chosen
            objecting = self._objecting(here, plan, goal, scope)
            doubtful = doubtful or not plan.real
            if not objecting - chosen:
                if doubtful or objecting:
                    raise _Unclear
                return NONE
            chosen |= objecting
        if doubtful:
            raise _Unclear
        return NONE

    def _plan(self, here: Situation, chosen: Rules, goal: JointGoal) -> JointPlan | None:
        pairs = [pair for i in sorted(chosen) if (pair := here.state(i)) is not None]
        product = self._shared.product(tuple([member for member, _ in pairs]))
        return product.plan(tuple([state for _, state in pairs]), goal, self._budget)

    def _objecting(
        self, here: Situation, plan: JointPlan, goal: JointGoal, scope: set[int] | None
    ) -> Rules:
        """The rules that a plan does not lead to the goal."""
        monitors, component = self._monitors, self._shared.component
        concerned = here.restless.union(*map(monitors.concerned_by, plan.tools))
        if plan.has_messages:
            concerned |= monitors.sees_messages
        found, unclear = [], False
        for i in self._among(concerned):
            wide = i in self._wide
            if scope is not None and component[i] not in scope and not wide:
                continue
            state = here.state(i)
            if state is None:
                unclear = True
                continue
            member, before = state
            after = member.after(before, plan)
            if goal == "met":
                fits = member.met(after)
            else:
                fits = member.calm(after) or (wide and after == before)
            if not fits:
                found.append(i)
        if unclear and not found:
            raise _Unclear
        return frozenset(found)
