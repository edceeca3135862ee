"""The notation of truth tables: traces in one line, rows of formula | trace | value | why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from bylaw import Call, Message, Trace, parse
from bylaw.procedure.failure import Failure
from bylaw.trace.event import MISSING, Role

CASES = Path(__file__).parent.parent / "cases"

_MARK = re.compile(r"[\[\]]")
_MESSAGE = re.compile(r"(user|assistant|system):")
_TOOL = re.compile(r"""[^\s\[\]{}=!"@]+""")
_JSON = json.JSONDecoder()


class _Line:
    """A line, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def more(self) -> bool:
        while self.text[self.position : self.position + 1].isspace():
            self.position += 1
        return self.position < len(self.text)

    def take(self, form: re.Pattern[str]) -> str | None:
        """The next text, if it has this form."""
        found = form.match(self.text, self.position)
        if found is None:
            return None
        self.position = found.end()
        return found.group()

    def value(self, opening: str) -> Any:
        """The next JSON value, if this text introduces it; else MISSING."""
        if not self.text.startswith(opening, self.position):
            return MISSING
        start = self.position + (0 if opening in '{"' else len(opening))
        found, self.position = _JSON.raw_decode(self.text, start)
        return found


def trace(text: str, labels: Mapping[str, object] | None = None) -> Trace:
    """The trace that a line writes: `user:"hi" a [b c] d{"x":1}=>{"ok":true}@5 "answer"`.

    `@5` is the start; `@{"start":5,"end":7,"agent":"x","usage":{}}` gives more of an event.

    A message of a user or the system has a step of its own; an assistant's shares that of the
    calls that follow it directly.
    """
    if text.strip() == "(empty)":
        return Trace(labels=labels)
    events: list[Call | Message] = []
    answer: str | None = None
    step, inside, speaking = 0, False, False
    line = _Line(text)
    while line.more():
        if mark := line.take(_MARK):
            inside = mark == "["
            step += not inside
        elif line.text.startswith('"', line.position):
            answer = line.value('"')
        elif role := line.take(_MESSAGE):
            step += speaking  # what was said before stands alone
            text = line.value('"')
            events.append(Message(cast(Role, role[:-1]), text, step, **_details(line)))
            speaking = role == "assistant:"
            step += not speaking
        else:
            events.append(_call(line, step))
            step, speaking = step + (not inside), False
    return Trace(events, answer=answer, labels=labels)


def _call(line: _Line, step: int) -> Call:
    tool = line.take(_TOOL)
    assert tool, f"not a trace: {line.text!r} at {line.position}"
    arguments, result, error = (line.value(opening) for opening in ("{", "=>", "!"))
    return Call(
        tool,
        {} if arguments is MISSING else arguments,
        result,
        step,
        None if error is MISSING else error,
        **_details(line),
    )


def _details(line: _Line) -> dict[str, Any]:
    """The start of an event, or more of it."""
    found = line.value("@")
    if found is MISSING:
        return {}
    return found if isinstance(found, dict) else {"start": found}


@dataclass(frozen=True)
class Row:
    """One row of a truth table, with the directives above it."""

    place: str
    formula: str
    trace: str
    value: str
    why: str
    order: str = "position"
    events: str = "calls"
    labels: str = "{}"
    failed: str = ""
    """The formula by which tools report failure, if any."""

    def subject(self) -> Trace:
        """The trace with its labels, and its failures marked."""
        found = trace(self.trace, json.loads(self.labels))
        if not self.failed:
            return found
        return Failure(parse(self.failed), self.failed).marked_trace(found)


_DIRECTIVES = ("order", "events", "labels", "failed")


def rows(name: str) -> Iterator[Row]:
    """The rows of a table in `tests/cases`. A directive, `@order step`, holds until the next."""
    said: dict[str, str] = {}
    for number, line in enumerate((CASES / name).read_text().splitlines(), start=1):
        if line.startswith("@"):
            directive, _, value = line.removeprefix("@").partition(" ")
            assert directive in _DIRECTIVES, f"{name}:{number}: no directive {directive!r}"
            said[directive] = value.strip()
        elif line.strip() and not line.startswith("#"):
            # The formula may contain '|', so the columns are split from the right.
            formula, shown, value, why = (part.strip() for part in line.rsplit(" | ", 3))
            yield Row(f"{name}:{number}", formula, shown, value, why, **said)


def all_rows() -> Iterator[Row]:
    """The rows of every table."""
    for path in sorted(CASES.glob("*.cases")):
        yield from rows(path.name)
