"""Walking formulas of any depth: nothing here recurses through the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias, TypeVar, cast

from bylaw.logic import terms as t
from bylaw.logic.formula import Exists, ForAll, Formula, FormulaNode, Let
from bylaw.logic.node import Node
from bylaw.names import FINAL_ANSWER
from bylaw.values import Json

Result = TypeVar("Result")
_Part = TypeVar("_Part", bound=Node)
Steps: TypeAlias = Generator["Steps[Any]", Any, Result]
"""A recursive computation: it yields the computations it needs and is sent their results."""


def run(steps: Steps[Result]) -> Result:
    """The result of a recursive computation, carried out with a list as its stack."""
    stack: list[Steps[Any]] = [steps]
    answer: Any = None
    while stack:
        try:
            stack.append(stack[-1].send(answer))
            answer = None
        except StopIteration as finished:
            stack.pop()
            answer = finished.value
    return cast(Result, answer)


def everything(node: Node) -> Iterator[Node]:
    """The node and all parts below it, outermost first."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(list(current.parts())))


@lru_cache(maxsize=4096)
def weight_of(node: Node) -> int:
    """The number of parts, in which the work of one evaluation is counted; at most a thousand."""
    return sum(1 for _ in islice(everything(node), 1000))


def subformulas(formula: Formula) -> tuple[Formula, ...]:
    """The formulas directly below this one, including those inside its terms."""
    found: list[Node] = []
    pending = list(formula.parts())[::-1]
    while pending:
        part = pending.pop()
        if isinstance(part, FormulaNode):
            found.append(part)
        else:
            pending.extend(reversed(list(part.parts())))
    return cast(tuple[Formula, ...], tuple(found))


def tools_in(node: Node) -> list[str]:
    """The tools that a formula names, in order of appearance."""
    names = (part.name for part in everything(node) if isinstance(part, t.ToolName))
    return list(dict.fromkeys(names))


@lru_cache(maxsize=4096)
def sees_answer(formula: Formula) -> bool:
    """Does the formula name `final_answer`? Only then is the answer an event for it."""
    return FINAL_ANSWER in tools_in(formula)


def substitute(part: _Part, variable: str, value: Json) -> _Part:
    """The part with the value in place of every free occurrence of the variable."""
    return cast(_Part, run(_substituted(part, variable, value)))


def with_labels(formula: Formula, labels: Mapping[str, Json]) -> Formula:
    """The formula with the labels of a trace substituted for `labels`."""
    written = t.Literal.computed(dict(labels))
    return rewritten(formula, lambda part: written if isinstance(part, t.Labels) else None)


def rewritten(formula: Formula, change: Callable[[Node], Node | None]) -> Formula:
    """The formula with parts replaced: `change` gives the replacement, or None; outermost first."""
    if all(change(part) is None for part in everything(formula)):
        return formula
    return cast(Formula, run(_rebuilt(formula, change)))


def _rebuilt(node: Node, change: Callable[[Node], Node | None]) -> Steps[Node]:
    changed = change(node)
    if changed is not None:
        return changed
    return (yield from mapped(node, lambda part: _rebuilt(part, change)))


def _substituted(node: Node, variable: str, value: Json) -> Steps[Node]:
    if variable not in node.free:
        return node
    match node:
        case t.Variable():
            return t.Literal.computed(value)
        case t.ToolVariable():
            return _tool_named(value)
        case t.ToolSet(members):
            bound = [m if variable not in m.free else _tool_named(value) for m in members]
            return t.ToolSet(tuple(flat for member in bound for flat in t.members_of(member)))
        case (
            ForAll(name, domain, body) | Exists(name, domain, body) | t.Counted(name, domain, body)
        ) if name == variable:
            return type(node)(name, (yield _substituted(domain, variable, value)), body)
        case Let(name, named, body) if name == variable:
            return Let(name, (yield _substituted(named, variable, value)), body)
    rebuilt = yield from mapped(node, lambda part: _substituted(part, variable, value))
    match rebuilt:
        case t.ListTerm(items):
            return t.list_term(items)
        case t.ObjectTerm(entries):
            return t.object_term({entry.key: entry.value for entry in entries})
        case _:
            return rebuilt


def mapped(node: Node, new: Callable[[Node], Steps[Node]]) -> Steps[Node]:
    """The node with new parts."""
    fields: list[object] = []
    for field in node.values():
        if isinstance(field, Node):
            field = yield new(field)
        elif isinstance(field, tuple):
            items: list[object] = []
            for item in field:
                items.append((yield new(item)) if isinstance(item, Node) else item)
            field = tuple(items)
        fields.append(field)
    return type(node)(*fields)


def _tool_named(value: Json) -> t.ToolName | t.ToolSet:
    """The tool that a value names. A variable never stands for the final answer."""
    if isinstance(value, str) and value and value != FINAL_ANSWER:
        return t.ToolName(value)
    return t.NO_TOOL
