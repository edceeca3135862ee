"""Rules across runs in a report: a line for each rule in the text, and what broke it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from bylaw.scoring.across import AcrossResult
from bylaw.semantics.verdict import Outcome
from bylaw.terminal import coloured, counted, in_line, safe, wrapped

MAX_SHOWN: Final = 20
"""The number of values that are shown for a rule that they violate."""


def across_lines(results: Sequence[AcrossResult], out: TextIO) -> Iterator[str]:
    """Each rule with the number of values, and the values that violate it."""
    yield "Rules across runs"
    rules: dict[str, list[AcrossResult]] = {}
    for each in results:
        rules.setdefault(each.name, []).append(each)
    for name, found in rules.items():
        label = found[0].label
        broken = [each for each in found if each.passed is not True]
        word, colour = ("VIOLATED", "red") if broken else ("pass", "green")
        values = f"{counted(len(found), 'value')} of {label}"
        share = f"{values}, {len(broken)} violated" if broken else values
        shown, about = coloured(f"{word:<8}", colour, out), coloured(share, "grey", out)
        yield f"{shown}  {in_line(name)}  {about}"
        for each in broken[:MAX_SHOWN]:
            yield from _value_lines(each)
        if len(broken) > MAX_SHOWN:
            yield wrapped(f"… and {counted(len(broken) - MAX_SHOWN, 'more value')}", 10)
        if not all(each.in_time_order for each in found):
            note = "Some runs have no times: they are taken in the order of the corpus."
            yield coloured(wrapped(note, 10), "grey", out)


def _value_lines(result: AcrossResult) -> Iterator[str]:
    yield wrapped(safe(across_sentence(result)), 10)
    if result.witness:
        yield wrapped(safe(across_calls(result)), 12)


def across_sentence(result: AcrossResult) -> str:
    """The value, and the call that broke the rule: `customer c7 (2 traces): Call #4 is …`."""
    undecided = "could not be decided: " if result.outcome is Outcome.ERROR else ""
    traces = counted(len(result.traces), "trace")
    return f"{result.title} ({traces}): {undecided}{result.result.detail}"


def across_calls(result: AcrossResult) -> str:
    """The calls to look at, in a sentence; empty if there are none."""
    return f"Calls to look at: {result.where}." if result.witness else ""
