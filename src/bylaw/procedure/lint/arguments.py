"""Rules that the schemas of tools contradict (W530 to W532), or that need one (W533)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from bylaw.errors import clipped, did_you_mean, listing
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.procedure.lint.argument_schemas import (
    ReadArgument,
    SituatedPart,
    argument_read,
    situated_parts,
    unknown_key,
)
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.lint.subject import LintSubject
from bylaw.procedure.procedure import Procedure
from bylaw.procedure.toolset.clause import KINDS
from bylaw.procedure.toolset.schema import ToolSchema
from bylaw.syntax.printer import to_text
from bylaw.vocabulary.patterns import is_named

_ORDERS: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""Each order, and its opposite."""
_ORDERED: Final = frozenset({"number", "string"})
"""The kinds of values that have an order."""


def find_excluded_arguments(subject: LintSubject) -> Iterator[Finding]:
    """W530 to W532, at most one of each for a rule."""
    return _found(subject, _excluded)


def find_untyped_orders(subject: LintSubject) -> Iterator[Finding]:
    """W533, at most once for a rule."""
    return _found(subject, _untyped)


_Trap: TypeAlias = tuple[str, str, str]
"""A code, a fact and advice."""


def _found(
    subject: LintSubject, traps: Callable[[Procedure, SituatedPart], Iterator[_Trap]]
) -> Iterator[Finding]:
    procedure = subject.procedure
    for constraint in procedure.constraints:
        told: set[str] = set()
        for here in situated_parts(procedure, constraint.formula):
            for code, message, advice in traps(procedure, here):
                if code not in told:
                    told.add(code)
                    yield Finding(code, (constraint.name,), message, advice)


def _compared(
    procedure: Procedure, here: SituatedPart, part: f.Compare
) -> Iterator[tuple[ReadArgument, t.Term]]:
    """The arguments that a comparison reads, each with what it is compared with."""
    for term, other in ((part.left, part.right), (part.right, part.left)):
        read = argument_read(procedure, term, here.tools, here.names)
        if read is not None:
            yield read, other


def _excluded(procedure: Procedure, here: SituatedPart) -> Iterator[_Trap]:
    match here.part:
        case f.Compare(symbol, _, right) as part:
            for read, other in _compared(procedure, here, part):
                yield from _unknown(procedure, read.tools, read.path)
                if symbol != "in" or other is right:
                    yield from _impossible(part, read, symbol, other)
        case f.EventAtom(tool, patterns) if tool is not None and not tool.free:
            yield from _unfit(procedure, tool, patterns)
        case f.TracePredicate(name, (tool, *_, f.Arguments(patterns))) if isinstance(
            tool, t.ToolName | t.ToolSet
        ):
            yield from _unfit(procedure, tool, patterns)
            if name == "CalledExactly":
                yield from _incomplete(procedure, tool, patterns)


# ── W530: values that cannot occur ────────────────────────────────────────────────────────


def _impossible(part: f.Formula, read: ReadArgument, symbol: str, other: t.Term) -> Iterator[_Trap]:
    """A comparison that has the same value whatever the argument is, if it fits its schema."""
    if read.schemas is None or not isinstance(other, t.Literal):
        return
    value, kinds = other.value, read.kinds or frozenset()
    if symbol in _ORDERS:
        wrong = KINDS[type(value)] not in kinds & _ORDERED
    elif symbol in ("=", "!="):
        wrong = not any(schema.fits(value, {}) for schema in read.schemas)
    elif symbol == "in" and isinstance(value, list):
        wrong = not any(schema.fits(each, {}) for schema in read.schemas for each in value)
    else:
        return
    if wrong:
        same = "always true" if symbol == "!=" else "never true"
        message = f"`{_shown(part)}` is {same} of arguments that fit: {_wanted(read)}."
        yield "W530", message, "Correct the value, or the schema."


def _wanted(read: ReadArgument) -> str:
    texts = dict.fromkeys(schema.expected for schema in read.schemas or ())
    return f"{'.'.join(read.path)} must be {' or '.join(texts)}"


def _unfit(procedure: Procedure, tool: t.Tool, patterns: tuple[f.Pattern, ...]) -> Iterator[_Trap]:
    """W530 and W531 for the patterns of a call."""
    tools = frozenset(name for name in procedure.tools or () if is_named(name, tool))
    for pattern in patterns:
        if not isinstance(pattern, f.ArgumentIs):
            continue
        yield from _unknown(procedure, tools, pattern.path)
        term = t.path_term(t.Reading("args"), *pattern.path)
        read = argument_read(procedure, term, tools, {})
        if read is not None:
            compared = f.Compare("=", term, pattern.expected)
            yield from _impossible(compared, read, "=", pattern.expected)


# ── W531 and W532: arguments that are unknown or missing ──────────────────────────────────


def _schemas(procedure: Procedure, tools: frozenset[str]) -> list[ToolSchema] | None:
    """The schemas of all the tools; None if one has none."""
    found = [procedure.schemas.get(name) for name in sorted(tools)]
    return None if not found or None in found else [each for each in found if each is not None]


def _unknown(procedure: Procedure, tools: frozenset[str], path: tuple[str, ...]) -> Iterator[_Trap]:
    schemas = _schemas(procedure, tools)
    missing = [unknown_key(each.root, path) for each in schemas or ()]
    if not missing or None in missing:
        return
    key, known = next(each for each in missing if each is not None)
    names = listing(sorted(tools), 3)
    advice = did_you_mean(key, known) or f"The arguments are: {listing(known)}."
    yield "W531", f"No call of {names} that fits its schema has the argument '{key}'.", advice


def _incomplete(
    procedure: Procedure, tool: t.Tool, patterns: tuple[f.ArgumentIs, ...]
) -> Iterator[_Trap]:
    tools = frozenset(name for name in procedure.tools or () if is_named(name, tool))
    given = {pattern.path[0] for pattern in patterns}
    missing = [sorted(each.root.required - given) for each in _schemas(procedure, tools) or ()]
    if missing and all(missing):
        message = f"No call that fits its schema has exactly these arguments: {missing[0][0]} is "
        yield "W532", f"{message}required.", "Add it, or write CalledWith, which allows others."


# ── W533: an order without a type ─────────────────────────────────────────────────────────


def _untyped(procedure: Procedure, here: SituatedPart) -> Iterator[_Trap]:
    """An order that lets a call escape the rule by a value of another type."""
    part = here.part
    if not isinstance(part, f.Compare) or part.symbol not in _ORDERS or here.helps is True:
        return
    for read, other in _compared(procedure, here, part):
        if _is_typed(read, other):
            continue
        opposite = f.Compare(_ORDERS[part.symbol], part.left, part.right)
        message = (
            f"Nothing fixes the type of {'.'.join(('args', *read.path))}, and `{_shown(part)}` is "
            'false of a value of another type, as "5000" > 100 is.'
        )
        advice = f"Give the tool a schema, or write `!({_shown(opposite)})`, which is true then."
        yield "W533", message, advice


def _is_typed(read: ReadArgument, other: t.Term) -> bool:
    """Are all values that fit of the kind that the argument is compared with?"""
    if read.kinds is None:
        return False
    kinds = read.kinds - {"null"}
    wanted = {KINDS[type(other.value)]} if isinstance(other, t.Literal) else _ORDERED
    return len(kinds) == 1 and kinds <= wanted


def _shown(part: f.Formula) -> str:
    return clipped(to_text(part), 60)
