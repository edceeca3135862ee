"""A trace: what an agent did, in order, and what it answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from bylaw.errors import MAX_DIAGNOSTICS, Diagnostic, TraceError
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call, Event, Message
from bylaw.trace.record import Contents, read_record, write_record
from bylaw.values import Json, write_json

Events: TypeAlias = Literal["calls", "all"]


class Trace:
    """Events in order, the final answer, the metrics record and labels. Never changes.

    Events that carry no step get one: each call is a step of its own; an assistant's text
    shares the step of the calls that follow it; other messages stand alone.
    """

    __slots__ = ("_views", "answer", "calls", "events", "labels", "metrics", "name")

    def __init__(
        self,
        events: Iterable[Event] = (),
        *,
        answer: str | None = None,
        metrics: Mapping[str, Json] | None = None,
        labels: Mapping[str, Json] | None = None,
        name: str | None = None,
    ) -> None:
        listed = list(events)
        last = listed[-1] if listed else None
        if isinstance(last, Call) and last.tool == FINAL_ANSWER:
            answer = _agreed(answer, _answer_of(last))
            listed.pop()
        self.events: Final = _stepped(listed)
        self.calls: Final = tuple(event for event in self.events if isinstance(event, Call))
        self.answer: Final = answer
        self.metrics: Final[Mapping[str, Json]] = dict(metrics or {})
        self.labels: Final[Mapping[str, Json]] = dict(labels or {})
        self.name: Final = name
        self._views: dict[tuple[Events, bool], tuple[Event, ...]] = {}

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
        """The events a rule sees: calls or all events, the final answer last if it is asked for."""
        key = (events, answer)
        if key not in self._views:
            seen: tuple[Event, ...] = self.calls if events == "calls" else self.events
            if answer and self.answer is not None:
                last = self.events[-1].step if self.events else None
                step = 0 if last is None else last + 1
                seen = (*seen, Call(FINAL_ANSWER, {"answer": self.answer}, step=step))
            self._views[key] = seen
        return self._views[key]

    @classmethod
    def from_record(
        cls, record: object, *, name: str | None = None, checked: bool = False
    ) -> Trace:
        """The trace of a metrics record; `checked` as in `read_record`."""
        contents = read_record(record, checked=checked)
        return cls(
            contents.events,
            answer=contents.answer,
            metrics=contents.metrics,
            labels=contents.labels,
            name=name,
        )

    def to_record(self) -> dict[str, Json]:
        """The trace as a metrics record, in the current format version."""
        return write_record(Contents(self.events, self.answer, self.metrics, self.labels))


def _answer_of(call: Call) -> str:
    """The text that a `final_answer` call hands over."""
    given = call.args.get("answer", dict(call.args) or "")
    return given if isinstance(given, str) else write_json(given)


def _agreed(stated: str | None, called: str) -> str:
    if stated is not None and stated != called:
        raise TraceError(
            Diagnostic(
                "E306",
                "the record states one answer, and its final_answer call another",
                "Keep one of them.",
            )
        )
    return called


def _stepped(events: list[Event]) -> tuple[Event, ...]:
    """The events with a step each, never decreasing."""
    problems: list[Diagnostic] = []
    stepped: list[Event] = []
    last, shared, number = -1, False, 0
    for event in events:
        is_call = isinstance(event, Call)
        where = f"tool_calls[{number}]" if is_call else "messages"
        if isinstance(event, Call) and event.tool == FINAL_ANSWER:
            problems.append(
                Diagnostic(
                    "E305",
                    "'final_answer' is reserved for the answer and can only be the last call",
                    "Rename the tool, or end the trace there.",
                    where=where,
                )
            )
        if event.step is None:
            # A call right after assistant text belongs to the turn that said it.
            step = last if is_call and shared else last + 1
            event = replace(event, step=step)
        else:
            step = event.step
            if step < last:
                problems.append(
                    Diagnostic(
                        "E304",
                        f"step {step} follows step {last}; steps never decrease",
                        "Order the calls as they were issued, or leave the steps out.",
                        where=f"{where}.step",
                    )
                )
        if len(problems) >= MAX_DIAGNOSTICS:
            break
        shared = isinstance(event, Message) and event.role == "assistant"
        last = max(last, step)
        number += is_call
        stepped.append(event)
    if problems:
        raise TraceError(problems)
    return tuple(stepped)
