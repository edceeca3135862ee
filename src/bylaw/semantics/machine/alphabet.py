"""The alphabet of a formula: events have the same letter if they match the same probes.

A letter is the set of probes that an event matches; every event has one. For searches, the
alphabet also lists the letters that can occur, each with a sample call: for each named tool,
and for one that is not named, every combination of the argument and result values that the
probes mention, a fresh value, and no value. Equality and presence on one path are decided
together, because the samples are real calls; different paths are combined freely. An order
comparison is sampled by values around its bound. A condition that values cannot decide (a
regular expression, a function, containment) is treated as independent of everything else: it
may be true or false of any event. If the samples may miss a letter (one pattern looks inside a
value that another compares whole, a user's comparator decides, there are too many
combinations), the alphabet is marked incomplete, and a search that finds nothing proves nothing.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias, get_args

from bylaw.frozen import frozen
from bylaw.logic.formula import ArgumentIs, Formula, OutcomeIs, ResultIs, Says
from bylaw.logic.terms import Literal
from bylaw.logic.walk import everything
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.machine.conditions import hinted, reads_result, simple, spread
from bylaw.trace.event import MISSING, Call, Event, Message, Role
from bylaw.values import Json, canonical, decoded, equal, identity
from bylaw.vocabulary.patterns import forms_of, is_named, names_of
from bylaw.vocabulary.predicate import Probe, local_test, waits_for_result
from bylaw.vocabulary.registry import EMPTY, Vocabulary

Letter: TypeAlias = frozenset[int]
"""The numbers of the probes that an event matches."""

MAX_SAMPLES: Final = 2_000
"""The limit on sample calls for one tool; beyond it, the alphabet is incomplete."""
MAX_ASSUMED: Final = 6
"""The limit on undecided conditions at one event; each is assumed true and false."""
OTHER: Final = "something_else"
"""The stem of a tool name that no formula uses."""
_FRESH: Final = "another value"
_EXTRA: Final = "something_more"


@frozen
class Sample:
    """A letter that can occur, and an event that has it."""

    letter: Letter
    event: Event
    final: bool = False
    """Is it the final answer, after which the trace ends?"""
    real: bool = True
    """Does the event have the letter? If not, the value of some condition was assumed."""


class Alphabet:
    """The probes of one or more formulas."""

    def __init__(
        self,
        probes: Iterable[Probe],
        *,
        answer: bool = False,
        messages: bool = False,
        vocabulary: Vocabulary = EMPTY,
    ) -> None:
        self.probes: Final = tuple(dict.fromkeys(probes))
        self.vocabulary: Final = vocabulary
        self.number: Final = {probe: i for i, probe in enumerate(self.probes)}
        tools = [probe.tool for probe in self.probes if probe.tool is not None]
        named = {name for tool in tools for name in names_of(tool)}
        self._forms = sorted({form for tool in tools for form in forms_of(tool)})
        self._general = [i for i, p in enumerate(self.probes) if p.tool is None]
        self._of_anything = [i for i, p in enumerate(self.probes) if p.of_any_event]
        self._opaque = _opaque(self.probes)
        self._of_tool: dict[str, list[int]] = {name: self._asked_of(name) for name in named}
        self.fixed: dict[str, Letter] = {}
        """The letters of the tools whose calls all have the same letter."""
        self._awaited: dict[str, bool] = {}
        words = _words(self.probes) | named
        self.other: Final = _unused(OTHER, words)
        """A tool that no formula names."""
        self._fresh, self._extra = _unused(_FRESH, words), _unused(_EXTRA, words)
        self.complete = (
            vocabulary.compares_plainly or all(p.result is None for p in self.probes)
        ) and (len(self._forms) < 2 or all(form.find("*") == len(form) - 1 for form in self._forms))
        """Does `samples` contain every letter that can occur?"""
        self.elsewhere: Final = (
            None if self._forms else self._letter_by_tool(self.other, self._general)
        )
        """The letter of every call of a tool that is not named, if they all share one."""
        self.named: Final = frozenset(named)
        for name, numbers in self._of_tool.items():
            if (letter := self._letter_by_tool(name, numbers)) is not None:
                self.fixed[name] = letter
        self._answer: Final = answer
        self.sees_messages: Final = messages
        """Do messages have letters?"""
        self._samples: tuple[Sample, ...] | None = None

    def _asked_of(self, name: str) -> list[int]:
        """The probes that a call of this tool could match."""
        return [
            i
            for i, probe in enumerate(self.probes)
            if (probe.tool is None and (name != FINAL_ANSWER or probe.of_any_event))
            or (probe.tool is not None and is_named(name, probe.tool))
        ]

    def _asked(self, name: str) -> list[int]:
        """The probes that a call of any tool could match, cached for named tools."""
        known = self._of_tool.get(name)
        if known is not None:
            return known
        return self._asked_of(name) if self._forms or name == FINAL_ANSWER else self._general

    @property
    def assumes(self) -> bool:
        """Are there conditions that are treated as independent of everything else?"""
        return bool(self._opaque)

    def _letter_by_tool(self, name: str, numbers: list[int]) -> Letter | None:
        """The letter of every call of a tool, if its arguments and result do not matter."""
        if all(self.probes[i].bare for i in numbers):
            return frozenset(numbers)
        return None

    def letter(self, event: Event) -> Letter:
        """The letter of an event."""
        if isinstance(event, Message):
            numbers = self._of_anything
        else:
            fixed = self.fixed.get(event.tool)
            if fixed is not None:
                return fixed
            unnamed = event.tool not in self.named and event.tool != FINAL_ANSWER
            if unnamed and self.elsewhere is not None:
                return self.elsewhere
            numbers = self._asked(event.tool)
        probes, vocabulary = self.probes, self.vocabulary
        return frozenset(i for i in numbers if probes[i].matches(event, vocabulary))

    def _assumed(
        self, event: Event, numbers: Sequence[int], opaque: Iterable[Formula]
    ) -> Iterator[Letter]:
        """The letters an event has for every combination of values of these conditions."""
        asked = {c for i in numbers for c in self.probes[i].conditions}
        free = [c for c in opaque if c in asked]
        if len(free) > MAX_ASSUMED:
            self.complete = False
            free = free[:MAX_ASSUMED]
        matching = [i for i in numbers if self.probes[i].matches_call(event, self.vocabulary)]
        for values in itertools.product((False, True), repeat=len(free)):
            truth = dict(zip(free, values, strict=True))
            yield frozenset(
                i
                for i in matching
                if all(
                    truth[c] if c in truth else local_test(c)(event)
                    for c in self.probes[i].conditions
                )
            )

    @property
    def never_waits(self) -> bool:
        """Is every letter independent of results?"""
        return not any(map(_asks_result, self.probes))

    def depends_on_result(self, tool: str) -> bool:
        """Can the result of a call of this tool change its letter?"""
        found = self._awaited.get(tool)
        if found is None:
            found = any(_asks_result(self.probes[i]) for i in self._asked(tool))
            self._awaited[tool] = found
        return found

    def outcomes_of(self, call: Call) -> list[Call]:
        """The call with each outcome that the probes distinguish."""
        outcomes = self._outcomes(self._asked(call.tool))
        return [Call(call.tool, call.args, result, call.step, err) for result, err in outcomes]

    def letters_of(self, call: Call) -> dict[Letter, Call]:
        """The letters that a call can have once its result is known, each with a sample."""
        found: dict[Letter, Call] = {}
        numbers = self._asked(call.tool)
        opaque = [c for c in self._opaque if waits_for_result(c, call)]
        for shown in self.outcomes_of(call):
            letter = self._letter_of_sample(shown)
            if letter is None:
                continue
            found.setdefault(letter, shown)
            for letter in self._assumed(shown, numbers, opaque) if opaque else ():
                found.setdefault(letter, shown)
        return found

    def _letter_of_sample(self, event: Event) -> Letter | None:
        """The letter of a generated event; None if a user's comparator rejects it."""
        try:
            return self.letter(event)
        except Exception:
            return None

    # ── letters that can occur ───────────────────────────────────────────────────────────

    @property
    def samples(self) -> tuple[Sample, ...]:
        """One sample for each letter that can occur; the plainest calls first."""
        if self._samples is None:
            self._samples = tuple(self._found())
        return self._samples

    def _found(self) -> Iterator[Sample]:
        seen: set[tuple[Letter, bool]] = set()
        events = list(self._events())
        if not self.vocabulary.compares_plainly:
            events = [each for each in events if self._letter_of_sample(each[0]) is not None]
        for event, final in events:
            sample = Sample(self.letter(event), event, final)
            if (sample.letter, final) not in seen:
                seen.add((sample.letter, final))
                yield sample
        for event, final in events if self._opaque else ():
            numbers = self._asked(event.tool) if isinstance(event, Call) else self._of_anything
            for letter in self._assumed(event, numbers, self._opaque):
                if (letter, final) not in seen:
                    seen.add((letter, final))
                    yield Sample(letter, event, final, real=False)

    def _events(self) -> Iterator[tuple[Event, bool]]:
        formed = (form.replace("*", self.other) for form in self._forms)
        for name in (*sorted(self._of_tool), *formed, self.other):
            if name != FINAL_ANSWER:
                yield from ((call, False) for call in self._calls(name))
        if self.sees_messages:
            texts = ["", *self._texts(self._of_anything)]
            roles: tuple[Role, ...] = get_args(Role) if self._of_anything else ("user",)
            yield from ((Message(role, text), False) for role in roles for text in texts)
        if self._answer:
            yield from ((call, True) for call in self._calls(FINAL_ANSWER))

    def _calls(self, name: str) -> Iterator[Call]:
        numbers = self._asked(name)
        choices = itertools.product(self._arguments(numbers), self._outcomes(numbers))
        for tried, (arguments, (result, error)) in enumerate(choices):
            if tried >= MAX_SAMPLES:
                self.complete = False
                return
            yield Call(name, arguments, result, error=error)

    def _arguments(self, numbers: Sequence[int]) -> Iterator[dict[str, Json]]:
        """The arguments that the probes distinguish; no arguments first."""
        wanted: dict[str, dict[tuple[str, ...], list[Json]]] = {}
        for (key, *rest), sampled in self._sampled(numbers, ArgumentIs).items():
            wanted.setdefault(key, {})[tuple(rest)] = sampled
        options = [[MISSING, *self._values(paths)] for paths in wanted.values()]
        if any(self.probes[i].exactly for i in numbers):
            wanted[self._extra] = {}
            options.append([MISSING, self._fresh])
        for values in itertools.product(*options):
            pairs = zip(wanted, values, strict=True)
            yield {key: value for key, value in pairs if value is not MISSING}

    def _outcomes(self, numbers: Sequence[int]) -> list[tuple[Any, str | None]]:
        """The results and errors that the probes distinguish; no result first."""
        wanted = self._sampled(numbers, ResultIs)
        whole = [result.value for i in numbers if (result := self.probes[i].result) is not None]
        whole += self._texts(numbers)
        if whole:
            wanted.setdefault((), []).extend(whole)
        asks_result = bool(wanted)
        asks_outcome = any(
            isinstance(part, OutcomeIs)
            for i in numbers
            for node in (*self.probes[i].patterns, *self.probes[i].conditions)
            for part in everything(node)
        )
        results: list[Any] = [MISSING]
        if asks_result or asks_outcome:
            results += self._results(wanted) if asks_result else [self._fresh]
        errors = [None, "failed"] if asks_outcome else [None]
        return [(result, error) for error in errors for result in results]

    def _sampled(
        self, numbers: Sequence[int], kind: type[ArgumentIs | ResultIs]
    ) -> dict[tuple[str, ...], list[Json]]:
        """For each path in the arguments or the result, values that the probes distinguish."""
        field = "args" if kind is ArgumentIs else "result"
        found: dict[tuple[str, ...], list[Json]] = {}
        ordered = set()
        for i in numbers:
            for pattern in self.probes[i].patterns:
                if isinstance(pattern, kind) and isinstance(pattern.expected, Literal):
                    found.setdefault(pattern.path, []).append(pattern.expected.value)
        for condition in dict.fromkeys(c for i in numbers for c in self.probes[i].conditions):
            hint = simple(condition) or hinted(condition)
            if hint and hint.field == field and (hint.path or field == "result"):
                found.setdefault(hint.path, []).extend(hint.values)
                ordered |= {hint.path} if hint.ordered else set()
        return {p: spread(values) if p in ordered else values for p, values in found.items()}

    def _texts(self, numbers: Sequence[int]) -> list[str]:
        """The texts that conditions on `text` look for."""
        conditions = dict.fromkeys(c for i in numbers for c in self.probes[i].conditions)
        hints = [hint for c in conditions if (hint := hinted(c)) and hint.field == "text"]
        return [value for hint in hints for value in hint.values]

    def _values(self, paths: dict[tuple[str, ...], list[Json]]) -> list[Json]:
        """Sample values for these paths: whole values, and objects built from nested ones."""
        whole = _distinct([*paths.get((), []), self._fresh])
        nested = {path: values for path, values in paths.items() if path}
        if not nested:
            return whole
        if any(_inside(inner, outer) for inner in paths for outer in paths):
            self.complete = False
        options = [[MISSING, *_distinct([*values, self._fresh])] for values in nested.values()]
        built = []
        for tried, values in enumerate(itertools.product(*options)):
            if tried >= MAX_SAMPLES:
                self.complete = False
                break
            tree: dict[str, Any] = {}
            for path, value in zip(nested, values, strict=True):
                if value is not MISSING:
                    _plant(tree, path, copy.deepcopy(value))
            built.append(tree)
        return _distinct([*whole, *built])

    def _results(self, paths: dict[tuple[str, ...], list[Json]]) -> list[Json]:
        """Sample results for these paths; text that encodes JSON counts as the encoded value."""
        found = self._values(paths)
        encoded = [v for v in found if isinstance(v, str) and not equal(decoded(v), v)]
        return [*found, *(canonical(value) for value in encoded)]


def _plant(tree: dict[str, Any], path: Sequence[str], value: Json) -> None:
    for key in path[:-1]:
        below = tree.get(key)
        tree[key] = below if isinstance(below, dict) else {}
        tree = tree[key]
    tree[path[-1]] = value


def _distinct(values: Iterable[Json]) -> list[Json]:
    return list({identity(value): value for value in values}.values())


def _asks_result(probe: Probe) -> bool:
    asked = any(isinstance(pattern, ResultIs | OutcomeIs) for pattern in probe.patterns)
    return asked or probe.result is not None or any(map(reads_result, probe.conditions))


def _opaque(probes: Iterable[Probe]) -> tuple[Formula, ...]:
    """The conditions that sample values cannot decide."""
    conditions = dict.fromkeys(c for probe in probes for c in probe.conditions)
    return tuple(c for c in conditions if simple(c) is None and not isinstance(c, Says))


def _inside(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    """Is the outer path a proper prefix of the inner one?"""
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _words(probes: Iterable[Probe]) -> set[str]:
    """The texts that occur in the probes; fresh values must avoid them."""
    found: set[str] = set()
    for probe in probes:
        for pattern in probe.patterns:
            if not isinstance(pattern, OutcomeIs):
                found |= set(pattern.path)
                found |= {pattern.expected.text} if isinstance(pattern.expected, Literal) else set()
        found |= {probe.result.text} if probe.result is not None else set()
        for condition in probe.conditions:
            found |= {part.text for part in everything(condition) if isinstance(part, Literal)}
    return found


def _unused(word: str, words: set[str]) -> str:
    """The word, extended until none of the words contains it."""
    while any(word in each for each in words):
        word += "_"
    return word
