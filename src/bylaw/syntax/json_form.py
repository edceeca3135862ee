"""Formulas as JSON, for storage: a flat list of parts that refer to earlier parts by number.

    G(search -> F cite)

    {"bylaw": 1, "formula": [
        {"event": {"tool": "search"}},
        {"event": {"tool": "cite"}},
        {"eventually": [1]},
        {"implies": [0, 2]},
        {"always": [3]}
    ]}

The last part is the formula. The list is flat because JSON readers limit the depth of nesting;
equal parts are stored once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from bylaw.errors import Diagnostic, SpecError, did_you_mean, shown
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.operators import BOUNDED, BY_TAG, COMPARISONS, RELATIONS, may_be_variable
from bylaw.regex.regex import regex_error
from bylaw.syntax.json_writer import VERSION
from bylaw.trace.event import ROLES
from bylaw.values import MAX_DEPTH, Json, is_number
from bylaw.vocabulary.domains import PathError, check_path
from bylaw.vocabulary.function import ArgumentType
from bylaw.vocabulary.functions import FUNCTIONS, mistake_in
from bylaw.vocabulary.predicate import OperandKind
from bylaw.vocabulary.predicates import PREDICATES


def from_json(data: object) -> f.Formula:
    """The formula that `to_json` wrote. Raises SpecError for any other value."""
    if not isinstance(data, Mapping) or "formula" not in data:
        raise _error("formula", 'expected {"bylaw": 1, "formula": […]}')
    if type(data.get("bylaw")) is not int or data["bylaw"] != VERSION:
        raise _error("bylaw", f"unknown format version {shown(data.get('bylaw'))}", "E203")
    parts = data["formula"]
    if not isinstance(parts, list) or not parts:
        raise _error("formula", "expected a list of parts, the last of which is the formula")
    built = _read_parts(parts, trusted=False)
    if built[-1].free:
        name = min(built[-1].free)
        raise _error("formula", f"no quantifier binds the variable '{name}'", "E108")
    return built[-1]


def read_table(data: Mapping[str, Any]) -> list[f.Formula]:
    """The formulas that `table_of` wrote. Their expressions and paths are not checked again."""
    built = _read_parts(data["parts"], trusted=True)
    return [built[number] for number in data["formulas"]]


def _read_parts(parts: Sequence[Json], *, trusted: bool) -> list[f.Formula]:
    built: list[f.Formula] = []
    for number, part in enumerate(parts):
        built.append(_PartReader(f"formula[{number}]", built, trusted=trusted).read(part))
    return built


_WITHIN: Final = {f"{operator.tag}_within": node for node, operator in BOUNDED.items()}


def _error(where: str, message: str, code: str = "E116", help: str | None = None) -> SpecError:
    return SpecError(Diagnostic(code, message, help, where=where))


class _PartReader:
    """Reads one part. `built` are the formulas of the parts before it.

    If the parts are trusted, texts in them that must be expressions or paths are not compiled.
    """

    def __init__(self, where: str, built: list[f.Formula], *, trusted: bool) -> None:
        self.where = where
        self.built = built
        self.trusted = trusted

    def fail(self, message: str, help: str | None = None) -> SpecError:
        return _error(self.where, message, help=help)

    def read(self, part: Json) -> f.Formula:
        tag, content = self.tagged(part)
        match tag:
            case "truth" if isinstance(content, bool):
                return f.Truth(content)
            case "event" if isinstance(content, dict) and content.keys() <= {"tool", "where"}:
                tool = self.tool(content["tool"]) if "tool" in content else None
                return f.EventAtom(tool, self.each(self.pattern, content.get("where", [])))
            case "predicate":
                name, operands = self.fields(content, "name", "operands")
                return f.OpenPredicate(self.text(name), self.each(self.term, operands))
            case "says" if isinstance(content, str) and content in ROLES:
                return f.Says(content)
            case "compare" if isinstance(content, list) and len(content) == 3:
                left, symbol, right = content
                if not isinstance(symbol, str) or symbol not in RELATIONS:
                    raise self.fail(f"{shown(symbol)} is not one of {', '.join(RELATIONS)}")
                read = self.regex if symbol == "~" else self.term
                return f.Compare(symbol, self.term(left), read(right))
            case "forall" | "exists":
                node = f.ForAll if tag == "forall" else f.Exists
                return node(*self.binder(content))
            case "let":
                variable, value, body = self.fields(content, "variable", "value", "body")
                return f.Let(self.variable(variable), self.term(value), self.earlier(body))
            case _ if tag in _WITHIN:
                operand, seconds = self.fields(content, "operand", "seconds")
                return _WITHIN[tag](self.earlier(operand), self.seconds(seconds))
            case _ if tag in PREDICATES:
                return self.predicate(tag, content)
            case _ if tag in BY_TAG and isinstance(content, list):
                return self.operator(tag, [self.earlier(number) for number in content])
        close = did_you_mean(tag, [*BY_TAG, *_WITHIN, *PREDICATES, "truth", "event", "predicate"])
        raise self.fail(f"'{tag}' is not a part of a formula, or has the wrong content", close)

    def operator(self, tag: str, operands: list[f.Formula]) -> f.Formula:
        operator = BY_TAG[tag]
        fits = {
            "prefix": len(operands) == 1,
            "right": len(operands) == 2,
            "flat": len(operands) > 1,
        }
        if fits.get(operator.fixity):
            return f.applied(operator.node, operands)
        raise self.fail(f"'{tag}' has {len(operands)} operands")

    def predicate(self, name: str, content: Json) -> f.Formula:
        parameters = PREDICATES[name].parameters
        given = self.fields(content, *(parameter.name for parameter in parameters))
        read: dict[OperandKind, Callable[[Json], Any]] = {
            OperandKind.TOOL: self.tool,
            OperandKind.TOOLS: lambda v: f.ToolList(self.some(self.tool, v)),
            OperandKind.SEQUENCE: lambda v: f.ToolList(self.some(self.tool, v)),
            OperandKind.COUNT: self.count,
            OperandKind.NUMBER: self.term,
            OperandKind.VALUE: self.term,
            OperandKind.ARGUMENTS: self.arguments,
        }
        pairs = zip(parameters, given, strict=True)
        return f.TracePredicate(name, tuple(read[p.kind](value) for p, value in pairs))

    def count(self, value: Json) -> f.Count:
        comparison, number = self.fields(value, "is", "number")
        if comparison not in COMPARISONS:
            raise self.fail(f"{shown(comparison)} is not one of {', '.join(COMPARISONS)}")
        return f.Count(comparison, self.term(number))

    def arguments(self, value: Json) -> f.Arguments:
        patterns = self.each(self.pattern, value)
        if not all(isinstance(pattern, f.ArgumentIs) for pattern in patterns):
            raise self.fail("expected patterns of arguments only")
        return f.Arguments(patterns)

    def pattern(self, value: Json) -> f.Pattern:
        match value:
            case {"outcome": ("ok" | "failed") as outcome, **rest} if not rest:
                return f.OutcomeIs(outcome)
            case {"argument": [_, *_] as path, "is": expected, **rest} if not rest:
                return f.ArgumentIs(self.each(self.text, path), self.term(expected))
            case {"result": list(path), "is": expected, **rest} if not rest:
                return f.ResultIs(self.each(self.text, path), self.term(expected))
            case _:
                raise self.fail(f"not a pattern: {shown(value)}")

    def domain(self, value: Json) -> f.Domain:
        tag, content = self.tagged(value)
        match tag:
            case "listed":
                return f.Listed(self.some(self.term, content))
            case "found":
                found = f.each_of(self.term(content))
                if found is None:
                    raise self.fail("the list of values is empty")
                return found
            case "args" | "results":
                tool, path = self.fields(content, "tool", "path")
                node = f.FromArgs if tag == "args" else f.FromResults
                return node(self.tool(tool), self.path(path))
            case "metrics":
                (path,) = self.fields(content, "path")
                return f.FromMetrics(self.path(path))
            case "extracted":
                name, operands = self.fields(content, "name", "operands")
                return f.Extracted(self.text(name), self.each(self.term, operands))
            case _:
                raise self.fail(f"'{tag}' is not a domain")

    def tool(self, value: Json) -> t.Tool:
        match value:
            case str() if value:
                return t.ToolName(value)
            case {"variable": str(name), **rest} if not rest:
                return t.ToolVariable(name)
            case {"like": str(pattern), **rest} if pattern and not rest:
                return t.ToolGlob(pattern)
            case {"any": [_, *_] as members, **rest} if not rest:
                if any(isinstance(m, dict) and "any" in m for m in members):
                    raise self.fail("a set of tools cannot hold another set")
                tools = self.each(self.tool, members)
                return t.ToolSet(tuple(flat for tool in tools for flat in t.members_of(tool)))
            case _:
                raise self.fail(f"not a tool: {shown(value)}")

    def term(self, value: Json, depth: int = 0) -> t.Term:
        tag, content = self.tagged(value)
        if depth > MAX_DEPTH:
            raise self.fail(f"the value nests more than {MAX_DEPTH} deep")
        match tag:
            case "literal":
                return t.Literal.of(content)
            case "variable":
                return t.Variable(self.text(content))
            case "answer":
                return t.Answer()
            case "labels":
                return t.Labels()
            case "read" if isinstance(content, str) and content in t.FIELDS:
                return t.Reading(content)  # type: ignore[arg-type]  # one of the fields
            case "at" if isinstance(content, list) and len(content) == 2:
                base, key = (self.term(each, depth + 1) for each in content)
                return t.At(base, key)
            case "apply":
                name, operands = self.fields(content, "function", "to")
                function = FUNCTIONS.get(self.text(name))
                if function is None:
                    raise self.fail(f"unknown function '{name}'", did_you_mean(name, FUNCTIONS))
                given = self.each(lambda v: self.term(v, depth + 1), operands)
                if len(given) != len(function.takes):
                    raise self.fail(f"'{name}' takes {len(function.takes)} operands")
                for place, operand in zip(function.takes, given, strict=True):
                    if not self.trusted:
                        self.check_operand(place, operand)
                return t.Apply(function.name, given)
            case "last":
                return t.Last(self.earlier(content))
            case "sofar" if isinstance(content, dict) and "seconds" in content:
                condition, seconds = self.fields(content, "condition", "seconds")
                return t.Sofar(self.earlier(condition), self.seconds(seconds))
            case "sofar":
                (condition,) = self.fields(content, "condition")
                return t.Sofar(self.earlier(condition))
            case "count":
                return t.Counted(*self.binder(content))
            case "list" if isinstance(content, list):
                return t.list_term([self.term(item, depth + 1) for item in content])
            case "object" if isinstance(content, dict):
                return t.object_term({k: self.term(v, depth + 1) for k, v in content.items()})
            case _:
                raise self.fail(f"'{tag}' is not a value")

    def seconds(self, value: Json) -> t.Literal:
        if not is_number(value) or value < 0:
            raise _error(self.where, f"expected a number of seconds, found {shown(value)}", "E120")
        return t.Literal.of(value)

    def binder(self, content: Json) -> tuple[str, f.Domain, f.Formula]:
        variable, domain, body = self.fields(content, "variable", "in", "body")
        return self.variable(variable), self.domain(domain), self.earlier(body)

    def regex(self, value: Json) -> t.Term:
        term = self.term(value)
        if not self.trusted:
            self.check_regex(term)
        return term

    def check_operand(self, place: ArgumentType, operand: t.Term) -> None:
        mistake = mistake_in(place, operand.value) if isinstance(operand, t.Literal) else None
        if mistake is not None:
            code, message, help = mistake
            raise _error(self.where, message, code, help)

    def check_regex(self, term: t.Term | None) -> None:
        error = regex_error(term.value) if isinstance(term, t.Literal) else None
        if error is not None:
            raise _error(self.where, error.message, "E111", error.help)

    # ── small helpers ────────────────────────────────────────────────────────────────────

    def tagged(self, value: Json) -> tuple[str, Json]:
        if not isinstance(value, dict) or len(value) != 1:
            raise self.fail("expected an object with one key, the tag")
        ((tag, content),) = value.items()
        return str(tag), content

    def fields(self, value: Json, *names: str) -> list[Json]:
        if not isinstance(value, dict) or value.keys() != set(names):
            raise self.fail(f"expected an object with {', '.join(names)}")
        return [value[name] for name in names]

    def each(self, read: Callable[[Json], Any], values: Json) -> tuple[Any, ...]:
        if not isinstance(values, list):
            raise self.fail(f"expected a list, found {shown(values)}")
        return tuple(read(value) for value in values)

    def some(self, read: Callable[[Json], Any], values: Json) -> tuple[Any, ...]:
        if not values:
            raise self.fail("expected at least one")
        return self.each(read, values)

    def earlier(self, number: Json) -> f.Formula:
        if type(number) is not int or not 0 <= number < len(self.built):
            raise self.fail(f"{shown(number)} is not the number of an earlier part")
        return self.built[number]

    def text(self, value: Json) -> str:
        if not isinstance(value, str) or not value:
            raise self.fail(f"expected a name, found {shown(value)}")
        return value

    def variable(self, value: Json) -> str:
        name = self.text(value)
        if not may_be_variable(name):
            raise self.fail(f"'{name}' cannot be a variable")
        return name

    def path(self, value: Json) -> str:
        path = self.text(value)
        if self.trusted:
            return path
        try:
            check_path(path)
        except PathError as error:
            raise self.fail(f"not a JMESPath expression: {error}") from None
        return path
