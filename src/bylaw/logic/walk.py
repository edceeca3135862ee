"""Walking formulas of any depth, and the reach of a formula: one event, the past, or the future.

Nothing here recurses through the interpreter. A part that stays at one event can take a `let` in:
the term itself in place of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TypeAlias, TypeVar, cast

from bylaw.logic import formula as f
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
        pending.extend(reversed(current.parts()))


@lru_cache(maxsize=4096)
def weight_of(node: Node) -> int:
    """The number of parts, in which the work of one evaluation is counted; at most a thousand."""
    return sum(1 for _ in islice(everything(node), 1000))


def subformulas(formula: Formula) -> tuple[Formula, ...]:
    """The formulas directly below this one, including those inside its terms."""
    found: list[Node] = []
    pending = [*reversed(formula.parts())]
    while pending:
        part = pending.pop()
        if isinstance(part, FormulaNode):
            found.append(part)
        else:
            pending.extend(reversed(part.parts()))
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
    if not formula.contains(t.Labels):
        return formula
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


# ── reach ─────────────────────────────────────────────────────────────────────────────────

BACK: Final = (
    *(f.Earlier, f.Once, f.Historically, f.Since, f.Yesterday),
    *(f.EarlierWithin, f.OnceWithin, t.Last, t.Sofar),
)
"""Nodes that look at earlier events."""
_WHOLE: Final = (f.FromArgs, f.FromResults, f.FromMetrics, f.Extracted)
_AHEAD: Final = (
    f.Next,
    f.WeakNext,
    f.Eventually,
    f.Always,
    f.Until,
    f.WeakUntil,
    f.Release,
    f.Later,
    f.EventuallyWithin,
    f.LaterWithin,
    f.TracePredicate,
    f.OpenPredicate,
    t.Answer,
    *_WHOLE,
)
"""Nodes that depend on later events, or on the trace as a whole."""


def is_past(formula: f.Formula) -> bool:
    """Is the formula decided at each event, whatever comes after it?"""
    return not formula.contains(*_AHEAD)


def is_past_but_for_functions(formula: f.Formula) -> bool:
    """The same, ignoring the registered functions that the formula calls."""
    ahead = tuple(kind for kind in _AHEAD if kind is not f.OpenPredicate)
    return not formula.contains(*ahead)


def stays_here(formula: f.Formula) -> bool:
    """Is the formula decided by the event and the values of its free variables?"""
    return not formula.contains(*_AHEAD, *BACK, t.Labels)


def inlined(let: f.Let) -> f.Formula | None:
    """The body with the term for the variable; None if the body may mean something else by it.

    A term reads the event being tested, so the body must not look at other events. A pattern, a
    tool and a trace predicate take no terms that read an event.
    """
    variable, value, body = let.variable, let.value, let.body
    if not stays_here(body) or any(_hinders(part, let) for part in everything(body)):
        return None
    return cast(f.Formula, run(_inlined(body, variable, value)))


def _hinders(part: Node, let: f.Let) -> bool:
    match part:
        case f.ForAll(name) | f.Exists(name) | f.Let(name) | t.Counted(name):
            return name in let.value.free  # it would bind a variable of the term
        case f.EventAtom():
            return let.variable in part.free
        case _:
            return False


def _inlined(node: Node, variable: str, value: t.Term) -> Steps[Node]:
    if variable not in node.free:
        return node
    match node:
        case t.Variable():
            return value
        case f.Let(name, named, body) if name == variable:
            return f.Let(name, (yield _inlined(named, variable, value)), body)
        case (
            f.ForAll(name, domain, body)
            | f.Exists(name, domain, body)
            | t.Counted(name, domain, body)
        ) if name == variable:
            return type(node)(name, (yield _inlined(domain, variable, value)), body)
    return (yield from mapped(node, lambda part: _inlined(part, variable, value)))


def is_local(formula: f.Formula) -> bool:
    """Is the formula decided by the event alone?"""
    return not formula.free and stays_here(formula)


def reads_event(domain: f.Domain) -> bool:
    """Does the domain differ from event to event?"""
    return isinstance(domain, f.Listed | f.Found | f.Extracted) and not domain.constant


TIMED: Final = (f.EventuallyWithin, f.OnceWithin, f.LaterWithin, f.EarlierWithin)
"""Operators with a bound in time."""
_TIMES: Final = frozenset({"start", "end", "duration"})


@lru_cache(maxsize=4096)
def is_timed(formula: f.Formula) -> bool:
    """Does the formula read when events began or ended?"""
    return any(
        isinstance(part, TIMED)
        or (isinstance(part, t.Sofar) and part.seconds is not None)
        or (isinstance(part, t.Reading) and part.field in _TIMES)
        or (isinstance(part, t.At) and _reads_time(part))
        for part in everything(formula)
    )


def _reads_time(part: t.At) -> bool:
    """May this be the time of an event, such as `last(a).start`? `args.start` is not."""
    if not isinstance(part.key, t.Literal) or part.key.value not in _TIMES:
        return False
    base: Node = part.base
    while (
        isinstance(base, t.At) and isinstance(base.key, t.Literal) and type(base.key.value) is int
    ):
        base = base.base
    return isinstance(base, t.Last | t.Sofar | t.Variable)
