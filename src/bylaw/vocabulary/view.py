"""What a rule sees of a trace, and the paper's auxiliary functions on it.

Some events may be hidden: then it is unknown which call stood there, and a question may have
no answer yet. Results may be pending: then only what depends on them is unknown. `True`,
`False` and `None` (unknown) are the answers; on a complete trace there is always one. Hiding
events is how an explanation is tested: what still follows with the others hidden was decided
by those that remain.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bylaw.logic.formula import ArgumentIs, Pattern
from bylaw.logic.terms import Counted, Last, Term, Tool
from bylaw.logic.terms import Literal as LiteralTerm
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, Call, Event, Message, Missing
from bylaw.trace.trace import Trace
from bylaw.values import Json, write_json
from bylaw.vocabulary.patterns import fits, is_tool, names_among, whole_number
from bylaw.vocabulary.reading import (
    UNSEEN,
    Seen,
    as_object,
    field_of,
    known_before_result,
    value_at,
)
from bylaw.vocabulary.registry import EMPTY, Vocabulary

Order: TypeAlias = Literal["position", "step"]
Kleene: TypeAlias = bool | None
"""True, False, or None where it depends on what is not known."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When something happens: between two times if hidden events leave it open."""

    earliest: int | None
    """None if it cannot happen."""
    latest: int | None
    """The latest it can happen, if it happens."""
    certain: bool
    """Does it happen, whatever the hidden events are?"""

    def __lt__(self, other: Moment) -> Kleene:
        """Does this come strictly first? False if either does not happen."""
        if self.earliest is None or self.latest is None:
            return False
        if other.earliest is None or other.latest is None or self.earliest >= other.latest:
            return False
        if self.certain and other.certain and self.latest < other.earliest:
            return True
        return None


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Where something occurs: for certain, and possibly (hidden events included)."""

    certain: Sequence[int]
    possible: Sequence[int]

    @property
    def any(self) -> Kleene:
        """Does it occur at all?"""
        return True if self.certain else None if self.possible else False


class View:
    """The events of one trace that a rule sees, in the order that the rule asks for."""

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
        self.pending: Final = pending
        self.ongoing: Final = ongoing
        """May more come? Then what a function of the user's says of the trace may change."""
        self._by_tool: dict[str, list[int]] = {}
        for position, event in enumerate(events):
            if isinstance(event, Call) and position not in hidden:
                self._by_tool.setdefault(event.tool, []).append(position)

    def __len__(self) -> int:
        return len(self.events)

    # ── the current event ────────────────────────────────────────────────────────────────

    def matches(self, at: int, tool: Tool | None, patterns: Sequence[Pattern]) -> Kleene:
        """Is the event at this position such a call?"""
        if at in self.hidden:
            return None
        event = self.events[at]
        if not isinstance(event, Call) or not is_tool(event, tool):
            return False
        if at not in self.pending:
            return all(fits(event, pattern, self.value) for pattern in patterns)
        known = [pattern for pattern in patterns if isinstance(pattern, ArgumentIs)]
        if not all(fits(event, pattern, self.value) for pattern in known):
            return False
        return True if len(known) == len(patterns) else None

    def field(self, at: int, name: str) -> Seen:
        """What the event at this position says in a field; nothing behind the end."""
        if at >= len(self.events):
            return MISSING
        if at in self.hidden or (at in self.pending and not known_before_result(name)):
            return UNSEEN
        return field_of(self.events[at], name)

    def event_object(self, at: int) -> Seen:
        """The event at this position as the object that `last` denotes."""
        unseen = at in self.hidden or at in self.pending
        return UNSEEN if unseen else as_object(self.events[at])

    def step(self, at: int) -> int:
        """The step of the event at this position."""
        step = self.events[at].step
        assert step is not None, "a trace gives every event a step"
        return step

    # ── the whole trace: the paper's first, nth and first_after ───────────────────────────

    def occurrences(self, tool: Tool | None, patterns: Sequence[Pattern] = ()) -> Occurrences:
        """The positions of such calls."""
        if tool is None:
            names = [name for name in self._by_tool if name != FINAL_ANSWER]
        else:
            names = names_among(self._by_tool, tool)
        found = [position for name in names for position in self._by_tool[name]]
        if len(names) > 1:
            found.sort()
        possible = found
        if patterns:
            judged = [(p, self.matches(p, tool, patterns)) for p in found]
            found = [p for p, holds in judged if holds]
            possible = [p for p, holds in judged if holds is not False]
        return Occurrences(found, sorted([*possible, *self.hidden]) if self.hidden else possible)

    def first(self, tool: Tool) -> Moment:
        """The first call of the tool."""
        return self.nth(tool, 0)

    def nth(self, tool: Tool, index: int) -> Moment:
        """The call of the tool with this index, counted from 0."""
        occurrences = self.occurrences(tool)
        certain, possible = occurrences.certain, occurrences.possible
        if len(possible) <= index:
            return Moment(None, None, False)
        is_certain = len(certain) > index
        latest = certain[index] if is_certain else possible[-1]
        return Moment(self.time(possible[index]), self.time(latest), is_certain)

    def time(self, position: int) -> int:
        """What ordering predicates compare: the position, or the step under `order: step`."""
        return position if self.order == "position" else self.step(position)

    def positions(self, *tools: Tool, index: int = 0) -> list[int]:
        """The certain positions of the first (or nth) calls of these tools, where there are any."""
        found = (self.occurrences(tool).certain for tool in tools)
        return sorted({certain[index] for certain in found if len(certain) > index})

    def mark(self, position: int) -> str:
        """How people refer to an event: `call #3`, counted from 1."""
        event = self.events[position]
        if isinstance(event, Message):
            return f"the {event.role} message (event #{position + 1})"
        if event.tool == FINAL_ANSWER:
            return "the final answer"
        calls = sum(isinstance(earlier, Call) for earlier in self.events[:position])
        return f"call #{calls + 1}"

    # ── values ───────────────────────────────────────────────────────────────────────────

    def value(self, term: Term) -> Json | Missing:
        """The value of a term that is the same at every event, and has no variables."""
        if isinstance(term, LiteralTerm):
            return term.value
        found = value_at(term, _Everywhere(self.trace))
        return MISSING if found is UNSEEN else found

    def shown(self, term: Term) -> str:
        """The value of a term as people read it."""
        value = self.value(term)
        return "nothing" if value is MISSING else write_json(value)

    def number(self, term: Term) -> int | None:
        """The whole number that a term denotes, or None if it denotes something else."""
        return whole_number(self.value(term))


class _Everywhere:
    """No event in particular: only what belongs to the whole trace can be read."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def answer(self) -> Seen:
        return MISSING if self.trace.answer is None else self.trace.answer

    def labels(self) -> Seen:
        return self.trace.labels

    def field(self, name: str) -> Seen:
        return MISSING

    def last(self, term: Last) -> Seen:
        return MISSING

    def counted(self, term: Counted) -> Seen:
        return MISSING


def at_or_after(positions: Sequence[int], position: int) -> int | None:
    """The first of the sorted positions that is not before this one."""
    index = bisect_left(positions, position)
    return positions[index] if index < len(positions) else None
