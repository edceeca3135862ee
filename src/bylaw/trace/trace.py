"""A trace: the events of a run, in order, and its answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from bylaw.argument_types import expect
from bylaw.errors import MAX_DIAGNOSTICS, Diagnostic, TraceError
from bylaw.frozen import replace
from bylaw.names import FINAL_ANSWER
from bylaw.read_only import ReadOnlyDict, read_only
from bylaw.trace.event import Call, Event, Message
from bylaw.trace.record import Contents, read_record, write_record
from bylaw.trace.refusal import Refusal
from bylaw.values import Json, write_json

EVENTS: Final = (Call, Message)
Events: TypeAlias = Literal["calls", "all"]


class Trace:
    """Events in order, the final answer, the metrics record and labels. Immutable.

    `refusals` are the calls that a gate refused. They did not run, so that no rule sees them.

    `answered` is the time of the answer, in seconds since 1970, UTC.

    Events without a step get one. Each call is a step of its own, an assistant's text shares the
    step of the calls that follow it, and every other message is a step of its own. If only some
    events have a step, all are renumbered, and adjacent calls of one step stay together.
    """

    __slots__ = (
        *("_read_only", "_views"),
        *("answer", "answered", "calls", "events", "labels", "metrics", "name", "refusals"),
    )

    def __init__(
        self,
        events: Iterable[Event] = (),
        *,
        answer: str | None = None,
        metrics: Mapping[str, Json] | None = None,
        labels: Mapping[str, Json] | None = None,
        name: str | None = None,
        refusals: Iterable[Refusal] = (),
        answered: float | None = None,
    ) -> None:
        listed = list(events)
        if not all(isinstance(event, EVENTS) for event in listed):
            _reject(next(event for event in listed if not isinstance(event, EVENTS)))
        last = listed[-1] if listed else None
        if isinstance(last, Call) and last.tool == FINAL_ANSWER:
            answer = _agreed(answer, answer_text(last))
            answered = last.start if answered is None else answered
            listed.pop()
        self.events: Final = _stepped(listed)
        self.calls: Final = tuple(event for event in self.events if isinstance(event, Call))
        self.answer: Final = answer
        self.answered: Final = answered
        self.metrics: Final[Mapping[str, Json]] = dict(metrics or {})
        self.labels: Final[Mapping[str, Json]] = dict(labels or {})
        self.name: Final = name
        self.refusals: Final = tuple(refusals)
        self._views: dict[tuple[Events, bool], tuple[Event, ...]] = {}
        self._read_only: Trace | None = None

    @property
    def read_only(self) -> Trace:
        """The same trace for registered functions: nothing in it can be changed."""
        if self._read_only is None:
            events = [e.read_only if isinstance(e, Call) else e for e in self.events]
            self._read_only = _ReadOnlyTrace(
                events,
                answer=self.answer,
                metrics=read_only(self.metrics),
                labels=read_only(self.labels),
                name=self.name,
                refusals=self.refusals,
                answered=self.answered,
            )
        return self._read_only

    def __len__(self) -> int:
        """The number of calls."""
        return len(self.calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)

    def __getitem__(self, position: int) -> Call:
        return self.calls[position]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self.to_record() == other.to_record()

    def __hash__(self) -> int:
        return hash((self.answer, tuple(call.tool for call in self.calls)))

    def __repr__(self) -> str:
        tools = " ".join(call.tool for call in self.calls[:8])
        more = f" … {len(self.calls)} calls" if len(self.calls) > 8 else ""
        answer = "" if self.answer is None else f", answer={self.answer[:40]!r}"
        return f"<Trace {tools}{more}{answer}>"

    def seen(self, events: Events = "calls", answer: bool = False) -> tuple[Event, ...]:
        """The events that a rule sees. With `answer`, the final answer comes last, as a call."""
        key = (events, answer)
        if key not in self._views:
            seen: tuple[Event, ...] = self.calls if events == "calls" else self.events
            if answer and self.answer is not None:
                last = self.events[-1].step if self.events else None
                step = 0 if last is None else last + 1
                given = Call(FINAL_ANSWER, {"answer": self.answer}, step=step, start=self.answered)
                seen = (*seen, given)
            self._views[key] = seen
        return self._views[key]

    @classmethod
    def from_record(
        cls, record: object, *, name: str | None = None, checked: bool = False
    ) -> Trace:
        """The trace of a metrics record; `checked` as in `read_record`."""
        return trace_with(read_record(record, checked=checked), name)

    def to_record(self) -> dict[str, Json]:
        """The trace as a metrics record, in the current format version."""
        return write_record(self._contents())

    def with_events(
        self, events: Iterable[Event], *, refusals: Iterable[Refusal] | None = None
    ) -> Trace:
        """The same trace with other events, and perhaps other refusals."""
        kept = self.refusals if refusals is None else tuple(refusals)
        changed = replace(self._contents(), events=tuple(events), refusals=kept)
        return trace_with(changed, self.name)

    def _contents(self) -> Contents:
        kept = self.metrics, self.labels, self.refusals
        return Contents(self.events, self.answer, *kept, self.answered)


def trace_with(contents: Contents, name: str | None = None) -> Trace:
    """The trace with the contents of a record."""
    return Trace(
        contents.events,
        answer=contents.answer,
        metrics=contents.metrics,
        labels=contents.labels,
        name=name,
        refusals=contents.refusals,
        answered=contents.answered,
    )


class _ReadOnlyTrace(Trace):
    """A trace that cannot be changed."""

    __slots__ = ("_made",)

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self.metrics = ReadOnlyDict(self.metrics)  # type: ignore[misc]  # made by `super`
        self.labels = ReadOnlyDict(self.labels)  # type: ignore[misc]  # as above
        self._made = True

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, "_made"):
            raise AttributeError("a trace cannot be changed")
        super().__setattr__(name, value)

    @property
    def read_only(self) -> Trace:
        return self


def answer_text(call: Call) -> str:
    """The answer in a `final_answer` call, as a trace has it."""
    given = call.args.get("answer", dict(call.args) or "")
    return given if isinstance(given, str) else write_json(given)


def _agreed(stated: str | None, called: str) -> str:
    if stated is not None and stated != called:
        raise TraceError(
            Diagnostic(
                "E306",
                "the record and its final_answer call state different answers",
                "Keep one of them.",
            )
        )
    return called


def _reject(given: object) -> None:
    help = 'Write Call("search", {"q": "x"}). A record is read with Trace.from_record.'
    expect(given, EVENTS, "calls and messages", help)


def _stepped(events: list[Event]) -> tuple[Event, ...]:
    """The events, each with a step; steps never decrease."""
    _check_order(events)
    if all(event.step is not None for event in events):
        return tuple(events)
    # If some events have no step, the recorded steps only say which calls belong together:
    # between two of them there may be no number left.
    stepped: list[Event] = []
    for event, previous in zip(events, [None, *events], strict=False):
        last = (stepped[-1].step or 0) if stepped else -1
        step = last if _same_turn(previous, event) else last + 1
        stepped.append(replace(event, step=step))
    return tuple(stepped)


def _same_turn(previous: Event | None, event: Event) -> bool:
    """Do both belong to one model turn? An assistant's text precedes the calls of its turn."""
    if not isinstance(event, Call) or previous is None:
        return False
    if isinstance(previous, Message):
        return previous.role == "assistant"
    return event.step is not None and previous.step == event.step


def _check_order(events: list[Event]) -> None:
    problems: list[Diagnostic] = []
    last, number = -1, 0
    for event in events:
        where = f"tool_calls[{number}]" if isinstance(event, Call) else "messages"
        if isinstance(event, Call):
            number += 1
            if event.tool == FINAL_ANSWER:
                message = "'final_answer' is reserved for the answer and can only be the last call"
                help = "Rename the tool, or end the trace with this call."
                problems.append(Diagnostic("E305", message, help, where=where))
        if event.step is not None:
            if event.step < last:
                message = f"step {event.step} follows step {last}; steps never decrease"
                help = "Order the calls as they were issued, or leave the steps out."
                problems.append(Diagnostic("E304", message, help, where=f"{where}.step"))
            last = max(last, event.step)
        if len(problems) >= MAX_DIAGNOSTICS:
            break
    if problems:
        raise TraceError(problems)
