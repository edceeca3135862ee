"""W509: rules whose final verdict may come late while an agent acts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from bylaw.logic import formula as f
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.lint.prover import Prover
from bylaw.procedure.lint.subject import LintSubject
from bylaw.semantics.machine.residual import TooLarge
from bylaw.semantics.machine.search import Explorer
from bylaw.semantics.monitor import Monitor

PROBED_STATES: Final = 24
"""The number of early states from which a rule's search is tried."""


def find_late(subject: LintSubject) -> Iterator[Finding]:
    """W509: a monitor may notice late, or only at the end, that the rule is doomed."""
    for constraint in subject.constraints:
        name, formula = (constraint.name,), constraint.formula
        if reason := _monitor_reason(formula, subject.prover):
            advice = (
                "Scores are not affected. For a gate that refuses in time, state what it should "
                "refuse in a separate rule over calls and their arguments."
            )
            yield Finding("W509", name, _message(reason), advice, severity="note")
        elif _exceeds_budget(formula, subject.prover):
            reason = "the search for a continuation needs more states than the budget allows"
            advice = (
                "Split it at its '&': several rules are followed separately."
                if isinstance(formula, f.And)
                else "Use fewer tools or smaller numbers, or leave the rule to the score."
            )
            yield Finding("W509", name, _message(reason), advice)


def _message(reason: str) -> str:
    return f"While an agent acts, final verdicts on this rule may come late: {reason}."


def _monitor_reason(formula: f.Formula, prover: Prover) -> str | None:
    """The monitor's reason for late verdicts, if it has one."""
    monitor = Monitor(
        formula, order=prover.order, events=prover.events, vocabulary=prover.vocabulary
    )
    return monitor.reason


def _exceeds_budget(formula: f.Formula, prover: Prover) -> bool:
    """Does a search from the start, or from a state near it, run out of budget?"""
    explorer = prover.explorer(formula)
    if explorer is None:
        return False
    try:
        for state in _first_states(explorer):
            for value in (True, False):
                explorer.can_end(state, value)
            if not explorer.exact:
                return True
    except TooLarge:
        return True
    return False


def _first_states(explorer: Explorer) -> Iterator[int]:
    """The states nearest to the start."""
    machine = explorer.machine
    seen = {machine.start}
    waiting = deque([machine.start])
    while waiting:
        state = waiting.popleft()
        yield state
        for step in explorer.steps(state):
            target = machine.advance(state, step.move)
            if target not in seen and len(seen) < PROBED_STATES:
                seen.add(target)
                waiting.append(target)
