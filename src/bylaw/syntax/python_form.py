"""From formula to a Python expression that builds it with the names of `bylaw.formulas`."""

from __future__ import annotations

from collections.abc import Sequence
from keyword import iskeyword

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.operators import BOUNDED, BY_NODE
from bylaw.logic.sourced import as_sourced
from bylaw.logic.walk import Steps, run
from bylaw.vocabulary.predicate import OperandKind
from bylaw.vocabulary.predicates import PREDICATES


def to_python(formula: f.Formula) -> str:
    """The expression that evaluates to this formula after `from bylaw.formulas import *`."""
    return run(_written(formula))


def _written(formula: f.Formula) -> Steps[str]:
    if origin := as_sourced(formula):
        part = "" if origin.is_output else f", {_term(origin.part)}"
        return f"sourced({_term(origin.value)}, {yield _written(origin.condition)}{part})"
    match formula:
        case _ if isinstance(formula, f.Atom):
            return _atom(formula)
        case f.Let(name, value, body):
            return f"let({name!r}, {_term(value)}, {yield _written(body)})"
        case f.ForAll(name, domain, body) | f.Exists(name, domain, body):
            quantifier = BY_NODE[type(formula)].symbol
            return f"{quantifier}({name!r}, {_domain(domain)}, {yield _written(body)})"
        case f.Not(operand):
            return f"~{yield _closed(operand)}"
        case f.And(operands) | f.Or(operands):
            parts = []
            for operand in operands:
                parts.append((yield _closed(operand)))
            return f" {BY_NODE[type(formula)].symbol} ".join(parts)
        case f.Implies(left, right):
            return f"{yield _closed(left)} >> {yield _closed(right)}"
        case f.Iff(left, right):
            subject = yield _closed(left)
            subject = f"({subject})" if isinstance(left, f.Not) else subject
            return f"{subject}.iff({yield _written(right)})"
        case f.Until() | f.WeakUntil() | f.Release() | f.Since():
            first, second = (yield _written(formula.left)), (yield _written(formula.right))
            return f"{BY_NODE[type(formula)].symbol}({first}, {second})"
        case _ if isinstance(formula, f.Within):
            inner, seconds = (yield _written(formula.operand)), formula.seconds.value
            return f"{BOUNDED[type(formula)].symbol}({inner}, within={seconds!r})"
        case _:
            return f"{BY_NODE[type(formula)].symbol}({yield _written(formula.operand)})"


def _closed(formula: f.Formula) -> Steps[str]:
    """The expression as an operand of a Python operator."""
    text = yield _written(formula)
    infix = isinstance(formula, f.And | f.Or | f.Implies)
    return f"({text})" if infix else text


def _atom(atom: f.Atom) -> str:
    match atom:
        case f.Truth(holds):
            return "true" if holds else "false"
        case f.Says(role):
            return f"says({role!r})"
        case f.Compare(symbol, left, right):
            return f"compare({_term(left)}, {symbol!r}, {_term(right)})"
        case f.EventAtom(tool, patterns):
            positional, named = _patterns(patterns)
            leading = [_tool(tool)] if tool else ["None"] if positional else []
            return f"call({', '.join([*leading, *positional, *named])})"
        case f.OpenPredicate(name, operands):
            return f"Predicate({', '.join([repr(name), *map(_term, operands)])})"
        case f.TracePredicate(name, operands):
            places = zip(PREDICATES[name].parameters, operands, strict=True)
            written = [text for place, operand in places for text in _operands(place.kind, operand)]
            return f"{name}({', '.join(written)})"


def _operands(kind: OperandKind, operand: f.Operand) -> Sequence[str]:
    match operand:
        case f.Count(comparison, number):
            return [repr(comparison), _term(number)]
        case f.ToolList(tools) if kind is OperandKind.SEQUENCE:
            return [_tool(tool) for tool in tools]
        case f.ToolList(tools):
            return [f"[{', '.join(map(_tool, tools))}]"]
        case f.Arguments(patterns):
            positional, named = _patterns(patterns)
            return [*positional, *named]
        case t.ToolName() | t.ToolSet() | t.ToolVariable() | t.ToolGlob():
            return [_tool(operand)]
        case _:
            return [_term(operand)]


def _patterns(patterns: Sequence[f.Pattern]) -> tuple[list[str], list[str]]:
    """Patterns as positional and keyword arguments; leading ones are keywords if possible."""
    keywords: dict[str, str] = {}
    for pattern in patterns:
        match pattern:
            case f.ArgumentIs((key,), expected) if key not in keywords:
                keywords[key] = _term(expected)
            case _:
                break
    plain = all(k.isascii() and k.isidentifier() and not iskeyword(k) for k in keywords)
    named = [f"{key}={value}" for key, value in keywords.items()]
    if not plain:
        named = ["**{" + ", ".join(f"{key!r}: {value}" for key, value in keywords.items()) + "}"]
    return [_pattern(pattern) for pattern in patterns[len(keywords) :]], named


def _pattern(pattern: f.Pattern) -> str:
    match pattern:
        case f.OutcomeIs(outcome):
            return outcome
        case f.ResultIs(path, expected):
            return f"result_is({', '.join([_term(expected), *map(repr, path)])})"
        case f.ArgumentIs(path, expected):
            return f"where({', '.join(map(repr, path))}, equals={_term(expected)})"


def _domain(domain: f.Domain) -> str:
    match domain:
        case f.Listed(items):
            return f"listed({', '.join(map(_term, items))})"
        case f.Found(term):
            return f"found({_term(term)})"
        case f.FromArgs(tool, path):
            return f"args({_tool(tool)}, {path!r})"
        case f.FromResults(tool, path):
            return f"results({_tool(tool)}, {path!r})"
        case f.FromMetrics(path):
            return f"metrics({path!r})"
        case f.Extracted(name, operands):
            return f"extracted({', '.join([repr(name), *map(_term, operands)])})"


def _tool(tool: t.Tool) -> str:
    match tool:
        case t.ToolName(name):
            return repr(name)
        case t.ToolVariable(name):
            return f"var({name!r})"
        case t.ToolGlob(pattern):
            return f"like({pattern!r})"
        case t.ToolSet(members):
            return f"[{', '.join(map(_tool, members))}]"


def _term(term: t.Term) -> str:
    match term:
        case t.Literal():
            return repr(term.value)
        case t.Variable(name):
            return f"var({name!r})"
        case t.Answer():
            return "answer"
        case t.Labels():
            return "labels"
        case t.Reading(field):
            return f"this.{field}"
        case t.At():
            return _path(term)
        case t.Apply(function, operands):
            return f"apply({', '.join([repr(function), *map(_term, operands)])})"
        case t.Last(condition):
            return f"last({run(_written(condition))})"
        case t.Sofar(condition, seconds):
            window = "" if seconds is None else f", {seconds.value!r}"
            return f"sofar({run(_written(condition))}{window})"
        case t.Counted(variable, domain, body):
            return f"count({variable!r}, {_domain(domain)}, {run(_written(body))})"
        case t.ListTerm(items):
            return f"[{', '.join(map(_term, items))}]"
        case t.ObjectTerm(entries):
            return "{" + ", ".join(f"{e.key!r}: {_term(e.value)}" for e in entries) + "}"


def _path(term: t.Term) -> str:
    keys: list[str] = []
    while isinstance(term, t.At):
        keys.append(_term(term.key))
        term = term.base
    return f"at({', '.join([_term(term), *reversed(keys)])})"
