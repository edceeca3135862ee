"""`let` without its name: the body with the term itself, where that means the same."""

from __future__ import annotations

from typing import cast

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.reach import stays_here
from bylaw.logic.walk import Steps, everything, mapped, run


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
