"""The procedure file of mined rules: the certain ones, and the others in comments."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from bylaw.mining.mine import FOLDS, MinedProcedure, MinedRule, events_of
from bylaw.procedure.scalars import quoted, scalar
from bylaw.terminal import counted

_WIDTH: Final = 96


def to_yaml(mined: MinedProcedure) -> str:
    """The text of the file."""
    certain = [each for each in mined.rules if each.certain]
    others = [each for each in mined.rules if not each.certain]
    return (
        "\n".join([*_head(mined), *_constraints(certain, mined), *_offered(others, mined)]) + "\n"
    )


def _head(mined: MinedProcedure) -> Iterator[str]:
    yield "bylaw: 1"
    yield f"name: {scalar(mined.name)}"
    source = f"Mined from {counted(mined.good, 'good run')}"
    if mined.bad:
        source += f" and {counted(mined.bad, 'bad one')}, of which {mined.explained} break a rule"
    yield from _comment(f"{source}. The rules describe what was seen: keep those you mean.")
    if mined.failed is not None:
        yield f"failed: {mined.failed}"
    yield f"tools: [{', '.join(map(scalar, mined.tools))}]"
    yield ""


def _constraints(rules: list[MinedRule], mined: MinedProcedure) -> Iterator[str]:
    yield "constraints:"
    if not rules:
        yield from _comment("No rule is certain. One that holds everywhere:", "  ")
        yield "  - name: acts"
        yield "    rule: F call"
    for each in rules:
        yield from _entry(each, mined, "  ")


def _offered(rules: list[MinedRule], mined: MinedProcedure) -> Iterator[str]:
    if rules:
        yield ""
        yield from _comment(
            "Uncertain: found in all runs together, but not without a third of them.", "  "
        )
    for each in rules:
        yield from _entry(each, mined, "  # ")


def _entry(rule: MinedRule, mined: MinedProcedure, margin: str) -> Iterator[str]:
    plain = margin if margin.endswith("# ") else f"{margin}# "
    yield from textwrap.wrap(
        f"{evidence_text(rule, mined)} {counterexample_text(rule)}".strip(),
        _WIDTH,
        initial_indent=plain,
        subsequent_indent=plain,
    )
    yield f"{margin}- name: {scalar(rule.name)}"
    yield f"{margin}  rule: {quoted(rule.rule)}"
    if (events := events_of(rule.rule)) != "calls":
        yield f"{margin}  events: {events}"
    yield f"{margin}  layer: {rule.layer}"
    yield f"{margin}  why: {quoted(rule.meaning)}"


def evidence_text(rule: MinedRule, mined: MinedProcedure) -> str:
    """The evidence for a rule, in a sentence or two."""
    found = rule.evidence
    share, low, high = found.confidence
    kept = found.good - found.good_broken
    text = f"{kept} of the {counted(found.good, 'good run')} that it concerns keep it "
    text += f"({share:.0%}; 95% interval {low:.0%} to {high:.0%})"
    if mined.bad:
        text += f", and {found.bad_broken} of {counted(found.bad, 'bad run')} break it"
    text += "."
    if found.held_out is not None:
        text += (
            f" With a third of the runs left out, it was found again {found.held_out} of {FOLDS}"
        )
        text += " times."
    return text


def counterexample_text(rule: MinedRule) -> str:
    """The first run that breaks a rule, and the reason; nothing if none does."""
    found = rule.evidence
    if not found.counterexample or not found.broken_by:
        return ""
    return f"{found.broken_by[0]} breaks it: {found.counterexample}"


def _comment(text: str, margin: str = "") -> list[str]:
    indent = f"{margin}# "
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)
