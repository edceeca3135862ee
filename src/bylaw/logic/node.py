"""The base class of all parts of a formula: frozen values with a cheap hash and a known depth.

Formulas may be a thousand operators deep, so nothing here calls itself: equality, hashing and
printing work on deep formulas without touching the interpreter's recursion limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar, Final

from bylaw.errors import Diagnostic, SpecError

MAX_DEPTH: Final = 1000
"""The deepest nesting of operators in a formula."""
MAX_NESTING: Final = 100
"""The deepest nesting of values. It is small, so code that reads values may recurse."""


class Node:
    """A part of a formula. Subclasses are frozen; equal parts are interchangeable."""

    __slots__ = ("_hash", "_kinds", "_nesting", "_parts", "constant", "depth", "free")

    constant: bool
    """Is its value the same at every event?"""
    depth: int
    """The depth of the operators nested in it."""
    _nesting: int
    _hash: int
    _parts: tuple[Node, ...]
    _kinds: int
    """The kinds of the node and of all parts below it, a bit for each."""
    free: frozenset[str]
    """The variables that no quantifier inside this part binds."""
    deepens: ClassVar[bool] = False
    """Does this part count as a level of nesting?"""
    nests: ClassVar[bool] = False
    """Is it a value that is composed of other values?"""
    reads: ClassVar[bool] = False
    """Is it a value that depends on the event it is read at?"""
    expects_constant: ClassVar[bool] = False
    """Is it a pattern, whose value must be the same at every event?"""

    _bit: ClassVar[int] = 0
    """The bit of this kind of node."""
    _next_bit: ClassVar[int] = 1

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._bit, Node._next_bit = Node._next_bit, Node._next_bit << 1
        _bits_of.cache_clear()

    def __post_init__(self) -> None:
        depth, nesting, constant = int(self.deepens), int(self.nests), not self.reads
        parts, kinds = tuple(self._read_parts()), self._bit
        object.__setattr__(self, "_parts", parts)
        for part in parts:
            kinds |= part._kinds
            depth = max(depth, part.depth + self.deepens)
            nesting = max(nesting, part._nesting + self.nests)
            constant = constant and part.constant
        if depth > MAX_DEPTH:
            raise too_deep()
        if nesting > MAX_NESTING:
            message = f"values nest more than {MAX_NESTING} deep"
            raise SpecError(Diagnostic("E112", message, "Name the inner ones with let."))
        if self.expects_constant and not constant:
            message = "a pattern must expect a value that is the same at every event"
            raise SpecError(Diagnostic("E105", message, "Compare the two values instead."))
        object.__setattr__(self, "_kinds", kinds)
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "_nesting", nesting)
        object.__setattr__(self, "constant", constant)
        object.__setattr__(self, "_hash", hash((type(self).__name__, *self.values())))
        object.__setattr__(self, "free", self._free())

    def _free(self) -> frozenset[str]:
        return frozenset().union(*(part.free for part in self._parts))

    def values(self) -> Iterator[object]:
        """The field values, in order."""
        return (getattr(self, name) for name in self.__slots__)

    def parts(self) -> tuple[Node, ...]:
        """The parts directly below this one."""
        return self._parts

    def contains(self, *kinds: type[Any]) -> bool:
        """Is this node, or any part below it, of one of these kinds?"""
        return bool(self._kinds & _bits_of(kinds))

    def _read_parts(self) -> Iterator[Node]:
        for value in self.values():
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (item for item in value if isinstance(item, Node))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        pending: list[tuple[object, object]] = [(self, other)]
        while pending:
            left, right = pending.pop()
            if left is right:
                continue
            if type(left) is not type(right):
                return False
            if isinstance(left, Node) and isinstance(right, Node):
                if left._hash != right._hash:
                    return False
                pending.extend(zip(left.values(), right.values(), strict=True))
            elif isinstance(left, tuple) and isinstance(right, tuple):
                if len(left) != len(right):
                    return False
                pending.extend(zip(left, right, strict=True))
            elif left != right:
                return False
        return True

    def __repr__(self) -> str:
        written: list[str] = []
        pending: list[object] = [self]
        while pending:
            item = pending.pop()
            if isinstance(item, _Verbatim):
                written.append(item)
            elif isinstance(item, Node):
                pending += _bracketed(f"{type(item).__name__}(", list(item.values()), ")")
            elif isinstance(item, tuple):
                pending += _bracketed("[", list(item), "]")
            else:
                written.append(repr(item))
        return "".join(written)


@lru_cache(maxsize=1024)
def _bits_of(kinds: tuple[type[Any], ...]) -> int:
    """The bits of these kinds of nodes and of those derived from them."""
    bits = 0
    for kind in kinds:
        bits |= kind._bit | _bits_of(tuple(kind.__subclasses__()))
    return bits


class _Verbatim(str):
    """Text that `repr` writes unchanged."""


def _bracketed(opening: str, items: list[object], closing: str) -> list[object]:
    """The opening, the items separated by commas, and the closing, in reverse order."""
    separated: list[object] = [_Verbatim(opening)]
    for index, item in enumerate(items):
        separated += [_Verbatim(", "), item] if index else [item]
    return [*separated, _Verbatim(closing)][::-1]


def too_deep() -> SpecError:
    """The error for a formula that nests too deeply."""
    return SpecError(
        Diagnostic(
            "E112",
            f"the formula nests more than {MAX_DEPTH} operators deep",
            "Split it into several constraints.",
        )
    )
