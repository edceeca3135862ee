"""The notation for the runs that specify the example procedures."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from bylaw import Call, Message, Trace
from bylaw.trace.event import Event


class Pair(NamedTuple):
    """Two runs that differ in the one thing that a rule is about."""

    satisfies: Trace
    violates: Trace


def user(text: str) -> Message:
    return Message("user", text)


def agent(text: str) -> Message:
    return Message("assistant", text)


def run(*turns: Event | tuple[Event, ...]) -> Trace:
    """A run with one event in a turn, or several where they are given as a tuple."""
    events = [turn if isinstance(turn, tuple) else (turn,) for turn in turns]
    return Trace(replace(event, step=step) for step, turn in enumerate(events) for event in turn)


def failing(call: Call, text: str = "Error: try again later") -> Call:
    """The call, answered with a text that only a procedure's `failed:` can tell from a result."""
    return replace(call, result=text)
