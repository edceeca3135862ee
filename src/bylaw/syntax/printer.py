"""From formula to text, with no more parentheses than reading it back needs."""

from __future__ import annotations

from bylaw.logic import formula as f
from bylaw.logic.operators import BY_NODE, Operator, is_plain
from bylaw.logic.terms import (
    Answer,
    ListTerm,
    Literal,
    ObjectTerm,
    Term,
    Tool,
    ToolName,
    ToolSet,
    ToolVariable,
    Variable,
)
from bylaw.logic.walk import Steps, everything, run
from bylaw.values import write_json
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.signature import Kind

_ATOM = 100
"""Binds tighter than any operator."""


def to_text(formula: f.Formula) -> str:
    """The text that `parse` reads back as this formula."""
    bound = {q.variable for q in everything(formula) if isinstance(q, f.ForAll | f.Exists)}
    return run(_Printer(bound).written(formula))[0]


def tool_text(tool: Tool) -> str:
    """A tool as the text form writes it."""
    return _Printer(set()).tool(tool)


class _Printer:
    """Writes the parts of one formula; `bound` are its variables, which tools must not resemble."""

    def __init__(self, bound: set[str]) -> None:
        self.bound = bound

    def written(self, formula: f.Formula) -> Steps[tuple[str, int]]:
        """The text, and how tightly its outermost operator binds."""
        match formula:
            case f.Truth(holds):
                return ("true" if holds else "false"), _ATOM
            case f.Event() | f.TracePredicate() | f.OpenPredicate():
                return self.atom(formula), _ATOM
            case f.ForAll(name, domain, body) | f.Exists(name, domain, body):
                operator = BY_NODE[type(formula)]
                text, _ = yield self.written(body)
                return (
                    f"{operator.symbol} {name} in {self.domain(domain)}: {text}",
                    operator.precedence,
                )
            case f.And(operands) | f.Or(operands):
                operator = BY_NODE[type(formula)]
                parts = []
                for operand in operands:
                    parts.append((yield self.operand(operand, operator.precedence + 1)))
                return f" {operator.symbol} ".join(parts), operator.precedence
        operator = BY_NODE[type(formula)]
        if operator.fixity == "prefix":
            text = yield self.operand(formula.operand, operator.precedence)  # type: ignore[union-attr]
            return _prefixed(operator, text), operator.precedence
        left = yield self.operand(formula.left, operator.precedence + 1)  # type: ignore[union-attr]
        right = yield self.operand(formula.right, operator.precedence)  # type: ignore[union-attr]
        return f"{left} {operator.symbol} {right}", operator.precedence

    def operand(self, formula: f.Formula, least: int) -> Steps[str]:
        """The text of an operand, in parentheses unless it binds at least so tightly."""
        text, precedence = yield self.written(formula)
        return text if precedence >= least else f"({text})"

    def atom(self, atom: f.Event | f.TracePredicate | f.OpenPredicate) -> str:
        match atom:
            case f.Event(None, ()):
                return "call"
            case f.Event(tool, ()) if tool is not None:
                return self.tool(tool)
            case f.Event(tool, patterns):
                leading = [] if tool is None else [self.tool(tool)]
                return f"call({', '.join(leading + [self.pattern(p) for p in patterns])})"
            case f.OpenPredicate(name, operands):
                return f"{name}({', '.join(self.term(operand) for operand in operands)})"
            case f.TracePredicate(name, operands):
                places = zip(PREDICATES[name].parameters, operands, strict=True)
                written = [
                    text for place, operand in places for text in self.operands(place.kind, operand)
                ]
                return f"{name}({', '.join(written)})"

    def operands(self, kind: Kind, operand: f.Operand) -> list[str]:
        match operand:
            case f.ToolList(tools) if kind is Kind.SEQUENCE:
                return [self.tool(tool) for tool in tools]
            case f.Arguments(patterns):
                return [self.pattern(pattern) for pattern in patterns]
            case f.Count(comparison, number):
                return [f"{comparison} {self.term(number)}"]
            case f.ToolList(tools):
                return [f"[{', '.join(map(self.tool, tools))}]"]
            case ToolName() | ToolSet() | ToolVariable():
                return [self.tool(operand)]
            case _:
                return [self.term(operand)]

    def pattern(self, pattern: f.Pattern) -> str:
        match pattern:
            case f.OutcomeIs(outcome):
                return outcome
            case f.ResultIs(path, expected):
                keys = "".join(f".{_key(key)}" for key in path)
                return f"result{keys} = {self.term(expected)}"
            case f.ArgumentIs(path, expected):
                first, *rest = path
                # A first key that could be taken for something else is quoted.
                special = first in ("result", "args") and (first == "result" or rest)
                head = write_json(first) if special else _key(first)
                keys = "".join(f".{_key(key)}" for key in rest)
                return f"{head}{keys} = {self.term(expected)}"

    def domain(self, domain: f.Domain) -> str:
        match domain:
            case f.Listed(items):
                return f"[{', '.join(map(self.term, items))}]"
            case f.FromArgs(tool, path):
                return f"args({self.tool(tool)}, {write_json(path)})"
            case f.FromResults(tool, path):
                return f"results({self.tool(tool)}, {write_json(path)})"
            case f.FromMetrics(path):
                return f"metrics({write_json(path)})"
            case f.Extracted(name, operands):
                return f"{name}({', '.join(map(self.term, operands))})"

    def tool(self, tool: Tool) -> str:
        """A tool as the text form writes it: quoted where it is not a plain name."""
        match tool:
            case ToolName(name):
                return write_json(name) if name in self.bound else _key(name)
            case ToolVariable(name):
                return name
            case ToolSet(members):
                return "{" + ", ".join(map(self.tool, members)) + "}"

    def term(self, term: Term) -> str:
        """A term as the text form writes it."""
        match term:
            case Literal():
                return write_json(term.value)
            case Variable(name):
                return name
            case Answer():
                return "answer"
            case ListTerm(items):
                return "[" + ", ".join(map(self.term, items)) + "]"
            case ObjectTerm(entries):
                pairs = (f"{write_json(e.key)}: {self.term(e.value)}" for e in entries)
                return "{" + ", ".join(pairs) + "}"


def _prefixed(operator: Operator, text: str) -> str:
    needs_space = operator.symbol.isalpha() and not text.startswith("(")
    return f"{operator.symbol} {text}" if needs_space else operator.symbol + text


def _key(name: str) -> str:
    return name if is_plain(name) else write_json(name)
