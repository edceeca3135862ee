"""A starter procedure from recorded traces: their tools, and rules that held in all of them.

Rules of a few common shapes are proposed and evaluated on every trace. Those that came into play
most often are kept; the others are offered in comments.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bylaw.formulas import Called, CalledN, F, G, O, call
from bylaw.logic.formula import Formula
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.scalars import quoted, scalar
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.syntax.printer import to_text
from bylaw.trace.trace import Trace

KEPT: Final = 10
"""The number of rules in the procedure; more are offered in comments."""
OFFERED: Final = 20
_CANDIDATES: Final = 200
"""The number of proposals to evaluate."""
_PLAIN_RULE: Final = re.compile(r"[A-Za-z][\w(), <>=!-]*")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A rule that held in every trace."""

    name: str
    rule: str
    meaning: str
    active: int
    """The number of traces in which it came into play."""


@dataclass(frozen=True, slots=True)
class Starter:
    """The procedure that `bylaw init` writes."""

    name: str
    traces: int
    tools: tuple[str, ...]
    kept: tuple[Proposal, ...]
    offered: tuple[Proposal, ...]

    def to_yaml(self) -> str:
        """The procedure file, with the evidence for each rule as a comment."""
        lines = [
            "bylaw: 1",
            f"name: {scalar(self.name)}",
            f"# The tools called in {_traces(self.traces)}. Add others that the agent has:",
            "# a rule that names an unlisted tool is an error.",
            f"tools: [{', '.join(map(scalar, self.tools))}]",
            "",
            "# These rules held in every trace. They describe what the agents did, not what they",
            "# should do. Keep those you want, add a weight, a why and a fix, and delete the rest.",
            "constraints:",
        ]
        for proposal in self.kept:
            lines += self._entry(proposal, "  ")
        if self.offered:
            lines += ["", "  # These rules held as well:"]
            for proposal in self.offered:
                lines += self._entry(proposal, "  # ")
        return "\n".join(lines) + "\n"

    def _entry(self, proposal: Proposal, margin: str) -> list[str]:
        comment = "" if margin.endswith("# ") else "# "
        return [
            f"{margin}{comment}{proposal.meaning} Came into play in {_traces(proposal.active)}.",
            f"{margin}- name: {scalar(proposal.name)}",
            f"{margin}  rule: {_rule_scalar(proposal.rule)}",
        ]


def starter(traces: Sequence[Trace], name: str = "my-procedure") -> Starter:
    """The starter procedure for these traces; at least one of them must have a call."""
    counts = Counter(call.tool for trace in traces for call in trace.calls)
    tools = tuple(tool for tool, _ in counts.most_common())
    proposals: list[Proposal] = []
    names: Counter[str] = Counter()
    for name_, formula, meaning, trigger in _candidates(traces, tools):
        if all(evaluate(formula, view_of(formula, trace)).value.is_true for trace in traces):
            active = sum(any(call.tool == trigger for call in trace) for trace in traces)
            names[name_] += 1  # different tools can have the same slug
            unique = name_ if names[name_] == 1 else f"{name_}-{names[name_]}"
            proposals.append(Proposal(unique, to_text(formula), meaning, active))
    proposals.sort(key=lambda proposal: -proposal.active)
    if not proposals and tools:  # a procedure states at least one rule
        rule = to_text(Called(list(tools)))
        proposals = [Proposal("acts", rule, "Some tool is called.", len(traces))]
    kept, offered = proposals[:KEPT], proposals[KEPT : KEPT + OFFERED]
    return Starter(name, len(traces), tools, tuple(kept), tuple(offered))


_Candidate = tuple[str, Formula, str, str]
"""A name, the rule, its meaning, and the tool that brings it into play."""


def _candidates(traces: Sequence[Trace], tools: Sequence[str]) -> Iterable[_Candidate]:
    """Proposals that tool names alone do not refute, the most informative shapes first."""
    shown = [[call.tool for call in trace.calls] for trace in traces]
    answered = all(trace.answer is not None for trace in traces)
    found: list[_Candidate] = []
    found += _orders(shown, tools)
    found += _counts(shown, tools, answered)
    return found[:_CANDIDATES]


def _orders(shown: Sequence[Sequence[str]], tools: Sequence[str]) -> Iterator[_Candidate]:
    before = {
        (a, b)
        for a in tools
        for b in tools
        if a != b and all(_precedes(a, b, calls) for calls in shown if b in calls)
    }
    after = {
        (a, b)
        for a in tools
        for b in tools
        if a != b and all(_precedes(b, a, calls[::-1]) for calls in shown if a in calls)
    }
    for a, b in sorted(_direct(before)):
        meaning = f"Every {_shown(b)} comes after some {_shown(a)}."
        yield f"{_slug(a)}-before-{_slug(b)}", G(call(b) >> O(call(a))), meaning, b
    for a, b in sorted(_direct(after) - before):
        meaning = f"Every {_shown(a)} is followed by some {_shown(b)}."
        yield f"{_slug(b)}-after-{_slug(a)}", G(call(a) >> F(call(b))), meaning, a


def _precedes(a: str, b: str, calls: Sequence[str]) -> bool:
    return a in calls and calls.index(a) < calls.index(b)


def _direct(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The pairs that do not follow from two others."""
    successors: dict[str, set[str]] = {}
    for a, b in pairs:
        successors.setdefault(a, set()).add(b)
    implied = {
        (a, c)
        for a, nexts in successors.items()
        for b in nexts
        for c in successors.get(b, set())
        if c != a and (b, a) not in pairs and (c, b) not in pairs
    }
    return pairs - implied


def _counts(
    shown: Sequence[Sequence[str]], tools: Sequence[str], answered: bool
) -> Iterator[_Candidate]:
    for tool in tools:
        slug, written = _slug(tool), _shown(tool)
        if all(tool in calls for calls in shown):
            if answered:
                before = G(call(FINAL_ANSWER) >> O(call(tool)))
                yield f"{slug}-before-answering", before, f"{written} precedes every answer.", tool
            else:
                yield f"{slug}-called", Called(tool), f"{written} is always called.", tool
        if all(calls.count(tool) <= 1 for calls in shown):
            once = CalledN(tool, "<=", 1)
            yield f"{slug}-at-most-once", once, f"{written} is never called twice.", tool


def _traces(count: int) -> str:
    return "1 trace" if count == 1 else f"{count} traces"


def _slug(tool: str) -> str:
    return re.sub(r"\W+", "-", tool).strip("-") or "tool"


def _shown(tool: str) -> str:
    """The tool, as one line of a comment."""
    return tool if tool.isprintable() else quoted(tool)


def _rule_scalar(rule: str) -> str:
    """The rule as a YAML scalar: plain if that is safe, else quoted."""
    return rule if _PLAIN_RULE.fullmatch(rule) else quoted(rule)
