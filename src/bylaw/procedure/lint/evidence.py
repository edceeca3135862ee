"""Guards that fail open: rules that hold because something was not found (W510, W517).

`earlier` and `last` look for evidence in earlier turns. What a rule requires must be found there;
but what it prohibits may be in the same turn, where they do not look, and a comparison with a value
that was not found is false, so its negation is true.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bylaw.errors import clipped
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.sourced import seeks_source
from bylaw.logic.walk import everything, rewritten
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.lint.polarity import PlacedPart, placed_parts
from bylaw.procedure.lint.subject import LintSubject
from bylaw.procedure.procedure import Constraint
from bylaw.semantics.machine.conditions import reads_result
from bylaw.syntax.printer import term_text, to_text
from bylaw.vocabulary.patterns import forms_of, names_of

_OPPOSITES: Final = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_ORDERS: Final = ("<", "<=", ">", ">=")
_REQUIRE: Final = "Require the value, too, with & or with exists v in […]: …."
_PROHIBIT: Final = "To prohibit events, count them with sofar, which sees the same turn, too."


def find_open_guards(subject: LintSubject) -> Iterator[Finding]:
    """W510 and W517, at most one of each for a rule."""
    for constraint in subject.procedure.constraints:
        for find in (_satisfied_by_nothing, _blind_to_siblings):
            finding = next(find(constraint), None)
            if finding is not None:
                yield finding


# ── W510: an undefined value makes the consequence true ───────────────────────────────────


def _satisfied_by_nothing(constraint: Constraint) -> Iterator[Finding]:
    for placed in placed_parts(constraint.formula):
        found = None if placed.in_condition else _if_undefined(placed)
        if found is not None:
            why, advice = found
            message = f"`{_shown(placed.written)}` {why}."
            yield Finding("W510", (constraint.name,), message, advice)


def _if_undefined(placed: PlacedPart) -> tuple[str, str] | None:
    """The reason that an undefined value makes the rule hold, and what to write instead."""
    part = placed.part
    match part:
        case f.Compare() if not placed.helps:
            return _comparison_undefined(part, placed)
        case f.EventAtom() if not placed.helps and part.free:
            last, advice = placed.last_event(part), _REQUIRE
        case f.ForAll(_, f.Found(term), _) | f.Exists(_, f.Found(term), _):
            fails_open = placed.helps is isinstance(part, f.ForAll)
            last = placed.last_event(term) if fails_open else None
            advice = f'Require the list, too: type({term_text(term)}) = "array".'
        case _:
            return None
    return None if last is None else (_without(last, placed), advice)


def _comparison_undefined(part: f.Compare, placed: PlacedPart) -> tuple[str, str] | None:
    last, opposite = placed.last_event(part), _OPPOSITES.get(part.symbol)
    if {part.left, part.right} & placed.required:
        return None  # what is undefined fails there
    if placed.negation is None or opposite is None:
        return None if last is None else (_without(last, placed), f"{_REQUIRE} {_PROHIBIT}")
    instead = to_text(f.Compare(opposite, part.left, part.right))
    advice = f"Write `{instead}`, which is false then."
    if last is not None:
        return _without(last, placed), f"{advice} {_PROHIBIT}"
    if part.symbol in _ORDERS and _reads_only_the_event(part):
        return "holds of a call without the value, or with one of another type", advice
    return None


def _without(last: t.Last, placed: PlacedPart) -> str:
    """The effect on the rule if `last` finds nothing."""
    condition = _shown(last.condition)
    effect = (
        "holds" if placed.negation is not None or placed.helps else "is false, and the rule holds,"
    )
    return f"{effect} where no earlier turn has an event that satisfies `{condition}`"


def _reads_only_the_event(part: f.Compare) -> bool:
    inside = list(everything(part))
    reads = any(isinstance(each, t.Reading) for each in inside)
    return reads and not any(isinstance(each, t.Last | t.Sofar) for each in inside)


# ── W517: a prohibition does not see the calls of the same turn ───────────────────────────


def _blind_to_siblings(constraint: Constraint) -> Iterator[Finding]:
    for placed in placed_parts(constraint.formula):
        searched = None if placed.helps else _searched(placed)
        if searched is None or not _may_be_sibling(searched):
            continue
        effect = "does not apply to them" if placed.in_condition else "lets them pass"
        shown = _shown(placed.written)
        message = f"`{shown}` does not see the calls of the same turn, so the rule {effect}."
        rewrite = _seeing_siblings(constraint.formula, placed)
        count = f"length(sofar({_shown(searched)}))"
        advice = (
            f"Count the events so far, siblings included: {count}."
            if rewrite is None
            else "Look at the events so far, siblings included:"
        )
        yield Finding("W517", (constraint.name,), message, advice, rewrite)


def _searched(placed: PlacedPart) -> f.Formula | None:
    """The condition on events of earlier turns that a part is about, if W510 does not tell."""
    match placed.part:
        case f.Earlier(condition):
            # A call was written before the results of its siblings were known.
            return None if seeks_source(condition) else condition
        case f.Compare() if placed.in_condition:
            last = placed.last_event(placed.part)
            return None if last is None else last.condition
        case _:
            return None


def _may_be_sibling(condition: f.Formula) -> bool:
    """Can a call of the same turn meet it? A message of the user has a turn of its own."""
    parts = condition.operands if isinstance(condition, f.And) else (condition,)
    return not any(isinstance(part, f.Says) and part.role != "assistant" for part in parts)


def _seeing_siblings(rule: f.Formula, placed: PlacedPart) -> str | None:
    """The rule with the events so far, or those before this one, in place of earlier turns."""
    part = placed.part
    if not isinstance(part, f.Earlier):
        return None
    condition = part.operand
    some: f.Formula = f.Yesterday(f.Once(condition))
    none: f.Formula = f.Not(some)
    itself = _meets(rule, condition, placed)
    # If the event counts only once its result is known, a gate could not refuse it.
    if itself is not None and not (itself and reads_result(condition)):
        number = t.Apply("length", (t.Sofar(condition),))
        some = f.Compare(">", number, t.Literal.of(int(itself)))
        # With `= 1` a call without the value that it is found by does not pass.
        none = f.Compare("=", number, t.Literal.of(int(itself)))

    def changed(node: Node) -> Node | None:
        if placed.negation is None:
            return some if node == part else None
        return none if node == placed.negation else None

    return to_text(rewritten(rule, changed))


def _meets(rule: f.Formula, condition: f.Formula, placed: PlacedPart) -> bool | None:
    """Does the event that the rule is about meet the condition? None if that is not clear."""
    match rule, condition:
        case f.Always(f.Implies(trigger, _)), _:
            mine, theirs = _atom_of(trigger), _atom_of(condition)
        case _:
            return None
    if mine is None or theirs is None:
        return None
    calls, wanted = set(names_of(mine[0])), set(names_of(theirs[0]))
    if not calls & wanted:
        return False
    own = isinstance(condition, f.EventAtom) and all(
        isinstance(each, f.OutcomeIs) or _is_own(each, placed) for each in theirs[1]
    )
    return True if calls <= wanted and own else None


def _atom_of(formula: f.Formula) -> tuple[t.Tool, tuple[f.Pattern, ...]] | None:
    """The only event atom of a conjunction, if it names its tools."""
    parts = formula.operands if isinstance(formula, f.And) else (formula,)
    atoms = [part for part in parts if isinstance(part, f.EventAtom)]
    if len(atoms) != 1 or (tool := atoms[0].tool) is None or tool.free or forms_of(tool):
        return None
    return tool, atoms[0].patterns


def _is_own(pattern: f.Pattern, placed: PlacedPart) -> bool:
    """Does a pattern expect the value that the event itself has at its path?"""
    match pattern:
        case f.ArgumentIs(path, t.Variable(name)):
            return placed.names.get(name) == t.path_term(t.Reading("args"), *path)
        case _:
            return False


def _shown(formula: f.Formula) -> str:
    return clipped(to_text(formula), 60)
