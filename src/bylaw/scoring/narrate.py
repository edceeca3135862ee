"""A verdict as an English sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import takewhile
from typing import Final

from bylaw.errors import SpecError, clipped
from bylaw.logic import formula as f
from bylaw.logic.operators import duration_text
from bylaw.logic.sourced import SourcedValue, as_sourced
from bylaw.logic.terms import Last, Literal, Term
from bylaw.logic.walk import everything, substitute
from bylaw.procedure.procedure import Procedure
from bylaw.semantics.evaluation import Evaluation
from bylaw.semantics.reasons import reasons
from bylaw.semantics.verdict import FALSE, Outcome
from bylaw.syntax.elaborate import parse_in
from bylaw.syntax.parser import read_definition
from bylaw.syntax.printer import term_text, to_text
from bylaw.syntax.scope import NameScope
from bylaw.trace.event import MISSING, Call, Message
from bylaw.values import Json, canonical, write_json
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.possible import UNSEEN
from bylaw.vocabulary.predicates import PREDICATES

_DEPTH: Final = 6
"""The number of operators that a sentence follows before it quotes the rest of the formula."""
_LONGEST: Final = 300
_SEEN_FROM: Final = (
    (r"\b(up to|from) {mark}(?!\d)", r"\1 then"),
    (r"\b(call|event) in steps before that of {mark}(?!\d)", r"\1 in earlier steps"),
    (r"\b(call|event) in steps after that of {mark}(?!\d)", r"\1 in later steps"),
    (r"\bno (call|event) before {mark}(?!\d)", r"no earlier \1"),
    (r"\bno (call|event) after {mark}(?!\d)", r"no later \1"),
)
"""References to an event, and shorter ones for use right after the event was named."""
_AS_NO: Final = ", as no "
_NUMBER: Final = re.compile(r"#\d+")


def sentence(
    evaluation: Evaluation, positions: Sequence[int], parts: Mapping[f.Formula, str]
) -> str:
    """The reason for an outcome; `positions` is its witness, `parts` names parts of the rule."""
    formula, view = evaluation.formula, evaluation.view
    match evaluation.outcome:
        case Outcome.ERROR:
            return f"Not decided: {'; '.join(map(str, evaluation.faults)) or 'unknown events'}."
        case outcome if isinstance(formula, f.TracePredicate):
            held = outcome is not Outcome.VIOLATED
            return PREDICATES[formula.name].told(view, held, formula.operands)
        case _ if isinstance(formula, f.OpenPredicate):
            return f"Predicate returned {evaluation.outcome is not Outcome.VIOLATED}."
        case Outcome.VIOLATED:
            reason = Narrator(evaluation, parts).why_false(formula, 0, _DEPTH)
            return f"{reason[:1].upper()}{clipped(reason, _LONGEST)[1:]}."
        case Outcome.VACUOUS:
            return "Holds, but nothing was checked: no event brought the rule into play."
        case _ if not positions:
            return "Holds."
        case _:
            more = f" and {len(positions) - 5} more" if len(positions) > 5 else ""
            return f"Holds; see {', '.join(view.mark(p) for p in positions[:5])}{more}."


def defined_names(procedure: Procedure) -> dict[f.Formula, str]:
    """The formulas that a procedure defines names for (`define`), with their names."""
    names: dict[f.Formula, str] = {}
    with suppress(SpecError):  # a procedure built in Python may have definitions that do not parse
        macros = [read_definition(head, body) for head, body in procedure.define.items()]
        known = (procedure.tools, procedure.groups, procedure.vocabulary, procedure.constants)
        scope = NameScope.of(*known, {macro.name: macro for macro in macros})
        for macro in macros:
            if macro.parameters:
                continue  # its meaning depends on its operands
            try:
                formula = parse_in(macro.name, scope)
            except SpecError:
                continue  # it defines a value
            if len(to_text(formula)) > len(macro.name):  # only names that shorten a sentence
                names.setdefault(formula, macro.name)
    return names


class Narrator:
    """Follows a false formula down to the events that make it false."""

    def __init__(self, evaluation: Evaluation, parts: Mapping[f.Formula, str]) -> None:
        self.evaluation = evaluation
        self.parts = parts
        self.view = evaluation.view
        self.names: dict[str, str] = {}
        """The variables of the rule, by the canonical text of their values."""
        parts_of_rule = everything(evaluation.formula)
        self.written = {part.text for part in parts_of_rule if isinstance(part, Literal)}

    def sentence(self, part: f.Formula, at: int, values: Sequence[tuple[str, Json]] = ()) -> str:
        """The reason why a part of the rule is false at a position, as a sentence.

        `values` are those of variables that were substituted in the part.
        """
        self.names = {canonical(value): name for name, value in reversed(values)}
        given = "".join(f"with {name} = {_short(value)}, " for name, value in values)
        reason = given + self.why_false(part, at, _DEPTH - 1)
        return f"{reason[:1].upper()}{clipped(reason, _LONGEST)[1:]}."

    def why_false(self, formula: f.Formula, at: int, depth: int) -> str:
        if depth == 0:
            return f"{self.quoted(formula)} is false {self.place(at)}"
        match formula:
            case f.Truth():
                return "the rule says false"
            case f.TracePredicate(name, operands):
                reason = PREDICATES[name].told(self.view, False, operands)
                return reason.rstrip(".")
            case f.EventAtom() | f.Says():
                return self.not_event(formula, at)
            case f.Compare():
                return self.not_so(formula, at)
            case f.Not(operand):
                return self.why_true(operand, at, depth - 1)
            case f.Implies(left, right):
                when = self.why_true(left, at, depth - 1)
                reason = self.why_false(right, at, depth - 1)
                reason = self.seen_from(at, reason)
                # The event that triggers the rule may itself violate it.
                return reason if reason.startswith(f"{when}, ") else f"{when}, but {reason}"
            case f.ForAll() if origin := as_sourced(formula):
                return self.not_sourced(formula, origin, at)
            case f.ForAll():
                return self.instance(formula, at, depth)
            case f.Let():
                return self.named(formula, at, depth)
            case f.And() | f.Always() | f.Historically():
                ((part, where),) = reasons(self.evaluation, formula, at)
                return self.why_false(part, where, depth - 1)
            case f.Or(operands):
                each = [self.why_false(operand, at, depth - 1) for operand in operands[:3]]
                return " and ".join(each) + (" …" if len(operands) > 3 else "")
            case f.Eventually(operand):
                return f"no {self.onwards(at)} {self.is_(operand)}"
            case f.Earlier(operand):
                return f"no {self.other_step('before', operand, at)} {self.is_(operand)}"
            case f.Later(operand):
                return f"no {self.other_step('after', operand, at)} {self.is_(operand)}"
            case f.Once(operand):
                return f"no {self.so_far(at)} {self.is_(operand)}"
            case f.EventuallyWithin() | f.LaterWithin() | f.OnceWithin() | f.EarlierWithin():
                return self.not_within(formula, at)
            case f.Next(operand):
                if at + 1 >= len(self.view):
                    return f"nothing follows {self.mark(at)}"
                return self.why_false(operand, at + 1, depth - 1)
            case f.WeakNext(operand):
                return self.why_false(operand, at + 1, depth - 1)
            case f.Yesterday(operand):
                if at == 0:
                    return f"nothing precedes {self.mark(at)}"
                return self.why_false(operand, at - 1, depth - 1)
            case f.Since(kept, goal):
                back = range(min(at, len(self.view) - 1), -1, -1)
                return self.broken(kept, goal, back, "after the last", self.so_far(at), depth)
            case f.Release(_, kept) if self.evaluation.at(kept, at) is FALSE:
                return self.why_false(kept, at, depth - 1)  # nothing can release it so early
            case f.Until(kept, goal) | f.WeakUntil(kept, goal) | f.Release(goal, kept):
                on = range(at, len(self.view))
                return self.broken(kept, goal, on, "before the first", self.onwards(at), depth)
            case f.Exists(variable, domain, body):
                values = self.evaluation.elements(domain, at).known
                if len(values) != 1:
                    return f"no value makes {self.quoted(body)} true"
                reason = self.why_false(substitute(body, variable, values[0]), at, depth - 1)
                return f"with {variable} = {_short(values[0])}, {reason}"
            case _:
                return f"{self.quoted(formula)} is false {self.place(at)}"

    def not_within(self, formula: f.Within, at: int) -> str:
        """The reason why no event is near enough in time."""
        if at >= len(self.view):
            return f"there is no {self.noun} that {self.is_(formula.operand)}"
        if self.view.events[at].start is None:
            return f"{self.mark(at)} has no start time"
        side = "after" if isinstance(formula, f.EventuallyWithin | f.LaterWithin) else "before"
        step = isinstance(formula, f.LaterWithin | f.EarlierWithin)
        where = f"of {'a later' if side == 'after' else 'an earlier'} step " if step else ""
        limit = duration_text(formula.seconds.value)
        span = f"{self.noun} {where}in the {limit} {side} {self.mark(at)}"
        return f"no {span} {self.is_(formula.operand)}"

    def instance(self, formula: f.ForAll, at: int, depth: int) -> str:
        """The reason why a universal fails: the first value for which its body is false."""
        for value in self.evaluation.elements(formula.domain, at).known:
            instance = substitute(formula.body, formula.variable, value)
            if self.evaluation.at(instance, at) is FALSE:
                self.name(value, formula.variable)
                reason = self.why_false(instance, at, depth - 1)
                return f"with {formula.variable} = {_short(value)}, {reason}"
        return f"{self.quoted(formula)} is false {self.place(at)}"

    def not_sourced(self, formula: f.ForAll, origin: SourcedValue, at: int) -> str:
        """The reason why a value lacks a source: its first leaf that occurs in no output."""
        for leaf in self.evaluation.elements(formula.domain, at).known:
            if self.evaluation.at(substitute(formula.body, formula.variable, leaf), at) is FALSE:
                value = term_text(origin.value, self.names)
                part = "output" if origin.is_output else term_text(origin.part, self.names)
                where = self.other_step("before", origin.condition, at)
                found = f"{_short(leaf)} in `{value}` occurs in the {part} of no {where}"
                return f"{found} that {self.is_(origin.condition)}"
        return f"{self.quoted(formula)} is false {self.place(at)}"

    def name(self, value: Json, variable: str) -> None:
        """Shows a value by its variable, unless the rule has the value itself somewhere."""
        text = canonical(value)
        if text not in self.written:
            self.names.setdefault(text, variable)

    def named(self, let: f.Let, at: int, depth: int) -> str:
        """The reason why the body of a `let` fails, and why its value is undefined, if it is."""
        value = self.evaluation.read(let.value, at)
        if value is UNSEEN:
            return f"{self.quoted(let)} is false {self.place(at)}"
        found = "undefined" + self.not_found(let.value, at) if value is MISSING else _short(value)
        if let in self.parts:
            return f"{self.quoted(let)} is false: {let.variable} is {found}"
        if value is MISSING:
            reason = self.why_false(let.body, at, depth)  # a variable without a value is undefined
            return reason if _AS_NO in reason else reason + self.not_found(let.value, at)
        self.name(value, let.variable)
        return self.why_false(substitute(let.body, let.variable, value), at, depth)

    def not_found(self, term: Term, at: int) -> str:
        """`, as no earlier call is "get"`, if that is why the term is undefined."""
        for part in everything(term):
            if isinstance(part, Last) and self.evaluation.read(part, at) is MISSING:
                condition = part.condition
                return f"{_AS_NO}{self.other_step('before', condition, at)} {self.is_(condition)}"
        return ""

    def not_so(self, comparison: f.Compare, at: int) -> str:
        """The reason why a comparison fails: the values that it compares."""
        values = []
        for term in (comparison.left, comparison.right):
            text = term_text(term, self.names)
            value = self.evaluation.read(term, at)
            shown = "undefined" if value is MISSING else "null" if value is None else _short(value)
            if text != shown and (text.isidentifier() or not isinstance(term, Literal)):
                because = self.not_found(term, at) if value is MISSING else ""
                values.append(f"{clipped(text, 60)} is {shown}{because}")
        because = f": {' and '.join(values)}" if values else ""
        return f"{self.quoted(comparison)} is false{because}"

    def broken(
        self, kept: f.Formula, goal: f.Formula, along: range, beyond: str, span: str, depth: int
    ) -> str:
        """The reason why an until or since fails: `kept` fails too early, or `goal` never holds."""
        holds, reached = self.evaluation.row(kept), self.evaluation.row(goal)
        where = next((p for p in along if holds[p] is FALSE), None)
        found = next((p for p in along if reached[p].is_true), None)
        never = f"no {span} {self.is_(goal)}"
        if where is None:
            return never
        reason = self.why_false(kept, where, depth - 1)
        if found is None:
            return f"{reason}, and {never}"
        side = "at the first" if found == where else beyond
        return f"{reason}, {side} {span} that {self.is_(goal)} ({self.mark(found)})"

    def why_true(self, formula: f.Formula, at: int, depth: int) -> str:
        match formula:
            case _ if depth == 0:
                return f"{self.quoted(formula)} holds {self.place(at)}"
            case f.EventAtom(tool, patterns) if at < len(self.view):
                event = self.view.events[at]
                called = f' "{event.tool}"' if isinstance(event, Call) else ""
                if patterns or tool is None:
                    return f"{self.view.mark(at)}{called} matches {self.quoted(formula)}"
                return f"{self.view.mark(at)} is{called}"
            case f.Says(role):
                return f"the {role} speaks (event #{at + 1})"
            case f.TracePredicate(name, operands):
                reason = PREDICATES[name].told(self.view, True, operands)
                return reason.rstrip(".")
            case f.And(operands):
                return " and ".join(self.why_true(part, at, depth - 1) for part in operands[:3])
            case f.Once(operand) | f.Eventually(operand):
                found = list(reasons(self.evaluation, formula, at))
                if found:
                    return self.why_true(operand, found[0][1], depth - 1)
                return f"{self.quoted(formula)} holds {self.place(at)}"
            case _:
                return f"{self.quoted(formula)} holds {self.place(at)}"

    def not_event(self, formula: f.EventAtom | f.Says, at: int) -> str:
        if at >= len(self.view):
            return f"there is no {self.noun} that {self.is_(formula)}"
        event = self.view.events[at]
        if isinstance(formula, f.Says):
            return f"{self.view.mark(at)} is not from the {formula.role}"
        if isinstance(event, Message):
            return f"{self.view.mark(at)} is not a call"
        if formula.patterns:
            args = clipped(write_json(dict(event.args)), 80)
            quoted = self.quoted(formula)
            return f'{self.view.mark(at)} "{event.tool}" {args} does not match {quoted}'
        return f'{self.view.mark(at)} is "{event.tool}", which is not {title(formula.tool)}'

    @cached_property
    def noun(self) -> str:
        """The noun for an event that the rule sees."""
        has_messages = any(isinstance(event, Message) for event in self.view.events)
        return "event" if has_messages else "call"

    def so_far(self, at: int) -> str:
        return f"{self.noun} up to {self.mark(at)}" if len(self.view) else self.noun

    def onwards(self, at: int) -> str:
        return f"{self.noun} from {self.mark(at)} on" if 0 < at < len(self.view) else self.noun

    def other_step(self, side: str, operand: f.Formula, at: int) -> str:
        """`call before call #3`; it mentions steps if the operand holds within the same step."""
        row, view = self.evaluation.row(operand), self.view
        around = (range(at, -1, -1), range(at, len(view))) if at < len(view) else ()
        in_same_step = any(
            row[p].is_true
            for way in around
            for p in takewhile(lambda p: view.step(p) == view.step(at), way)
        )
        where = f"in steps {side} that of" if in_same_step else side
        return f"{self.noun} {where} {self.mark(at)}"

    def seen_from(self, at: int, reason: str) -> str:
        """The reason, with short references to the event that was just named: `up to then`."""
        mark = re.escape(self.mark(at))
        for form, short in _SEEN_FROM:
            found = re.search(form.format(mark=mark), reason)
            # After another event was named, `then` would be ambiguous.
            others = set(_NUMBER.findall(reason[: found.start()])) if found else set()
            if found and others <= set(_NUMBER.findall(self.mark(at))):
                reason = reason[: found.start()] + found.expand(short) + reason[found.end() :]
        return reason

    def mark(self, at: int) -> str:
        return self.view.mark(at) if at < len(self.view) else "the end"

    def place(self, at: int) -> str:
        return f"at {self.mark(at)}" if len(self.view) else "on the empty trace"

    def quoted(self, formula: f.Formula) -> str:
        text = to_text(formula, self.names, self.parts)
        return f"`{clipped(text, 80)}`"

    def is_(self, formula: f.Formula) -> str:
        match formula:
            case f.EventAtom(tool, ()) if tool is not None:
                return f"is {title(tool)}"
            case _:
                return f"satisfies {self.quoted(formula)}"


def _short(value: Json) -> str:
    return clipped(write_json(value), 60)
