"""Shapes: parsed text before names are looked up, with the place of each part."""

from __future__ import annotations

from typing import TypeAlias

from bylaw.errors import Span
from bylaw.frozen import frozen
from bylaw.logic.terms import Literal
from bylaw.values import Json


@frozen
class Name:
    span: Span
    text: str


@frozen
class Scalar:
    """A string, a number, `true`, `false` or `null`."""

    span: Span
    value: Json


@frozen
class Invocation:
    """`name(…)`"""

    span: Span
    name: Name
    operands: tuple[Item, ...]


@frozen
class Brackets:
    """`[…]`"""

    span: Span
    items: tuple[Item, ...]


@frozen
class Braces:
    """`{…}`: a set of tools, or an object if it holds pairs."""

    span: Span
    items: tuple[Item, ...]


@frozen
class Access:
    """`result.status`, `table[x]`"""

    span: Span
    base: Shape
    keys: tuple[str | Shape, ...]
    """Each key: a string if it is written out, else the shape in brackets."""

    @property
    def plain_keys(self) -> tuple[str, ...] | None:
        """The keys, if all are written out."""
        written = tuple(key for key in self.keys if isinstance(key, str))
        return written if len(written) == len(self.keys) else None


@frozen
class Arithmetic:
    """`a + b`"""

    span: Span
    symbol: str
    left: Shape
    right: Shape


@frozen
class Relation:
    """`a = b`"""

    span: Span
    symbol: str
    left: Shape
    right: Shape


@frozen
class Sourced:
    """`a from (b)`, or `a from c of (b)`"""

    span: Span
    value: Shape
    part: Shape | None
    condition: Shape


@frozen
class Operation:
    """`G a`, `a U b`, `a & b & c`"""

    span: Span
    symbol: str
    operands: tuple[Shape, ...]


@frozen
class Bounded:
    """`F a within 1 h`"""

    span: Span
    symbol: str
    operand: Shape
    limit: Shape


@frozen
class Binder:
    """`forall x in D: a`"""

    span: Span
    symbol: str
    variable: Name
    domain: Shape
    body: Shape


@frozen
class Binding:
    """`x = a`, in a `let`."""

    span: Span
    variable: Name
    symbol: str
    value: Shape


@frozen
class LetShape:
    """`let x = a, y = b: c`"""

    span: Span
    bindings: tuple[Binding, ...]
    body: Shape


@frozen
class HalfComparison:
    """`<= 3`, as an operand."""

    span: Span
    symbol: str
    right: Shape


@frozen
class Pair:
    """`"key": value`, or `x in D: a`, as an operand."""

    span: Span
    key: Shape
    value: Shape


Shape: TypeAlias = (
    Name
    | Scalar
    | Invocation
    | Brackets
    | Braces
    | Access
    | Arithmetic
    | Relation
    | Sourced
    | Operation
    | Bounded
    | Binder
    | LetShape
)
Item: TypeAlias = Shape | HalfComparison | Pair

_KINDS = {
    Invocation: "a call",
    Brackets: "a list",
    Braces: "a set or object",
    Access: "a path",
    Arithmetic: "a calculation",
    Relation: "a comparison",
    Sourced: "a condition on the source of a value",
    HalfComparison: "half a comparison",
    Pair: "a key with a value",
}


def kind_of_shape(shape: Item) -> str:
    """A shape as messages name it."""
    match shape:
        case Name(_, text):
            return f"'{text}'"
        case Scalar(_, value):
            return f"the value {Literal.of(value).text[:40]}"
        case _:
            return _KINDS.get(type(shape), "a formula")
