"""What the parser sees before anything has a meaning: names, calls, infixes, with their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from bylaw.errors import Span
from bylaw.values import Json


@dataclass(frozen=True, slots=True)
class Name:
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A string, a number, `true`, `false` or `null`."""

    span: Span
    value: Json


@dataclass(frozen=True, slots=True)
class Invocation:
    """`name(…)`"""

    span: Span
    name: Name
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Brackets:
    """`[…]`"""

    span: Span
    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Braces:
    """`{…}`: a set of tools, or an object if it holds pairs."""

    span: Span
    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Path:
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


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`a + b`"""

    span: Span
    symbol: str
    left: Shape
    right: Shape


@dataclass(frozen=True, slots=True)
class Comparison:
    """`a = b`"""

    span: Span
    symbol: str
    left: Shape
    right: Shape


@dataclass(frozen=True, slots=True)
class Prefix:
    """`G a`"""

    span: Span
    symbol: str
    operand: Shape


@dataclass(frozen=True, slots=True)
class Infix:
    """`a U b`"""

    span: Span
    symbol: str
    left: Shape
    right: Shape


@dataclass(frozen=True, slots=True)
class Flat:
    """`a & b & c`"""

    span: Span
    symbol: str
    operands: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Binder:
    """`forall x in D: a`"""

    span: Span
    symbol: str
    variable: Name
    domain: Shape
    body: Shape


@dataclass(frozen=True, slots=True)
class Binding:
    """`x = a`, in a `let`."""

    span: Span
    variable: Name
    symbol: str
    value: Shape


@dataclass(frozen=True, slots=True)
class Let:
    """`let x = a, y = b: c`"""

    span: Span
    bindings: tuple[Binding, ...]
    body: Shape


@dataclass(frozen=True, slots=True)
class HalfComparison:
    """`<= 3`, as an operand."""

    span: Span
    symbol: str
    right: Shape


@dataclass(frozen=True, slots=True)
class Pair:
    """`"key": value`, or `x in D: a`, as an operand."""

    span: Span
    key: Shape
    value: Shape


Shape: TypeAlias = (
    Name
    | Constant
    | Invocation
    | Brackets
    | Braces
    | Path
    | Arithmetic
    | Comparison
    | Prefix
    | Infix
    | Flat
    | Binder
    | Let
)
Operand: TypeAlias = Shape | HalfComparison | Pair
