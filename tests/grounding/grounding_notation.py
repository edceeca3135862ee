"""The notation of grounding cases; `adversarial.cases` says how it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bylaw import Call, Message, Trace
from bylaw.grounding import Grounding
from bylaw.trace.event import Event

_CODE_POINT = re.compile(r"\{U\+([0-9A-F]{4,6})\}")


@dataclass
class Case:
    """One answer, what was read before it, and what a careful reader says."""

    title: str
    place: str
    options: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    verdict: str = ""
    ungrounded: list[str] = field(default_factory=list)
    why: str = ""

    def trace(self) -> Trace:
        """The run that ended in the answer."""
        return Trace(self.events, answer="\n".join(self.answer))

    def grounding(self) -> Grounding:
        """The settings that the case asks for."""
        given = Grounding(location="location" in self.options)
        return Grounding(
            self.options.get("evidence", "read_file").split(),
            self.options.get("classes", " ".join(given.classes)).split(),
            location=given.location,
        )


def cases(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    case: Case | None = None
    returned: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = _CODE_POINT.sub(lambda found: chr(int(found[1], 16)), line)
        mark, _, rest = line.partition(" ")
        if mark == "==":
            if case is not None:
                yield case
            case = Case(rest, f"{path.name}:{number}")
        elif case is None or not line or mark.startswith("#"):
            continue
        elif mark.startswith("@"):
            case.options[mark[1:]] = rest
        elif mark == "?":
            case.events.append(Message("user", rest))
        elif mark == "|":
            call = case.events.pop()
            assert isinstance(call, Call), case.place
            returned.append(rest)
            text = "\n".join(returned)
            case.events.append(Call(call.tool, call.args, text, error=call.error and text))
        elif mark in ("read", "fail", "list", "call"):
            returned = []
            case.events.append(_call(mark, rest.split()))
        elif mark == ">":
            case.answer.append(rest)
        elif mark == "=":
            case.verdict, _, named = rest.partition(":")
            case.ungrounded = [each.strip() for each in named.split(";") if each.strip()]
        elif mark == "-":
            case.why = rest
        else:
            raise AssertionError(f"{path.name}:{number}: {line!r} has no meaning here")
    if case is not None:
        yield case


def _call(mark: str, words: list[str]) -> Call:
    target, *rest = words
    given = dict(word.split("=", 1) for word in rest)
    numbers = {name: int(value) if value.isdigit() else value for name, value in given.items()}
    match mark:
        case "list":
            return Call("list_directory", {"path": target})
        case "call":
            return Call(target, numbers)
        case "fail":
            return Call("read_file", {"path": target, **numbers}, error="failed")
        case _:
            return Call("read_file", {"path": target, **numbers}, "")
