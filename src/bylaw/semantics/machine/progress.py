"""One event's effect on the residual: progression, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.frozen import frozen
from bylaw.semantics.machine.alphabet import Letter
from bylaw.semantics.machine.residual import (
    FALSE,
    TRUE,
    Alternative,
    Residual,
    both,
    either,
    single,
)
from bylaw.vocabulary.predicate import State as TrackerState

if TYPE_CHECKING:
    from bylaw.semantics.machine.machine import Machine


@frozen
class Configuration:
    """A state of the machine."""

    residual: Residual
    carried: tuple[Residual, ...]
    """For each past operator, the residual of it or its operand at the previous event."""
    trackers: tuple[TrackerState, ...]
    started: bool = True
    """Has there been an event?"""
    ended: bool = False
    """Has the final answer been given?"""


@frozen
class Obligation:
    """A part that must hold at the next event, or a predicate's final value."""

    part: int
    strong: bool = False
    """Must there be a next event?"""
    tracker: int = -1
    """The trace predicate, if this is one; then `strong` is the value it must have."""


class Progress:
    """One event's effect: for each part, the residual for the events after it."""

    def __init__(
        self,
        machine: Machine,
        before: Configuration,
        letter: Letter,
        trackers: tuple[TrackerState, ...],
    ) -> None:
        self.machine = machine
        self.parts = machine.closure.parts
        self.letter = letter
        self.before = before
        self.trackers = trackers
        self.known: dict[int, Residual] = {}
        self.carried_on: dict[int, Residual] = {}

    def of(self, residual: Residual) -> Residual:
        """A residual of the previous event, progressed through this one."""
        result = TRUE
        for requirement in residual:
            result = both(result, either(self._all(each) for each in requirement))
            if result == FALSE:
                break
        return result

    def _all(self, alternative: Alternative) -> Residual:
        result = TRUE
        for number in alternative:
            obligation = self.machine.obligations[number]
            if obligation.tracker < 0:
                result = both(result, self.at(obligation.part))
            else:
                result = both(result, self._predicate(obligation.tracker, obligation.strong))
            if result == FALSE:
                break
        return result

    def at(self, part: int) -> Residual:
        """The residual of a part at this event."""
        pending = [part]  # parts are numbered innermost first, so this ends
        while pending:
            current = pending[-1]
            if current in self.known:
                pending.pop()
                continue
            missing = [b for b in self._needed(current) if b not in self.known]
            if missing:
                pending += missing
            else:
                self.known[current] = self._computed(current)
                pending.pop()
        return self.known[part]

    def _needed(self, number: int) -> tuple[int, ...]:
        part = self.parts[number]
        if part.shape in ("and", "or", "until", "release", "since", "trigger"):
            return part.below
        return ()

    def _computed(self, number: int) -> Residual:
        part, known = self.parts[number], self.known
        match part.shape:
            case "true":
                return TRUE
            case "false":
                return FALSE
            case "probe" | "not probe":
                hit = self.machine.probe_numbers[part.below[0]] in self.letter
                return TRUE if hit is (part.shape == "probe") else FALSE
            case "predicate" | "not predicate":
                return self._predicate(part.below[0], part.shape == "predicate")
            case "and":
                result = TRUE
                for below in part.below:
                    result = both(result, known[below])
                return result
            case "or":
                return either(known[below] for below in part.below)
            case "next" | "weak next":
                return self._ahead(part.below[0], strong=part.shape == "next")
            case "until":
                a, b = (known[below] for below in part.below)
                return either([b, both(a, self._ahead(number, strong=True))])
            case "release":
                a, b = (known[below] for below in part.below)
                return both(b, either([a, self._ahead(number, strong=False)]))
            case "yesterday" | "weak yesterday":
                return self._earlier(number, FALSE if part.shape == "yesterday" else TRUE)
            case "since":
                a, b = (known[below] for below in part.below)
                return either([b, both(a, self._earlier(number, FALSE))])
            case "trigger":
                a, b = (known[below] for below in part.below)
                return both(b, either([a, self._earlier(number, TRUE)]))

    def _ahead(self, part: int, *, strong: bool) -> Residual:
        return single(self.machine.obligation(Obligation(part, strong)))

    def _predicate(self, tracker: int, value: bool) -> Residual:
        outlook = self.machine.closure.trackers[tracker].outlook(self.trackers[tracker])
        possible = outlook.true if value else outlook.false
        if not possible:
            return FALSE
        if not (outlook.false if value else outlook.true):
            return TRUE
        return single(self.machine.obligation(Obligation(-1, value, tracker)))

    def _earlier(self, number: int, at_start: Residual) -> Residual:
        """The residual that a past operator carried to this event, progressed through it."""
        if not self.before.started:
            return at_start
        if number not in self.carried_on:
            index = self.machine.closure.past.index(number)
            self.carried_on[number] = self.of(self.before.carried[index])
        return self.carried_on[number]

    def carry(self, number: int) -> Residual:
        """The residual that a past operator carries to the next event."""
        part = self.parts[number]
        inner = part.shape in ("yesterday", "weak yesterday")
        return self.at(part.below[0] if inner else number)
