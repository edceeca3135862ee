"""From text to formulas: looks up every name, checks every operand, collects every mistake.

A mistake does not stop the elaboration: a placeholder replaces the part that has none, and all
mistakes are raised together at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.errors import Diagnostic, Span, SpecError, closest
from bylaw.logic import formula as f
from bylaw.logic.operators import BY_SPELLING, KEYWORDS
from bylaw.logic.sourced import sourced
from bylaw.logic.terms import Literal, Reading, Term, Tool, is_constant, path_term
from bylaw.logic.walk import Steps, run
from bylaw.syntax import shapes as s
from bylaw.syntax import suggestions
from bylaw.syntax.elaborate_shell import ShellElaborator
from bylaw.syntax.elaborate_values import FORMULA_VALUES, NO_VALUE, may_be_tool
from bylaw.syntax.scope import NameScope
from bylaw.syntax.shape_parser import read_shape
from bylaw.trace.event import ROLES
from bylaw.values import LARGEST
from bylaw.vocabulary.functions import FUNCTIONS
from bylaw.vocabulary.predicate import OperandKind, Parameter, Predicate
from bylaw.vocabulary.predicates import PREDICATES

_PLACEHOLDER = f.Truth(True)
"""Replaces a formula that has a mistake."""


def parse_in(text: str, scope: NameScope) -> f.Formula:
    """The formula that a text means in a scope."""
    try:
        return _read(text, scope)
    except SpecError as error:
        from bylaw.syntax.advice import advised  # slow to import, and only mistakes need it

        raise advised(error, text, lambda other: _read(other, scope)) from None


def _read(text: str, scope: NameScope) -> f.Formula:
    shape = read_shape(text)
    elaborator = _Elaborator(text)
    try:
        formula = run(elaborator.formula(shape, scope))
    except SpecError as error:  # a node nests too deeply
        elaborator.problems += [
            Diagnostic.at(text, shape.span, d.code, d.message, d.help) for d in error.diagnostics
        ]
    if elaborator.problems:
        raise SpecError(sorted(elaborator.problems, key=lambda d: (d.line or 0, d.column or 0)))
    return formula


class _Elaborator(ShellElaborator):
    # ── formulas ─────────────────────────────────────────────────────────────────────────

    def formula(self, shape: s.Item, scope: NameScope) -> Steps[f.Formula]:
        match shape:
            case s.Operation(_, symbol, operands):
                operator = BY_SPELLING[symbol]
                below = scope.at_other_events() if operator.temporal else scope
                parts = []
                for operand in operands:
                    parts.append((yield self.formula(operand, below)))
                return f.applied(operator.node, parts)
            case s.Bounded(_, symbol, operand, limit):
                within = BY_SPELLING[symbol].within
                assert within is not None, "the parser looked"
                found: f.Formula = yield self.formula(operand, scope.at_other_events())
                return within(found, self.duration(limit, scope))
            case s.Binder(_, symbol, variable, domain, body):
                values = self.domain(domain, scope)
                bound = self.bound(variable, scope)
                inner = yield self.formula(body, bound)
                node = f.ForAll if symbol == "forall" else f.Exists
                return node(bound.variables[variable.text], values, inner)
            case s.LetShape(_, bindings, body):
                named: list[tuple[str, Term]] = []
                for binding in bindings:
                    if binding.symbol != "=":
                        message = f"a let names a value with '=', not '{binding.symbol}'"
                        self.complain(binding.span, scope, "E107", message)
                    value = self.term(binding.value, scope)
                    scope = self.bound(binding.variable, scope)
                    named.append((scope.variables[binding.variable.text], value))
                named_body: f.Formula = yield self.formula(body, scope)
                for name, value in reversed(named):
                    named_body = f.Let(name, value, named_body)
                return named_body
            case s.Sourced(_, value_shape, part, condition):
                there = scope.at_other_events()
                origin: f.Formula = yield self.formula(condition, there)
                read = [] if part is None else [self.term(part, there)]
                return sourced(self.term(value_shape, scope), origin, *read)
            case s.Name(_, name) if name in scope.arguments:
                argument = scope.arguments[name]
                inner_scope = (
                    argument.scope.at_other_events() if scope.elsewhere else argument.scope
                )
                given: f.Formula = yield self.formula(argument.shape, inner_scope)
                return given
            case s.Name(_, name) | s.Invocation(_, s.Name(_, name), _) if self.is_macro(
                name, scope
            ):
                expanded = self.expanded(shape, scope)
                if expanded is None:
                    return _PLACEHOLDER
                meant: f.Formula = yield self.formula(*expanded)
                return meant
            case _:
                return self.atom(shape, scope)

    def atom(self, shape: s.Item, scope: NameScope) -> f.Formula:
        match shape:
            case s.Scalar(_, bool() as value):
                return f.Truth(value)
            case s.Name(_, "call"):
                return f.EventAtom()
            case s.Name(_, ("ok" | "failed") as outcome):
                return f.EventAtom(None, (f.OutcomeIs("ok" if outcome == "ok" else "failed"),))
            case s.Name(_, name) if self._is_registered(name, scope):
                return f.OpenPredicate(name)
            case s.Name() | s.Braces() | s.Scalar(_, str()):
                return f.EventAtom(self.tool(shape, scope))
            case s.Invocation(_, s.Name(_, "like")):
                return f.EventAtom(self.tool(shape, scope))
            case s.Invocation(_, s.Name(_, "call"), operands):
                return self.event(operands, scope)
            case s.Invocation(_, s.Name(_, "sh"), operands) if not self._is_registered("sh", scope):
                return self.shell_event(operands, scope)
            case s.Invocation(_, s.Name(_, "says"), operands):
                return self.says(shape, operands, scope)
            case s.Invocation(_, s.Name(_, "Predicate"), operands):
                return self.predicate_by_name(shape, operands, scope)
            case s.Invocation(_, s.Name(_, name), operands) if name in PREDICATES:
                return self.trace_predicate(PREDICATES[name], shape, scope)
            case s.Invocation(_, name, operands):
                return self.open_predicate(name, operands, scope, shape)
            case s.Relation(_, symbol, left, right):
                mistakes = len(self.problems)
                compared = self.comparison(left, symbol, right, scope)
                if len(self.problems) > mistakes and (
                    meant := suggestions.for_comparison(shape, self.text, scope)
                ):
                    del self.problems[mistakes:]  # the suggestion explains them
                    self.complain(shape.span, scope, "E107", "this cannot be compared", *meant)
                return compared
            case _:
                message = f"expected a formula, found {s.kind_of_shape(shape)}"
                self.complain(
                    shape.span,
                    scope,
                    "E107",
                    message,
                    *suggestions.for_atom(shape, self.text, scope),
                )
        return _PLACEHOLDER

    def comparison(self, left: s.Shape, symbol: str, right: s.Shape, scope: NameScope) -> f.Formula:
        second = self.term(right, scope)
        if symbol == "~":
            self.check_pattern(second, right, scope)
        return f.Compare(symbol, self.term(left, scope), second)

    def says(self, shape: s.Invocation, operands: Sequence[s.Item], scope: NameScope) -> f.Formula:
        match operands:
            case [s.Name(_, role)] if role in ROLES:
                return f.Says(role)
            case _:
                message = f"says takes one of {', '.join(ROLES)}"
                self.complain(
                    shape.span, scope, "E105", message, *suggestions.for_says(operands, self.text)
                )
                return _PLACEHOLDER

    def _is_registered(self, name: str, scope: NameScope) -> bool:
        return name in scope.vocabulary.predicates and name not in scope.variables

    def event(self, operands: Sequence[s.Item], scope: NameScope) -> f.Formula:
        """`call(tool, patterns…)`; the tool may be left out.

        A condition that no pattern can express, such as `amount > 5`, becomes a comparison that is
        joined to the event with `&`.
        """
        tool: Tool | None = None
        rest = list(operands)
        if rest and may_be_tool(rest[0]):
            tool = self.tool(rest.pop(0), scope)
        patterns: list[f.Pattern] = []
        conditions: list[f.Formula] = []
        for operand in rest:
            found = self.pattern(operand, scope)
            if isinstance(found, f.Compare):
                conditions.append(found)
            elif found is not None:
                patterns.append(found)
        event = f.EventAtom(tool, tuple(patterns))
        return f.And((event, *conditions)) if conditions else event

    def pattern(self, operand: s.Item, scope: NameScope) -> f.Pattern | f.Compare | None:
        match operand:
            case s.Name(_, ("ok" | "failed") as outcome):
                return f.OutcomeIs("ok" if outcome == "ok" else "failed")
            case s.Relation(_, symbol, left, right) if side := self._side(left):
                node, keys = side
                value = self.term(right, scope)
                if symbol == "~":
                    self.check_pattern(value, right, scope)
                if symbol == "=" and is_constant(value):
                    return node(keys, value)
                field = Reading("args" if node is f.ArgumentIs else "result")
                return f.Compare(symbol, path_term(field, *keys), value)
            case _:
                self.not_an_argument(operand, scope)
                return None

    def _side(
        self, left: s.Shape
    ) -> tuple[type[f.ArgumentIs | f.ResultIs], tuple[str, ...]] | None:
        """The node and the path of a pattern's left side: an argument, or the result."""
        match left:
            case s.Name(_, "result"):
                return f.ResultIs, ()
            case s.Access(_, s.Name(_, "result")) if (keys := left.plain_keys) is not None:
                return f.ResultIs, keys
            case _:
                keys = self.keys(left)
                return (f.ArgumentIs, keys) if keys else None

    # ── predicates ───────────────────────────────────────────────────────────────────────

    def predicate_by_name(
        self, shape: s.Invocation, operands: Sequence[s.Item], scope: NameScope
    ) -> f.Formula:
        match operands:
            case [s.Name() as name, *given]:
                return self.open_predicate(name, given, scope, shape)
            case _:
                message = "Predicate takes the name of a registered predicate"
                self.complain(
                    shape.span, scope, "E105", message, "For example: Predicate(paid_twice)."
                )
                return _PLACEHOLDER

    def open_predicate(
        self, name: s.Name, operands: Sequence[s.Item], scope: NameScope, shape: s.Invocation
    ) -> f.Formula:
        """A registered predicate, or one that may be registered later."""
        if name.text in FUNCTIONS or name.text in FORMULA_VALUES:
            message = f"'{name.text}' is a value, not a formula"
            asks = name.text in FUNCTIONS and FUNCTIONS[name.text].asks
            help = f"Compare it with something: {name.text}(…) = {'true' if asks else '1'}."
            self.complain(name.span, scope, "E107", message, help)
            return _PLACEHOLDER
        mistakes = len(self.problems)
        found = f.OpenPredicate(name.text, tuple(self.term(o, scope) for o in operands))
        if name.text in scope.vocabulary.predicates:
            return found
        is_tool = name.text in scope.groups or name.text in (scope.tools or ())
        known = [*PREDICATES, *scope.vocabulary.predicates, *scope.macros]
        if len(self.problems) == mistakes and not (
            is_tool or name.text in KEYWORDS or closest(name.text, known)
        ):
            return found  # it may be registered later
        del self.problems[mistakes:]
        message, suggestion = suggestions.for_predicate(shape, self.text, scope, is_tool=is_tool)
        self.complain(name.span, scope, "E103", message, *suggestion, replaces=shape.span)
        return _PLACEHOLDER

    def trace_predicate(
        self, predicate: Predicate, shape: s.Invocation, scope: NameScope
    ) -> f.Formula:
        operands: list[f.Operand] = []
        rest = list(shape.operands)
        complete = True
        for parameter in predicate.parameters:
            if parameter.kind in (OperandKind.SEQUENCE, OperandKind.ARGUMENTS):
                operands.append(self.remaining(parameter, rest, shape, scope))
                rest = []
            elif rest:
                operands.append(self.operand(parameter, rest.pop(0), scope))
            else:
                complete = False
                message = f"{predicate.name} needs {parameter.kind.value} as '{parameter.name}'"
                suggestion = suggestions.for_predicate_operands(predicate, shape, self.text)
                self.complain(shape.span, scope, "E105", message, *suggestion)
                break
        if rest:
            count = len(predicate.parameters)
            plural = "operand" if count == 1 else "operands"
            message = f"{predicate.name} takes {count} {plural}, not {len(shape.operands)}"
            suggestion = suggestions.for_predicate_operands(predicate, shape, self.text)
            self.complain(shape.span, scope, "E105", message, *suggestion)
        return f.TracePredicate(predicate.name, tuple(operands)) if complete else _PLACEHOLDER

    def operand(self, parameter: Parameter, shape: s.Item, scope: NameScope) -> f.Operand:
        match parameter.kind, shape:
            case OperandKind.TOOL, _:
                return self.tool(shape, scope)
            case OperandKind.TOOLS, s.Brackets(_, items) if items:
                return f.ToolList(tuple(self.tool(item, scope) for item in items))
            case OperandKind.TOOLS, s.Brackets(span):
                self.complain(span, scope, "E106", "the list of tools is empty")
                return f.ToolList(())
            case OperandKind.COUNT, s.HalfComparison(_, symbol, right):
                return f.Count(symbol, self.number(right, scope))
            case OperandKind.NUMBER, _ if not isinstance(shape, s.HalfComparison):
                return self.number(shape, scope)
            case OperandKind.VALUE, _:
                return self.constant(shape, scope, shape.span)
        message = (
            f"expected {parameter.kind.value} as '{parameter.name}', found {s.kind_of_shape(shape)}"
        )
        suggestion = suggestions.for_operand(parameter.kind, shape, self.text)
        self.complain(shape.span, scope, "E105", message, *suggestion)
        return NO_VALUE

    def remaining(
        self,
        parameter: Parameter,
        rest: Sequence[s.Item],
        shape: s.Invocation,
        scope: NameScope,
    ) -> f.Operand:
        if parameter.kind is OperandKind.ARGUMENTS:
            patterns = [p for operand in rest for p in self.argument(operand, scope)]
            keys = [pattern.path for pattern in patterns]
            for operand, key in zip(rest, keys, strict=False):
                if keys.count(key) > 1:
                    message = f"the argument '{'.'.join(key)}' is given twice"
                    self.complain(operand.span, scope, "E105", message)
                    break
            if parameter.whole and any(len(key) > 1 for key in keys):
                message = f"{shape.name.text} compares whole arguments, not parts of them"
                help = 'Write filter = {"id": 1} in place of filter.id = 1.'
                self.complain(shape.span, scope, "E105", message, help)
            return f.Arguments(tuple(patterns))
        if not rest:
            self.complain(shape.span, scope, "E106", f"{shape.name.text} needs at least one tool")
        if len(rest) == 1 and isinstance(rest[0], s.Brackets):
            message = f"{shape.name.text} takes tools, not a list of them"
            suggestion = suggestions.for_listed_tools(rest[0], shape.name.text, self.text)
            self.complain(rest[0].span, scope, "E106", message, *suggestion)
            return f.ToolList(())
        return f.ToolList(tuple(self.tool(operand, scope) for operand in rest))

    def number(self, shape: s.Item, scope: NameScope) -> Term:
        term = self.constant(shape, scope, shape.span)
        if isinstance(term, Literal):
            value = term.value
            whole = type(value) in (int, float) and 0 <= value <= LARGEST and value == int(value)
            if not whole:
                message = f"expected {OperandKind.NUMBER.value}, found {s.kind_of_shape(shape)}"
                self.complain(shape.span, scope, "E105", message)
        return term

    # ── operands ─────────────────────────────────────────────────────────────────────────

    def argument(self, operand: s.Item, scope: NameScope) -> list[f.ArgumentIs]:
        """`q = "foo"`; `args.` may precede the key, and a key that is no identifier is quoted."""
        match operand:
            case s.Relation(span, "=", left, right):
                keys = self.keys(left)
                if keys:
                    value = self.constant(right, scope, span)
                    return [f.ArgumentIs(keys, value)]
            case s.Relation(span, symbol):
                message = f"an argument is compared with '=' here, not '{symbol}'"
                help = f"Other conditions are for call: F call(pay, amount {symbol} 5)."
                self.complain(span, scope, "E105", message, help)
                return []
        self.not_an_argument(operand, scope)
        return []

    def not_an_argument(self, operand: s.Item, scope: NameScope) -> None:
        """Reports an operand that is no pattern."""
        message = f"expected an argument, found {s.kind_of_shape(operand)}"
        self.complain(
            operand.span, scope, "E105", message, *suggestions.for_pattern(operand, self.text)
        )

    def keys(self, left: s.Shape) -> tuple[str, ...]:
        """The path to an argument: `amount`, `args.amount`, `"order id".x`; empty if it is none."""
        match left:
            case s.Name(_, key) | s.Scalar(_, str(key)):
                return (key,)
            case s.Access(_, s.Name(_, "args")):
                return left.plain_keys or ()
            case s.Access(_, s.Name(_, key)) | s.Access(_, s.Scalar(_, str(key))):
                return () if left.plain_keys is None else (key, *left.plain_keys)
            case _:
                return ()

    def constant(self, shape: s.Item, scope: NameScope, span: Span) -> Term:
        """A value that is the same at every event."""
        value = self.term(shape, scope)
        if not is_constant(value):
            help = "Name it first: let x = …: and use x."
            message = "a trace predicate is about the whole trace, not about the current event"
            self.complain(span, scope, "E107", message, help)
            return NO_VALUE
        return value
