"""The Python form: formulas as expressions.

    from bylaw.formulas import F, G, call

    G(call("search") >> F(call("cite")))

Operators are named as in text (`G`, `F`, `X`, `WX`, `U`, `W`, `R`, `Y`, `O`, `H`, `S`), the
connectives are `~ & | >>` and `.iff()`, and predicates keep their names. `var("x")` can stand for
any value or tool.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bylaw.errors import Diagnostic, SpecError, not_a_choice, shown
from bylaw.logic import formula as f
from bylaw.logic import sourced as abbreviated
from bylaw.logic import terms as t
from bylaw.logic.formula import Always as G
from bylaw.logic.formula import Historically as H
from bylaw.logic.formula import Next as X
from bylaw.logic.formula import Release as R
from bylaw.logic.formula import Since as S
from bylaw.logic.formula import Until as U
from bylaw.logic.formula import WeakNext as WX
from bylaw.logic.formula import WeakUntil as W
from bylaw.logic.formula import Yesterday as Y
from bylaw.logic.operators import COMPARISONS, RELATIONS, may_be_variable
from bylaw.logic.terms import path_term, term_of, tool_of
from bylaw.regex.regex import regex_error
from bylaw.trace.event import ROLES
from bylaw.vocabulary.functions import FUNCTIONS, mistake_in
from bylaw.vocabulary.shell_atom import KEYS, shell_atom

__all__ = [
    "WX",
    "After",
    "AllBefore",
    "Before",
    "BranchCalled",
    "Called",
    "CalledExactly",
    "CalledN",
    "CalledWith",
    "CalledWithResult",
    "F",
    "G",
    "H",
    "InOrder",
    "InstanceBefore",
    "O",
    "Predicate",
    "R",
    "S",
    "U",
    "W",
    "WithinSteps",
    "X",
    "Y",
    "answer",
    "apply",
    "args",
    "at",
    "call",
    "compare",
    "count",
    "earlier",
    "exists",
    "extracted",
    "failed",
    "false",
    "forall",
    "found",
    "labels",
    "last",
    "later",
    "let",
    "like",
    "listed",
    "metrics",
    "ok",
    "result_is",
    "results",
    "says",
    "sh",
    "sofar",
    "sourced",
    "this",
    "true",
    "var",
    "where",
]

true = f.Truth(True)
false = f.Truth(False)
ok = f.OutcomeIs("ok")
failed = f.OutcomeIs("failed")
answer = t.Answer()
labels = t.Labels()


class this:  # noqa: N801  # it is used like a value of the language
    """The event being tested: `this.args`, `this.result`, `this.tool`, `this.step`, …"""

    args = t.Reading("args")
    result = t.Reading("result")
    tool = t.Reading("tool")
    step = t.Reading("step")
    text = t.Reading("text")
    error = t.Reading("error")
    start = t.Reading("start")
    end = t.Reading("end")
    duration = t.Reading("duration")
    agent = t.Reading("agent")
    usage = t.Reading("usage")


ToolLike = object
"""A tool name, a collection of tool names, or `var(name)`."""


def var(name: str) -> t.Variable:
    """The variable that a quantifier binds."""
    if not may_be_variable(name):
        raise SpecError(Diagnostic("E108", f"'{name}' cannot be a variable"))
    return t.Variable(name)


def call(tool: ToolLike = None, /, *patterns: f.Pattern, **arguments: object) -> f.EventAtom:
    """The current event is such a call: `call("search", ok, q="foo")`; `call()` is any call."""
    named = tuple(f.ArgumentIs((key,), term_of(value)) for key, value in arguments.items())
    return f.EventAtom(None if tool is None else tool_of(tool), (*named, *patterns))


def sh(
    program: object = None,
    subcommand: object = None,
    /,
    *conditions: tuple[str, str, object],
    **equal: object,
) -> f.Exists:
    """The current event runs such a shell command: `sh("git", "push", option="--force")`.

    Conditions other than equality are triples: `sh("rm", None, ("path", "~", "^/"))`. A list of
    programs stands for any of them.
    """
    given: list[tuple[str, str, object]] = []
    for key, name in (("program", program), ("subcommand", subcommand)):
        if name is not None:
            given.append((key, "in" if isinstance(name, list | tuple) else "=", name))
    given += [*conditions, *((key, "=", value) for key, value in equal.items())]
    for key, _, _ in given:
        if key not in KEYS:
            raise SpecError(Diagnostic("E105", *not_a_choice("key", key, [*KEYS])))
    return shell_atom([(key, relation, term_of(value)) for key, relation, value in given])


def where(*path: str, equals: object) -> f.ArgumentIs:
    """An argument pattern for a path: `where("filter", "id", equals=5)`."""
    return f.ArgumentIs(path, term_of(equals))


def result_is(value: object, *path: str) -> f.ResultIs:
    """A pattern for the whole result, or for the value at a path of keys."""
    return f.ResultIs(path, term_of(value))


def forall(variable: str, domain: f.Domain, body: f.Formula) -> f.ForAll:
    """`forall variable in domain: body`."""
    return f.ForAll(var(variable).name, domain, body)


def exists(variable: str, domain: f.Domain, body: f.Formula) -> f.Exists:
    """`exists variable in domain: body`."""
    return f.Exists(var(variable).name, domain, body)


def let(variable: str, value: object, body: f.Formula) -> f.Let:
    """`let variable = value: body`."""
    return f.Let(var(variable).name, term_of(value), body)


def at(base: object, *keys: object) -> t.Term:
    """`base.key.key…`: `at(this.args, "address", "zip")`."""
    return path_term(term_of(base), *keys)


def compare(left: object, relation: str, right: object) -> f.Compare:
    """`left relation right`, with one of `= != < <= > >= in contains mentions ~`."""
    if relation not in RELATIONS:
        raise SpecError(Diagnostic("E105", *not_a_choice("relation", relation, RELATIONS)))
    second = term_of(right)
    if relation == "~":
        _check_regex(second)
    return f.Compare(relation, term_of(left), second)


def sourced(value: object, condition: f.Formula, part: object = t.Reading("text")) -> f.ForAll:
    """`value from condition`, or `value from part of condition`."""
    return abbreviated.sourced(term_of(value), condition, term_of(part))


def _check_regex(term: t.Term) -> None:
    error = regex_error(term.value) if isinstance(term, t.Literal) else None
    if error is not None:
        raise SpecError(Diagnostic("E111", error.message, error.help))


def apply(function: str, *operands: object) -> t.Apply:
    """`function(operands…)`, for a built-in function: `apply("length", this.args)`."""
    known = FUNCTIONS.get(function)
    if known is None or len(known.takes) != len(operands):
        message = f"no function {shown(function)} takes {len(operands)} operands"
        raise SpecError(Diagnostic("E103", message))
    given = tuple(map(term_of, operands))
    for place, operand in zip(known.takes, given, strict=True):
        mistake = mistake_in(place, operand.value) if isinstance(operand, t.Literal) else None
        if mistake is not None:
            raise SpecError(Diagnostic(*mistake))
    return t.Apply(function, given)


def F(operand: f.Formula, *, within: float | None = None) -> f.Eventually | f.EventuallyWithin:
    """`F operand`; with `within`, at an event that starts at most so many seconds after this."""
    return f.Eventually(operand) if within is None else f.EventuallyWithin(operand, _for(within))


def O(operand: f.Formula, *, within: float | None = None) -> f.Once | f.OnceWithin:  # noqa: E743
    """`O operand`; with `within`, at an event that started at most so many seconds before this."""
    return f.Once(operand) if within is None else f.OnceWithin(operand, _for(within))


def earlier(operand: f.Formula, *, within: float | None = None) -> f.Earlier | f.EarlierWithin:
    """`earlier operand`: the operand held at some event of a strictly smaller step."""
    return f.Earlier(operand) if within is None else f.EarlierWithin(operand, _for(within))


def later(operand: f.Formula, *, within: float | None = None) -> f.Later | f.LaterWithin:
    """`later operand`: the operand holds at some event of a strictly larger step."""
    return f.Later(operand) if within is None else f.LaterWithin(operand, _for(within))


def _for(seconds: float) -> t.Literal:
    return t.Literal.of(seconds)


def last(condition: f.Formula) -> t.Last:
    """`last(condition)`: the latest event of a strictly earlier step where the condition holds."""
    return t.Last(condition)


def sofar(condition: f.Formula, window: float | None = None) -> t.Sofar:
    """`sofar(condition)`: the events up to now where the condition holds, as a list.

    With a window, only those that started at most so many seconds before the current event.
    """
    return t.Sofar(condition, None if window is None else _for(window))


def count(variable: str, domain: f.Domain, body: f.Formula) -> t.Counted:
    """`count(variable in domain: body)`."""
    return t.Counted(var(variable).name, domain, body)


def says(role: str) -> f.Says:
    """`says(role)`: the current event is a message of that role."""
    if role not in ROLES:
        raise SpecError(Diagnostic("E105", *not_a_choice("role", role, ROLES)))
    return f.Says(role)


def like(form: str) -> t.ToolGlob:
    """Every tool whose name matches this pattern: `like("get_*")`."""
    return t.ToolGlob(form)


def found(term: object) -> f.Listed | f.Found:
    """The domain of a list's elements, or of a single value, at the current event."""
    domain = f.each_of(term_of(term))
    if domain is None:
        raise SpecError(Diagnostic("E106", "the list of values is empty"))
    return domain


def listed(*values: object) -> f.Listed:
    """The domain `[values…]`."""
    return f.Listed(tuple(map(term_of, values)))


def args(tool: ToolLike, path: str) -> f.FromArgs:
    """The domain `args(tool, "path")`."""
    return f.FromArgs(tool_of(tool), path)


def results(tool: ToolLike, path: str) -> f.FromResults:
    """The domain `results(tool, "path")`."""
    return f.FromResults(tool_of(tool), path)


def metrics(path: str) -> f.FromMetrics:
    """The domain `metrics("path")`."""
    return f.FromMetrics(path)


def extracted(name: str, *operands: object) -> f.Extracted:
    """The domain of the values that a registered extractor yields."""
    return f.Extracted(name, tuple(map(term_of, operands)))


def Predicate(name: str, *operands: object) -> f.OpenPredicate:
    """A registered open predicate at the current position."""
    return f.OpenPredicate(name, tuple(map(term_of, operands)))


def Called(tool: ToolLike) -> f.TracePredicate:
    """`Called(tool)`"""
    return f.TracePredicate("Called", (tool_of(tool),))


def CalledN(tool: ToolLike, comparison: str, number: object) -> f.TracePredicate:
    """`CalledN(tool, <= number)`"""
    if comparison not in COMPARISONS:
        raise SpecError(Diagnostic("E105", *not_a_choice("comparison", comparison, COMPARISONS)))
    return f.TracePredicate("CalledN", (tool_of(tool), f.Count(comparison, term_of(number))))


def Before(first: ToolLike, second: ToolLike) -> f.TracePredicate:
    """`Before(first, second)`"""
    return f.TracePredicate("Before", (tool_of(first), tool_of(second)))


def After(second: ToolLike, first: ToolLike) -> f.TracePredicate:
    """`After(second, first)`"""
    return f.TracePredicate("After", (tool_of(second), tool_of(first)))


def AllBefore(tools: Iterable[ToolLike], goal: ToolLike) -> f.TracePredicate:
    """`AllBefore([tools…], goal)`"""
    return f.TracePredicate("AllBefore", (_tools(tools), tool_of(goal)))


def InstanceBefore(first: ToolLike, n: object, second: ToolLike, m: object) -> f.TracePredicate:
    """`InstanceBefore(first, n, second, m)`"""
    operands = (tool_of(first), term_of(n), tool_of(second), term_of(m))
    return f.TracePredicate("InstanceBefore", operands)


def InOrder(*tools: ToolLike) -> f.TracePredicate:
    """`InOrder(tools…)`"""
    return f.TracePredicate("InOrder", (_tools(tools),))


def WithinSteps(first: ToolLike, second: ToolLike, limit: object) -> f.TracePredicate:
    """`WithinSteps(first, second, limit)`"""
    return f.TracePredicate("WithinSteps", (tool_of(first), tool_of(second), term_of(limit)))


def CalledWith(tool: ToolLike, /, *patterns: f.ArgumentIs, **arguments: object) -> f.TracePredicate:
    """`CalledWith(tool, arguments…)`"""
    return f.TracePredicate("CalledWith", (tool_of(tool), _arguments(patterns, arguments)))


def CalledExactly(tool: ToolLike, /, **arguments: object) -> f.TracePredicate:
    """`CalledExactly(tool, arguments…)`"""
    return f.TracePredicate("CalledExactly", (tool_of(tool), _arguments((), arguments)))


def CalledWithResult(
    tool: ToolLike, result: object, /, *patterns: f.ArgumentIs, **arguments: object
) -> f.TracePredicate:
    """`CalledWithResult(tool, result, arguments…)`"""
    operands = (tool_of(tool), term_of(result), _arguments(patterns, arguments))
    return f.TracePredicate("CalledWithResult", operands)


def BranchCalled(taken: ToolLike, avoided: ToolLike) -> f.TracePredicate:
    """`BranchCalled(taken, avoided)`"""
    return f.TracePredicate("BranchCalled", (tool_of(taken), tool_of(avoided)))


def _tools(tools: Iterable[ToolLike]) -> f.ToolList:
    listed_tools = tuple(map(tool_of, tools))
    if not listed_tools:
        raise SpecError(Diagnostic("E106", "the list of tools is empty"))
    return f.ToolList(listed_tools)


def _arguments(patterns: tuple[f.ArgumentIs, ...], arguments: dict[str, Any]) -> f.Arguments:
    named = tuple(f.ArgumentIs((key,), term_of(value)) for key, value in arguments.items())
    return f.Arguments((*named, *patterns))
