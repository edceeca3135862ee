"""The parts of a compiled schema: clauses, each with a test and a sentence for what fails it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from bylaw.errors import clipped
from bylaw.values import Json, write_json

Memo: TypeAlias = dict[tuple[int, int], bool]
"""Does a value fit a schema that is referred to? By the ids of both. Without it, recursive
alternatives could take time exponential in the depth of a value."""
FitTest: TypeAlias = Callable[[Json, Memo], bool]
ValuePath: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead to a value."""

_FOUND: Final = 40
"""The length of a quoted value, in characters."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value that does not fit: its place in the arguments, and what is wrong with it."""

    place: ValuePath
    text: str
    """Completes a sentence about the value: `must be a number, not "5"`."""

    def __str__(self) -> str:
        return f"{_shown(self.place)} {self.text}"


@dataclass(frozen=True, slots=True)
class SchemaClause:
    """One keyword of a schema, or several that belong together."""

    fits: FitTest
    expected: Callable[[], str]
    """Completes "it must be …": `a number`, `at most 100`. A schema may not be complete yet when
    another one refers to it, so the text is made when it is needed."""
    misfits: Callable[[Json, ValuePath, Memo], Iterator[Misfit]] | None = None
    """The misfits inside a value that fails the test. None if the value itself is the misfit."""


def phrase(text: str) -> Callable[[], str]:
    """A text that is known from the start."""
    return lambda: text


def fits_all(value: Json, memo: Memo) -> bool:
    """The test that every value passes."""
    return True


KINDS: Final = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    list: "array",
    dict: "object",
}
"""The kind of each type of value. Whole numbers are numbers."""


@dataclass(slots=True, eq=False)
class Schema:
    """A compiled schema. It does not change once it is complete, and is shared by threads."""

    clauses: tuple[SchemaClause, ...] = ()
    fits: FitTest = fits_all
    stated: frozenset[str] = frozenset(KINDS.values())
    """The kinds of values that its own `type`, `enum` and `const` allow."""
    properties: dict[str, Schema] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    closed: bool = False
    """Are other properties excluded?"""
    alternatives: tuple[Schema, ...] = ()
    """Those of `anyOf` or `oneOf`: a value fits one of them."""
    conjuncts: tuple[Schema, ...] = ()
    """Those of `$ref` and `allOf`: a value fits all of them."""

    def complete(self, clauses: Iterable[SchemaClause]) -> None:
        """Sets the clauses."""
        self.clauses = tuple(clauses)
        tests = tuple(clause.fits for clause in self.clauses)
        if len(tests) == 1:
            self.fits = tests[0]
        elif tests:

            def fits(value: Json, memo: Memo) -> bool:
                for test in tests:  # noqa: SIM110 - a generator would cost more than the tests
                    if not test(value, memo):
                        return False
                return True

            self.fits = fits

    @property
    def expected(self) -> str:
        """Completes "it must be …", as far as one phrase can say it."""
        return self.clauses[0].expected() if self.clauses else "any value"

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of values that may fit."""
        found = self.stated
        if self.alternatives:
            found &= frozenset().union(*(each.kinds for each in self.alternatives))
        for each in self.conjuncts:
            found &= each.kinds
        return found

    def misfits(self, value: Json, place: ValuePath, memo: Memo) -> Iterator[Misfit]:
        """The misfits of a value, part by part; none if it fits."""
        for clause in self.clauses:
            if clause.fits(value, memo):
                continue
            if clause.misfits is None:
                yield Misfit(place, f"must be {clause.expected()}, not {quoted(value)}")
                return  # one sentence about a value is enough
            yield from clause.misfits(value, place, memo)


def quoted(value: Json) -> str:
    """A value as messages quote it, cut to a short text."""
    if isinstance(value, dict | list) and value:  # writing it out may take long
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        value = value[: _FOUND + 1]
    elif isinstance(value, int) and value.bit_length() > 1_000:
        return "a very large number"
    return clipped(write_json(value), _FOUND)


def _shown(place: ValuePath) -> str:
    """`'items[2].sku'`; `they` for the arguments as a whole."""
    text = ""
    for key in place:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            text += f".{clipped(key, _FOUND)}" if text else clipped(key, _FOUND)
    return f"'{clipped(text, 2 * _FOUND)}'" if text else "they"
