"""The outcomes of a call that differ to a rule, where they are finitely many.

To a rule that only compares places in results with constants, few results differ: for each place,
one value for each way in which the comparisons can turn out. What holds for one outcome of each
kind holds for all. To a rule that computes with results, searches their texts or compares them with
each other, too many differ.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, Final, Literal, TypeAlias

from bylaw.frozen import frozen
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.semantics.machine.conditions import spread
from bylaw.semantics.past.outcomes import PLAIN, CallOutcome, planted
from bylaw.trace.event import MISSING, comes_with_result
from bylaw.values import Json, is_list
from bylaw.vocabulary.comparisons import compared, same

MAX_RESULTS: Final = 64
"""The most results that are listed for a rule."""
_MIRRORED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OTHERS: Final[tuple[Json, ...]] = (None, True, False, [], {}, "§", -0.5)
"""Values of every type."""

ResultPath: TypeAlias = tuple[str, ...]


@lru_cache(maxsize=1024)
def distinct_outcomes(rule: f.Formula) -> tuple[CallOutcome, ...] | None:
    """One outcome of each kind that differs to the rule; None if they are too many to list."""
    tests: dict[ResultPath, list[_ResultTest]] = {}
    try:
        for path, test in _tests(rule):
            tests.setdefault(path, []).append(test)
    except _TooMany:
        return None
    if not tests:
        return PLAIN
    paths = sorted(tests)
    kinds = [_kinds(tests[path], whole=not path) for path in paths]
    if _nested(paths) or prod(map(len, kinds)) > MAX_RESULTS:
        return None
    results = [_result(paths, values) for values in product(*kinds)]
    asks_success = rule.contains(f.OutcomeIs)
    errors = (None, "failed") if asks_success else (None,)
    return (*product(results, errors), *PLAIN[1:])


# ── results ───────────────────────────────────────────────────────────────────────────────


@frozen
class _ResultTest:
    """A comparison of a place in a result with a constant; without a symbol, a pattern."""

    symbol: str | None
    constant: Json

    def holds(self, value: Any) -> bool | None:
        if self.symbol is None:
            return same(value, self.constant)
        return compared(value, self.symbol, self.constant)

    @property
    def constants(self) -> Iterable[Json]:
        return self.constant if self.symbol == "in" else (self.constant,)


def _kinds(tests: list[_ResultTest], *, whole: bool) -> list[Any]:
    """One value for each way in which the tests can turn out. A whole result is not MISSING."""
    constants = [constant for test in tests for constant in test.constants]
    values = [*(() if whole else (MISSING,)), *_OTHERS, *spread(constants), *_fresh(constants)]
    found: dict[Hashable, Any] = {}
    for value in values:
        found.setdefault(tuple([test.holds(value) for test in tests]), value)
    return list(found.values())


def _fresh(constants: list[Json]) -> Iterator[Json]:
    """A text that is none of the constants: `_OTHERS` may be."""
    yield "§" * (1 + max((len(each) for each in constants if isinstance(each, str)), default=0))


def _nested(paths: list[ResultPath]) -> bool:
    """Does one place lie inside another?"""
    return any(a != b and b[: len(a)] == a for a in paths for b in paths)


def _result(paths: list[ResultPath], values: tuple[Any, ...]) -> Json:
    if paths == [()]:
        return values[0]
    tree: dict[str, Any] = {}
    for path, value in zip(paths, values, strict=True):
        if value is not MISSING:
            planted(tree, path, value)
    return tree


# ── what a rule asks of results ───────────────────────────────────────────────────────────


class _TooMany(Exception):
    """The rule uses results in ways that tell arbitrarily many of them apart."""


_Origin: TypeAlias = Literal["known", "event", "events"] | ResultPath
"""A value that no result changes, once it is known which conditions on results hold; an event, or
several, as objects; or a place in a result."""
_Names: TypeAlias = Mapping[str, _Origin]
_MESSAGE: Final = "says(…)"
"""Among the names: the event at which a comparison is made is a message."""


class _Questions:
    """The parts of a rule that are still to be looked at, with the names that hold there."""

    def __init__(self, rule: f.Formula) -> None:
        self._pending: list[tuple[Node, _Names]] = [(rule, {})]

    def __iter__(self) -> Iterator[tuple[Node, _Names]]:
        while self._pending:
            yield self._pending.pop()

    def add(self, parts: Iterable[Node], names: _Names) -> None:
        """Parts that are to be looked at, too."""
        if _MESSAGE in names:
            names = {name: origin for name, origin in names.items() if name != _MESSAGE}
        self._pending += ((part, names) for part in parts)

    def add_of_message(self, comparisons: Iterable[f.Compare], names: _Names) -> None:
        """Comparisons that are made at a message."""
        self._pending += ((each, {**names, _MESSAGE: "known"}) for each in comparisons)

    def origin(self, term: t.Term, names: _Names) -> _Origin:
        """The origin of a term's value. What is inside the term is to be looked at."""
        keys: list[t.Term] = []
        while isinstance(term, t.At):
            keys.append(term.key)
            term = term.base
        found = self._base(term, names)
        for key in reversed(keys):
            found = self._at(found, key, names)
        return found

    def _base(self, term: t.Term, names: _Names) -> _Origin:
        match term:
            case t.Reading("result"):
                return ()
            case t.Reading(field):
                known = _MESSAGE in names or not comes_with_result(field)
                return "known" if known else _give_up()
            case t.Variable(name) | t.ToolVariable(name):
                return names.get(name, "known")
            case t.Last(condition):
                self.add([condition], names)
                return "known" if _of_messages(condition) else "event"
            case t.Sofar(condition):
                self.add([condition], names)
                return "events"
            case t.Apply("length", (t.Sofar(condition),)):
                self.add([condition], names)
            case t.Counted(variable, domain, body):
                self.add([body], {**names, variable: self.element(domain, names)})
            case _:
                self.add(term.parts(), names)
        return "known"

    def _at(self, base: _Origin, key: t.Term, names: _Names) -> _Origin:
        if base == "known":
            self.add([key], names)
            return "known"
        value = key.value if isinstance(key, t.Literal) else None
        if base == "events" and isinstance(value, int):
            return "event"
        if not isinstance(value, str):
            return _give_up()
        if isinstance(base, tuple):
            return (*base, value)
        if base == "event" and value == "result":
            return ()
        return "known" if not comes_with_result(value) else _give_up()

    def element(self, domain: f.Domain, names: _Names) -> _Origin:
        """The origin of the values of a domain."""
        match domain:
            case f.Found(term):
                found: set[_Origin] = {self.origin(term, names)}
            case f.Listed(items):
                found = {self.origin(item, names) for item in items}
            case f.FromArgs():
                return "known"
            case _:
                return _give_up()
        if found <= {"known"}:
            return "known"
        return "event" if found <= {"event", "events"} else _give_up()


def _give_up() -> _Origin:
    raise _TooMany


def _of_messages(condition: f.Formula) -> bool:
    """Is every event that meets the condition a message? Its text is known."""
    parts = condition.operands if isinstance(condition, f.And) else (condition,)
    return any(isinstance(part, f.Says) for part in parts)


def _tests(rule: f.Formula) -> Iterator[tuple[ResultPath, _ResultTest]]:
    """The tests of results in a rule. Raises `_TooMany` if it uses results in another way."""
    questions = _Questions(rule)
    for node, names in questions:
        match node:
            case f.Compare(symbol, left, right):
                yield from _test(questions.origin(left, names), symbol, right)
                mirrored = _MIRRORED.get(symbol, "")
                yield from _test(questions.origin(right, names), mirrored, left)
            case f.ResultIs(path, expected):
                if not isinstance(expected, t.Literal):
                    raise _TooMany
                yield path, _ResultTest(None, expected.value)
            case f.Let(variable, value, body):
                questions.add([body], {**names, variable: questions.origin(value, names)})
            case f.ForAll(variable, domain, body) | f.Exists(variable, domain, body):
                questions.add([body], {**names, variable: questions.element(domain, names)})
            case f.And(operands) if _of_messages(node):
                compared_there = [each for each in operands if isinstance(each, f.Compare)]
                questions.add_of_message(compared_there, names)
                questions.add((each for each in operands if each not in compared_there), names)
            case f.OpenPredicate() | f.TracePredicate("CalledWithResult"):
                raise _TooMany
            case f.FormulaNode() | f.ArgumentIs() | f.OutcomeIs():
                questions.add(node.parts(), names)
            case _ if questions.origin(node, names) != "known":  # type: ignore[arg-type]
                raise _TooMany


def _test(origin: _Origin, symbol: str, other: t.Term) -> Iterator[tuple[ResultPath, _ResultTest]]:
    """The test that a comparison makes of a value; none if the value is known."""
    if origin == "known":
        return
    ordered = symbol in _MIRRORED or symbol == "in"
    if not isinstance(origin, tuple) or not isinstance(other, t.Literal) or not ordered:
        raise _TooMany
    test = _ResultTest(symbol, other.value)
    if (symbol == "in" and not is_list(other.value)) or any(
        isinstance(constant, list | dict) for constant in test.constants
    ):
        raise _TooMany
    yield origin, test
