"""Formulas prepared for progression: negations pushed to the atoms, parts numbered once.

Every part has one of a few shapes. `F`, `G` and `W` become until and release; the past has the
same pairs (since and its dual, strong and weak yesterday), because a past operator may contain
future operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from bylaw.frozen import frozen
from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.operators import BY_NODE
from bylaw.logic.terms import Answer, Apply, At, Labels, Last, Sofar, is_constant
from bylaw.logic.terms import Literal as LiteralTerm
from bylaw.logic.walk import (
    Steps,
    everything,
    inlined,
    is_local,
    reads_event,
    rewritten,
    run,
    stays_here,
    substitute,
)
from bylaw.trace.event import MISSING
from bylaw.values import Json
from bylaw.vocabulary.predicate import Probe, Tracker
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.reading import elements_of, written_value
from bylaw.vocabulary.view import Order

PartKind: TypeAlias = Literal[
    "true",
    "false",
    "probe",
    "not probe",
    "predicate",
    "not predicate",
    "and",
    "or",
    "next",
    "weak next",
    "until",
    "release",
    "yesterday",
    "weak yesterday",
    "since",
    "trigger",
]
PAST: Final = ("yesterday", "weak yesterday", "since", "trigger")


class Unsupported(Exception):
    """The formula cannot be followed event by event; the message says why."""


@frozen
class Part:
    """A part of a prepared formula: its shape, and the numbers of its operands.

    For `probe` and `predicate`, the number is that of the probe or tracker, else of a part.
    """

    shape: PartKind
    below: tuple[int, ...] = ()


class Closure:
    """The parts of a formula, innermost first; `root` is the formula."""

    def __init__(self, formula: f.Formula, order: Order) -> None:
        self.parts: Final[list[Part]] = []
        self.probes: Final[list[Probe]] = []
        self.trackers: Final[list[Tracker]] = []
        self._order: Order = order
        self._numbers: dict[Part, int] = {}
        self._done: dict[tuple[f.Formula, bool], int] = {}
        self._probe_numbers: dict[Probe, int] = {}
        self._tracker_numbers: dict[f.TracePredicate, int] = {}
        self.true = self._add("true")
        self.false = self._add("false")
        formula = rewritten(formula, _folded)
        check_supported(formula)
        self.root: Final = run(self._prepared(formula, True))
        self.past: Final = [i for i, part in enumerate(self.parts) if part.shape in PAST]

    def _add(self, shape: PartKind, *below: int) -> int:
        part = Part(shape, below)
        if part not in self._numbers:
            self._numbers[part] = len(self.parts)
            self.parts.append(part)
        return self._numbers[part]

    def _junction(self, shape: Literal["and", "or"], below: Sequence[int]) -> int:
        unit, zero = (self.true, self.false) if shape == "and" else (self.false, self.true)
        kept = list(dict.fromkeys(part for part in below if part != unit))
        if zero in kept:
            return zero
        if len(kept) < 2:
            return kept[0] if kept else unit
        return self._add(shape, *sorted(kept))

    def _probe(self, probe: Probe) -> int:
        if probe not in self._probe_numbers:
            self._probe_numbers[probe] = len(self.probes)
            self.probes.append(probe)
        return self._probe_numbers[probe]

    def _asked(self, probe: Probe, sign: bool) -> int:
        return self._add("probe" if sign else "not probe", self._probe(probe))

    def _tracker(self, predicate: f.TracePredicate) -> int:
        if predicate not in self._tracker_numbers:
            self._tracker_numbers[predicate] = len(self.trackers)
            described = PREDICATES[predicate.name]
            self.trackers.append(described.tracker(self._order, predicate.operands))
        return self._tracker_numbers[predicate]

    def _prepared(self, formula: f.Formula, sign: bool) -> Steps[int]:
        """The number of the formula, or of its negation."""
        if (formula, sign) not in self._done:
            self._done[formula, sign] = yield self._shaped(formula, sign)
        return self._done[formula, sign]

    def _shaped(self, formula: f.Formula, sign: bool) -> Steps[int]:
        match formula:
            case f.Truth(truth):
                return self.true if truth is sign else self.false
            case f.EventAtom(tool, patterns):
                return self._asked(Probe(tool, patterns), sign)
            case f.Compare() | f.Says():
                return self._asked(Probe(None, conditions=(formula,), of_any_event=True), sign)
            case f.ForAll() | f.Exists() if reads_event(formula.domain):
                return self._asked(Probe(None, conditions=(formula,), of_any_event=True), sign)
            case f.Let(variable, value, body) if is_constant(value):
                written = written_value(value)
                # A variable that nothing binds is undefined.
                named = body if written is MISSING else substitute(body, variable, written)
                of_body: int = yield self._prepared(named, sign)
                return of_body
            case f.Let() if (plain := inlined(formula)) is not None:
                of_plain: int = yield self._prepared(plain, sign)
                return of_plain
            case f.Let():
                return self._asked(Probe(None, conditions=(formula,), of_any_event=True), sign)
            case f.TracePredicate():
                tracker = self._tracker(formula)
                return self._add("predicate" if sign else "not predicate", tracker)
            case f.Not(operand):
                negated: int = yield self._prepared(operand, not sign)
                return negated
            case f.And(operands) | f.Or(operands):
                below = []
                if isinstance(formula, f.And):
                    probe, operands = _joint_probe(operands)
                    below = [self._asked(probe, sign)] if probe else []
                for operand in operands:
                    below.append((yield self._prepared(operand, sign)))
                return self._junction("and" if isinstance(formula, f.And) is sign else "or", below)
            case f.Implies(left, right):
                a, b = (yield self._prepared(left, not sign)), (yield self._prepared(right, sign))
                return self._junction("or" if sign else "and", [a, b])
            case f.Iff(left, right):
                a, b = (yield self._prepared(left, True)), (yield self._prepared(right, sign))
                x, y = (yield self._prepared(left, False)), (yield self._prepared(right, not sign))
                both, neither = self._junction("and", [a, b]), self._junction("and", [x, y])
                return self._junction("or", [both, neither])
            case f.Next(operand):
                a = yield self._prepared(operand, sign)
                return self._add("next" if sign else "weak next", a)
            case f.WeakNext(operand):
                return self._add(
                    "weak next" if sign else "next", (yield self._prepared(operand, sign))
                )
            case f.Eventually(operand):
                a = yield self._prepared(operand, sign)
                return self._future(
                    "until" if sign else "release", self.true if sign else self.false, a
                )
            case f.Always(operand):
                a = yield self._prepared(operand, sign)
                return self._future(
                    "release" if sign else "until", self.false if sign else self.true, a
                )
            case f.Until(left, right):
                a, b = (yield self._prepared(left, sign)), (yield self._prepared(right, sign))
                return self._future("until" if sign else "release", a, b)
            case f.Release(left, right):
                a, b = (yield self._prepared(left, sign)), (yield self._prepared(right, sign))
                return self._future("release" if sign else "until", a, b)
            case f.WeakUntil(left, right):  # a W b is b R (a | b)
                a, b = (yield self._prepared(left, sign)), (yield self._prepared(right, sign))
                either = self._junction("or" if sign else "and", [a, b])
                return self._future("release" if sign else "until", b, either)
            case f.Yesterday(operand):
                a = yield self._prepared(operand, sign)
                return self._add("yesterday" if sign else "weak yesterday", a)
            case f.Once(operand):
                a = yield self._prepared(operand, sign)
                return self._add(
                    "since" if sign else "trigger", self.true if sign else self.false, a
                )
            case f.Historically(operand):
                a = yield self._prepared(operand, sign)
                return self._add(
                    "trigger" if sign else "since", self.false if sign else self.true, a
                )
            case f.Since(left, right):
                a, b = (yield self._prepared(left, sign)), (yield self._prepared(right, sign))
                return self._add("since" if sign else "trigger", a, b)
            case f.ForAll(x, f.Listed() | f.Found() as domain, body) | f.Exists(
                x, f.Listed() | f.Found() as domain, body
            ):
                below = []
                for value in _written(domain):
                    instance = substitute(body, x, value)
                    below.append((yield self._prepared(instance, sign)))
                every = isinstance(formula, f.ForAll) is sign
                return self._junction("and" if every else "or", below)
            case f.ForAll() | f.Exists():
                raise Unsupported("a quantifier reads a domain that is only known at the end")
            case _:
                operator = BY_NODE.get(type(formula))
                name = operator.symbol if operator else type(formula).__name__
                raise Unsupported(f"'{name}' is not followed event by event")

    def _future(self, shape: Literal["until", "release"], a: int, b: int) -> int:
        """Until or release; `F F a` is `F a`, and `G G a` is `G a`."""
        plain = self.true if shape == "until" else self.false
        inner = self.parts[b]
        if a == plain and inner.shape == shape and inner.below[0] == plain:
            return b
        return self._add(shape, a, b)


def _folded(part: Node) -> Node | None:
    """The value of a constant term, such as `LIMITS.pay` or `2 * 50`."""
    if not isinstance(part, At | Apply) or part.free or not is_constant(part):
        return None
    if any(isinstance(inner, Answer | Labels) for inner in everything(part)):
        return None
    value = written_value(part)
    return None if value is MISSING else LiteralTerm.computed(value)


def _written(domain: f.Listed | f.Found) -> list[Json]:
    """The values of a domain that reads no event."""
    if isinstance(domain, f.Found):
        return list(elements_of(written_value(domain.term)))
    values = map(written_value, domain.items)
    return [value for value in values if value is not MISSING]


def _joint_probe(operands: tuple[f.Formula, ...]) -> tuple[Probe | None, tuple[f.Formula, ...]]:
    """The atom and the conditions of a conjunction as one probe, and the other operands."""
    events = [part for part in operands if isinstance(part, f.EventAtom)]
    conditions = tuple(
        part
        for part in operands
        if isinstance(part, f.Compare | f.ForAll | f.Exists | f.Let)
        and is_local(part)
        and (not isinstance(part, f.ForAll | f.Exists) or reads_event(part.domain))
    )
    if len(events) != 1 or not conditions:
        return None, operands
    probe = Probe(events[0].tool, events[0].patterns, conditions=conditions)
    return probe, tuple(part for part in operands if part not in (*events, *conditions))


def check_supported(formula: f.Formula) -> None:
    """Raises Unsupported if the formula cannot be followed one event at a time."""
    for part in everything(formula):
        match part:
            case f.OpenPredicate(name):
                raise Unsupported(f"the open predicate '{name}' may look at the whole trace")
            case Answer():
                raise Unsupported("the answer is only known at the end")
            case f.FromArgs() | f.FromResults() | f.FromMetrics() | f.Extracted():
                raise Unsupported("a quantifier reads a domain that is only known at the end")
            case f.Earlier() | f.Later() | Last():
                raise Unsupported("it looks at other steps")
            case f.EventuallyWithin() | f.OnceWithin() | f.LaterWithin() | f.EarlierWithin():
                raise Unsupported("it compares times")
            case Sofar():
                raise Unsupported("it compares data of different events")
            case Labels():
                raise Unsupported("it reads the labels of a trace")
            case f.ForAll() | f.Exists() if reads_event(part.domain) and not stays_here(part):
                raise Unsupported("it compares data of different events")
            case f.Let() if not is_constant(part.value) and not stays_here(part):
                raise Unsupported("it compares data of different events")
            case f.Compare() if not stays_here(part):
                raise Unsupported("it compares data of different events")
