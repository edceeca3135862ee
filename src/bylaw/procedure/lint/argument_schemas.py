"""The schemas of the arguments that the parts of a rule read.

A term such as `args.amount` reads the event at which it is evaluated. The tools that this event can
be a call of follow from what is required of it around the term: after `refund ->`, it is a refund.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.walk import subformulas
from bylaw.procedure.procedure import Procedure
from bylaw.procedure.toolset.clause import Schema
from bylaw.vocabulary.patterns import is_named

ToolNames: TypeAlias = frozenset[str]


@dataclass(frozen=True, slots=True)
class ReadArgument:
    """An argument that a term reads."""

    tools: ToolNames
    path: tuple[str, ...]
    schemas: tuple[Schema, ...] | None
    """Its schema in each tool; None if that is unknown."""

    @property
    def kinds(self) -> frozenset[str] | None:
        """The kinds of values that may fit; None if nothing fixes them."""
        if self.schemas is None:
            return None
        return frozenset().union(*(schema.kinds for schema in self.schemas))


@dataclass(frozen=True, slots=True)
class SituatedPart:
    """A formula inside a rule, and the event at which it is evaluated."""

    part: f.Formula
    tools: ToolNames | None = None
    """The tools that the event can be a call of; None if nothing is known."""
    helps: bool | None = True
    """Does the rule need it true, or false? None if both."""
    names: Mapping[str, ReadArgument | None] = field(default_factory=dict)
    """The arguments that `let` gives names to; None for other values."""


def situated_parts(procedure: Procedure, rule: f.Formula) -> Iterator[SituatedPart]:
    """The formulas of a rule, those inside terms included."""
    pending = [SituatedPart(rule)]
    while pending:
        here = pending.pop()
        yield here
        pending += _below(procedure, here)


def _below(procedure: Procedure, here: SituatedPart) -> Iterator[SituatedPart]:
    match here.part:
        case f.Not(operand):
            yield replace(here, part=operand, helps=_opposite(here.helps))
        case f.And(operands):
            for i, operand in enumerate(operands):
                others = (*operands[:i], *operands[i + 1 :])
                yield replace(here, part=operand, tools=_narrowed(procedure, here.tools, others))
        case f.Or(operands):
            for i, operand in enumerate(operands):
                others = _negated(*operands[:i], *operands[i + 1 :])
                yield replace(here, part=operand, tools=_narrowed(procedure, here.tools, others))
        case f.Implies(left, right):
            tools = _narrowed(procedure, here.tools, _negated(right))
            yield replace(here, part=left, helps=_opposite(here.helps), tools=tools)
            yield replace(here, part=right, tools=_narrowed(procedure, here.tools, (left,)))
        case f.Iff(left, right):
            yield from (replace(here, part=side, helps=None) for side in (left, right))
        case f.Let(variable, value, body):
            read = argument_read(procedure, value, here.tools, here.names)
            yield replace(here, part=body, names={**here.names, variable: read})
            yield from _inside(value, here)
        case f.ForAll(variable, _, body) | f.Exists(variable, _, body):
            yield replace(here, part=body, names={**here.names, variable: None})
        case f.Compare():
            yield from _inside(here.part, here)
        case part:  # an operator that looks at other events
            for each in subformulas(part):
                yield replace(here, part=each, tools=None)


def _inside(node: Node, here: SituatedPart) -> Iterator[SituatedPart]:
    """The conditions inside `last`, `sofar` and `count`."""
    pending = list(node.parts())
    while pending:
        part = pending.pop()
        if isinstance(part, f.FormulaNode):
            yield replace(here, part=part, tools=None, helps=None)  # type: ignore[arg-type]  # a formula
        else:
            pending += part.parts()


def _negated(*operands: f.Formula) -> tuple[f.Formula, ...]:
    """The conditions under which none of the operands holds, as far as they are negations."""
    return tuple(each.operand for each in operands if isinstance(each, f.Not))


def _opposite(helps: bool | None) -> bool | None:
    return None if helps is None else not helps


def _narrowed(
    procedure: Procedure, tools: ToolNames | None, conditions: Sequence[f.Formula]
) -> ToolNames | None:
    """The tools that remain if these conditions hold at the event."""
    for condition in conditions:
        found = required_tools(procedure, condition)
        if found is not None:
            tools = found if tools is None else tools & found
    return tools


def required_tools(procedure: Procedure, condition: f.Formula) -> ToolNames | None:
    """The tools that an event must be a call of to meet the condition; None if it may be any."""
    match condition:
        case f.EventAtom(tool) if tool is not None and not tool.free:
            return frozenset(name for name in procedure.tools or () if is_named(name, tool))
        case f.And(operands):
            return _narrowed(procedure, None, operands)
        case f.Or(operands):
            found = [required_tools(procedure, operand) for operand in operands]
            return None if None in found else frozenset().union(*filter(None, found))
        case _:
            return None


# ── terms ─────────────────────────────────────────────────────────────────────────────────

_ARGS: Final = t.Reading("args")


def argument_read(
    procedure: Procedure,
    term: t.Term,
    tools: ToolNames | None,
    names: Mapping[str, ReadArgument | None],
) -> ReadArgument | None:
    """The argument that a term reads at an event of these tools; None if it reads none."""
    keys: list[str] = []
    while isinstance(term, t.At):
        key = term.key
        if not isinstance(key, t.Literal) or not isinstance(key.value, str):
            return None
        keys.insert(0, key.value)
        if isinstance(term.base, t.Last) and keys[0] == "args":
            tools = required_tools(procedure, term.base.condition)
            return _argument(procedure, tools, tuple(keys[1:]))
        term = term.base
    if term == _ARGS:
        return _argument(procedure, tools, tuple(keys))
    read = names.get(term.name) if isinstance(term, t.Variable) else None
    return read and _argument(procedure, read.tools or None, (*read.path, *keys))


def _argument(
    procedure: Procedure, tools: ToolNames | None, path: tuple[str, ...]
) -> ReadArgument | None:
    if not path:
        return None
    schemas: list[Schema] = []
    for name in sorted(tools or ()):
        schema = procedure.schemas.get(name)
        inner = None if schema is None else schema_at(schema.root, path)
        if inner is None:
            return ReadArgument(tools or frozenset(), path, None)
        schemas.append(inner)
    return ReadArgument(tools or frozenset(), path, tuple(schemas) if tools else None)


def schema_at(schema: Schema, path: Sequence[str]) -> Schema | None:
    """The schema of a part of an object; None if it is not known."""
    for key in path:
        found = [inner for each in _layers(schema) if (inner := each.properties.get(key))]
        if len(found) != 1 or schema.kinds != {"object"}:
            return None
        schema = found[0]
    return schema


def unknown_key(schema: Schema, path: Sequence[str]) -> tuple[str, list[str]] | None:
    """The first key of a path that no value which fits can have, and the keys that there are."""
    for i, key in enumerate(path):
        layers = list(_layers(schema))
        if any(each.closed and key not in each.properties for each in layers):
            return key, sorted({name for each in layers for name in each.properties})
        inner = schema_at(schema, path[i : i + 1])
        if inner is None:
            return None
        schema = inner
    return None


def _layers(schema: Schema) -> Iterator[Schema]:
    """The schema and those that every fitting value fits, too."""
    pending = [schema]
    while pending:
        each = pending.pop()
        yield each
        pending += each.conjuncts
