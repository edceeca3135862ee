"""Giving a formula a truth value at an event, working backwards from what it says.

To violate `G(a -> earlier b)`, an event `a` is added; to satisfy it with something checked, a `b`
is added before that. Where there are several ways, one is picked. The reference judges the trace.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, cast

from bylaw.logic import formula as f
from bylaw.semantics.examples.assigning import NOON
from bylaw.semantics.examples.atom_building import AtomBuilder
from bylaw.semantics.examples.bindings import NOTHING, Bindings, DraftVariable
from bylaw.semantics.examples.draft import DraftEvent
from bylaw.semantics.verdict import FALSE, TRUE, VACUOUS, Value

_BACK: Final = (
    *(f.Once, f.Historically, f.Since, f.Earlier),
    *(f.OnceWithin, f.EarlierWithin),
)
MAX_EFFORT: Final = 400
"""The number of parts that one attempt may work on."""


@dataclass(slots=True)
class FormulaBuilder(AtomBuilder):
    """Changes a draft so that a formula has a given truth value."""

    effort: int = field(default=MAX_EFFORT, init=False)

    def pursue(self, wanted: Value) -> None:
        """Changes the draft so that the whole rule gets a value."""
        self.effort = MAX_EFFORT
        seen = self.visible
        first = seen[0] if seen else None
        self.achieve(self.formula, wanted is not FALSE, first, NOTHING, checked=wanted is TRUE)

    def achieve(
        self,
        formula: f.Formula,
        wanted: bool,
        event: DraftEvent | None,
        scope: Bindings,
        *,
        checked: bool = False,
    ) -> None:
        """Changes the draft so that a formula gets a truth value at an event.

        With `checked`, it is not to be vacuous.
        """
        self.effort -= 1
        if self.effort < 0 or (event is not None and event not in self.draft.events):
            return
        value = self.truth(formula, event, scope)
        if (value is TRUE or (value.is_true and not checked)) if wanted else value is FALSE:
            return

        def both(first: f.Formula, second: f.Formula, truths: tuple[bool, bool]) -> None:
            for part, truth in zip((first, second), truths, strict=True):
                self.achieve(part, truth, event, scope, checked=checked and truth)

        match formula:
            case f.Not(operand):
                self.achieve(operand, not wanted, event, scope)
            case f.And(operands) | f.Or(operands):
                if wanted is isinstance(formula, f.And):
                    for operand in operands:
                        self.achieve(operand, wanted, event, scope, checked=checked)
                else:
                    one = self.pick(operands)
                    self.achieve(one, wanted, event, scope, checked=checked)
            case f.Implies(left, right):
                if not wanted or checked:
                    both(left, right, (True, wanted))
                elif self.pick([True, False]):
                    self.achieve(right, True, event, scope)
                else:
                    self.achieve(left, False, event, scope)
            case f.Iff(left, right):
                truth = self.pick([True, False])
                both(left, right, (truth, truth is wanted))
            case f.Next(operand) | f.WeakNext(operand) | f.Yesterday(operand):
                self._beside(formula, operand, wanted, event, scope)
            case (
                f.Eventually(operand)
                | f.Once(operand)
                | f.Earlier(operand)
                | f.Later(operand)
                | f.Always(operand)
                | f.Historically(operand)
            ):
                if wanted is isinstance(formula, f.Always | f.Historically):
                    self._everywhere(formula, operand, wanted, event, scope, checked)
                else:
                    self._somewhere(formula, operand, wanted, event, scope, checked)
            case (
                f.EventuallyWithin(operand, seconds)
                | f.OnceWithin(operand, seconds)
                | f.LaterWithin(operand, seconds)
                | f.EarlierWithin(operand, seconds)
            ):
                self._within(formula, operand, seconds.value, wanted, event, scope)
            case f.Until(left, right) | f.Since(left, right):
                self._until(formula, left, right, wanted, event, scope)
            case f.WeakUntil(left, right):
                if not wanted:
                    both(left, right, (False, False))
                else:
                    ways: list[f.Formula] = [f.Until(left, right), f.Always(left)]
                    self.achieve(self.pick(ways), True, event, scope)
            case f.Release(left, right):
                either = f.WeakUntil(right, f.And((left, right)))
                self.achieve(either, wanted, event, scope)
            case f.ForAll() | f.Exists():
                self._quantified(formula, wanted, event, scope, checked)
            case f.Let(variable, term, body):
                inner = {**scope, variable: DraftVariable(term, event, scope)}
                self.achieve(body, wanted, event, inner, checked=checked)
            case f.EventAtom():
                self.build_event(formula, wanted, event or self.add(0), scope)
            case f.Says(role):
                self.build_message(cast(Any, role), wanted, event or self.add(0))
            case f.Compare():
                self.build_compare(formula, wanted, event or self.add(0), scope)
            case f.TracePredicate():
                self.build_predicate(self.closed(formula, scope), wanted, scope)
            case f.OpenPredicate():
                self.stir()
            case _:
                pass  # `true` and `false` stay what they are

    # ── other events ─────────────────────────────────────────────────────────────────────

    def _range(self, formula: f.Formula, event: DraftEvent | None) -> list[DraftEvent]:
        """The events that an operator looks at."""
        seen, at = self.visible, self.position(event)
        match formula:
            case f.Eventually() | f.Always() | f.Until() | f.EventuallyWithin():
                return seen[at:]
            case f.Once() | f.Historically() | f.Since() | f.OnceWithin():
                return seen[at::-1] if at < len(seen) else seen[::-1]
            case _ if at >= len(seen):
                return []
        steps = [each.step for each in self.evaluation.view.events]
        if isinstance(formula, f.Earlier | f.EarlierWithin):
            return [e for e, step in zip(seen[:at], steps, strict=False) if step != steps[at]]
        return [e for e, s in zip(seen[at:], steps[at:], strict=False) if s != steps[at]]

    def _new_within(self, formula: f.Formula, event: DraftEvent | None) -> DraftEvent | None:
        """A new event that an operator looks at."""
        if isinstance(formula, _BACK):
            return self.add_before(event) if event is not None else None
        return self.add(len(self.visible))

    def _somewhere(
        self,
        formula: f.Formula,
        operand: f.Formula,
        wanted: bool,
        event: DraftEvent | None,
        scope: Bindings,
        checked: bool,
    ) -> None:
        """One event where the operand has the truth value."""
        options: list[DraftEvent | None] = [None, *self._range(formula, event)]
        if isinstance(formula, f.Once | f.Eventually | f.Always | f.Historically) and options[1:]:
            blank = [each for each in options[1:] if each is not None and each.blank]
            options = [*blank, *options]
        chosen = self.pick(options) or self._new_within(formula, event)
        if chosen is not None:
            self.achieve(operand, wanted, chosen, scope, checked=checked)

    def _everywhere(
        self,
        formula: f.Formula,
        operand: f.Formula,
        wanted: bool,
        event: DraftEvent | None,
        scope: Bindings,
        checked: bool,
    ) -> None:
        """No event where the operand has the other truth value."""
        for each in self._range(formula, event):
            if each in self.draft.events:
                self.achieve(operand, wanted, each, scope)
        if checked and self.truth(formula, event, scope) is VACUOUS:
            self._somewhere(formula, operand, wanted, event, scope, checked=True)

    def _within(
        self,
        formula: f.Within,
        operand: f.Formula,
        seconds: float,
        wanted: bool,
        event: DraftEvent | None,
        scope: Bindings,
    ) -> None:
        """One event near this one where the operand holds, or none."""
        if event is not None and event.start is None:
            self.change(event, "start", NOON)
        back = -1 if isinstance(formula, _BACK) else 1
        if wanted:
            chosen = self.pick([None, *self._range(formula, event)])
            chosen = chosen or self._new_within(formula, event)
            if chosen is None:
                return
            self.achieve(operand, True, chosen, scope)
            now = None if event is None else event.start
            if now is not None and (chosen.start is None or abs(now - chosen.start) > seconds):
                self.change(chosen, "start", now + back * seconds)
            return
        for each in self._range(formula, event):
            if each not in self.draft.events or not self.truth(operand, each, scope).is_true:
                continue
            if each is event or event is None or self.pick([False, True]):
                self.achieve(operand, False, each, scope)
            elif event.start is not None:
                self.change(each, "start", event.start + back * (seconds + 1))

    def _beside(
        self,
        formula: f.Next | f.WeakNext | f.Yesterday,
        operand: f.Formula,
        wanted: bool,
        event: DraftEvent | None,
        scope: Bindings,
    ) -> None:
        back = isinstance(formula, f.Yesterday)
        if event is None:
            event = self.add(0)
        at, seen = self.position(event), self.visible
        index = at - 1 if back else at + 1
        there = seen[index] if 0 <= index < len(seen) else None
        ends = not wanted and not isinstance(formula, f.WeakNext)
        if there is not None and ends and self.pick([False, True]) and self.draft.remove(there):
            return
        if there is None:
            there = self.add(at if back else at + 1)
        if there is not None:
            self.achieve(operand, wanted, there, scope)

    def _until(
        self,
        formula: f.Until | f.Since,
        left: f.Formula,
        right: f.Formula,
        wanted: bool,
        event: DraftEvent | None,
        scope: Bindings,
    ) -> None:
        along = self._range(formula, event)
        if not wanted:
            if len(along) > 0 and self.pick([True, False]):
                self.achieve(left, False, along[0], scope)
                self.achieve(right, False, along[0], scope)
            else:
                for each in along:
                    self.achieve(right, False, each, scope)
            return
        goal = self.pick([None, *along]) or self._new_within(formula, event)
        if goal is None:
            return
        self.achieve(right, True, goal, scope)
        for each in self._range(formula, event):
            if each is goal:
                break
            self.achieve(left, True, each, scope)

    # ── quantifiers ──────────────────────────────────────────────────────────────────────

    def _quantified(
        self,
        formula: f.ForAll | f.Exists,
        wanted: bool,
        event: DraftEvent | None,
        scope: Bindings,
        checked: bool,
    ) -> None:
        variable, domain, body = formula.variable, formula.domain, formula.body
        found = [
            DraftVariable(domain, event, scope, v) for v in self.elements(domain, event, scope)
        ]
        every = wanted is isinstance(formula, f.ForAll)
        if every:
            for binding in found:
                if self.pick([False, False, True]):
                    self.drop_element(binding)
                else:
                    self.achieve(body, wanted, event, {**scope, variable: binding})
            if not checked or self.truth(formula, event, scope) is TRUE:
                return
        chosen = self.pick([*found, None] if found else [None])
        chosen = chosen or self.new_element(domain, event, scope)
        if chosen is not None:
            self.achieve(body, wanted, event, {**scope, variable: chosen}, checked=checked)
