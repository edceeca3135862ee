"""The definitions, transcribed with `any` and `all`, truth values only: those of the paper's
appendix, and those of values and of other steps.

Written apart from `bylaw.semantics.reference`, and as slowly as the definitions read, to be
compared with it. Variables live in an environment; nothing is put in their place, except in
patterns and trace predicates, which are taken as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from bylaw import Call, Trace
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.walk import sees_answer, substitute
from bylaw.trace.event import MISSING, Event, Message
from bylaw.trace.trace import Events
from bylaw.vocabulary.comparisons import RELATION_TESTS
from bylaw.vocabulary.domains import elements
from bylaw.vocabulary.functions import FUNCTIONS
from bylaw.vocabulary.patterns import fits, is_tool
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.view import Order, View

Environment: TypeAlias = Mapping[str, Any]


def textbook(
    formula: f.Formula, trace: Trace, order: Order = "position", events: Events = "calls"
) -> bool:
    """Does the trace satisfy the formula?"""
    view = View(trace, trace.seen(events, sees_answer(formula)), order)
    return _at(formula, view, 0, {})


def textbook_row(formula: f.Formula, view: View) -> list[bool]:
    """Does the formula hold, at each event?"""
    return [_at(formula, view, i, {}) for i in range(len(view))]


def _at(formula: f.Formula, view: View, i: int, env: Environment) -> bool:
    n = len(view)

    def at(part: f.Formula, j: int) -> bool:
        return _at(part, view, j, env)

    match formula:
        case f.Truth(truth):
            return truth
        case f.EventAtom():
            bound = cast(f.EventAtom, _bound(formula, env))
            event = view.events[i] if i < n else None
            if not isinstance(event, Call) or not is_tool(event, bound.tool):
                return False
            return all(fits(event, pattern, view.value) for pattern in bound.patterns)
        case f.TracePredicate(name):
            predicate = cast(f.TracePredicate, _bound(formula, env))
            return PREDICATES[name].judge(view, predicate.operands) is True
        case f.Says(role):
            event = view.events[i] if i < n else None
            return isinstance(event, Message) and event.role == role
        case f.Compare(symbol, left, right):
            a, b = _value(left, view, i, env), _value(right, view, i, env)
            undefined = any(value is MISSING or value is None for value in (a, b))
            return not undefined and RELATION_TESTS[symbol](a, b)
        case f.Not(a):
            return not at(a, i)
        case f.And(parts):
            return all(at(part, i) for part in parts)
        case f.Or(parts):
            return any(at(part, i) for part in parts)
        case f.Implies(a, b):
            return not at(a, i) or at(b, i)
        case f.Iff(a, b):
            return at(a, i) == at(b, i)
        case f.Next(a):
            return i + 1 < n and at(a, i + 1)
        case f.WeakNext(a):
            return i + 1 >= n or at(a, i + 1)
        case f.Eventually(a):
            return any(at(a, j) for j in range(i, n))
        case f.Always(a):
            return all(at(a, j) for j in range(i, n))
        case f.Until(a, b):
            return any(at(b, j) and all(at(a, k) for k in range(i, j)) for j in range(i, n))
        case f.WeakUntil(a, b):
            until = any(at(b, j) and all(at(a, k) for k in range(i, j)) for j in range(i, n))
            return until or all(at(a, j) for j in range(i, n))
        case f.Release(a, b):
            return all(at(b, j) or any(at(a, k) for k in range(i, j)) for j in range(i, n))
        case f.Yesterday(a):
            return 0 < i < n and at(a, i - 1)
        case f.Once(a):
            return any(at(a, j) for j in range(min(i + 1, n)))
        case f.Historically(a):
            return all(at(a, j) for j in range(min(i + 1, n)))
        case f.Since(a, b):
            return any(
                at(b, j) and all(at(a, k) for k in range(j + 1, i + 1))
                for j in range(min(i + 1, n))
            )
        case f.Earlier(a):
            return any(at(a, j) for j in range(n) if i < n and _step(view, j) < _step(view, i))
        case f.Later(a):
            return any(at(a, j) for j in range(n) if i < n and _step(view, j) > _step(view, i))
        case f.EventuallyWithin(a, limit):
            return any(at(a, j) and _apart(view, i, j, limit) for j in range(i, n))
        case f.OnceWithin(a, limit):
            return any(at(a, j) and _apart(view, j, i, limit) for j in range(i + 1) if i < n)
        case f.LaterWithin(a, limit):
            return any(
                at(a, j) and _apart(view, i, j, limit)
                for j in range(n)
                if i < n and _step(view, j) > _step(view, i)
            )
        case f.EarlierWithin(a, limit):
            return any(
                at(a, j) and _apart(view, j, i, limit)
                for j in range(n)
                if i < n and _step(view, j) < _step(view, i)
            )
        case f.ForAll(x, domain, body):
            return all(_at(body, view, i, {**env, x: v}) for v in _values(domain, view, i, env))
        case f.Exists(x, domain, body):
            return any(_at(body, view, i, {**env, x: v}) for v in _values(domain, view, i, env))
        case f.Let(x, term, body):
            return _at(body, view, i, {**env, x: _value(term, view, i, env)})
        case f.OpenPredicate():
            raise AssertionError("not generated")


def _apart(view: View, first: int, second: int, limit: t.Literal) -> bool:
    """Is the start of the second event at most so many seconds after that of the first?"""
    one, other = view.events[first].start, view.events[second].start
    return one is not None and other is not None and other - one <= limit.value


def _bound(node: Node, env: Environment) -> Node:
    """A pattern, predicate or path with the values of its variables."""
    for name, value in env.items():
        if value is not MISSING:  # a variable without a value is undefined
            node = substitute(node, name, value)
    return node


def _step(view: View, i: int) -> int:
    step = view.events[i].step
    assert step is not None
    return step


# ── values ────────────────────────────────────────────────────────────────────────────────


def _values(domain: f.Domain, view: View, i: int, env: Environment) -> list[Any]:
    """The values of a domain."""
    match domain:
        case f.Listed(items):
            found = [_value(item, view, i, env) for item in items]
            return [value for value in found if value is not MISSING]
        case f.Found(term):
            value = _value(term, view, i, env)
            if value is MISSING or value is None:
                return []
            return value if isinstance(value, list) else [value]
        case _:
            return list(elements(cast(Any, _bound(domain, env)), view).values)


def _value(term: t.Term, view: View, i: int, env: Environment) -> Any:
    """The value of a term at a position, or MISSING."""

    def value(part: t.Term) -> Any:
        return _value(part, view, i, env)

    match term:
        case t.Literal():
            return term.value
        case t.Variable(name):
            return env[name]
        case t.Reading(field):
            return _read(view.events[i], field) if i < len(view) else MISSING
        case t.At(base, key):
            return _found(value(base), value(key))
        case t.Apply(function, operands):
            return FUNCTIONS[function](*map(value, operands))
        case t.Last(condition):
            found = [
                j
                for j in range(len(view))
                if i < len(view)
                and _step(view, j) < _step(view, i)
                and _at(condition, view, j, env)
            ]
            return _as_object(view.events[max(found)]) if found else MISSING
        case t.Sofar(condition, window):
            found = [j for j in range(min(i + 1, len(view))) if _at(condition, view, j, env)]
            if window is not None:
                dated = [view.events[j].start is not None for j in (i, *found) if j < len(view)]
                if i >= len(view) or not all(dated):
                    return MISSING
                found = [j for j in found if _apart(view, j, i, window)]
            return [_as_object(view.events[j]) for j in found]
        case t.Counted(x, domain, body):
            if isinstance(domain, f.Found) and value(domain.term) is MISSING:
                return MISSING
            values = _values(domain, view, i, env)
            return sum(_at(body, view, i, {**env, x: v}) for v in values)
        case t.ListTerm(items):
            listed = [value(item) for item in items]
            return MISSING if any(item is MISSING for item in listed) else listed
        case t.ObjectTerm(entries):
            named = {entry.key: value(entry.value) for entry in entries}
            return MISSING if any(item is MISSING for item in named.values()) else named
        case t.Answer():
            return MISSING if view.trace.answer is None else view.trace.answer
        case t.Labels():
            return view.trace.labels


_FIELDS = (
    *("args", "result", "tool", "step", "text", "error"),
    *("start", "end", "duration", "agent", "usage"),
)


def _read(event: Event, field: str) -> Any:
    known = {name: getattr(event, name) for name in ("start", "agent", "usage")}
    known = {name: value for name, value in known.items() if value is not None}
    if not isinstance(event, Call):
        return {"text": event.text, "step": event.step, **known}.get(field, MISSING)
    if event.end is not None:
        known["end"] = event.end
        if event.start is not None:
            known["duration"] = event.end - event.start
    if field in ("start", "end", "duration", "agent", "usage"):
        return known.get(field, MISSING)
    raw = event.result
    if raw is not MISSING and not isinstance(raw, str):
        raw = json.dumps(raw, ensure_ascii=False)
    texts = [text for text in (raw, event.error) if text is not MISSING and text is not None]
    found = {
        "args": event.args,
        "result": event.value,
        "tool": event.tool,
        "step": event.step,
        "text": "\n".join(dict.fromkeys(texts)) if texts else MISSING,
        "error": MISSING if event.error is None else event.error,
    }
    return found[field]


def _as_object(event: Event) -> dict[str, Any]:
    found = {field: _read(event, field) for field in _FIELDS}
    return {field: value for field, value in found.items() if value is not MISSING}


def _found(base: Any, key: Any) -> Any:
    """`base.key`, `base[key]`"""
    if isinstance(key, str) and isinstance(base, Mapping):
        return base.get(key, MISSING)
    if isinstance(key, str) and isinstance(base, list):
        found = [_found(element, key) for element in base]
        return [value for value in found if value is not MISSING and value is not None]
    is_number = isinstance(key, int | float) and not isinstance(key, bool)
    if is_number and key == int(key) and isinstance(base, list):
        try:
            return base[int(key)]
        except IndexError:
            return MISSING
    return MISSING
