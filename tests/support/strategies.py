"""Random formulas and traces for property tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from bylaw import Call, Message, Trace
from bylaw import formulas as b
from bylaw.logic import formula as f
from bylaw.logic.operators import RELATIONS
from bylaw.logic.terms import (
    FIELDS,
    Answer,
    Apply,
    At,
    Counted,
    Labels,
    Last,
    ListTerm,
    Literal,
    ObjectTerm,
    Reading,
    Sofar,
    Term,
    Tool,
    ToolGlob,
    ToolVariable,
    Variable,
    path_term,
    term_of,
    tool_of,
)
from bylaw.trace.event import MISSING, ROLES, Event
from bylaw.vocabulary.function import PATTERN, ZONE
from bylaw.vocabulary.functions import FUNCTIONS

TOOLS = ("a", "b", "c")
KEYS = ("i", "j")

json_values: SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "", "a", "é\n"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["k", "a b", "result"]), inner, max_size=2)
    ),
    max_leaves=4,
)
small_values: SearchStrategy[Any] = st.integers(0, 2) | st.sampled_from(["a", "b", 1.0, None])


# ── traces ────────────────────────────────────────────────────────────────────────────────


data_values: SearchStrategy[Any] = st.one_of(
    small_values,
    small_values,
    st.booleans(),
    st.lists(small_values, max_size=3),
    st.dictionaries(st.sampled_from(("i", "j")), small_values, max_size=2),
    st.lists(st.dictionaries(st.just("i"), small_values, max_size=1), max_size=2),
)
"""Values to look into and to range over."""


@cache
@st.composite
def calls(draw: st.DrawFn, values: SearchStrategy[Any] = small_values) -> Call:
    """A call without a step."""
    extra: dict[str, Any] = {}
    if draw(st.booleans()):
        extra["result"] = draw(small_values | st.just('{"i": 1}') | st.just({"i": [1, 2]}))
    if draw(st.integers(0, 5)) == 0:
        extra["error"] = "failed"
    arguments = draw(st.dictionaries(st.sampled_from(KEYS), values, max_size=2))
    return Call(draw(st.sampled_from((*TOOLS, "other"))), arguments, **extra)


@cache
@st.composite
def traces(
    draw: st.DrawFn,
    max_size: int = 7,
    messages: bool = False,
    values: SearchStrategy[Any] = small_values,
) -> Trace:
    """A trace with parallel steps, and perhaps an answer."""
    events: list[Call | Message] = []
    step = 0
    for call in draw(st.lists(calls(values), max_size=max_size)):
        if messages and draw(st.booleans()):
            role: Any = draw(st.sampled_from(["user", "assistant", "system"]))
            events.append(Message(role, draw(st.sampled_from(["hi", "yes", ""])), step))
        step += draw(st.integers(0, 1))
        fields = {name: getattr(call, name) for name in ("result", "error")}
        events.append(Call(call.tool, call.args, step=step, **fields))
    answer = draw(st.none() | st.sampled_from(["42", ""]))
    metrics = {"n": draw(st.integers(0, 2)), "ids": draw(st.lists(small_values, max_size=2))}
    return Trace(events, answer=answer, metrics=metrics)


@cache
@st.composite
def data_traces(draw: st.DrawFn, max_size: int = 6) -> Trace:
    """A trace with messages, labels, and arguments to look into."""
    found = draw(traces(max_size, messages=True, values=data_values))
    timed = draw(_timed(found)) if draw(st.booleans()) else found.events
    labels = draw(st.dictionaries(st.sampled_from(KEYS), data_values, max_size=2))
    return Trace(timed, answer=found.answer, metrics=found.metrics, labels=labels)


@st.composite
def _timed(draw: st.DrawFn, trace: Trace) -> list[Event]:
    """The events with starts that do not decrease; few have none."""
    now, events = 0.0, list[Event]()
    for event in trace.events:
        now += draw(st.sampled_from([0, 0.1, 0.2, 0.3, 1, 2, 5]))
        details: dict[str, Any] = {"start": now if draw(st.integers(0, 9)) else None}
        details["agent"] = draw(st.sampled_from([None, "a", "b"]))
        details["usage"] = draw(st.sampled_from([None, {"i": 1}, {"i": 2}]))
        if isinstance(event, Call) and event.result is not MISSING:
            details["end"] = draw(st.sampled_from([None, now, now + 1]))
        events.append(replace(event, **details))
    return events


WINDOWS = st.sampled_from([0, 0.3, 1, 2, 7]).map(Literal.of)


# ── formulas ──────────────────────────────────────────────────────────────────────────────


@cache
def tools(variables: tuple[str, ...] = ()) -> SearchStrategy[Tool]:
    """A tool name, a set, or a bound variable."""
    plain = st.sampled_from((*TOOLS, "final_answer")).map(tool_of)
    sets = st.lists(st.sampled_from((*TOOLS, "web-search", "F")), min_size=1, max_size=3)
    bound = [st.sampled_from(variables).map(ToolVariable)] if variables else []
    return st.one_of(plain, plain, sets.map(tool_of), *bound)


@cache
def terms(variables: tuple[str, ...] = (), values: Any = small_values) -> SearchStrategy[Term]:
    """A value, perhaps with a variable inside."""
    plain = values.map(term_of)
    if not variables:
        return plain  # type: ignore[no-any-return]  # a strategy
    bound = st.sampled_from(variables).map(Variable)
    nested = bound.map(lambda variable: term_of({"k": [variable, 1]}))
    return st.one_of(plain, bound, nested)


@cache
def patterns(variables: tuple[str, ...] = ()) -> SearchStrategy[f.Pattern]:
    """Something to demand of a call."""
    paths = st.sampled_from([("i",), ("j",), ("i", "k"), ("result",), ("args",), ("a b",)])
    return st.one_of(
        st.builds(f.ArgumentIs, paths, terms(variables)),
        st.builds(f.ResultIs, st.sampled_from([(), ("i",)]), terms(variables)),
        st.sampled_from([b.ok, b.failed]),
    )


@cache
def arguments(variables: tuple[str, ...] = ()) -> SearchStrategy[f.Arguments]:
    """Whole arguments, each key once."""
    pairs = st.dictionaries(st.sampled_from((*KEYS, "in", "a b")), terms(variables), max_size=2)
    return pairs.map(lambda d: f.Arguments(tuple(f.ArgumentIs((k,), v) for k, v in d.items())))


@cache
def predicates(variables: tuple[str, ...] = ()) -> SearchStrategy[f.TracePredicate]:
    """A trace predicate."""
    tool = tools(variables)
    index = st.integers(0, 2)
    listed = st.lists(tool, min_size=1, max_size=3)
    comparisons = st.sampled_from(["=", "!=", "<=", ">=", "<", ">"])
    valued = st.tuples(tool, arguments(variables))

    def with_arguments(name: str) -> SearchStrategy[f.TracePredicate]:
        return valued.map(lambda operands: f.TracePredicate(name, operands))

    with_result = st.tuples(tool, terms(variables), arguments(variables))
    return st.one_of(
        st.builds(b.Called, tool),
        st.builds(b.CalledN, tool, comparisons, index),
        st.builds(b.Before, tool, tool),
        st.builds(b.After, tool, tool),
        st.builds(b.AllBefore, listed, tool),
        st.builds(b.InstanceBefore, tool, index, tool, index),
        listed.map(lambda sequence: b.InOrder(*sequence)),
        st.builds(b.WithinSteps, tool, tool, index),
        st.builds(b.BranchCalled, tool, tool),
        with_arguments("CalledWith"),
        with_arguments("CalledExactly"),
        with_result.map(lambda operands: f.TracePredicate("CalledWithResult", operands)),
    )


@cache
def events(variables: tuple[str, ...] = ()) -> SearchStrategy[f.EventAtom]:
    """An event atom."""
    some = st.lists(patterns(variables), max_size=2).map(tuple)
    return st.one_of(
        st.builds(f.EventAtom, tools(variables)),
        st.builds(f.EventAtom, st.none() | tools(variables), some),
    )


@cache
def domains(variables: tuple[str, ...] = ()) -> SearchStrategy[f.Domain]:
    """A domain of a quantifier."""
    listed = st.lists(terms(variables), min_size=1, max_size=2).map(tuple)
    paths = st.sampled_from(["i", "j", "i[]", "@"])
    return st.one_of(
        st.builds(f.Listed, listed),
        st.builds(f.FromArgs, tools(variables), paths),
        st.builds(f.FromResults, tools(variables), paths),
        st.builds(f.FromMetrics, st.sampled_from(["n", "ids", "missing"])),
    )


UNARY: tuple[Callable[..., f.Formula], ...] = (
    f.Not,
    f.Next,
    f.WeakNext,
    f.Eventually,
    f.Always,
    f.Yesterday,
    f.Once,
    f.Historically,
)
BINARY: tuple[Callable[..., f.Formula], ...] = (
    f.Implies,
    f.Iff,
    f.Until,
    f.WeakUntil,
    f.Release,
    f.Since,
)


@cache
@st.composite
def formulas(
    draw: st.DrawFn, depth: int = 4, variables: tuple[str, ...] = (), quantifiers: bool = True
) -> f.Formula:
    """Any closed formula of the language, open predicates aside."""
    kind = draw(st.integers(0, 9)) if depth else 0
    if kind <= 2:
        atoms = [events(variables), events(variables), predicates(variables)]
        atom: f.Formula = draw(st.one_of(*atoms, st.sampled_from([b.true, b.false])))
        return atom

    def inner(bound: tuple[str, ...] = variables) -> f.Formula:
        return draw(formulas(depth - 1, bound, quantifiers))

    node: Callable[..., f.Formula]
    flat: tuple[Callable[..., f.Formula], ...] = (f.And, f.Or)
    binders: tuple[Callable[..., f.Formula], ...] = (f.ForAll, f.Exists)
    if kind <= 5:
        node = draw(st.sampled_from(UNARY))
        return node(inner())
    if kind <= 7:
        node = draw(st.sampled_from(BINARY))
        return node(inner(), inner())
    if kind == 8 or not quantifiers:
        node = draw(st.sampled_from(flat))
        return node(tuple(inner() for _ in range(draw(st.integers(2, 3)))))
    name = draw(st.sampled_from(["x", "y"]))
    node = draw(st.sampled_from(binders))
    domain = draw(domains(variables))
    return node(name, domain, inner((*variables, name)))


@cache
@st.composite
def quantified(draw: st.DrawFn) -> f.Formula:
    """A quantifier in front, over what calls bring along, and a body that speaks of its values."""
    paths = st.sampled_from(["i", "j", "i[]"])
    domain = draw(st.builds(f.FromArgs, tools(), paths) | st.builds(f.FromResults, tools(), paths))
    binders: tuple[Callable[..., f.Formula], ...] = (f.ForAll, f.Exists)
    body = draw(formulas(2, ("x",), quantifiers=False))
    formula = draw(st.sampled_from(binders))("x", domain, body)
    return formula if draw(st.booleans()) else f.Not(formula)


# ── formulas that speak of data ───────────────────────────────────────────────────────────

EXPRESSIONS = ("a", "^h", "e.|b", r"\d", "")
"""Regular expressions."""
ZONES = ("UTC", "Europe/Berlin")
_PATHS = (("args",), ("args", "i"), ("args", "j"), ("result",), ("result", "i"))


@cache
def _leaves(variables: tuple[str, ...]) -> SearchStrategy[Term]:
    read = st.sampled_from(FIELDS).map(lambda field: Reading(field))  # type: ignore[arg-type]  # one of the fields
    paths = st.sampled_from(_PATHS).map(lambda p: path_term(Reading(p[0]), *p[1:]))  # type: ignore[arg-type]  # one of the fields
    labels = st.sampled_from(KEYS).map(lambda key: At(Labels(), Literal.of(key)))
    bound = [st.sampled_from(variables).map(Variable)] * 3 if variables else []
    plain = data_values.map(term_of)
    return st.one_of(paths, paths, paths, read, plain, plain, labels, st.just(Answer()), *bound)


@cache
@st.composite
def data_terms(
    draw: st.DrawFn, depth: int = 2, variables: tuple[str, ...] = (), future: bool = True
) -> Term:
    """A value read from events, computed, found, or counted."""
    kind = draw(st.integers(0, 13)) if depth else 0

    def inner() -> Term:
        return draw(data_terms(depth - 1, variables, future))

    def condition(bound: tuple[str, ...] = variables) -> f.Formula:
        return draw(data_formulas(depth - 1, bound, future))

    if kind <= 4:
        return draw(_leaves(variables))
    if kind <= 6:
        keys = st.sampled_from([*KEYS, "text", "args", "result", 0, -1, 1.0]).map(Literal.of)
        return At(inner(), draw(keys) if draw(st.integers(0, 3)) else inner())
    if kind <= 8:
        name = draw(st.sampled_from(sorted(FUNCTIONS)))
        operands = []
        for place in FUNCTIONS[name].takes:
            written = {PATTERN: EXPRESSIONS, ZONE: ZONES}.get(place)
            operands.append(
                inner() if written is None else Literal.of(draw(st.sampled_from(written)))
            )
        return Apply(name, tuple(operands))
    if kind == 9:
        return term_of([inner(), inner()] if draw(st.booleans()) else {"i": inner()})
    if kind == 10:
        path = draw(st.sampled_from([(), ("args", "i"), ("result",), ("text",), ("step",)]))
        return path_term(Last(condition()), *path)
    if kind <= 12:
        members = st.sampled_from([(), ("args", "i"), ("result",), ("step",), (0,), (-1, "args")])
        window = draw(st.none() | st.none() | WINDOWS)
        listed = path_term(Sofar(condition(), window), *draw(members))
        function = draw(st.sampled_from([None, "length", "length", "sum", "max", "min", "unique"]))
        return listed if function is None else Apply(function, (listed,))
    name = draw(st.sampled_from(["x", "y"]))
    domain = draw(data_domains(depth - 1, variables, future))
    return Counted(name, domain, condition((*variables, name)))


@cache
@st.composite
def data_domains(draw: st.DrawFn, depth: int, variables: tuple[str, ...], future: bool) -> f.Domain:
    """Something to range over, mostly found at the event."""
    kind = draw(st.integers(0, 5 if future else 4))
    if kind <= 2:
        term = draw(data_terms(depth, variables, future))
        written = isinstance(term, Literal | ListTerm | ObjectTerm)
        return f.Listed((term,)) if written else f.Found(term)
    if kind <= 4:
        items = st.lists(data_terms(depth, variables, future), min_size=1, max_size=2)
        return f.Listed(tuple(draw(items)))
    return draw(domains(variables))


@cache
def _data_atoms(depth: int, variables: tuple[str, ...], future: bool) -> SearchStrategy[f.Formula]:
    term = data_terms(depth, variables, future)
    matched = term | st.sampled_from(EXPRESSIONS).map(Literal.of)
    glob = st.sampled_from(["*", "a*", "*er"]).map(ToolGlob)
    compare = st.one_of(
        st.builds(f.Compare, st.sampled_from(RELATIONS), term, term),
        st.builds(f.Compare, st.sampled_from(["=", "!="]), term, term),
        st.builds(f.Compare, st.just("~"), term, matched),
    )
    return st.one_of(
        compare,
        compare,
        compare,
        events(variables),
        st.builds(f.EventAtom, glob | st.tuples(glob, tools(variables)).map(tool_of)),
        st.sampled_from(ROLES).map(f.Says),
        st.sampled_from([b.call(None, b.ok), b.call(None, b.failed), b.true]),
    )


_NOW: tuple[Callable[..., f.Formula], ...] = (f.Not, f.Implies, f.Iff, f.And, f.Or)
_PAST = (f.Yesterday, f.Once, f.Historically, f.Since, f.Earlier, f.Earlier)
_FUTURE = (f.Next, f.WeakNext, f.Eventually, f.Always, f.Until, f.WeakUntil, f.Release, f.Later)


@cache
@st.composite
def data_formulas(
    draw: st.DrawFn, depth: int = 3, variables: tuple[str, ...] = (), future: bool = True
) -> f.Formula:
    """A closed formula with comparisons, let, quantifiers at the event, last, earlier, …"""
    kind = draw(st.integers(0, 9)) if depth > 0 else 0

    def inner(bound: tuple[str, ...] = variables) -> f.Formula:
        return draw(data_formulas(depth - 1, bound, future))

    if kind <= 2:
        return draw(_data_atoms(max(depth - 1, 0), variables, future))
    if kind <= 6:
        operators = (*_NOW, *_PAST, *(_FUTURE if future else ()))
        if draw(st.integers(0, 4)) == 0:
            ahead = (f.EventuallyWithin, f.LaterWithin) if future else ()
            within: type[f.Within] = draw(st.sampled_from((f.OnceWithin, f.EarlierWithin, *ahead)))
            return within(inner(), draw(WINDOWS))
        node: Callable[..., f.Formula] = draw(st.sampled_from(operators))
        if node in (f.And, f.Or):
            return node((inner(), inner()))
        return node(inner(), inner()) if node in BINARY else node(inner())
    name = draw(st.sampled_from(["x", "y"]))
    bound = (*variables, name)
    if kind == 7:
        term = draw(data_terms(depth - 1, variables, future))
        return f.Let(name, term, inner(bound))
    binders: tuple[Callable[..., f.Formula], ...] = (f.ForAll, f.Exists)
    domain = draw(data_domains(depth - 1, variables, future))
    node = draw(st.sampled_from(binders))
    return node(name, domain, inner(bound))


def past_rules() -> SearchStrategy[f.Always]:
    """`G` over what an event and those before it decide."""
    return data_formulas(future=False).map(f.Always)
