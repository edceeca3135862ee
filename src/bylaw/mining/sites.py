"""The facts known at each call, gathered in one pass over the runs.

A *site* is a call together with what came before it. For each argument: was the value an argument
of an earlier call, a part of an earlier result, or a word of the user? What did the last lookup of
it show? Only events of earlier steps count, as for `earlier` and `last`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from bylaw.mining.leaves import MAX_LEAVES, LeafValue, flags, key_lists, leaves, value_key
from bylaw.mining.runs import Runs
from bylaw.trace.event import MISSING, Call, Event, Message
from bylaw.trace.trace import Trace

YES: Final = (
    r"(?i)^\W*(yes|yep|yeah|yup|sure|ok|okay|confirm(ed)?|correct|agreed|go ahead|proceed)\b"
)
"""The user's messages that count as a yes."""
_YES: Final = re.compile(YES)
_MAX_TEXTS: Final = 50
"""The latest messages of the user in which an argument is looked for."""


class ArgumentPath(NamedTuple):
    """An argument of a tool."""

    tool: str
    path: str
    listed: bool
    """Is it a list, of which each member is looked at?"""


class EarlierValue(NamedTuple):
    """A place where earlier events have values: an argument, a result, its keys, a message."""

    kind: str
    tool: str
    path: str
    listed: bool


SAID: Final = EarlierValue("said", "", "", False)
GivenValue: TypeAlias = tuple[int, LeafValue, int]
"""A run, the value of an argument in it, and the number of the call."""
RunCounts: TypeAlias = defaultdict[int, int]
"""A number for each run."""


class LookedUp(NamedTuple):
    """A field of what the last lookup of an argument showed."""

    argument: ArgumentPath
    lookup: EarlierValue
    field: str


class Comparison(NamedTuple):
    """An argument compared with a field that was looked up."""

    looked_up: LookedUp
    argument: str
    operator: str


class Sites:
    """Everything that is known at the calls of many runs."""

    def __init__(self, runs: Runs) -> None:
        self.calls: Final[dict[str, RunCounts]] = _tallies()
        self.arguments: Final[dict[ArgumentPath, list[tuple[int, LeafValue, int]]]] = defaultdict(
            list
        )
        """The values of each argument: run, value, and the number of the call."""
        self.earlier: Final[dict[tuple[ArgumentPath, EarlierValue], RunCounts]] = _tallies()
        self.later: Final[dict[tuple[ArgumentPath, EarlierValue], RunCounts]] = _tallies()
        self.repeated: Final[dict[tuple[ArgumentPath, EarlierValue], RunCounts]] = _tallies()
        """The values that an earlier call, or a sibling before it, has had as its argument."""
        self.shown: Final[dict[LookedUp, list[tuple[int, LeafValue]]]] = defaultdict(list)
        self.agreeing: Final[dict[Comparison, RunCounts]] = _tallies()
        self.confirmed: Final[dict[str, RunCounts]] = _tallies()
        self.yeses: Final = [0, 0]
        """The user's messages that are a yes, and all of them."""
        self.spread: Final[dict[EarlierValue, dict[LeafValue, int]]] = defaultdict(
            lambda: defaultdict(int)
        )
        """In how many runs a source has a value."""
        self.echoed: Final[dict[EarlierValue, int]] = defaultdict(int)
        """Above zero for places in results that mostly repeat an argument of the call."""
        self.results: Final[dict[tuple[str, str], Counter[LeafValue]]] = defaultdict(Counter)
        """The values of each field of what each tool returned, over all calls."""
        self._fields: dict[int, list[tuple[str, LeafValue]]] = {}
        self._runs = runs
        for number, trace in enumerate(runs.traces):
            self._add(number, trace)

    def _add(self, run: int, trace: Trace) -> None:
        self._fields.clear()
        history = _History()
        given = {
            id(call): [
                (ArgumentPath(call.tool, path, listed), value)
                for path, value, listed in _first(leaves(dict(call.args)))
            ]
            for call in trace.calls
        }
        number = 0
        for step in _steps(trace):
            for event in step:
                if isinstance(event, Call):
                    self._visit(run, number, event, given[id(event)], history)
                    number += 1
            for event in step:
                if isinstance(event, Message):
                    if event.role == "user":
                        history.say(event.text)
                        self.yeses[0] += history.agreed
                        self.yeses[1] += 1
                else:
                    succeeded = self._runs.succeeded(event)
                    history.add(event, given[id(event)], succeeded)
                    if succeeded:
                        for field, shown in self._fields_of(event):
                            self.results[event.tool, field][shown] += 1
        for source, (fresh, echoed) in history.echoes.items():
            self.echoed[source] += echoed - fresh
        for source, values in history.by_source.items():
            table = self.spread[source]
            for value in values:
                table[value] += 1
        self._look_ahead(run, trace, given)

    def _visit(
        self,
        run: int,
        number: int,
        call: Call,
        given: Sequence[tuple[ArgumentPath, LeafValue]],
        history: _History,
    ) -> None:
        self.calls[call.tool][run] += 1
        if history.agreed:
            self.confirmed[call.tool][run] += 1
        for argument, value in given:
            key = value_key(value)
            self.arguments[argument].append((run, value, number))
            for source in history.sources.get(key, ()):
                self.earlier[argument, source][run] += 1
                if source.kind == "argument" and source.tool != call.tool:
                    looked_up = history.latest[source, key]
                    self._compare(run, argument, source, looked_up, given)
            if isinstance(value, str) and history.has_said(value):
                self.earlier[argument, SAID][run] += 1
            for source in history.attempts.get(key, ()):
                if source.tool != call.tool:
                    self.repeated[argument, source][run] += 1
        history.attempt(given)

    def _compare(
        self,
        run: int,
        argument: ArgumentPath,
        lookup: EarlierValue,
        call: Call,
        given: Sequence[tuple[ArgumentPath, LeafValue]],
    ) -> None:
        for field, shown in self._fields_of(call):
            looked_up = LookedUp(argument, lookup, field)
            self.shown[looked_up].append((run, shown))
            if isinstance(shown, bool):
                continue
            for other, value in given:
                if (
                    other is argument
                    or other.listed
                    or isinstance(value, str) != isinstance(shown, str)
                ):
                    continue
                if value_key(value) == value_key(shown):
                    self.agreeing[Comparison(looked_up, other.path, "=")][run] += 1
                if not isinstance(value, str) and not isinstance(shown, str):
                    if value <= shown:
                        self.agreeing[Comparison(looked_up, other.path, "<=")][run] += 1
                    if value >= shown:
                        self.agreeing[Comparison(looked_up, other.path, ">=")][run] += 1

    def _fields_of(self, call: Call) -> list[tuple[str, LeafValue]]:
        """The fields of what a call returned, outside lists."""
        found = self._fields.get(id(call))
        if found is None:
            value = call.value
            found = []
            if value is not MISSING:
                found = [(path, each) for path, each, listed in _first(leaves(value)) if not listed]
                found += flags(value)
            self._fields[id(call)] = found
        return found

    def _look_ahead(
        self, run: int, trace: Trace, given: dict[int, list[tuple[ArgumentPath, LeafValue]]]
    ) -> None:
        ahead: dict[LeafValue, set[EarlierValue]] = defaultdict(set)
        for call in reversed(trace.calls):
            for argument, value in given[id(call)]:
                for source in ahead.get(value_key(value), ()):
                    if source.tool != call.tool:
                        self.later[argument, source][run] += 1
            for argument, value in given[id(call)]:
                if "." not in argument.path and not argument.listed:
                    source = EarlierValue("argument", call.tool, argument.path, False)
                    ahead[value_key(value)].add(source)


class _History:
    """The values that the earlier steps of a run have shown."""

    def __init__(self) -> None:
        self.sources: Final[dict[LeafValue, set[EarlierValue]]] = defaultdict(set)
        self.by_source: Final[dict[EarlierValue, set[LeafValue]]] = defaultdict(set)
        self.latest: Final[dict[tuple[EarlierValue, LeafValue], Call]] = {}
        self.attempts: Final[dict[LeafValue, set[EarlierValue]]] = defaultdict(set)
        self.echoes: Final[dict[EarlierValue, list[int]]] = defaultdict(lambda: [0, 0])
        """For each place in results, the values that were not arguments of the call, and others."""
        self.agreed = False
        self._texts: list[str] = []

    def say(self, text: str) -> None:
        """The user says something."""
        self._texts = [*self._texts[1 - _MAX_TEXTS :], text]
        self.agreed = _YES.search(text) is not None

    def has_said(self, value: str) -> bool:
        """Has the user named this?"""
        return any(value in text for text in self._texts)

    def attempt(self, given: Sequence[tuple[ArgumentPath, LeafValue]]) -> None:
        """A call is made; its siblings see it at once."""
        for argument, value in given:
            if "." not in argument.path and not argument.listed:
                source = EarlierValue("argument", argument.tool, argument.path, False)
                self.attempts[value_key(value)].add(source)

    def add(
        self, call: Call, given: Sequence[tuple[ArgumentPath, LeafValue]], succeeded: bool
    ) -> None:
        """The step of a call is over."""
        if not succeeded:
            return
        own = set()
        for argument, value in given:
            own.add(value_key(value))
            if "." not in argument.path and not argument.listed:
                source = EarlierValue("argument", call.tool, argument.path, False)
                self._note(source, value_key(value))
                self.latest[source, value_key(value)] = call
        result = call.value
        if result is MISSING:
            return
        for path, each, listed in _first(leaves(result)):
            source = EarlierValue("result", call.tool, path, listed)
            self._note(source, value_key(each))
            self.echoes[source][value_key(each) in own] += 1
        for path, keys in key_lists(result):
            source = EarlierValue("keys", call.tool, path, True)
            for key in keys[:MAX_LEAVES]:
                self._note(source, key)

    def _note(self, source: EarlierValue, value: LeafValue) -> None:
        self.sources[value].add(source)
        self.by_source[source].add(value)


def _tallies() -> Any:
    """Counts by run, made when they are first needed."""
    return defaultdict(lambda: defaultdict(int))


def _steps(trace: Trace) -> Iterator[list[Event]]:
    """The events of each step."""
    group: list[Event] = []
    for event in trace.events:
        if group and event.step != group[-1].step:
            yield group
            group = []
        group.append(event)
    if group:
        yield group


def _first(found: Iterator[tuple[str, LeafValue, bool]]) -> Iterator[tuple[str, LeafValue, bool]]:
    return (each for each, _ in zip(found, range(MAX_LEAVES), strict=False))
