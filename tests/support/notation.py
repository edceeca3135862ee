"""The notation of truth tables: traces in one line, rows of formula | trace | value | why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bylaw import Call, Trace

CASES = Path(__file__).parent.parent / "cases"

_TOKEN = re.compile(
    r"""
    (?P<open>\[) | (?P<close>\]) | (?P<answer>"(?:[^"\\]|\\.)*")
    | (?P<tool>[^\s\[\]{}=!"]+)
      (?P<args>\{(?:"(?:[^"\\]|\\.)*"|[^\s"])*?\}(?=[\s\]=!]|$))?
      (?:=>(?P<result>(?:"(?:[^"\\]|\\.)*"|[^\s"!\]]|\](?=[}\],]))+))?
      (?:!(?P<error>"(?:[^"\\]|\\.)*"))?
    """,
    re.VERBOSE,
)


def trace(text: str) -> Trace:
    """The trace that a line writes: `a [b c] d{"x":1}=>{"ok":true} "answer"`."""
    if text.strip() == "(empty)":
        return Trace()
    calls: list[Call] = []
    answer: str | None = None
    step, inside = 0, False
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = _TOKEN.match(text, position)
        assert match, f"not a trace: {text!r} at {position}"
        position = match.end()
        if match["open"]:
            inside = True
        elif match["close"]:
            inside, step = False, step + 1
        elif match["answer"]:
            answer = json.loads(match["answer"])
        else:
            calls.append(_call(match, step))
            step += not inside
    return Trace(calls, answer=answer)


def _call(match: re.Match[str], step: int) -> Call:
    fields: dict[str, object] = {}
    if match["result"]:
        fields["result"] = json.loads(match["result"])
    if match["error"]:
        fields["error"] = json.loads(match["error"])
    arguments = json.loads(match["args"] or "{}")
    return Call(match["tool"], arguments, step=step, **fields)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Row:
    """One row of a truth table."""

    place: str
    formula: str
    trace: str
    value: str
    why: str
    order: str


def rows(name: str) -> Iterator[Row]:
    """The rows of a table in `tests/cases`."""
    order = "position"
    for number, line in enumerate((CASES / name).read_text().splitlines(), start=1):
        if line.startswith("@order "):
            order = line.removeprefix("@order ").strip()
        elif line.strip() and not line.startswith("#"):
            # The formula may contain '|', so the columns are split from the right.
            formula, shown, value, why = (part.strip() for part in line.rsplit(" | ", 3))
            yield Row(f"{name}:{number}", formula, shown, value, why, order)


def all_rows() -> Iterator[Row]:
    """The rows of every table."""
    for path in sorted(CASES.glob("*.cases")):
        yield from rows(path.name)
