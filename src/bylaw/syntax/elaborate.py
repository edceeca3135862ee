"""From shapes to formulas: every name is looked up, every operand checked, every mistake kept.

Mistakes do not stop the work: a placeholder takes the place of what could not be understood,
and all mistakes are raised together at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.errors import Diagnostic, Span, SpecError, did_you_mean
from bylaw.logic import formula as f
from bylaw.logic.operators import BY_SPELLING, KEYWORDS, may_be_variable
from bylaw.logic.terms import (
    Answer,
    Literal,
    Term,
    Tool,
    ToolName,
    ToolSet,
    ToolVariable,
    Variable,
    list_term,
    members_of,
    object_term,
)
from bylaw.logic.walk import Steps, run
from bylaw.syntax import shapes as s
from bylaw.syntax.scope import Scope
from bylaw.values import LARGEST, MAX_DEPTH
from bylaw.vocabulary.domains import PathError, compile_path
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.signature import Kind, Parameter, Predicate

_PLACEHOLDER = f.Truth(True)
_NO_VALUE = Literal.of(None)
_DOMAINS = ("args", "results", "metrics")


def elaborate(shape: s.Shape, text: str, scope: Scope) -> f.Formula:
    """The formula that a shape means in a scope."""
    elaborator = _Elaborator(text)
    try:
        formula = run(elaborator.formula(shape, scope))
    except SpecError as error:  # too deep: a node could not be built
        elaborator.problems += [
            Diagnostic.at(text, shape.span, d.code, d.message, d.help) for d in error.diagnostics
        ]
    if elaborator.problems:
        raise SpecError(sorted(elaborator.problems, key=lambda d: (d.line or 0, d.column or 0)))
    return formula


class _Elaborator:
    def __init__(self, text: str) -> None:
        self.text = text
        self.problems: list[Diagnostic] = []

    def complain(self, span: Span, code: str, message: str, help: str | None = None) -> None:
        self.problems.append(Diagnostic.at(self.text, span, code, message, help))

    # ── formulas ─────────────────────────────────────────────────────────────────────────

    def formula(self, shape: s.Operand, scope: Scope) -> Steps[f.Formula]:
        match shape:
            case s.Prefix(_, symbol, operand):
                inner = yield self.formula(operand, scope)
                return BY_SPELLING[symbol].build(inner)
            case s.Infix(_, symbol, left, right):
                first = yield self.formula(left, scope)
                second = yield self.formula(right, scope)
                return BY_SPELLING[symbol].build(first, second)
            case s.Flat(_, symbol, operands):
                parts = []
                for operand in operands:
                    parts.append((yield self.formula(operand, scope)))
                return BY_SPELLING[symbol].build(*parts)
            case s.Binder(_, symbol, variable, domain, body):
                if not may_be_variable(variable.text):
                    message = f"'{variable.text}' is a word of the language, not a variable"
                    self.complain(variable.span, "E108", message, "Choose another name.")
                values = self.domain(domain, scope)
                inner = yield self.formula(body, scope.binding(variable.text))
                node = f.ForAll if symbol == "forall" else f.Exists
                return node(variable.text, values, inner)
            case _:
                return self.atom(shape, scope)

    def atom(self, shape: s.Operand, scope: Scope) -> f.Formula:
        match shape:
            case s.Constant(_, bool() as value):
                return f.Truth(value)
            case s.Name(_, "call"):
                return f.Event()
            case s.Name(_, name) if self._is_registered(name, scope):
                return f.OpenPredicate(name)
            case s.Name() | s.Braces() | s.Constant(_, str()):
                return f.Event(self.tool(shape, scope))
            case s.Invocation(_, s.Name(_, "call"), operands):
                return self.event(operands, scope)
            case s.Invocation(_, s.Name(_, "Predicate"), operands):
                return self.predicate_by_name(shape, operands, scope)
            case s.Invocation(_, s.Name(_, name), operands) if name in PREDICATES:
                return self.trace_predicate(PREDICATES[name], shape, scope)
            case s.Invocation(_, name, operands):
                return self.open_predicate(name, operands, scope)
            case s.Comparison(span):
                help = 'Inside call(…): call(search, q = "foo").'
                self.complain(span, "E107", "a comparison needs a call to speak of", help)
            case _:
                message = f"expected a formula, found {_kind(shape)}"
                self.complain(shape.span, "E107", message, 'A tool name in quotes is one: "a-b".')
        return _PLACEHOLDER

    def _is_registered(self, name: str, scope: Scope) -> bool:
        return name in scope.vocabulary.predicates and name not in scope.variables

    def event(self, operands: Sequence[s.Operand], scope: Scope) -> f.Formula:
        """`call(tool, patterns…)`; the tool may be left out."""
        tool: Tool | None = None
        rest = list(operands)
        if rest and self._may_be_tool(rest[0]):
            tool = self.tool(rest.pop(0), scope)
        return f.Event(tool, tuple(p for operand in rest for p in self.pattern(operand, scope)))

    def _may_be_tool(self, operand: s.Operand) -> bool:
        match operand:
            case s.Name(_, name):
                return name not in ("ok", "failed")
            case s.Constant() | s.Braces():
                return True
            case _:
                return False

    def pattern(self, operand: s.Operand, scope: Scope) -> list[f.Pattern]:
        match operand:
            case s.Name(_, ("ok" | "failed") as outcome):
                return [f.OutcomeIs("ok" if outcome == "ok" else "failed")]
            case s.Comparison(_, "=", s.Name(_, "result"), right):
                return [f.ResultIs((), self.term(right, scope))]
            case s.Comparison(_, "=", s.Path(_, s.Name(_, "result"), keys), right):
                return [f.ResultIs(keys, self.term(right, scope))]
            case _:
                return list(self.argument(operand, scope))

    def argument(self, operand: s.Operand, scope: Scope) -> list[f.ArgumentIs]:
        """`q = "foo"`; a key that is no identifier stands in quotes, `args.` may precede it."""
        match operand:
            case s.Comparison(_, "=", left, right):
                keys = self._keys(left)
                if keys:
                    return [f.ArgumentIs(keys, self.term(right, scope))]
            case s.Comparison(span, symbol):
                message = f"an argument is compared with '=', not '{symbol}'"
                self.complain(span, "E105", message)
                return []
        message = f"expected an argument, found {_kind(operand)}"
        self.complain(operand.span, "E105", message, "Write key = value: amount = 5.")
        return []

    def _keys(self, left: s.Shape) -> tuple[str, ...]:
        match left:
            case s.Name(_, key) | s.Constant(_, str(key)):
                return (key,)
            case s.Path(_, s.Name(_, "args"), keys):
                return keys
            case s.Path(_, s.Name(_, key), keys) | s.Path(_, s.Constant(_, str(key)), keys):
                return (key, *keys)
            case _:
                return ()

    # ── predicates ───────────────────────────────────────────────────────────────────────

    def predicate_by_name(
        self, shape: s.Invocation, operands: Sequence[s.Operand], scope: Scope
    ) -> f.Formula:
        match operands:
            case [s.Name() as name, *given]:
                return self.open_predicate(name, given, scope)
            case _:
                message = "Predicate takes the name of a registered predicate"
                self.complain(shape.span, "E105", message, "For example: Predicate(paid_twice).")
                return _PLACEHOLDER

    def open_predicate(
        self, name: s.Name, operands: Sequence[s.Operand], scope: Scope
    ) -> f.Formula:
        registered = scope.vocabulary.predicates
        close = did_you_mean(name.text, [*PREDICATES, *registered])
        if name.text in registered:
            return f.OpenPredicate(name.text, tuple(self.term(o, scope) for o in operands))
        if name.text in KEYWORDS:
            message = f"'{name.text}' takes no operands"
            self.complain(name.span, "E103", message, f'A tool of that name is "{name.text}".')
        elif name.text in scope.groups or (scope.tools and name.text in scope.tools):
            message = f"'{name.text}' is a tool, not a predicate"
            help = f"Write call({name.text}, …) to speak of its arguments."
            self.complain(name.span, "E103", message, help)
        elif close:
            self.complain(name.span, "E103", f"unknown predicate '{name.text}'", close)
        else:  # it may be registered where the formula is used
            return f.OpenPredicate(name.text, tuple(self.term(o, scope) for o in operands))
        return _PLACEHOLDER

    def trace_predicate(self, predicate: Predicate, shape: s.Invocation, scope: Scope) -> f.Formula:
        operands: list[f.Operand] = []
        rest = list(shape.operands)
        complete = True
        for parameter in predicate.parameters:
            if parameter.kind in (Kind.SEQUENCE, Kind.ARGUMENTS):
                operands.append(self.remaining(parameter, rest, shape, scope))
                rest = []
            elif rest:
                operands.append(self.operand(parameter, rest.pop(0), scope))
            else:
                complete = False
                message = f"{predicate.name} needs {parameter.kind.value} as '{parameter.name}'"
                self.complain(shape.span, "E105", message, f"For example: {predicate.example}.")
                break
        for extra in rest:
            message = f"{predicate.name} takes {len(predicate.parameters)} operands"
            self.complain(extra.span, "E105", message, f"For example: {predicate.example}.")
        if predicate.name == "CalledExactly":
            self._whole_keys(operands, shape)
        return f.TracePredicate(predicate.name, tuple(operands)) if complete else _PLACEHOLDER

    def _whole_keys(self, operands: list[f.Operand], shape: s.Invocation) -> None:
        for operand in operands:
            if isinstance(operand, f.Arguments) and any(len(p.path) > 1 for p in operand.patterns):
                message = "CalledExactly compares whole arguments, not parts of them"
                help = 'Write filter = {"id": 1} in place of filter.id = 1.'
                self.complain(shape.span, "E105", message, help)

    def operand(self, parameter: Parameter, shape: s.Operand, scope: Scope) -> f.Operand:
        match parameter.kind, shape:
            case Kind.TOOL, _:
                return self.tool(shape, scope)
            case Kind.TOOLS, s.Brackets(_, items) if items:
                return f.ToolList(tuple(self.tool(item, scope) for item in items))
            case Kind.TOOLS, s.Brackets(span):
                self.complain(span, "E106", "the list of tools is empty")
                return f.ToolList(())
            case Kind.COUNT, s.HalfComparison(_, symbol, right):
                return f.Count(symbol, self.number(right, scope))
            case Kind.NUMBER, _:
                return self.number(shape, scope)
            case Kind.VALUE, _:
                return self.term(shape, scope)
        message = f"expected {parameter.kind.value} as '{parameter.name}', found {_kind(shape)}"
        self.complain(shape.span, "E105", message)
        return _NO_VALUE

    def remaining(
        self, parameter: Parameter, rest: Sequence[s.Operand], shape: s.Invocation, scope: Scope
    ) -> f.Operand:
        if parameter.kind is Kind.ARGUMENTS:
            patterns = [p for operand in rest for p in self.argument(operand, scope)]
            keys = [pattern.path for pattern in patterns]
            for operand, key in zip(rest, keys, strict=False):
                if keys.count(key) > 1:
                    message = f"the argument '{'.'.join(key)}' is given twice"
                    self.complain(operand.span, "E105", message)
                    break
            return f.Arguments(tuple(patterns))
        if not rest:
            self.complain(shape.span, "E106", f"{shape.name.text} needs at least one tool")
        return f.ToolList(tuple(self.tool(operand, scope) for operand in rest))

    def number(self, shape: s.Operand, scope: Scope) -> Term:
        term = self.term(shape, scope)
        if isinstance(term, Literal):
            value = term.value
            whole = type(value) in (int, float) and 0 <= value <= LARGEST and value == int(value)
            if not whole:
                message = f"expected {Kind.NUMBER.value}, found {_kind(shape)}"
                self.complain(shape.span, "E105", message)
        return term

    # ── tools, values, domains ───────────────────────────────────────────────────────────

    def tool(self, shape: s.Operand, scope: Scope) -> Tool:
        match shape:
            case s.Name(_, name) if name in scope.variables:
                return ToolVariable(name)
            case s.Name(_, name) if name in scope.groups:
                return ToolSet(tuple(ToolName(member) for member in scope.groups[name]))
            case s.Name(span, name) if name in KEYWORDS:
                message = f"'{name}' is a word of the language, not a tool"
                self.complain(span, "E106", message, f'A tool of that name is written "{name}".')
                return ToolName(name)
            case s.Name(span, name) | s.Constant(span, str(name)) if name:
                if not scope.knows_tool(name):
                    help = scope.suggest_tool(name)
                    self.complain(span, "E104", f"unknown tool '{name}'", help)
                return ToolName(name)
            case s.Braces(span, items):
                if not items:
                    self.complain(span, "E106", "the set of tools is empty")
                    return ToolName("?")
                if any(isinstance(item, s.Braces) for item in items):
                    self.complain(span, "E106", "a set of tools holds names, not other sets")
                    return ToolName("?")
                found = [self.tool(item, scope) for item in items]
                return ToolSet(tuple(flat for tool in found for flat in members_of(tool)))
            case _:
                self.complain(shape.span, "E106", f"expected a tool, found {_kind(shape)}")
                return ToolName("?")

    def term(self, shape: s.Operand, scope: Scope, depth: int = 0) -> Term:
        match shape:
            case s.Brackets(span) | s.Braces(span) if depth >= MAX_DEPTH:
                self.complain(span, "E113", f"the value nests more than {MAX_DEPTH} deep")
            case s.Constant(_, value):
                return Literal.of(value)
            case s.Name(_, name) if name in scope.variables:
                return Variable(name)
            case s.Name(_, "answer"):
                return Answer()
            case s.Name(span, name):
                close = did_you_mean(name, scope.variables)
                help = f'{close or "No quantifier binds it."} A string is written "{name}".'
                self.complain(span, "E108", f"unknown variable '{name}'", help)
            case s.Brackets(_, items):
                return list_term([self.term(item, scope, depth + 1) for item in items])
            case s.Braces(_, items) if all(isinstance(item, s.Pair) for item in items):
                return self._object(shape, scope, depth + 1)
            case _:
                self.complain(shape.span, "E107", f"expected a value, found {_kind(shape)}")
        return _NO_VALUE

    def _object(self, shape: s.Braces, scope: Scope, depth: int) -> Term:
        entries: dict[str, Term] = {}
        for item in shape.items:
            assert isinstance(item, s.Pair), "the caller looked"
            if item.key.value in entries:
                message = f"the key {item.key.value!r} appears twice"
                self.complain(item.key.span, "E105", message)
            entries[item.key.value] = self.term(item.value, scope, depth)
        return object_term(entries)

    def domain(self, shape: s.Shape, scope: Scope) -> f.Domain:
        match shape:
            case s.Brackets(_, items) if items:
                return f.Listed(tuple(self.term(item, scope) for item in items))
            case s.Brackets(span):
                self.complain(span, "E106", "the list of values is empty")
            case s.Invocation(_, s.Name(_, ("args" | "results") as name), [tool, path]):
                node = f.FromArgs if name == "args" else f.FromResults
                return node(self.tool(tool, scope), self.path(path))
            case s.Invocation(_, s.Name(_, "metrics"), [path]):
                return f.FromMetrics(self.path(path))
            case s.Invocation(span, s.Name(_, name), _) if name in _DOMAINS:
                example = 'metrics("path")' if name == "metrics" else f'{name}(tool, "path")'
                self.complain(span, "E110", f"'{name}' is written {example}")
            case s.Invocation(_, name, operands):
                close = did_you_mean(name.text, [*_DOMAINS, *scope.vocabulary.extractors])
                if close and name.text not in scope.vocabulary.extractors:
                    self.complain(name.span, "E110", f"unknown domain '{name.text}'", close)
                given = tuple(self.term(operand, scope) for operand in operands)
                return f.Extracted(name.text, given)
            case _:
                help = 'Write a list, args(tool, "path"), results(tool, "path") or metrics("path").'
                self.complain(shape.span, "E110", f"expected a domain, found {_kind(shape)}", help)
        return f.Listed((_NO_VALUE,))

    def path(self, shape: s.Operand) -> str:
        match shape:
            case s.Constant(span, str(path)):
                try:
                    compile_path(path)
                except PathError as error:
                    self.complain(span, "E109", f"not a JMESPath expression: {error}")
                return path
            case _:
                message = f"expected a path in quotes, found {_kind(shape)}"
                self.complain(shape.span, "E109", message, 'For example: "items[].id".')
                return "@"


_KINDS = {
    s.Name: "a name",
    s.Constant: "a value",
    s.Invocation: "a call",
    s.Brackets: "a list",
    s.Braces: "a set or object",
    s.Path: "a path",
    s.Comparison: "a comparison",
    s.HalfComparison: "half a comparison",
    s.Pair: "a key with a value",
}


def _kind(shape: s.Operand) -> str:
    match shape:
        case s.Name(_, text):
            return f"'{text}'"
        case s.Constant(_, value):
            return f"the value {Literal.of(value).text[:40]}"
        case _:
            return _KINDS.get(type(shape), "a formula")
