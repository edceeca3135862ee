"""A trace under construction: events that can be inserted, removed and changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, Call, Event, Message, Missing, Role
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json, write_json

MAX_EVENTS: Final = 12
"""The number of events that a search may add to a trace."""


@dataclass(slots=True, eq=False)
class DraftEvent:
    """An event that can still be changed. Two of them are the same only if they are one object."""

    tool: str | None = None
    """None for a message, and for an event that nothing has been said about yet."""
    role: Role | None = None
    args: dict[str, Json] = field(default_factory=dict)
    result: Json | Missing = MISSING
    error: str | None = None
    text: str = ""
    start: float | None = None
    end: float | None = None
    agent: str | None = None
    usage: dict[str, Json] | None = None
    joined: bool = False
    """Does it share the step of the event before it?"""
    given: Event | None = None
    """The event of the trace that is being edited; None if the search added this one."""

    @classmethod
    def of(cls, event: Event, *, joined: bool) -> DraftEvent:
        """An event of a trace that is to be edited."""
        made = cls(start=event.start, agent=event.agent, joined=joined, given=event)
        made.usage = None if event.usage is None else dict(event.usage)
        if isinstance(event, Message):
            made.role, made.text = event.role, event.text
        else:
            made.tool, made.args = event.tool, dict(event.args)
            made.result, made.error, made.end = event.result, event.error, event.end
        return made

    @property
    def blank(self) -> bool:
        """Has nothing been said about the event yet?"""
        return self.tool is None and self.role is None

    @property
    def is_answer(self) -> bool:
        """Is this the final answer?"""
        return self.tool == FINAL_ANSWER

    def written(self, step: int | None) -> Event:
        """The event as a part of a trace."""
        if self.role is not None:
            return Message(self.role, self.text, step, self.start, self.agent, self.usage)
        if self.is_answer:
            answer = self.args.get("answer", "")
            text = answer if isinstance(answer, str) else write_json(answer)
            return Call(FINAL_ANSWER, {"answer": text}, step=step)
        return Call(
            self.tool or "something_else",
            self.args,
            self.result,
            step,
            self.error,
            start=self.start,
            end=self.end,
            agent=self.agent,
            usage=self.usage,
        )


class Draft:
    """Events, labels and metrics that can be changed, and the trace that they make.

    A draft that edits a given trace keeps its messages, labels and metrics, and what tools
    returned unless `edit_results` is true.
    """

    def __init__(self, given: Trace | None = None, *, edit_results: bool = False) -> None:
        self.given: Final = given
        self.edit_results: Final = edit_results
        self.events: list[DraftEvent] = []
        self.labels: dict[str, Json] = dict(given.labels) if given else {}
        self.metrics: dict[str, Json] = dict(given.metrics) if given else {}
        self._trace: Trace | None = None
        if given is not None:
            step: int | None = None
            for event in given.events:
                joined = event.step is not None and event.step == step
                self.events.append(DraftEvent.of(event, joined=joined))
                step = event.step
            if given.answer is not None:
                call = Call(FINAL_ANSWER, {"answer": given.answer})
                self.events.append(DraftEvent.of(call, joined=False))
        self._room = len(self.events) + MAX_EVENTS

    def changed(self) -> None:
        """Notes that something has changed."""
        self._trace = None

    @property
    def trace(self) -> Trace:
        """The trace as it is now."""
        if self._trace is None:
            events, step = [], -1
            for number, event in enumerate(self.events):
                step += not (number and self._shares_step(number))
                events.append(event.written(step))
            self._trace = Trace(events, metrics=self.metrics, labels=self.labels)
        return self._trace

    def _shares_step(self, number: int) -> bool:
        """Messages of users and the system, and the answer, have steps of their own."""
        one, other = self.events[number - 1 : number + 1]
        alone = any(e.role in ("user", "system") or e.is_answer for e in (one, other))
        # An assistant's text precedes the calls of its step.
        return other.joined and not alone and other.role is None

    def insert(self, index: int, event: DraftEvent | None = None) -> DraftEvent | None:
        """A new event at this place; None if there are too many events, or the answer is before."""
        if len(self.events) >= self._room or any(e.is_answer for e in self.events[:index]):
            return None
        if index < len(self.events) and self.events[index].joined:
            if self.given is not None:
                self.events[index].joined = False
            else:
                while index and self.events[index].joined:
                    index -= 1  # a new event comes before the whole step
        made = event or DraftEvent()
        self.events.insert(index, made)
        self.changed()
        return made

    def remove(self, event: DraftEvent) -> bool:
        """Removes an event; false if it has to stay."""
        if self.given is not None and event.role is not None:
            return False
        index = self.events.index(event)
        if index + 1 < len(self.events) and not event.joined:
            self.events[index + 1].joined = False
        self.events.remove(event)
        self.changed()
        return True

    def may_set(self, event: DraftEvent, name: str) -> bool:
        """May this field of the event be changed?"""
        given = event.given
        if given is None or name == "joined":
            return given is None
        if not isinstance(given, Call):
            return False
        of_other_tool = event.tool != given.tool
        if name in ("start", "end", "agent", "usage"):
            return False
        return name in ("args", "tool") or of_other_tool or (name == "result" and self.edit_results)

    def set(self, event: DraftEvent, name: str, value: Any) -> bool:
        """Changes a field of an event; false if it has to stay."""
        if not self.may_set(event, name):
            return False
        setattr(event, name, value)
        if name == "tool" and event.given is not None:
            event.result, event.error = MISSING, None  # another tool returns something else
        self.changed()
        return True

    def start_at(self, event: DraftEvent, time: float) -> bool:
        """Starts an event at a time; events before it start no later, those after it no earlier."""
        if not self.may_set(event, "start"):
            return False
        event.start, at = time, self.events.index(event)
        for number, other in enumerate(self.events):
            wrong = other.start is not None and (
                other.start > time if number < at else other.start < time
            )
            if wrong and self.may_set(other, "start"):
                other.start = time
        self.changed()
        return True

    def visible(self, events: Events, answer: bool) -> list[DraftEvent]:
        """The events that a rule sees."""
        return [
            event
            for event in self.events
            if (answer or not event.is_answer) and (events == "all" or event.role is None)
        ]

    def copy(self) -> Draft:
        """An independent draft with the same content."""
        other = Draft.__new__(Draft)
        for name, value in vars(self).items():
            setattr(other, name, value)
        other.events = [replace(event, args=dict(event.args)) for event in self.events]
        other.labels, other.metrics = dict(self.labels), dict(self.metrics)
        return other
