"""Random formulas and traces for property tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from bylaw import Call, Message, Trace
from bylaw import formulas as b
from bylaw.logic import formula as f
from bylaw.logic.terms import Term, Tool, ToolVariable, Variable, term_of, tool_of

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


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """A call without a step."""
    extra: dict[str, Any] = {}
    if draw(st.booleans()):
        extra["result"] = draw(small_values | st.just('{"i": 1}') | st.just({"i": [1, 2]}))
    if draw(st.integers(0, 5)) == 0:
        extra["error"] = "failed"
    arguments = draw(st.dictionaries(st.sampled_from(KEYS), small_values, max_size=2))
    return Call(draw(st.sampled_from((*TOOLS, "other"))), arguments, **extra)


@st.composite
def traces(draw: st.DrawFn, max_size: int = 7, messages: bool = False) -> Trace:
    """A trace with parallel steps, and perhaps an answer."""
    events: list[Call | Message] = []
    step = 0
    for call in draw(st.lists(calls(), max_size=max_size)):
        if messages and draw(st.booleans()):
            role: Any = draw(st.sampled_from(["user", "assistant", "system"]))
            events.append(Message(role, draw(st.sampled_from(["hi", "yes", ""])), step))
        step += draw(st.integers(0, 1))
        fields = {name: getattr(call, name) for name in ("result", "error")}
        events.append(Call(call.tool, call.args, step=step, **fields))
    answer = draw(st.none() | st.sampled_from(["42", ""]))
    metrics = {"n": draw(st.integers(0, 2)), "ids": draw(st.lists(small_values, max_size=2))}
    return Trace(events, answer=answer, metrics=metrics)


# ── formulas ──────────────────────────────────────────────────────────────────────────────


def tools(variables: tuple[str, ...] = ()) -> SearchStrategy[Tool]:
    """A tool name, a set, or a bound variable."""
    plain = st.sampled_from((*TOOLS, "final_answer")).map(tool_of)
    sets = st.lists(st.sampled_from((*TOOLS, "web-search", "F")), min_size=1, max_size=3)
    bound = [st.sampled_from(variables).map(ToolVariable)] if variables else []
    return st.one_of(plain, plain, sets.map(tool_of), *bound)


def terms(variables: tuple[str, ...] = (), values: Any = small_values) -> SearchStrategy[Term]:
    """A value, perhaps with a variable inside."""
    plain = values.map(term_of)
    if not variables:
        return plain  # type: ignore[no-any-return]
    bound = st.sampled_from(variables).map(Variable)
    nested = bound.map(lambda variable: term_of({"k": [variable, 1]}))
    return st.one_of(plain, bound, nested)


def patterns(variables: tuple[str, ...] = ()) -> SearchStrategy[f.Pattern]:
    """Something to demand of a call."""
    paths = st.sampled_from([("i",), ("j",), ("i", "k"), ("result",), ("args",), ("a b",)])
    return st.one_of(
        st.builds(f.ArgumentIs, paths, terms(variables)),
        st.builds(f.ResultIs, st.sampled_from([(), ("i",)]), terms(variables)),
        st.sampled_from([b.ok, b.failed]),
    )


def arguments(variables: tuple[str, ...] = ()) -> SearchStrategy[f.Arguments]:
    """Whole arguments, each key once."""
    pairs = st.dictionaries(st.sampled_from((*KEYS, "in", "a b")), terms(variables), max_size=2)
    return pairs.map(lambda d: f.Arguments(tuple(f.ArgumentIs((k,), v) for k, v in d.items())))


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


def events(variables: tuple[str, ...] = ()) -> SearchStrategy[f.Event]:
    """An event atom."""
    some = st.lists(patterns(variables), max_size=2).map(tuple)
    return st.one_of(
        st.builds(f.Event, tools(variables)),
        st.builds(f.Event, st.none() | tools(variables), some),
    )


def domains(variables: tuple[str, ...] = ()) -> SearchStrategy[f.Domain]:
    """What a quantifier may range over."""
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


@st.composite
def quantified(draw: st.DrawFn) -> f.Formula:
    """A quantifier in front, over what calls bring along, and a body that speaks of its values."""
    paths = st.sampled_from(["i", "j", "i[]"])
    domain = draw(st.builds(f.FromArgs, tools(), paths) | st.builds(f.FromResults, tools(), paths))
    binders: tuple[Callable[..., f.Formula], ...] = (f.ForAll, f.Exists)
    body = draw(formulas(2, ("x",), quantifiers=False))
    formula = draw(st.sampled_from(binders))("x", domain, body)
    return formula if draw(st.booleans()) else f.Not(formula)
