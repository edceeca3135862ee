"""Edits of a procedure that good runs suggest: a looser bound, one more value, an exception.

For each rule that good runs break, variants of it are tried: another number in place of one that it
states, one more value in a list, and a condition under which it does not apply. The best variant
lets most good runs pass and loses fewest of the bad runs that the rule catches.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bylaw.errors import SpecError
from bylaw.logic.formula import Formula
from bylaw.mining.bounds import roundest
from bylaw.mining.leaves import leaves
from bylaw.procedure.procedure import Constraint, Procedure
from bylaw.scoring.verify import verify_trace
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.semantics.verdict import Outcome
from bylaw.syntax.json_form import from_json
from bylaw.syntax.json_writer import to_json
from bylaw.syntax.printer import to_text
from bylaw.trace.event import Call
from bylaw.trace.trace import Trace
from bylaw.values import Json

_MAX_NUMBERS: Final = 60
"""The numbers that are tried in place of one that a rule states."""
_SHARE: Final = 0.2
"""An exception is worth stating for such a share of the runs that break a rule."""
_MAX_RUNS: Final = 300
"""The runs on which a variant is tried."""


BrokenRun: TypeAlias = tuple[Trace, list[Call]]
"""A run that breaks a rule, and the calls to look at."""


@dataclass(frozen=True, slots=True)
class RuleEdit:
    """A change to one rule, and what it changes on the runs."""

    name: str
    old: str
    new: str
    reason: str
    good_fixed: int
    """Good runs that break the old rule and keep the new one."""
    good_broken: int
    """Good runs that break the new rule still."""
    bad_lost: int
    """Bad runs that only the old rule catches."""
    bad_caught: int

    def to_dict(self) -> dict[str, Json]:
        """The edit as JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def proposed_edits(
    procedure: Procedure, good: Sequence[Trace], bad: Sequence[Trace]
) -> list[RuleEdit]:
    """The best edit of each rule that good runs break, if one helps."""
    broken = _broken(procedure, good)
    found = []
    for constraint in procedure.constraints:
        if runs := broken.get(constraint.name):
            best = _best_edit(procedure, constraint, runs[:_MAX_RUNS], good, bad)
            if best is not None:
                found.append(best)
    return found


def _broken(procedure: Procedure, runs: Sequence[Trace]) -> dict[str, list[BrokenRun]]:
    """For each rule, the runs that break it, with the calls to look at."""
    found: dict[str, list[BrokenRun]] = {}
    for trace in runs:
        for result in verify_trace(trace, procedure).constraints:
            if result.outcome is Outcome.VIOLATED:
                calls = [trace.calls[place] for place in result.witness if place < len(trace)]
                found.setdefault(result.name, []).append((trace, calls))
    return found


def _best_edit(
    procedure: Procedure,
    constraint: Constraint,
    broken: Sequence[BrokenRun],
    good: Sequence[Trace],
    bad: Sequence[Trace],
) -> RuleEdit | None:
    holds = _judge(procedure, constraint)
    caught = [trace for trace in bad[:_MAX_RUNS] if not holds(constraint.formula, trace)]
    best: tuple[tuple[float, int], Formula, str] | None = None
    for variant, reason in _variants(constraint.formula, broken):
        fixed = sum(holds(variant, trace) for trace, _ in broken)
        if not fixed:
            continue
        lost = sum(holds(variant, trace) for trace in caught)
        value = (fixed - lost * max(1.0, len(good) / max(1, len(bad))), -len(to_text(variant)))
        if value[0] > 0 and (best is None or value > best[0]):
            best = value, variant, reason
    if best is None:
        return None
    _, variant, reason = best
    fixed = sum(holds(variant, trace) for trace, _ in broken)
    lost = sum(holds(variant, trace) for trace in caught)
    old, new = to_text(constraint.formula), to_text(variant)
    counts = fixed, len(broken) - fixed, lost, len(caught) - lost
    return RuleEdit(constraint.name, old, new, reason, *counts)


def _judge(procedure: Procedure, constraint: Constraint) -> Callable[[Formula, Trace], bool]:
    events, order = procedure.events_of(constraint), procedure.order

    def holds(formula: Formula, trace: Trace) -> bool:
        view = view_of(formula, trace, events=events, order=order)
        return evaluate(formula, view).value.is_true

    return holds


# ── variants ──────────────────────────────────────────────────────────────────────────────


def _variants(formula: Formula, broken: Sequence[BrokenRun]) -> Iterator[tuple[Formula, str]]:
    written: Any = to_json(formula)
    numbers = _numbers([trace for trace, _ in broken])
    for place in _literals(written["formula"]):
        value = place["literal"]
        if isinstance(value, int | float) and not isinstance(value, bool):
            near = sorted(numbers - {float(value)}, key=lambda each: abs(each - value))
            for number in near[:_MAX_NUMBERS]:
                yield from _with(
                    written, place, _rounded(number, value), f"{value:g} is too strict"
                )
        elif isinstance(value, list) and value:
            for more in _values(broken, value):
                yield from _with(written, place, [*value, more], f"{more!r} is missing")
    yield from _exceptions(written, broken)


def _literals(part: Any) -> Iterator[dict[str, Any]]:
    """The places in the JSON form that hold a number or a list; not those that name a field."""
    if isinstance(part, dict):
        if set(part) == {"literal"} and isinstance(part["literal"], int | float | list):
            yield part
        for each in part.values():
            yield from _literals(each)
    elif isinstance(part, list):
        for each in part:
            yield from _literals(each)


def _with(
    written: Any, place: dict[str, Any], value: Any, reason: str
) -> Iterator[tuple[Formula, str]]:
    kept, place["literal"] = place["literal"], value
    try:
        yield from_json(copy.deepcopy(written)), reason
    except SpecError:
        return
    finally:
        place["literal"] = kept


def _rounded(number: float, old: float) -> float:
    """A number a little beyond, as a person would write it."""
    whole = float(number).is_integer() and float(old).is_integer()
    if number > old:
        found = roundest(number, number * 1.1 + 1e-9 if number > 0 else number + 1, whole=whole)
    else:
        found = number
    return int(found) if whole else found


def _numbers(traces: Sequence[Trace]) -> set[float]:
    found: set[float] = {float(number) for number in range(21)}
    for trace in traces[:50]:
        for call in trace.calls:
            for part in (dict(call.args), call.value):
                for _, value, _ in leaves(part):
                    if not isinstance(value, str):
                        found.add(float(value))
    return found


def _values(broken: Sequence[BrokenRun], known: list[Any]) -> list[Any]:
    """Values of the calls that broke the rule, those of most runs first."""
    seen: dict[Any, int] = {}
    for _, calls in broken:
        parts = [part for call in calls for part in (dict(call.args), call.value)]
        here = {value for part in parts for _, value, _ in leaves(part)}
        for value in here:
            if type(value) is type(known[0]) and value not in known:
                seen[value] = seen.get(value, 0) + 1
    return sorted(seen, key=lambda value: -seen[value])[:_MAX_NUMBERS]


def _exceptions(written: Any, broken: Sequence[BrokenRun]) -> Iterator[tuple[Formula, str]]:
    """`G(a -> b)` with one more condition: not if an argument has a value."""
    parts = written["formula"]
    if len(parts) < 2 or "always" not in parts[-1] or "implies" not in parts[-2]:
        return
    pairs: Counter[tuple[str, Any]] = Counter()
    for _, calls in broken:
        given = [leaf for call in calls for leaf in leaves(dict(call.args))]
        pairs.update(
            {(path, v) for path, v, several in given if isinstance(v, str) and not several}
        )
    often = {pair for pair, count in pairs.items() if count >= max(2, _SHARE * len(broken))}
    for path, value in sorted(often, key=lambda pair: -pairs[pair])[:_MAX_NUMBERS]:
        if "." in path:
            continue
        new = copy.deepcopy(written)
        left, right = parts[-2]["implies"]
        count = len(parts) - 2
        read = {"at": [{"read": "args"}, {"literal": path}]}
        new["formula"] = [
            *copy.deepcopy(parts[:-2]),
            {"compare": [read, "=", {"literal": value}]},
            {"not": [count]},
            {"and": [left, count + 1]},
            {"implies": [count + 2, right]},
            {"always": [count + 3]},
        ]
        try:
            yield from_json(new), f"an exception where {path} is {value!r}"
        except SpecError:
            continue
