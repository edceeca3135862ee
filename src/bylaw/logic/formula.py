"""The nodes of a formula: a closed union of frozen values. Their meaning is in `semantics`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Literal as Choice
from typing import TypeAlias

from bylaw.errors import Diagnostic, SpecError, shown
from bylaw.frozen import frozen
from bylaw.logic.node import Node
from bylaw.logic.terms import Literal, Term, Tool, is_constant
from bylaw.values import Json, arguments_key


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

    def __post_init__(self) -> None:
        _formula(self.operand)  # type: ignore[attr-defined]
        Node.__post_init__(self)


class _Binary(_Operator):
    __slots__ = ()

    def __post_init__(self) -> None:
        _formula(self.left)  # type: ignore[attr-defined]
        _formula(self.right)  # type: ignore[attr-defined]
        Node.__post_init__(self)


class _Nary(_Operator):
    """Flat by construction: a conjunction inside a conjunction is merged into it."""

    __slots__ = ()

    def __post_init__(self) -> None:
        operands = tuple(self._flat(self.operands))  # type: ignore[attr-defined]
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


# ── quantifiers ───────────────────────────────────────────────────────────────────────────


class _Quantifier(_Operator):
    __slots__ = ()

    def __post_init__(self) -> None:
        _formula(self.body)  # type: ignore[attr-defined]
        Node.__post_init__(self)

    def _free(self) -> frozenset[str]:
        inside = self.body.free - {self.variable}  # type: ignore[attr-defined]
        return frozenset(inside | self.domain.free)  # type: ignore[attr-defined]


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


@frozen
class Listed(Node):
    """`[1, args.id]`: the values themselves, without those that are undefined."""

    items: tuple[Term, ...]


@frozen
class Found(Node):
    """`args.items`: the elements of a list at the current event; any other value is one element."""

    term: Term


def each_of(term: Term) -> Listed | Found | None:
    """The domain of a term's elements; for a literal, the list of them, or None if it is empty."""
    if not isinstance(term, Literal):
        return Found(term)
    value = term.value
    items = value if isinstance(value, list) else [] if value is None else [value]
    return Listed(tuple(map(Literal.of, items))) if items else None


@frozen
class FromArgs(Node):
    """`args(tool, "path")`: the values at the path in the arguments of each call of the tool."""

    tool: Tool
    path: str


@frozen
class FromResults(Node):
    """`results(tool, "path")`: the values at the path in the result of each call of the tool."""

    tool: Tool
    path: str


@frozen
class FromMetrics(Node):
    """`metrics("path")`: the values at the path in the metrics record."""

    path: str


@frozen
class Extracted(Node):
    """`name(…)`: the values that a registered extractor yields."""

    name: str
    operands: tuple[Term, ...] = ()


Domain: TypeAlias = Listed | Found | FromArgs | FromResults | FromMetrics | Extracted


# ── atoms ─────────────────────────────────────────────────────────────────────────────────


class _Pattern(Node):
    __slots__ = ()

    def __post_init__(self) -> None:
        if not is_constant(self.expected):  # type: ignore[attr-defined]
            message = "a pattern must expect a value that is the same at every event"
            raise SpecError(Diagnostic("E105", message, "Compare the two values instead."))
        Node.__post_init__(self)


@frozen
class ArgumentIs(_Pattern):
    """`q = "foo"`: the argument is present and equals the value. The path leads into objects."""

    path: tuple[str, ...]
    expected: Term


@frozen
class ResultIs(_Pattern):
    """`result.status = "open"`: the same for the result; an empty path is the whole result."""

    path: tuple[str, ...]
    expected: Term


@frozen
class OutcomeIs(Node):
    """`ok` or `failed`: the outcome of the call."""

    outcome: Choice["ok", "failed"]


Pattern: TypeAlias = ArgumentIs | ResultIs | OutcomeIs


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
class Count(Node):
    """`<= 3`: a comparison with a number of calls."""

    comparison: str
    number: Term


@frozen
class ToolList(Node):
    """`[a, b]`: several tools, each for itself; a `ToolSet` behaves as one tool."""

    tools: tuple[Tool, ...]


class _Arguments(Node):
    __slots__ = ("key", "literals")

    literals: Mapping[str, Json] | None
    """The arguments as a mapping, if all are literal and none is nested."""
    key: Hashable | None
    """The key shared by calls with exactly these arguments, under the same condition."""

    def __post_init__(self) -> None:
        Node.__post_init__(self)
        patterns: tuple[ArgumentIs, ...] = self.patterns  # type: ignore[attr-defined]
        plain = {p.path[0]: p.expected for p in patterns if len(p.path) == 1}
        literals = {key: term.value for key, term in plain.items() if isinstance(term, Literal)}
        complete = len(literals) == len(patterns)
        object.__setattr__(self, "literals", literals if complete else None)
        object.__setattr__(self, "key", arguments_key(literals) if complete else None)


@frozen
class Arguments(_Arguments):
    """`amount = 5, currency = "EUR"`: the arguments that a predicate expects of a call."""

    patterns: tuple[ArgumentIs, ...] = ()


Operand: TypeAlias = Tool | ToolList | Count | Term | Arguments


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
Binary: TypeAlias = Implies | Iff | Until | WeakUntil | Release | Since
Nary: TypeAlias = And | Or
Quantifier: TypeAlias = ForAll | Exists
Atom: TypeAlias = Truth | EventAtom | Says | Compare | TracePredicate | OpenPredicate
Formula: TypeAlias = Unary | Binary | Nary | Quantifier | Let | Atom
"""Any formula."""
