"""Comparisons that types decide, and names that cannot be meant: W540 to W545."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Final, Literal, TypeAlias

from bylaw.errors import clipped, did_you_mean, listing
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.operators import ARITHMETIC, is_plain
from bylaw.logic.walk import everything, inlined
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.lint.subject import LintSubject
from bylaw.procedure.procedure import Procedure
from bylaw.regex.regex import compiled
from bylaw.regex.sample import is_unmatchable
from bylaw.syntax.printer import to_text
from bylaw.syntax.suggestions import FIELD_WORDS
from bylaw.values import is_number, is_text
from bylaw.vocabulary.functions import FUNCTIONS

ValueKind: TypeAlias = Literal["number", "text", "true or false", "null", "list", "object", "event"]
_TypeTrap: TypeAlias = tuple[str, str, str]
"""A code, a fact and advice."""

_ORDERS: Final = frozenset({"<", "<=", ">", ">="})
_FIELD_KINDS: Final[dict[str, ValueKind]] = {
    **dict.fromkeys(("tool", "text", "error", "agent"), "text"),
    **dict.fromkeys(("step", "start", "end", "duration"), "number"),
    **dict.fromkeys(("args", "usage"), "object"),
}
"""The kinds of the fields of an event. A result is of any kind."""


def find_type_traps(subject: LintSubject) -> Iterator[Finding]:
    """W540 to W545, at most one of each for a rule."""
    for constraint in subject.procedure.constraints:
        told: set[str] = set()
        for part in everything(constraint.formula):
            for code, message, advice in _traps(part, subject.procedure):
                if code not in told:
                    told.add(code)
                    yield Finding(code, (constraint.name,), message, advice)


def _traps(part: object, procedure: Procedure) -> Iterator[_TypeTrap]:
    match part:
        case f.Let() if (body := inlined(part)) is not None:
            for below in everything(body):
                if isinstance(below, t.At | f.Compare):
                    yield from _traps(below, procedure)
        case t.At(base, t.Literal() as key):
            yield from _unknown_field(base, key.value)
        case f.Compare():
            yield from _undecidable(part, procedure)
        case f.And(parts):
            yield from _two_tools(parts)
        case t.ToolName(name) if procedure.tools is None and not is_plain(name):
            yield from _quoted_rule(name)


# ── W540: fields that events do not have ──────────────────────────────────────────────────


def _unknown_field(base: t.Term, key: object) -> Iterator[_TypeTrap]:
    if not isinstance(key, str):
        return
    if isinstance(base, t.Last | t.Sofar) and key not in t.FIELDS:
        meant = FIELD_WORDS.get(key)
        written = f"{_shown(base)}.result.{key}"
        inside = f"What its result has is `{written}`, an argument `{_shown(base)}.args.{key}`."
        advice = inside if meant is None else f"did you mean '{meant}'? {inside}"
        yield "W540", f"An event has no field '{key}', so it is undefined.", advice
    kind = _FIELD_KINDS.get(base.field) if isinstance(base, t.Reading) else None
    if kind in ("text", "number"):
        advice = f"Write `{_shown(base)}` alone."
        yield "W540", f"`{_shown(base)}` is a {kind}, which has no part '{key}'.", advice


# ── W541 and W542: comparisons that are never true ────────────────────────────────────────


def _undecidable(part: f.Compare, procedure: Procedure) -> Iterator[_TypeTrap]:
    symbol, left, right = part.symbol, part.left, part.right
    for term in (left, right):
        if isinstance(term, t.Apply) and term.function in ARITHMETIC:
            for operand in term.operands:
                if _kind(operand) not in ("number", "list", None):
                    message = f"`{_shown(term)}` is undefined: `{_shown(operand)}` is not a number."
                    advice = "Write the number without quotes, or use to_number(…)."
                    yield "W541", message, advice
                    return
    kinds = _kind(left), _kind(right)
    if symbol in _ORDERS and None in kinds and (quoted := _numeric(left) or _numeric(right)):
        message = f'`{_shown(part)}` compares texts, not numbers: as texts, "20" > "100".'
        advice = (
            f"Write the number without quotes: {quoted}. Use to_number(…) if texts are recorded."
        )
        yield "W542", message, advice
    elif (reason := _never(symbol, *kinds)) is not None:
        advice = "Compare values of one type."
        if isinstance(left, t.Last):
            advice = f"Compare a part of the event: `{_shown(left)}.result`."
        elif isinstance(left, t.Sofar):
            advice = f"Count the events, `length({_shown(left)})`, or add up a part of them."
        elif kinds[0] == "list":
            advice = "Ask about its length, its sum, or each element: forall x in …."
        yield "W541", f"`{_shown(part)}` is {reason}.", advice
    elif symbol == "=" and (case := _wrong_case(left, right) or _wrong_case(right, left)):
        yield "W541", f"`{_shown(part)}` is never true.", case
    elif left == t.Reading("tool") and symbol in ("=", "!="):
        yield from _unlisted(part, right, procedure.tools)
    if symbol == "~" and isinstance(right, t.Literal) and is_text(right.value):
        expression = compiled(right.value)
        if expression is not None and is_unmatchable(expression.graph):
            message = f"No text matches the regular expression {_shown(right)}."
            advice = r"^ is the beginning of a text, $ its end; the characters are \^ and \$."
            yield "W543", message, advice


def _unlisted(part: f.Compare, name: t.Term, tools: tuple[str, ...] | None) -> Iterator[_TypeTrap]:
    if isinstance(name, t.Literal) and tools is not None and name.value not in tools:
        message = f"`{_shown(part)}` speaks of a tool that the procedure does not list."
        close = did_you_mean(str(name.value), tools)
        yield "W541", message, close or f"The tools are: {listing(tools)}."


def _never(symbol: str, left: ValueKind | None, right: ValueKind | None) -> str | None:
    """The reason why a comparison of these kinds always has the same value."""
    if left is None or right is None or "null" in (left, right):
        return None
    if symbol in _ORDERS and (left != right or left not in ("number", "text")):
        return f"never true: the left side is {_a(left)}, the right side {_a(right)}"
    if symbol in ("=", "!=") and left != right and {left, right} != {"event", "object"}:
        same = "never true" if symbol == "=" else "always true"
        return f"{same}: the left side is {_a(left)}, the right side {_a(right)}"
    if symbol == "~" and left not in ("text", "list"):
        return f"never true: the left side is {_a(left)}, not a text"
    return None


def _a(kind: ValueKind) -> str:
    return (
        kind
        if kind in ("true or false", "null")
        else f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"
    )


def _numeric(term: t.Term) -> str | None:
    """A number that is written in quotes."""
    if not isinstance(term, t.Literal) or not is_text(term.value):
        return None
    text: str = term.value
    return text if text.lstrip("-").replace(".", "", 1).isdigit() else None


def _wrong_case(term: t.Term, other: t.Term) -> str | None:
    if not isinstance(term, t.Apply) or not isinstance(other, t.Literal):
        return None
    for function, cased in (("lower", str.lower), ("upper", str.upper)):
        if term.function == function and is_text(other.value) and cased(other.value) != other.value:
            return f'{function}(…) is in {function} case: write "{cased(other.value)}".'
    return None


def _kind(term: t.Term) -> ValueKind | None:
    """The kind of a value, if it is the same at every event."""
    match term:
        case t.Literal(_):
            value = term.value
            if isinstance(value, bool):
                return "true or false"
            if is_number(value):
                return "number"
            if value is None or is_text(value):
                return "null" if value is None else "text"
            return "list" if isinstance(value, list | tuple) else "object"
        case t.Reading(field):
            return _FIELD_KINDS.get(field)
        case t.Last():
            return "event"
        case t.Sofar():
            return "list"
        case t.At(t.Sofar()) | t.At(t.At(t.Sofar())) | t.At(t.At(t.At(t.Sofar()))):
            return "list"
        case t.At(t.Last(), t.Literal() as key):
            return _FIELD_KINDS.get(str(key.value))
        case t.Counted():
            return "number"
        case t.Apply(function, operands):
            return _applied(function, tuple(_kind(each) for each in operands))
        case _:
            return None


_RESULTS: Final[dict[str, ValueKind]] = {
    **dict.fromkeys(("length", "sum", "avg"), "number"),
    **dict.fromkeys(("join", "type"), "text"),
    **dict.fromkeys(("unique", "sort", "zip"), "list"),
}
"""The kinds of what functions give whatever they are given."""
_LIFTED: Final[dict[str, ValueKind]] = {
    **dict.fromkeys(("to_number", "abs", "ceil", "floor", "round", "hour", "weekday"), "number"),
    **dict.fromkeys(("+", "-", "*", "/"), "number"),
    **dict.fromkeys(("lower", "upper", "trim", "normalise", "to_string", "date"), "text"),
}
"""The kinds of what functions give of one value; of a list they give a list."""


def _applied(function: str, kinds: tuple[ValueKind | None, ...]) -> ValueKind | None:
    if function in _RESULTS:
        return _RESULTS[function]
    if FUNCTIONS[function].asks and "list" not in kinds and None not in kinds:
        return "true or false"
    if function in _LIFTED and "list" not in kinds and None not in kinds:
        return _LIFTED[function]
    return None


# ── W544 and W545: tools ──────────────────────────────────────────────────────────────────


def _two_tools(parts: tuple[f.Formula, ...]) -> Iterator[_TypeTrap]:
    """Two calls at one event."""
    calls = [
        part
        for part in parts
        if isinstance(part, f.EventAtom) and isinstance(part.tool, t.ToolName)
    ]
    for one, other in combinations(calls, 2):
        if one.tool != other.tool:
            first, second = to_text(f.EventAtom(one.tool)), to_text(f.EventAtom(other.tool))
            message = f"One call is never of two tools: `{first} & {second}` is never true."
            advice = (
                f"For either of them, write {{{first}, {second}}}; "
                f"for both in one run, F {first} & F {second}."
            )
            yield "W544", message, advice
            return


def _quoted_rule(name: str) -> Iterator[_TypeTrap]:
    if "->" in name or ("(" in name and ")" in name):
        message = f"Quotes make a tool's name of `{clipped(name, 60)}`."
        yield "W545", message, "Leave the quotes out if it is a rule."


@lru_cache(maxsize=1024)
def _text(node: f.Formula) -> str:
    return clipped(to_text(node), 60)


def _shown(part: f.Formula | t.Term) -> str:
    if isinstance(part, f.FormulaNode):
        return _text(part)
    written = to_text(f.Compare("=", part, t.Literal.of(0)))
    return clipped(written.removesuffix(" = 0"), 60)
