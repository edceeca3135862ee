"""The events of a trace that a rule sees, and the paper's auxiliary functions on them.

Events may be hidden, so that their calls are unknown, and results may be pending. An answer is
`True`, `False`, or `None` if it depends on something unknown; on a complete trace it is never
`None`. Explanations are tested by hiding events: a verdict that still follows was decided by the
events that remain.

A set of positions is an integer with one bit for each of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import compress, count
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from bylaw.frozen import frozen
from bylaw.logic.formula import ArgumentIs, Arguments, EventAtom, OutcomeIs, Pattern
from bylaw.logic.terms import Literal as LiteralTerm
from bylaw.logic.terms import Term, Tool, ToolName
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import (
    MISSING,
    Call,
    Event,
    Message,
    Missing,
)
from bylaw.trace.time import microseconds
from bylaw.trace.trace import Trace
from bylaw.values import Json, arguments_key, equal, write_json
from bylaw.vocabulary.comparisons import same
from bylaw.vocabulary.patterns import ValueOf, fits, lookup, names_among
from bylaw.vocabulary.possible import UNSEEN, PossibleValue, Seen
from bylaw.vocabulary.reading import (
    HIDDEN,
    NoEvent,
    as_object,
    field_seen,
    partial_object,
    value_at,
)
from bylaw.vocabulary.registry import EMPTY, Vocabulary

Order: TypeAlias = Literal["position", "step"]
Kleene: TypeAlias = bool | None
"""True, False, or None if it depends on something unknown."""


@frozen
class Moment:
    """The time of a call, between two bounds if hidden events leave it open."""

    earliest: int | None
    """None if there is no such call."""
    latest: int | None
    """The upper bound, if there is such a call."""
    certain: bool
    """Is there such a call, whatever the hidden events are?"""

    def __lt__(self, other: Moment) -> Kleene:
        """Does this call come strictly first? False if either call is missing."""
        if self.earliest is None or self.latest is None:
            return False
        if other.earliest is None or other.latest is None or self.earliest >= other.latest:
            return False
        if self.certain and other.certain and self.latest < other.earliest:
            return True
        return None


_SHORT: Final = 256
"""The number of positions above which shifting a bit through a set is too slow."""
_BITS: Final = tuple(1 << position for position in range(_SHORT))


def mask_of(positions: Collection[int]) -> int:
    """The set of these positions."""
    if len(positions) < 32:
        mask = 0
        for position in positions:
            mask |= 1 << position
        return mask
    bits = bytearray(max(positions) // 8 + 1)
    for position in positions:
        bits[position >> 3] |= 1 << (position & 7)
    return int.from_bytes(bits, "little")


def positions_of(mask: int) -> Iterable[int]:
    """The positions in a set, in order."""
    if mask.bit_length() > _SHORT:
        return compress(count(), map(int, bin(mask)[:1:-1]))
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found


class Occurrences(NamedTuple):
    """The positions of some calls: the certain ones, and all possible ones (hidden included)."""

    certain: Sequence[int]
    possible: Sequence[int]


class View:
    """The events of one trace that a rule sees, with the order that ordering predicates compare."""

    def __init__(
        self,
        trace: Trace,
        events: Sequence[Event],
        order: Order = "position",
        vocabulary: Vocabulary = EMPTY,
        hidden: frozenset[int] = frozenset(),
        pending: frozenset[int] = frozenset(),
        *,
        ongoing: bool = False,
    ) -> None:
        self.trace: Final = trace
        self.events: Final = events
        self.order: Final = order
        self.vocabulary: Final = vocabulary
        self.hidden: Final = hidden
        self.hidden_mask: Final = mask_of(hidden) if hidden else 0
        self.pending: Final = pending
        self.ongoing: Final = ongoing
        """May more events follow? Then the result of a registered function may change."""
        self.masks: Final = self._by_tool()
        """For each tool, the positions of its calls."""
        self._matching: Final[dict[EventAtom, tuple[int, int]]] = {}
        self._by_arguments: Final[dict[str, dict[object, int]]] = {}
        self._occurrences: Final[dict[tuple[Tool, tuple[Pattern, ...]], Occurrences]] = {}

    def _by_tool(self) -> dict[str, int]:
        if len(self.events) > _SHORT or self.hidden:
            found: dict[str, list[int]] = {}
            for position, event in enumerate(self.events):
                if isinstance(event, Call) and position not in self.hidden:
                    found.setdefault(event.tool, []).append(position)
            return {tool: mask_of(positions) for tool, positions in found.items()}
        numbered: Iterable[tuple[int, Any]] = zip(_BITS, self.events, strict=False)
        if self.events is not self.trace.calls:
            numbered = [(bit, event) for bit, event in numbered if isinstance(event, Call)]
        masks: dict[str, int] = {}
        for bit, call in numbered:
            tool = call.tool
            masks[tool] = masks[tool] | bit if tool in masks else bit
        return masks

    def __len__(self) -> int:
        return len(self.events)

    # ── the current event ────────────────────────────────────────────────────────────────

    def matching(self, atom: EventAtom) -> tuple[int, int]:
        """The certain and the possible positions of an event atom without variables."""
        found = self._matching.get(atom)
        if found is None:
            found = self.fitting(atom.tool, atom.patterns, self.value)
            self._matching[atom] = found
        return found

    def fitting(
        self, tool: Tool | None, patterns: Sequence[Pattern], value_of: ValueOf, where: int = -1
    ) -> tuple[int, int]:
        """The certain and the possible positions of such calls; patterns are tested in `where`."""
        if isinstance(tool, ToolName):
            found = self.masks.get(tool.name, 0)
        else:
            found = 0
            for name in self._names(tool):
                found |= self.masks[name]
        possible = found
        if patterns:
            found, asked, possible = 0, found & where, 0
            for position in positions_of(asked):
                fit = self._fits(position, patterns, value_of)
                if fit is not False:
                    possible |= 1 << position
                    if fit:
                        found |= 1 << position
        return found, possible | self.hidden_mask

    def _names(self, tool: Tool | None) -> Iterable[str]:
        if tool is None:
            return (name for name in self.masks if name != FINAL_ANSWER)
        return names_among(self.masks, tool)

    def _fits(self, at: int, patterns: Sequence[Pattern], value_of: ValueOf) -> Kleene:
        """Does the call at this position fit the patterns?"""
        event: Call = self.events[at]  # type: ignore[assignment]  # only calls have a tool
        if not self.pending and not self.hidden:
            for pattern in patterns:  # noqa: SIM110 - a generator would cost more than the test
                if not fits(event, pattern, value_of):
                    return False
            return True
        answers = [_perhaps_fits(event, at in self.pending, each, value_of) for each in patterns]
        return False if False in answers else None if None in answers else True

    @cached_property
    def spoken(self) -> dict[str, int]:
        """For each role, the positions of its messages."""
        found: dict[str, list[int]] = {}
        for position, event in enumerate(self.events):
            if isinstance(event, Message) and position not in self.hidden:
                found.setdefault(event.role, []).append(position)
        return {role: mask_of(positions) for role, positions in found.items()}

    def field(self, at: int, name: str) -> Seen:
        """The field of the event at this position; MISSING past the end."""
        if at >= len(self.events):
            return MISSING
        if at in self.hidden:
            return UNSEEN
        return field_seen(self.events[at], name, at in self.pending)

    def event_object(self, at: int) -> PossibleValue:
        """The event at this position as an object."""
        if at in self.hidden:
            return HIDDEN
        event = self.events[at]
        return partial_object(event) if at in self.pending else as_object(event)

    # ── times ────────────────────────────────────────────────────────────────────────────

    @cached_property
    def starts(self) -> list[int | None]:
        """The start of each event in microseconds; None if it has none, or is hidden."""
        return [
            None if position in self.hidden else microseconds(event.start)
            for position, event in enumerate(self.events)
        ]

    # ── steps ────────────────────────────────────────────────────────────────────────────

    def step(self, at: int) -> int:
        """The step of the event at this position."""
        step = self.events[at].step
        assert step is not None, "a trace gives every event a step"
        return step

    def in_steps_before(self, at: int) -> int:
        """The positions in steps strictly before the step of this one."""
        step = self.step(at)
        while at and self.events[at - 1].step == step:
            at -= 1
        return (1 << at) - 1

    def in_earlier_steps(self, mask: int) -> int:
        """The positions in steps before the step of the last position in the set."""
        return self.in_steps_before(mask.bit_length() - 1) if mask else 0

    def in_later_steps(self, mask: int) -> int:
        """The positions in steps after the step of the first position in the set."""
        if not mask:
            return 0
        at, end = (mask & -mask).bit_length() - 1, len(self.events)
        step = self.step(at)
        while at < end and self.events[at].step == step:
            at += 1
        return (1 << end) - (1 << at)

    # ── the whole trace: the paper's first, nth and first_after ───────────────────────────

    def occurrences(self, tool: Tool, patterns: Sequence[Pattern] = ()) -> Occurrences:
        """The positions of such calls."""
        key = tool, tuple(patterns)
        found = self._occurrences.get(key)
        if found is None:
            certain, possible = self.calls(tool, patterns)
            listed = list(positions_of(certain))
            others = listed if possible == certain else list(positions_of(possible))
            found = self._occurrences[key] = Occurrences(listed, others)
        return found

    def calls(self, tool: Tool, patterns: Sequence[Pattern] = ()) -> tuple[int, int]:
        """The positions of such calls as sets: the certain and the possible ones."""
        if patterns or type(tool) is not ToolName:
            return self.fitting(tool, patterns, self.value)
        certain = self.masks.get(tool.name, 0)
        return certain, certain | self.hidden_mask

    def with_arguments(self, tool: Tool, arguments: Arguments) -> int | None:
        """The positions of calls with these literal arguments; None if they are not literal."""
        wanted = arguments.literals
        if wanted is None or type(tool) is not ToolName:
            return None
        found = 0
        for at in positions_of(self.masks.get(tool.name, 0)):
            given = self.events[at].args  # type: ignore[union-attr]  # only calls have a tool
            for name, value in wanted.items():
                if name not in given or not equal(given[name], value):
                    break
            else:
                found |= 1 << at
        return found

    def with_exactly(self, tool: Tool, arguments: Arguments) -> int | None:
        """The same, for calls that have no other arguments."""
        if arguments.key is None or type(tool) is not ToolName:
            return None
        known = self._by_arguments.get(tool.name)
        if known is None:
            known = self._by_arguments[tool.name] = {}
            for at in positions_of(self.masks.get(tool.name, 0)):
                key = arguments_key(self.events[at].args)  # type: ignore[union-attr]  # as above
                known[key] = known.get(key, 0) | 1 << at
        return known.get(arguments.key, 0)

    def occurs(self, tool: Tool, patterns: Sequence[Pattern] = ()) -> Kleene:
        """Is there such a call?"""
        certain, possible = self.calls(tool, patterns)
        return True if certain else None if possible else False

    def before(self, first: Tool, n: int, second: Tool, m: int) -> Kleene:
        """Does call n of `first` come before call m of `second`, counted from 0?

        False if there is no such call.
        """
        if self.hidden:
            return self._moment(first, n) < self._moment(second, m)
        masks = self.masks
        ones = masks.get(first.name, 0) if type(first) is ToolName else self.calls(first)[0]
        others = masks.get(second.name, 0) if type(second) is ToolName else self.calls(second)[0]
        while n and ones:
            ones &= ones - 1  # without the earliest
            n -= 1
        while m and others:
            others &= others - 1
            m -= 1
        if not ones or not others:
            return False
        one, other = ones & -ones, others & -others
        if self.order == "position":
            return one < other  # sets of one compare as the positions do
        return self.step(one.bit_length() - 1) < self.step(other.bit_length() - 1)

    def _moment(self, tool: Tool, index: int) -> Moment:
        """The time of the call of the tool with this index, as far as hidden events allow."""
        occurrences = self.occurrences(tool)
        certain, possible = occurrences.certain, occurrences.possible
        if len(possible) <= index:
            return Moment(None, None, False)
        is_certain = len(certain) > index
        latest = certain[index] if is_certain else possible[-1]
        return Moment(self.time(possible[index]), self.time(latest), is_certain)

    def time(self, position: int) -> int:
        """The time of an event: its position, or its step under `order: step`."""
        return position if self.order == "position" else self.step(position)

    def positions(self, *tools: Tool, index: int = 0) -> list[int]:
        """The certain positions of the first (or nth) calls of these tools that were called."""
        found = (self.occurrences(tool).certain for tool in tools)
        return sorted({certain[index] for certain in found if len(certain) > index})

    def mark(self, position: int) -> str:
        """The name of an event in sentences: `call #3`, counted from 1."""
        event = self.events[position]
        if isinstance(event, Message):
            return f"the {event.role} message (event #{position + 1})"
        if event.tool == FINAL_ANSWER:
            return "the final answer"
        return f"call #{self.call_numbers[position]}"

    @cached_property
    def call_numbers(self) -> dict[int, int]:
        """The number of each call, counted from 1, by its position; the answer has none."""
        numbers: dict[int, int] = {}
        for position, event in enumerate(self.events):
            if isinstance(event, Call) and event.tool != FINAL_ANSWER:
                numbers[position] = len(numbers) + 1
        return numbers

    # ── values ───────────────────────────────────────────────────────────────────────────

    def value(self, term: Term) -> Json | Missing:
        """The value of a term without variables that is the same at every event."""
        if isinstance(term, LiteralTerm):
            return term.value
        found = value_at(term, NoEvent(self.trace))
        return MISSING if found is UNSEEN else found

    def shown(self, term: Term) -> str:
        """The value of a term, as sentences write it."""
        value = self.value(term)
        return "nothing" if value is MISSING else write_json(value)

    def after(self, lowest: int) -> int:
        """All positions strictly later than the only one in the set, in the rule's order."""
        return -lowest << 1 if self.order == "position" else self.in_later_steps(lowest)


def _perhaps_fits(call: Call, pending: bool, pattern: Pattern, value_of: ValueOf) -> Kleene:
    """Does a call fit a pattern, if its result or the expected value may be unknown?"""
    if isinstance(pattern, OutcomeIs):
        return None if pending else fits(call, pattern, value_of)
    if isinstance(pattern, ArgumentIs):
        return same(lookup(call.args, pattern.path), value_of(pattern.expected))
    found = UNSEEN if pending else lookup(call.value, pattern.path)
    return same(found, value_of(pattern.expected))
