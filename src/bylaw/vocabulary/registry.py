"""Functions that users register: open predicates, extractors, and the result comparator.

Registration is the only way to add code to an evaluation; loading a file never imports any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, Final, TypeAlias, TypeVar, overload

from bylaw.errors import Diagnostic, SpecError
from bylaw.logic.operators import is_plain
from bylaw.read_only import read_only
from bylaw.trace.event import MISSING, Missing
from bylaw.values import Json, decoded, equal
from bylaw.vocabulary.functions import FUNCTIONS

Metrics: TypeAlias = Mapping[str, Json]
OpenFunction: TypeAlias = Callable[..., object]
"""`f(trace, at, metrics, *operands) -> bool`"""
Extractor: TypeAlias = Callable[..., Iterable[Json]]
"""`f(trace, metrics, *operands) -> values`"""
Comparator: TypeAlias = Callable[[Json, Json], bool]
"""`f(actual, expected) -> bool`; `actual` is the result as it was recorded."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def same_result(actual: Json, expected: Json) -> bool:
    """The default comparator: equal as JSON; a string that encodes JSON counts as its value."""
    return equal(decoded(actual), expected) or equal(actual, expected)


class Vocabulary:
    """The functions that formulas may call by name."""

    def __init__(self) -> None:
        self._predicates: dict[str, OpenFunction] = {}
        self._final_when_false: set[str] = set()
        self._extractors: dict[str, Extractor] = {}
        self.predicates: Final[Mapping[str, OpenFunction]] = self._predicates
        """The open predicates, by name."""
        self.extractors: Final[Mapping[str, Extractor]] = self._extractors
        """The domain extractors, by name."""
        self._comparator: Comparator = same_result

    @overload
    def predicate(self, function: _Function, /) -> _Function: ...

    @overload
    def predicate(
        self, function: None = None, /, *, false_is_final: bool
    ) -> Callable[[_Function], _Function]: ...

    def predicate(
        self, function: _Function | None = None, /, *, false_is_final: bool = False
    ) -> _Function | Callable[[_Function], _Function]:
        """Registers `f(trace, at, metrics, *operands) -> bool` under its own name.

        `@vocabulary.predicate(false_is_final=True)` declares that once the predicate is false at an
        event whose predecessors have their results, no later event makes it true. Then a gate can
        refuse a call because of it.
        """

        def register(function: _Function) -> _Function:
            self._register(self._predicates, function, 3, "trace, at, metrics")
            if false_is_final:
                self._final_when_false.add(function.__name__)
            return function

        return register if function is None else register(function)

    @property
    def final_when_false(self) -> Set[str]:
        """The open predicates declared with `false_is_final`."""
        return frozenset(self._final_when_false)

    def extractor(self, function: _Function) -> _Function:
        """Registers `f(trace, metrics, *operands) -> values` under its own name."""
        self._register(self._extractors, function, 2, "trace, metrics")
        return function

    def comparator(self, function: _Function) -> _Function:
        """Sets the function with which `CalledWithResult` compares actual and expected results."""
        self._comparator = function
        return function

    @property
    def compares_plainly(self) -> bool:
        """Are results compared as JSON, not by a registered function?"""
        return self._comparator is same_result

    @property
    def may_fail(self) -> bool:
        """Are there registered functions? They can raise."""
        return bool(self._predicates or self._extractors or not self.compares_plainly)

    def results_match(self, actual: Json | Missing, expected: Json) -> bool:
        """Does a recorded result match? A call without a result matches nothing."""
        if actual is MISSING:
            return False
        if self.compares_plainly:
            return same_result(actual, expected)
        return bool(self._comparator(read_only(actual), read_only(expected)))

    def _register(
        self, table: dict[str, Any], function: Callable[..., Any], least: int, leading: str
    ) -> None:
        name = function.__name__
        taken = name in self._predicates or name in self._extractors
        if not is_plain(name) or taken or name in FUNCTIONS:
            reason = "is already registered" if taken else "cannot be written in a formula"
            reason = "is a function of the language" if name in FUNCTIONS else reason
            raise SpecError(Diagnostic("E114", f"the name '{name}' {reason}", "Rename it."))
        from inspect import signature  # slow to import

        try:
            signature(function).bind(*range(least), *range(_operand_count(function, least)))
        except TypeError:
            message = f"'{name}' must take ({leading}, *operands)"
            raise SpecError(Diagnostic("E114", message)) from None
        table[name] = function


def _operand_count(function: Callable[..., Any], least: int) -> int:
    """The number of operands that a function requires after the leading parameters."""
    from inspect import signature

    required = [
        each
        for each in signature(function).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        and each.default is each.empty
    ]
    return max(0, len(required) - least)


EMPTY = Vocabulary()
"""The default: no registered functions."""
