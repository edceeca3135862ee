"""Lint: finds rules of a procedure that do not mean what they seem to.

Every finding is proven, or was observed in the sample traces. Lint is silent about rules that it
cannot decide because they call Python or need too long a search.

A check is one function from a `LintSubject` to findings, and one row of `CHECKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from bylaw.procedure.lint.arguments import find_excluded_arguments, find_untyped_orders
from bylaw.procedure.lint.budgets import find_escapable_budgets
from bylaw.procedure.lint.data import find_data_traps
from bylaw.procedure.lint.evidence import find_open_guards
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.lint.lateness import find_late
from bylaw.procedure.lint.ordering import find_demands
from bylaw.procedure.lint.samples import find_empty, find_not_in_play, find_unlisted
from bylaw.procedure.lint.satisfiability import find_constant, find_contradictions
from bylaw.procedure.lint.subject import LintSubject
from bylaw.procedure.lint.types import find_type_traps
from bylaw.procedure.lint.unused import find_unused_groups, find_unused_tools
from bylaw.procedure.lint.vacuous import find_first_only, find_vacuous
from bylaw.procedure.procedure import Procedure
from bylaw.trace.trace import Trace


class Check(NamedTuple):
    """One row of the table of checks."""

    find: Callable[[LintSubject], Iterator[Finding]]
    unless: frozenset[str] = frozenset()
    """Codes that explain a rule better: the check is silent about rules that have one of these."""


_CONSTANT: Final = frozenset({"W501", "W502"})
_DATA: Final = frozenset({"W511", "W512", "W513"})
CHECKS: Final = (
    Check(find_constant),
    Check(find_data_traps),
    Check(find_open_guards),
    Check(find_escapable_budgets),
    Check(find_excluded_arguments),
    Check(find_type_traps, unless=frozenset({"W501", "W502", "W512", "W530"})),
    Check(find_untyped_orders, unless=frozenset({"W510", "W517", "W542"})),
    Check(find_demands),
    Check(find_vacuous, unless=_CONSTANT | _DATA),
    Check(find_first_only, unless=_CONSTANT),
    Check(find_not_in_play, unless=_CONSTANT),
    Check(find_empty),
    Check(find_unlisted),
    Check(find_late),
    Check(find_contradictions),
    Check(find_unused_groups),
    Check(find_unused_tools),
)
"""Every check, in the order in which findings about one rule are listed."""


def lint(procedure: Procedure, traces: Iterable[Trace] = ()) -> list[Finding]:
    """The findings about single rules, in the procedure's order; then pairs, then the procedure.

    Sample traces are read one at a time. They show which rules never come into play.
    """
    subject = LintSubject(procedure, traces)
    findings: list[Finding] = []
    for check in CHECKS:
        explained = {known.constraints for known in findings if known.code in check.unless}
        findings += [each for each in check.find(subject) if each.constraints not in explained]
    place = {constraint.name: i for i, constraint in enumerate(procedure.constraints)}

    def order(finding: Finding) -> tuple[int, int]:
        names = finding.constraints
        return (0, place[names[0]]) if len(names) == 1 else (1 if names else 2, 0)

    return sorted(findings, key=order)
