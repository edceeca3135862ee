"""From shapes to the parts of atoms: tools, values, domains. Expands definitions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bylaw.errors import Diagnostic, Span, did_you_mean
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import MAX_NESTING
from bylaw.logic.operators import KEYWORDS, RESERVED, is_plain
from bylaw.logic.walk import Steps, reads_event, run
from bylaw.regex.regex import regex_error
from bylaw.syntax import shapes as s
from bylaw.syntax.scope import NameScope
from bylaw.syntax.suggestions import for_atom, for_function, for_name, for_operands, for_regex
from bylaw.values import is_number
from bylaw.vocabulary.domains import PathError, check_path
from bylaw.vocabulary.functions import FUNCTIONS, mistake_in

NO_VALUE: Final = t.Literal.of(None)
_NO_TOOL: Final = t.ToolName("?")
_DOMAINS: Final = ("args", "results", "metrics")
FORMULA_VALUES: Final = {
    "last": "last(a)",
    "sofar": "sofar(a) or sofar(a, 24 h)",
    "count": "count(x in args.items: x.price > 5)",
}
"""The values that are written with a formula, and an example of each."""
_MAX_EXPANSIONS: Final = 2_000
"""The most uses of definitions in one rule, uses inside definitions included."""
_MAX_USES: Final = 50
"""The deepest nesting of definitions that use each other."""


class ValueElaborator:
    """Looks up names, checks operands and collects mistakes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.problems: list[Diagnostic] = []
        self._depth = 0
        self._expansions = 0

    def complain(
        self,
        span: Span,
        scope: NameScope,
        code: str,
        message: str,
        help: str | None = None,
        instead: str | None = None,
        replaces: Span | None = None,
    ) -> None:
        """Collects a mistake, perhaps with the text to write instead of it, or of what is around.

        One inside a definition is reported where the definition is used.
        """
        rewrite = None
        if scope.uses:
            span = scope.uses[0].span
            message = f"in '{scope.uses[-1].macro}': {message}"
        elif instead is not None:
            start, end = replaces or span
            rewrite = f"{self.text[:start]}{instead}{self.text[end:]}"
        self.problems.append(Diagnostic.at(self.text, span, code, message, help, rewrite))

    def formula(self, shape: s.Item, scope: NameScope) -> Steps[f.Formula]:
        """The formula that a shape means."""
        raise NotImplementedError

    @contextmanager
    def _deeper(self) -> Iterator[bool]:
        """Enters a value inside another; true unless values nest too deeply."""
        self._depth += 1
        try:
            yield self._depth <= MAX_NESTING
        finally:
            self._depth -= 1

    # ── names ────────────────────────────────────────────────────────────────────────────

    def bound(self, variable: s.Name, scope: NameScope) -> NameScope:
        """The scope in which a variable is bound."""
        if variable.text in RESERVED:
            message = f"'{variable.text}' is a keyword, not a variable"
            self.complain(variable.span, scope, "E108", message, "Choose another name.")
        return scope.binding(variable.text)

    def is_macro(self, name: str, scope: NameScope) -> bool:
        """Does the name stand for a definition here?"""
        return name in scope.macros and name not in scope.variables

    def expanded(self, shape: s.Item, scope: NameScope) -> tuple[s.Shape, NameScope] | None:
        """The body of a definition, and the scope to read it in."""
        match shape:
            case s.Invocation(_, name, operands):
                pass
            case s.Name():
                name, operands = shape, ()
            case _:
                raise AssertionError("only a name or a call uses a definition")
        macro = scope.macros[name.text]
        if len(operands) != len(macro.parameters):
            written = (
                f"{macro.name}({', '.join(macro.parameters)})" if macro.parameters else name.text
            )
            message = f"'{macro.name}' has {len(macro.parameters)} parameters, not {len(operands)}"
            self.complain(shape.span, scope, "E105", message, f"It is defined as {written}.")
            return None
        if macro.name in {use.macro for use in scope.uses} or len(scope.uses) >= _MAX_USES:
            message = f"the definition of '{macro.name}' uses itself"
            self.complain(shape.span, scope, "E118", message)
            return None
        self._expansions += 1
        if self._expansions > _MAX_EXPANSIONS:
            if self._expansions == _MAX_EXPANSIONS + 1:
                message = f"the rule uses definitions more than {_MAX_EXPANSIONS:,} times"
                self.complain(shape.span, scope, "E118", message, "Split the rule.")
            return None
        return macro.body, scope.inside(macro, operands, shape.span)

    # ── tools ────────────────────────────────────────────────────────────────────────────

    def tool(self, shape: s.Item, scope: NameScope) -> t.Tool:
        """The tool, or set of tools, that a shape means."""
        match shape:
            case s.Name(_, name) if name in scope.arguments:
                return self.tool(scope.arguments[name].shape, scope.arguments[name].scope)
            case s.Name(_, name) if name in scope.variables:
                return t.ToolVariable(scope.variables[name])
            case s.Name(_, name) if self.is_macro(name, scope):
                expanded = self.expanded(shape, scope)
                return _NO_TOOL if expanded is None else self.tool(*expanded)
            case s.Name(_, name) if name in scope.groups:
                return t.ToolSet(scope.groups[name])
            case s.Invocation(_, s.Name(_, "like"), [s.Scalar(_, str(pattern))]) if pattern:
                return t.ToolGlob(pattern)
            case s.Name(span, name) if name in KEYWORDS:
                message = f"'{name}' is a keyword, not a tool"
                help = f'A tool of that name is written "{name}".'
                self.complain(span, scope, "E106", message, help)
                return t.ToolName(name)
            case s.Name(span, name) | s.Scalar(span, str(name)) if name:
                if not scope.knows_tool(name):
                    help, close = scope.suggest_tool(name)
                    instead = close if close is None or is_plain(close) else f'"{close}"'
                    self.complain(span, scope, "E104", f"unknown tool '{name}'", help, instead)
                return t.ToolName(name)
            case s.Braces(span, items):
                if not items:
                    self.complain(span, scope, "E106", "the set of tools is empty")
                    return _NO_TOOL
                if isinstance(items[0], s.Operation):
                    message = f"expected a tool, found {s.kind_of_shape(items[0])}"
                    self.complain(span, scope, "E106", message, *for_atom(shape, self.text, scope))
                    return _NO_TOOL
                if any(isinstance(item, s.Braces) for item in items):
                    message = "a set of tools holds names, not other sets"
                    self.complain(span, scope, "E106", message)
                    return _NO_TOOL
                found = [self.tool(item, scope) for item in items]
                return t.ToolSet(tuple(flat for tool in found for flat in t.members_of(tool)))
            case _:
                message = f"expected a tool, found {s.kind_of_shape(shape)}"
                self.complain(
                    shape.span, scope, "E106", message, *for_atom(shape, self.text, scope)
                )
                return _NO_TOOL

    # ── values ───────────────────────────────────────────────────────────────────────────

    def term(self, shape: s.Item, scope: NameScope) -> t.Term:
        """The value that a shape means."""
        with self._deeper() as room:
            if not room:
                message = f"the value nests more than {MAX_NESTING} deep"
                self.complain(shape.span, scope, "E113", message)
                return NO_VALUE
            return self._term(shape, scope)

    def _term(self, shape: s.Item, scope: NameScope) -> t.Term:
        match shape:
            case s.Scalar(_, value):
                return t.Literal.of(value)
            case s.Name():
                return self._named(shape, scope)
            case s.Access(_, s.Name(_, name)) if not scope.gives_value(name):
                return self._unknown(shape, name, scope)
            case s.Access(_, base, keys):
                found = self.term(base, scope)
                given = (key if isinstance(key, str) else self.term(key, scope) for key in keys)
                return t.path_term(found, *given)
            case s.Arithmetic(_, symbol, left, right):
                return t.Apply(symbol, (self.term(left, scope), self.term(right, scope)))
            case s.Brackets(_, items):
                return t.list_term([self.term(item, scope) for item in items])
            case s.Braces(_, items) if all(isinstance(item, s.Pair) for item in items):
                return self._object(shape, scope)
            case s.Invocation(_, s.Name(_, name), _) if self.is_macro(name, scope):
                expanded = self.expanded(shape, scope)
                return NO_VALUE if expanded is None else self.term(*expanded)
            case s.Invocation():
                return self._invoked(shape, scope)
            case _:
                message = f"expected a value, found {s.kind_of_shape(shape)}"
                self.complain(shape.span, scope, "E107", message)
        return NO_VALUE

    def _named(self, shape: s.Name, scope: NameScope) -> t.Term:
        name = shape.text
        if name in scope.arguments:
            return self._argument(shape, scope)
        if name in scope.variables:
            return t.Variable(scope.variables[name])
        if self.is_macro(name, scope):
            expanded = self.expanded(shape, scope)
            return NO_VALUE if expanded is None else self.term(*expanded)
        if name in scope.constants:
            return t.Literal.of(scope.constants[name])
        if name in t.FIELDS:
            return t.Reading(name)  # type: ignore[arg-type]  # one of the fields
        if name in ("answer", "labels"):
            return t.Answer() if name == "answer" else t.Labels()
        return self._unknown(shape, name, scope)

    def _unknown(self, shape: s.Name | s.Access, name: str, scope: NameScope) -> t.Term:
        """Reports a name that stands for no value."""
        keys = (shape.plain_keys or ()) if isinstance(shape, s.Access) else ()
        after = "" if scope.uses else self.text[shape.span.end :]
        suggestion = for_name(name, keys, scope, after)
        self.complain(shape.span, scope, "E108", f"unknown variable '{name}'", *suggestion)
        return NO_VALUE

    def _argument(self, shape: s.Name, scope: NameScope) -> t.Term:
        """The value of a parameter. Reading it at another event would give another value."""
        argument = scope.arguments[shape.text]
        value = self.term(argument.shape, argument.scope)
        if scope.elsewhere and not t.is_constant(value):
            self._complain_elsewhere(shape, scope)
        return value

    def _complain_elsewhere(self, shape: s.Name, scope: NameScope) -> None:
        message = f"the operand '{shape.text}' reads the event, but is used at another event"
        help = "Name it first, where it is used: let x = …: and pass x."
        self.complain(shape.span, scope, "E119", message, help)

    def _invoked(self, shape: s.Invocation, scope: NameScope) -> t.Term:
        name, operands = shape.name.text, shape.operands
        match name, operands:
            case "last", [condition]:
                return t.Last(run(self.formula(condition, scope.at_other_events())))
            case "sofar", [condition, *window] if len(window) < 2:
                seconds = self.duration(window[0], scope) if window else None
                return t.Sofar(run(self.formula(condition, scope.at_other_events())), seconds)
            case "count", [s.Pair(_, s.Relation(_, "in", s.Name() as variable, domain), body)]:
                values = self.domain(domain, scope)
                bound = self.bound(variable, scope)
                inner = run(self.formula(body, bound))
                return t.Counted(bound.variables[variable.text], values, inner)
            case (name, _) if name in FORMULA_VALUES:
                message = f"'{name}' is written {FORMULA_VALUES[name]}"
                self.complain(shape.span, scope, "E105", message)
                return NO_VALUE
        function = FUNCTIONS.get(name)
        if function is None:
            suggestion = for_function(name, self._inside(shape), scope)
            self.complain(shape.span, scope, "E103", f"unknown function '{name}'", *suggestion)
            return NO_VALUE
        if len(operands) != (takes := len(function.takes)):
            plural = "operand" if takes == 1 else "operands"
            message = f"'{name}' takes {takes} {plural}, not {len(operands)}"
            suggestion = for_operands(name, len(operands), self._inside(shape))
            self.complain(shape.span, scope, "E105", message, *suggestion)
            return NO_VALUE
        given = tuple(self.term(operand, scope) for operand in operands)
        for place, value, operand in zip(function.takes, given, operands, strict=True):
            mistake = mistake_in(place, value.value) if isinstance(value, t.Literal) else None
            if mistake is not None:
                self.complain(operand.span, scope, *mistake)
        return t.Apply(name, given)

    def duration(self, shape: s.Item, scope: NameScope) -> t.Literal:
        """A number of seconds that is written out, or a constant."""
        value = self.term(shape, scope)
        if isinstance(value, t.Literal) and is_number(value.value) and value.value >= 0:
            return value
        message = f"expected a duration, found {s.kind_of_shape(shape)}"
        help = "Write a number and a unit: 500 ms, 30 s, 10 min, 24 h, 7 d."
        self.complain(shape.span, scope, "E120", message, help)
        return t.Literal.of(0)

    def _inside(self, shape: s.Invocation) -> str:
        """The text in the parentheses."""
        start = shape.operands[0].span.start if shape.operands else shape.span.end - 1
        return self.text[start : shape.span.end - 1]

    def check_pattern(self, term: t.Term, shape: s.Item, scope: NameScope) -> None:
        """Reports a text that is not a regular expression, or not one that can be used."""
        if not isinstance(term, t.Literal) or (error := regex_error(term.value)) is None:
            return
        help, instead = (error.help, None) if error.help else for_regex(term.value)
        self.complain(shape.span, scope, "E111", error.message, help, instead)

    def _object(self, shape: s.Braces, scope: NameScope) -> t.Term:
        entries: dict[str, t.Term] = {}
        for item in shape.items:
            assert isinstance(item, s.Pair), "the caller looked"
            match item.key:
                case s.Scalar(_, str(key)) if key not in entries:
                    entries[key] = self.term(item.value, scope)
                case s.Scalar(span, str(key)):
                    self.complain(span, scope, "E105", f"the key {key!r} appears twice")
                case other:
                    message = f"expected a key in quotes, found {s.kind_of_shape(other)}"
                    self.complain(other.span, scope, "E105", message)
        return t.object_term(entries)

    # ── domains ──────────────────────────────────────────────────────────────────────────

    def domain(self, shape: s.Item, scope: NameScope) -> f.Domain:
        """The domain that a quantifier ranges over."""
        match shape:
            case s.Brackets(_, items) if items:
                return f.Listed(tuple(self.term(item, scope) for item in items))
            case s.Brackets(span):
                self.complain(span, scope, "E106", "the list of values is empty")
            case s.Invocation(_, s.Name(_, ("args" | "results") as name), [tool, path]):
                node = f.FromArgs if name == "args" else f.FromResults
                return node(self.tool(tool, scope), self.path(path, scope))
            case s.Invocation(_, s.Name(_, "metrics"), [path]):
                return f.FromMetrics(self.path(path, scope))
            case s.Invocation(span, s.Name(_, name), _) if name in _DOMAINS:
                example = 'metrics("path")' if name == "metrics" else f'{name}(tool, "path")'
                self.complain(span, scope, "E110", f"'{name}' is written {example}")
            case s.Invocation(_, s.Name(_, name), operands) if not self._gives_value(name, scope):
                known = [*_DOMAINS, *scope.vocabulary.extractors]
                close = did_you_mean(name, known)
                if close and name not in scope.vocabulary.extractors:
                    message = f"unknown domain '{name}'"
                    self.complain(shape.name.span, scope, "E110", message, close)
                given = tuple(self.term(operand, scope) for operand in operands)
                return f.Extracted(name, given)
            case s.Name(_, name) if name in scope.arguments:
                argument = scope.arguments[name]
                domain = self.domain(argument.shape, argument.scope)
                if scope.elsewhere and reads_event(domain):
                    self._complain_elsewhere(shape, scope)
                return domain
            case s.Name() | s.Access() | s.Invocation() | s.Arithmetic() | s.Scalar() | s.Braces():
                mistakes = len(self.problems)
                found = f.each_of(self.term(shape, scope))
                if found is not None:
                    return found
                if len(self.problems) == mistakes:
                    self.complain(shape.span, scope, "E106", "the list of values is empty")
            case _:
                message = f"expected a domain, found {s.kind_of_shape(shape)}"
                help = 'Write a list, args.items, args(tool, "path") or results(tool, "path").'
                self.complain(shape.span, scope, "E110", message, help)
        return f.Listed((NO_VALUE,))

    def _gives_value(self, name: str, scope: NameScope) -> bool:
        return name in FUNCTIONS or name in FORMULA_VALUES or self.is_macro(name, scope)

    def path(self, shape: s.Item, scope: NameScope) -> str:
        """A JMESPath expression in quotes."""
        match shape:
            case s.Scalar(span, str(path)):
                try:
                    check_path(path)
                except PathError as error:
                    self.complain(span, scope, "E109", f"not a JMESPath expression: {error}")
                return path
            case _:
                message = f"expected a path in quotes, found {s.kind_of_shape(shape)}"
                self.complain(shape.span, scope, "E109", message, 'For example: "items[].id".')
                return "@"


def may_be_tool(operand: s.Item) -> bool:
    """Can the first operand of `call` be its tool?"""
    match operand:
        case s.Name(_, name):
            return name not in ("ok", "failed")
        case s.Invocation(_, s.Name(_, "like")) | s.Scalar() | s.Braces():
            return True
        case _:
            return False
