"""The nodes of a formula: a closed union of frozen values. Their meaning is in `semantics`.

The parts of a formula that are not formulas themselves are in `operands` and `terms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from bylaw.argument_types import expect
from bylaw.errors import Diagnostic, SpecError, shown
from bylaw.frozen import frozen
from bylaw.logic.node import Node
from bylaw.logic.operands import ArgumentIs as ArgumentIs
from bylaw.logic.operands import Arguments as Arguments
from bylaw.logic.operands import Count as Count
from bylaw.logic.operands import Domain as Domain
from bylaw.logic.operands import Extracted as Extracted
from bylaw.logic.operands import Found as Found
from bylaw.logic.operands import FromArgs as FromArgs
from bylaw.logic.operands import FromMetrics as FromMetrics
from bylaw.logic.operands import FromResults as FromResults
from bylaw.logic.operands import Listed as Listed
from bylaw.logic.operands import Operand as Operand
from bylaw.logic.operands import OutcomeIs as OutcomeIs
from bylaw.logic.operands import Pattern as Pattern
from bylaw.logic.operands import ResultIs as ResultIs
from bylaw.logic.operands import ToolList as ToolList
from bylaw.logic.operands import each_of as each_of
from bylaw.logic.terms import Literal, Term, Tool, check_duration


class FormulaNode(Node):
    """A formula. Python operators: `~a`, `a & b`, `a | b`, `a >> b` (implies), `a.iff(b)`."""

    __slots__ = ()

    def __invert__(self) -> Not:
        return Not(_formula(self))

    def __and__(self, other: object) -> And:
        return And((_formula(self), _formula(other)))

    def __or__(self, other: object) -> Or:
        return Or((_formula(self), _formula(other)))

    def __rshift__(self, other: object) -> Implies:
        return Implies(_formula(self), _formula(other))

    def iff(self, other: Formula) -> Iff:
        """`self <-> other`."""
        return Iff(_formula(self), _formula(other))

    def __bool__(self) -> bool:
        raise TypeError("a formula has no truth value by itself: write & | ~ >>, not and or not")


class _Operator(FormulaNode):
    __slots__ = ()
    deepens = True


def _formula(thing: object) -> Formula:
    if not isinstance(thing, FormulaNode):
        message = f"expected a formula, found {shown(thing)}"
        help = 'For a tool, write call("name").' if isinstance(thing, str) else None
        raise SpecError(Diagnostic("E101", message, help))
    return thing  # type: ignore[return-value]  # the union is closed: every FormulaNode is in it


# ── constants and connectives ─────────────────────────────────────────────────────────────


@frozen
class Truth(FormulaNode):
    """`true` or `false`."""

    holds: bool


class _Unary(_Operator):
    __slots__ = ()

    operand: Formula

    def __post_init__(self) -> None:
        _formula(self.operand)
        Node.__post_init__(self)


class _Binary(_Operator):
    __slots__ = ()

    left: Formula
    right: Formula

    def __post_init__(self) -> None:
        _formula(self.left)
        _formula(self.right)
        Node.__post_init__(self)


class _Nary(_Operator):
    """Flat by construction: a conjunction inside a conjunction is merged into it."""

    __slots__ = ()

    operands: tuple[Formula, ...]

    def __post_init__(self) -> None:
        operands = tuple(self._flat(self.operands))
        if len(operands) < 2:
            raise SpecError(Diagnostic("E101", "'&' and '|' need at least two operands"))
        object.__setattr__(self, "operands", operands)
        Node.__post_init__(self)

    def _flat(self, operands: tuple[Formula, ...]) -> Iterator[Formula]:
        for operand in operands:
            if type(operand) is type(self):
                yield from operand.operands
            else:
                yield _formula(operand)


def applied(operator: type[Formula], operands: Sequence[Formula]) -> Formula:
    """The formula that applies a connective or temporal operator."""
    make: Callable[..., Formula] = operator
    return make(tuple(operands)) if issubclass(operator, _Nary) else make(*operands)


@frozen
class Not(_Unary):
    """`!a`"""

    operand: Formula


@frozen
class And(_Nary):
    """`a & b`"""

    operands: tuple[Formula, ...]


@frozen
class Or(_Nary):
    """`a | b`"""

    operands: tuple[Formula, ...]


@frozen
class Implies(_Binary):
    """`a -> b`"""

    left: Formula
    right: Formula


@frozen
class Iff(_Binary):
    """`a <-> b`"""

    left: Formula
    right: Formula


# ── the future ────────────────────────────────────────────────────────────────────────────


@frozen
class Next(_Unary):
    """`X a`: there is a next event, and `a` holds there."""

    operand: Formula


@frozen
class WeakNext(_Unary):
    """`WX a`: if there is a next event, `a` holds there."""

    operand: Formula


@frozen
class Eventually(_Unary):
    """`F a`: `a` holds now or at some later event."""

    operand: Formula


@frozen
class Always(_Unary):
    """`G a`: `a` holds now and at every later event."""

    operand: Formula


@frozen
class Until(_Binary):
    """`a U b`: `b` holds at some event from now on, and `a` at every event before it."""

    left: Formula
    right: Formula


@frozen
class WeakUntil(_Binary):
    """`a W b`: `a U b`, or `a` holds at every event from now on."""

    left: Formula
    right: Formula


@frozen
class Release(_Binary):
    """`a R b`: `b` holds up to and including the first event where `a` holds, or to the end."""

    left: Formula
    right: Formula


# ── the past ──────────────────────────────────────────────────────────────────────────────


@frozen
class Yesterday(_Unary):
    """`Y a`: there is a previous event, and `a` held there."""

    operand: Formula


@frozen
class Once(_Unary):
    """`O a`: `a` holds now or held at some earlier event."""

    operand: Formula


@frozen
class Historically(_Unary):
    """`H a`: `a` holds now and held at every earlier event."""

    operand: Formula


@frozen
class Since(_Binary):
    """`a S b`: `b` held at some event up to now, and `a` at every event after it."""

    left: Formula
    right: Formula


# ── other steps ───────────────────────────────────────────────────────────────────────────


@frozen
class Earlier(_Unary):
    """`earlier a`: `a` held at some event of a strictly smaller step."""

    operand: Formula


@frozen
class Later(_Unary):
    """`later a`: `a` holds at some event of a strictly larger step."""

    operand: Formula


# ── bounded in time ──────────────────────────────────────────────────────────────────────


class _Within(_Unary):
    """An operator that looks only at events that start within a number of seconds of this one."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_duration(self.seconds)  # type: ignore[attr-defined]  # each of the four has it
        _Unary.__post_init__(self)


@frozen
class EventuallyWithin(_Within):
    """`F a within 1 h`: `a` holds now, or at a later event that starts at most so much later."""

    operand: Formula
    seconds: Literal


@frozen
class OnceWithin(_Within):
    """`O a within 1 h`: `a` holds now, or held at an event that started at most so long before."""

    operand: Formula
    seconds: Literal


@frozen
class LaterWithin(_Within):
    """`later a within 1 h`: the same as `F`, at an event of a strictly larger step."""

    operand: Formula
    seconds: Literal


@frozen
class EarlierWithin(_Within):
    """`earlier a within 1 h`: the same as `O`, at an event of a strictly smaller step."""

    operand: Formula
    seconds: Literal


# ── quantifiers ───────────────────────────────────────────────────────────────────────────


class _Quantifier(_Operator):
    __slots__ = ()

    variable: str
    domain: Domain
    body: Formula

    def __post_init__(self) -> None:
        _formula(self.body)
        Node.__post_init__(self)

    def _free(self) -> frozenset[str]:
        inside = self.body.free - {self.variable}
        return frozenset(inside | self.domain.free)


@frozen
class ForAll(_Quantifier):
    """`forall x in D: a`"""

    variable: str
    domain: Domain
    body: Formula


@frozen
class Exists(_Quantifier):
    """`exists x in D: a`"""

    variable: str
    domain: Domain
    body: Formula


@frozen
class Let(_Operator):
    """`let x = t: a`: `a`, with the value that `t` has now for `x`; undefined stays undefined."""

    variable: str
    value: Term
    body: Formula

    def __post_init__(self) -> None:
        _formula(self.body)
        Node.__post_init__(self)

    def _free(self) -> frozenset[str]:
        return self.body.free - {self.variable} | self.value.free


# ── atoms ─────────────────────────────────────────────────────────────────────────────────


@frozen
class EventAtom(FormulaNode):
    """`search`, `call`, `call(search, q = "foo", ok)`: the current event is such a call."""

    tool: Tool | None = None
    """None stands for any tool."""
    patterns: tuple[Pattern, ...] = ()


@frozen
class Says(FormulaNode):
    """`says(user)`: the current event is a message of that role."""

    role: str


@frozen
class Compare(FormulaNode):
    """`args.amount > 100`: two values compared; false where one is undefined or null."""

    symbol: str
    left: Term
    right: Term


@frozen
class TracePredicate(FormulaNode):
    """`Before(a, b)`: a statement about the whole trace, from the table of predicates."""

    name: str
    operands: tuple[Operand, ...]


@frozen
class OpenPredicate(FormulaNode):
    """`paid_twice()`: a registered Python function, evaluated at the current position."""

    name: str
    operands: tuple[Term, ...] = ()


Unary: TypeAlias = (
    Not | Next | WeakNext | Eventually | Always | Yesterday | Once | Historically | Earlier | Later
)
Within: TypeAlias = EventuallyWithin | OnceWithin | LaterWithin | EarlierWithin
Binary: TypeAlias = Implies | Iff | Until | WeakUntil | Release | Since
Nary: TypeAlias = And | Or
Quantifier: TypeAlias = ForAll | Exists
Atom: TypeAlias = Truth | EventAtom | Says | Compare | TracePredicate | OpenPredicate
Formula: TypeAlias = Unary | Within | Binary | Nary | Quantifier | Let | Atom
"""Any formula."""


def check_formula(given: object) -> None:
    """Raises UsageError unless this is a formula. A text is parsed first."""
    expect(given, FormulaNode, "a formula", 'Parse the text first: parse("G(search -> F cite)").')
