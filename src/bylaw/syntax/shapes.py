"""What the parser sees before anything has a meaning: names, calls, infixes, with their places."""

from __future__ import annotations

from typing import TypeAlias

from bylaw.errors import Span
from bylaw.records import record
from bylaw.values import Json


@record
class Name:
    span: Span
    text: str


@record
class Scalar:
    """A string, a number, `true`, `false` or `null`."""

    span: Span
    value: Json


@record
class Invocation:
    """`name(…)`"""

    span: Span
    name: Name
    operands: tuple[Item, ...]


@record
class Brackets:
    """`[…]`"""

    span: Span
    items: tuple[Item, ...]


@record
class Braces:
    """`{…}`: a set of tools, or an object if it holds pairs."""

    span: Span
    items: tuple[Item, ...]


@record
class Access:
    """`result.status`, `table[x]`"""

    span: Span
    base: Shape
    keys: tuple[str | Shape, ...]
    """A key that is written out, or what stands in brackets."""

    @property
    def plain_keys(self) -> tuple[str, ...] | None:
        """The keys, if all are written out."""
        written = tuple(key for key in self.keys if isinstance(key, str))
        return written if len(written) == len(self.keys) else None


@record
class Arithmetic:
    """`a + b`"""

    span: Span
    symbol: str
    left: Shape
    right: Shape


@record
class Relation:
    """`a = b`"""

    span: Span
    symbol: str
    left: Shape
    right: Shape


@record
class Prefix:
    """`G a`"""

    span: Span
    symbol: str
    operand: Shape


@record
class Infix:
    """`a U b`"""

    span: Span
    symbol: str
    left: Shape
    right: Shape


@record
class Flat:
    """`a & b & c`"""

    span: Span
    symbol: str
    operands: tuple[Shape, ...]


@record
class Binder:
    """`forall x in D: a`"""

    span: Span
    symbol: str
    variable: Name
    domain: Shape
    body: Shape


@record
class Binding:
    """`x = a`, in a `let`."""

    span: Span
    variable: Name
    symbol: str
    value: Shape


@record
class Let:
    """`let x = a, y = b: c`"""

    span: Span
    bindings: tuple[Binding, ...]
    body: Shape


@record
class HalfComparison:
    """`<= 3`, as an operand."""

    span: Span
    symbol: str
    right: Shape


@record
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
    | Prefix
    | Infix
    | Flat
    | Binder
    | Let
)
Item: TypeAlias = Shape | HalfComparison | Pair
