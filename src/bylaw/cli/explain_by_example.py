"""`bylaw explain RULE` without a trace: the rule, by example."""

from __future__ import annotations

import json

from bylaw.cli.coverage_table import coverage_line
from bylaw.cli.main import OK, UNUSABLE
from bylaw.cli.one_line import one_line
from bylaw.enforcement.coverage import RuleCoverage
from bylaw.logic.formula import Formula
from bylaw.semantics.dooming import Enforceability
from bylaw.semantics.enforceability import enforceability
from bylaw.semantics.examples.reading_options import ReadingOptions
from bylaw.semantics.examples.shortest import Examples, examples
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.reachability import OutOfBudget
from bylaw.syntax.printer import to_text
from bylaw.terminal import safe, wrapped
from bylaw.trace.trace import Trace


def explain_rule(
    formula: Formula,
    setting: ReadingOptions,
    *,
    as_json: bool,
    written: str | None = None,
    covered: RuleCoverage | None = None,
) -> int:
    """Prints traces that satisfy, violate and doom a rule, and whether a gate can enforce it.

    `written` is the rule as its author wrote it, if known, and `covered` where its procedure's
    gate enforces it.
    """
    written = written or to_text(formula)
    try:
        found = examples(formula, setting)
    except (Unsupported, OutOfBudget) as error:
        reason = str(error) or "its machine has more states than the budget allows"
        return _without_examples(formula, reason, as_json=as_json)
    gate = enforceability(
        formula, order=setting.order, events=setting.events, vocabulary=setting.vocabulary
    )
    if as_json:
        place = {} if covered is None else {"coverage": covered.to_dict()}
        print(json.dumps(_as_json(formula, found, gate) | place, indent=2))
        return OK
    print(wrapped(safe(written), 0))
    for label, trace in (
        ("satisfied by", found.satisfying),
        ("violated by", found.violating),
        ("doomed by", found.dooming),
    ):
        none = "no trace was found" if found.by_search else "no trace"
        shown = one_line(trace) if trace is not None else none
        print(wrapped(safe(f"{label + ':':<14}{shown}"), 2))
    word = "enforceable" if gate.enforceable else "not enforceable"
    print(wrapped(safe(f"{word}: {gate.reason}."), 2))
    if covered is not None:
        print(wrapped(safe(coverage_line(covered)), 2))
    print(wrapped(_source(found), 2))
    return OK


def _source(found: Examples) -> str:
    """Says whether the examples are shortest."""
    if found.by_search:
        return "Found by search; none shorter was found."
    if found.checked:
        return "No shorter examples exist; some shorter traces satisfy it vacuously."
    return "No shorter examples exist."


def _without_examples(formula: Formula, reason: str, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"rule": to_text(formula), "reason": reason}))
    else:
        print(wrapped(safe(to_text(formula)), 0))
        print(wrapped(safe(f"No examples: {reason}."), 2))
    return UNUSABLE


def _as_json(formula: Formula, found: Examples, gate: Enforceability) -> dict[str, object]:
    def record(trace: Trace | None) -> object:
        return None if trace is None else trace.to_record()

    return {
        "rule": to_text(formula),
        "satisfying": record(found.satisfying),
        "violating": record(found.violating),
        "dooming": record(found.dooming),
        "enforceable": gate.enforceable,
        "too_late": gate.too_late,
        "reason": gate.reason,
        "exact": found.exact,
        "by_search": found.by_search,
    }
