"""From formula to text, with as few parentheses as possible."""

from __future__ import annotations

from collections.abc import Mapping

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.operators import (
    ARITHMETIC,
    BOUNDED,
    BY_NODE,
    Operator,
    duration_text,
    is_plain,
)
from bylaw.logic.sourced import as_sourced
from bylaw.logic.walk import Steps, everything, run
from bylaw.regex.regex import regex_error
from bylaw.values import write_json
from bylaw.vocabulary.predicate import OperandKind
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.shell_atom import shell_text

_ATOM = 100
"""Binds tighter than any operator."""


def to_text(
    formula: f.Formula,
    names: Mapping[str, str] | None = None,
    parts: Mapping[f.Formula, str] | None = None,
) -> str:
    """The text that `parse` reads back as this formula.

    For text that only people read: `names` gives names to values, by their canonical text, and
    `parts` gives names to formulas.
    """
    binders = f.ForAll | f.Exists | f.Let | t.Counted
    bound = {part.variable for part in everything(formula) if isinstance(part, binders)}
    return run(_Printer(bound, names or {}, parts or {}).written(formula))[0]


def term_text(term: t.Term, names: Mapping[str, str] | None = None) -> str:
    """A value as the text form writes it; `names` as in `to_text`."""
    return _Printer(set(), names or {}).term(term)


def tool_text(tool: t.Tool) -> str:
    """A tool as the text form writes it."""
    return _Printer(set(), {}).tool(tool)


class _Printer:
    """Writes the parts of one formula. Tools named like one of its `bound` variables are quoted."""

    def __init__(
        self,
        bound: set[str],
        names: Mapping[str, str],
        parts: Mapping[f.Formula, str] | None = None,
    ) -> None:
        self.bound = bound
        self.names = names
        self.parts = parts or {}

    def written(self, formula: f.Formula) -> Steps[tuple[str, int]]:
        """The text, and the precedence of its outermost operator."""
        if self.parts and formula in self.parts:
            return self.parts[formula], _ATOM
        if origin := as_sourced(formula):
            text, _ = yield self.written(origin.condition)
            plain = isinstance(origin.condition, f.EventAtom | f.Says)
            text = text if plain else f"({text})"
            part = "" if origin.is_output else f"{self.sum(origin.part)} of "
            return f"{self.sum(origin.value)} from {part}{text}", _ATOM
        match formula:
            case _ if isinstance(formula, f.Atom):
                return self.atom(formula), _ATOM
            case f.Let():
                return (yield self.let(formula)), BY_NODE[f.Let].precedence
            case f.Exists() if (
                shell := shell_text(formula, self.compared, self.bound)
            ) is not None:
                return shell, _ATOM
            case f.ForAll(name, domain, body) | f.Exists(name, domain, body):
                operator = BY_NODE[type(formula)]
                text, _ = yield self.written(body)
                return (
                    f"{operator.symbol} {name} in {self.domain(domain)}: {text}",
                    operator.precedence,
                )
            case f.And(operands) | f.Or(operands):
                operator = BY_NODE[type(formula)]
                parts, at = list[str](), 0
                while at < len(operands):
                    named, count = self.leading(formula, at)
                    written = self.operand(operands[at], operator.precedence + 1)
                    parts.append((yield written) if named is None else named)
                    at += count
                return f" {operator.symbol} ".join(parts), operator.precedence
            case _ if isinstance(formula, f.Within):
                operator = BOUNDED[type(formula)]
                text, precedence = yield self.written(formula.operand)
                text = text if precedence == _ATOM else f"({text})"
                bound = duration_text(formula.seconds.value)
                return f"{_prefixed(operator, text)} within {bound}", operator.precedence
        operator = BY_NODE[type(formula)]
        if operator.fixity == "prefix":
            text = yield self.operand(formula.operand, operator.precedence)  # type: ignore[union-attr]  # unary
            return _prefixed(operator, text), operator.precedence
        left = yield self.operand(formula.left, operator.precedence + 1)  # type: ignore[union-attr]  # binary
        right = yield self.operand(formula.right, operator.precedence)  # type: ignore[union-attr]  # as above
        return f"{left} {operator.symbol} {right}", operator.precedence

    def leading(self, formula: f.Nary, at: int) -> tuple[str | None, int]:
        """The longest part with a name that begins at an operand: it dissolved into several."""
        name, count = None, 1
        for part, given in self.parts.items():
            if isinstance(part, f.And | f.Or) and type(part) is type(formula):
                size = len(part.operands)
                if size > count and part.operands == formula.operands[at : at + size]:
                    name, count = given, size
        return name, count

    def let(self, formula: f.Formula) -> Steps[str]:
        """`let x = a, y = b: c`: one `let` directly inside another continues it."""
        bindings = []
        while isinstance(formula, f.Let):
            bindings.append(f"{formula.variable} = {self.sum(formula.value)}")
            formula = formula.body
        text, _ = yield self.written(formula)
        return f"let {', '.join(bindings)}: {text}"

    def operand(self, formula: f.Formula, least: int) -> Steps[str]:
        """The text of an operand, in parentheses if its precedence is below `least`."""
        text, precedence = yield self.written(formula)
        return text if precedence >= least else f"({text})"

    def atom(self, atom: f.Atom) -> str:
        match atom:
            case f.EventAtom(None, (f.OutcomeIs(outcome),)):
                return outcome
            case f.Says(role):
                return f"says({role})"
            case f.Compare(symbol, left, right):
                return f"{self.sum(left)} {self.compared(symbol, right)}"
            case f.EventAtom(None, ()):
                return "call"
            case f.EventAtom(tool, ()) if tool is not None:
                return self.tool(tool)
            case f.EventAtom(tool, patterns):
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
            case f.Truth(holds):
                return "true" if holds else "false"

    def compared(self, symbol: str, right: t.Term) -> str:
        """A relation and its right side."""
        return f"{symbol} {self.pattern_text(right) if symbol == '~' else self.sum(right)}"

    def operands(self, kind: OperandKind, operand: f.Operand) -> list[str]:
        match operand:
            case f.ToolList(tools) if kind is OperandKind.SEQUENCE:
                return [self.tool(tool) for tool in tools]
            case f.Arguments(patterns):
                return [self.pattern(pattern) for pattern in patterns]
            case f.Count(comparison, number):
                return [f"{comparison} {self.term(number)}"]
            case f.ToolList(tools):
                return [f"[{', '.join(map(self.tool, tools))}]"]
            case t.ToolName() | t.ToolSet() | t.ToolVariable() | t.ToolGlob():
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
                return f"[{', '.join(map(self.sum, items))}]"
            case f.Found(term):
                return self.sum(term)
            case f.FromArgs(tool, path):
                return f"args({self.tool(tool)}, {write_json(path)})"
            case f.FromResults(tool, path):
                return f"results({self.tool(tool)}, {write_json(path)})"
            case f.FromMetrics(path):
                return f"metrics({write_json(path)})"
            case f.Extracted(name, operands):
                return f"{name}({', '.join(map(self.term, operands))})"

    def tool(self, tool: t.Tool) -> str:
        """A tool as the text form writes it, in quotes unless it is a plain name."""
        match tool:
            case t.ToolName(name):
                return write_json(name) if name in self.bound else _key(name)
            case t.ToolVariable(name):
                return name
            case t.ToolGlob(pattern):
                return f"like({write_json(pattern)})"
            case t.ToolSet(members):
                return "{" + ", ".join(map(self.tool, members)) + "}"

    def term(self, term: t.Term) -> str:
        """A term as the text form writes it, in parentheses if it is arithmetic."""
        return self.sum(term, _ATOM)

    def sum(self, term: t.Term, least: int = 0) -> str:
        """A term, in parentheses if it is arithmetic with a precedence below `least`."""
        match term:
            case t.Apply(symbol, (left, right)) if symbol in ARITHMETIC:
                binds = ARITHMETIC[symbol]
                text = f"{self.sum(left, binds)} {symbol} {self.sum(right, binds + 1)}"
                return f"({text})" if binds < least else text
            case t.Literal(text) if text in self.names:
                return self.names[text]
            case t.Literal():
                return write_json(term.value)
            case t.Variable(name):
                return name
            case t.Answer():
                return "answer"
            case t.Labels():
                return "labels"
            case t.Reading(field):
                return field
            case t.At(base, key):
                return self.term(base) + self.accessor(key)
            case t.Apply(function, operands):
                return f"{function}({', '.join(map(self.sum, operands))})"
            case t.Last(condition):
                return f"last({run(self.written(condition))[0]})"
            case t.Sofar(condition, seconds):
                window = f", {duration_text(seconds.value)}" if seconds is not None else ""
                return f"sofar({run(self.written(condition))[0]}{window})"
            case t.Counted(variable, domain, body):
                text = run(self.written(body))[0]
                return f"count({variable} in {self.domain(domain)}: {text})"
            case t.ListTerm(items):
                return "[" + ", ".join(map(self.sum, items)) + "]"
            case t.ObjectTerm(entries):
                pairs = (f"{write_json(e.key)}: {self.sum(e.value)}" for e in entries)
                return "{" + ", ".join(pairs) + "}"

    def accessor(self, key: t.Term) -> str:
        if isinstance(key, t.Literal) and isinstance(key.value, str) and key.text not in self.names:
            return f".{_key(key.value)}"
        return f"[{self.sum(key)}]"

    def pattern_text(self, term: t.Term) -> str:
        """A term on the right of `~`: between slashes if it is a regular expression written out."""
        value = term.value if isinstance(term, t.Literal) else None
        if not isinstance(value, str) or not value or not value.isprintable():
            return self.sum(term)
        if "\\/" in value or value.endswith("\\") or regex_error(value) is not None:
            return self.sum(term)
        return f"/{value.replace('/', chr(92) + '/')}/"


def _prefixed(operator: Operator, text: str) -> str:
    needs_space = operator.symbol.isalpha() and not text.startswith("(")
    return f"{operator.symbol} {text}" if needs_space else operator.symbol + text


def _key(name: str) -> str:
    return name if is_plain(name) else write_json(name)
