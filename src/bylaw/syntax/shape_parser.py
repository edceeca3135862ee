"""From text to shapes: a precedence parser that reads the table of operators.

    formula    = unary { INFIX unary }                   by precedence and fixity
    unary      = PREFIX unary [ "within" value ]         on the nearest operator that allows it
               | BINDER NAME "in" value ":" formula      reaches as far right as it can
               | "let" NAME "=" value { "," NAME "=" value } ":" formula
               | value [ RELATION value ]
    value      = access { ARITHMETIC access }            by precedence, grouping to the left
    access     = primary { "." ( NAME | STRING ) | "[" value "]" }
    primary    = NAME | STRING | REGEX | NUMBER [ UNIT ] | "true" | "false" | "null"
               | "(" formula ")" | NAME "(" items ")" | "[" items "]" | "{" items "}"
    items      = [ item { "," item } ]
    item       = formula | formula ":" formula | COMPARISON value

INFIX, PREFIX, BINDER, RELATION, COMPARISON, ARITHMETIC and UNIT are rows of `logic/operators.py`.
A word is an operator only where an operator can stand: after a dot, or as an operand of a relation,
it is a name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from bylaw.errors import Diagnostic, Span, SpecError
from bylaw.logic.operators import (
    ARITHMETIC,
    BY_SPELLING,
    COMPARISONS,
    KEYWORDS,
    RELATIONS,
    UNITS,
    in_seconds,
)
from bylaw.logic.walk import Steps, run
from bylaw.regex.regex import regex_error
from bylaw.syntax import shapes as s
from bylaw.values import JsonError, read_json


def read_shape(text: str) -> s.Shape:
    """The shape of a text, or a SpecError that says where it ends and what was expected there."""
    return run(_ShapeParser(text).whole())


_PREFIXES: Final = {k: op for k, op in BY_SPELLING.items() if op.fixity == "prefix"}
_INFIXES: Final = {k: op for k, op in BY_SPELLING.items() if op.fixity in ("right", "flat")}
_BINDERS: Final = {k for k, op in BY_SPELLING.items() if op.fixity == "binder"}


def _any_of(symbols: Iterable[str]) -> str:
    """A pattern of the symbols that are not words, longest first."""
    unnamed = sorted((s for s in symbols if not s.isidentifier()), key=lambda s: (-len(s), s))
    return "|".join(map(re.escape, unnamed))


_WORD: Final = r"[^\W\d]\w*"
_IGNORED: Final = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_OPERAND: Final = re.compile(
    rf"(?P<name>{_WORD})"
    r'|(?P<string>"(?:[^"\\\n]++|\\.)*+")'
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<regex>/(?:[^/\\\n]|\\.)+/)"
    r"|(?P<opening>[(\[{])"
    rf"|(?P<prefix>{_any_of(_PREFIXES)})"
)
_OPERATOR: Final = re.compile(
    f"{_any_of((*_INFIXES, *RELATIONS, *ARITHMETIC, *'.,:()[]{}'))}|{_WORD}"
)
_NEEDED: Final = "A formula is missing: operators stand before one, G a, or between two, a & b."
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


class _ShapeParser:
    """Reads one text from left to right. `at` is the place of the token that comes next."""

    def __init__(self, text: str) -> None:
        self.text: Final = text
        self.end = 0
        """The end of the last token."""
        self._move(0)

    def _move(self, end: int) -> None:
        """Goes to the token after `end`."""
        self.end = end
        ignored = _IGNORED.match(self.text, end)
        self.at: int = ignored.end() if ignored else end
        found = _OPERATOR.match(self.text, self.at)
        self.symbol: str = found[0] if found else ""
        """The token as an operator or a separator; empty if it can be neither."""

    def _take(self) -> str:
        """Passes over the symbol."""
        symbol = self.symbol
        self._move(self.at + len(symbol))
        return symbol

    def _expect(self, symbol: str, *others: str) -> None:
        if self.symbol != symbol:
            self._unexpected(*others, f"'{symbol}'")
        self._take()

    # ── formulas ─────────────────────────────────────────────────────────────────────────

    def whole(self) -> Steps[s.Shape]:
        """The one formula of the text."""
        if self.at == len(self.text) and not self.text.strip():
            self._fail(Span(0, 1), "E101", "the formula is empty", "Write a rule: G(a -> F b).")
        shape: s.Shape = yield self.formula()
        if self.at < len(self.text):
            self._unexpected("an operator", "the end")
        return shape

    def formula(self, loosest: int = 0) -> Steps[s.Shape]:
        """A formula whose outermost infix operators bind at least as tightly as `loosest`."""
        left: s.Shape = yield self._unary()
        while (operator := _INFIXES.get(self.symbol)) and operator.precedence >= loosest:
            symbol = self.symbol
            operands = [left]
            tighter = operator.fixity == "flat"  # what groups to the right takes its own kind in
            while _INFIXES.get(self.symbol) is operator:
                self._take()
                operands.append((yield self.formula(operator.precedence + tighter)))
            left = s.Operation(_across(left, operands[-1]), symbol, tuple(operands))
        return left

    def _unary(self) -> Steps[s.Shape]:
        start, found = self.at, _OPERAND.match(self.text, self.at)
        if found is None:
            self._unexpected("a formula")
        symbol = found[0]
        if symbol in _PREFIXES:
            self._move(found.end())
            operand = yield self.formula(_PREFIXES[symbol].precedence)
            if self.symbol != "within" or _PREFIXES[symbol].within is None:
                return s.Operation(Span(start, operand.span.end), symbol, (operand,))
            self._take()
            limit = yield self._value()
            return s.Bounded(Span(start, limit.span.end), symbol, operand, limit)
        if symbol in _BINDERS:
            self._move(found.end())
            variable = self._name()
            self._expect("in")
            domain = yield self._value()
            self._expect(":", "arithmetic")
            body = yield self.formula()
            return s.Binder(Span(start, body.span.end), symbol, variable, domain, body)
        if symbol == "let":
            bindings: list[s.Binding] = []
            while self._take() in ("let", ","):
                bindings.append((yield self._binding()))
                if self.symbol not in (",", ":"):
                    self._unexpected("arithmetic", "','", "':'")
            body = yield self.formula()
            return s.LetShape(Span(start, body.span.end), tuple(bindings), body)
        left: s.Shape = yield self._value()
        if self.symbol == "from":
            origin: s.Shape = yield self._sourced(left)
            return origin
        if self.symbol not in RELATIONS:
            return left
        symbol = self._take()
        right = yield self._value()
        return s.Relation(_across(left, right), symbol, left, right)

    def _sourced(self, value: s.Shape) -> Steps[s.Shape]:
        """`value from (condition)`, or `value from part of (condition)`."""
        self._take()
        part, condition = None, (yield self._unary())
        if self.symbol == "of":
            self._take()
            part, condition = condition, (yield self._unary())
        return s.Sourced(_across(value, condition), value, part, condition)

    def _binding(self) -> Steps[s.Binding]:
        variable = self._name()
        if self.symbol not in COMPARISONS:
            self._unexpected("a comparison")
        symbol = self._take()
        value = yield self._value()
        return s.Binding(_across(variable, value), variable, symbol, value)

    # ── values ───────────────────────────────────────────────────────────────────────────

    def _value(self, loosest: int = 0) -> Steps[s.Shape]:
        """A value whose outermost arithmetic binds at least as tightly as `loosest`."""
        left: s.Shape = yield self._access()
        while self.symbol in ARITHMETIC and ARITHMETIC[self.symbol] >= loosest:
            symbol = self._take()
            right = yield self._value(ARITHMETIC[symbol] + 1)
            left = s.Arithmetic(_across(left, right), symbol, left, right)
        return left

    def _access(self) -> Steps[s.Shape]:
        base: s.Shape = yield self._primary()
        keys: list[str | s.Shape] = []
        while self.symbol in (".", "["):
            if self._take() == ".":
                keys.append(self._key())
                continue
            key = yield self._value()
            self._expect("]", "arithmetic")
            written = isinstance(key, s.Scalar) and isinstance(key.value, str)
            keys.append(key.value if written else key)
        return s.Access(Span(base.span.start, self.end), base, tuple(keys)) if keys else base

    def _primary(self) -> Steps[s.Shape]:
        start, found = self.at, _OPERAND.match(self.text, self.at)
        if found is None or found.lastgroup == "prefix":
            self._unexpected("a value")
        if found.lastgroup == "opening":
            opening = self._take()
            if opening == "(":
                inner: s.Shape = yield self.formula()
                self._expect(")", "an operator")
                return inner
            items = yield self._items(_CLOSING[opening])
            group = s.Brackets if opening == "[" else s.Braces
            return group(Span(start, self.end), items)
        self._move(found.end())
        span = Span(start, self.end)
        if found.lastgroup == "number" and self.symbol in UNITS:
            number = self._scalar(span, found)
            seconds = in_seconds(number, self._take())
            return s.Scalar(Span(start, self.end), seconds)
        if found.lastgroup != "name" or found[0] in ("true", "false", "null"):
            return s.Scalar(span, self._scalar(span, found))
        name = s.Name(span, found[0])
        if self.symbol != "(":
            return name
        self._take()
        operands = yield self._items(")")
        return s.Invocation(Span(start, self.end), name, operands)

    def _items(self, closing: str) -> Steps[tuple[s.Item, ...]]:
        """The items in brackets, up to and including the closing bracket."""
        items: list[s.Item] = []
        while not (self.symbol == closing and not items):
            item: s.Item
            after = "arithmetic"
            if self.symbol in COMPARISONS:
                start, symbol = self.at, self._take()
                right = yield self._value()
                item = s.HalfComparison(Span(start, right.span.end), symbol, right)
            elif _OPERAND.match(self.text, self.at):
                key: s.Shape = yield self.formula()
                item, after = key, "an operator"
                if self.symbol == ":":
                    self._take()
                    value = yield self.formula()
                    item = s.Pair(_across(key, value), key, value)
            else:
                self._unexpected("a formula", "a comparison", *([] if items else [f"'{closing}'"]))
            items.append(item)
            if self.symbol == closing:
                break
            colon = [] if after == "arithmetic" or isinstance(item, s.Pair) else ["':'"]
            if self.symbol != ",":
                self._unexpected(after, f"'{closing}'", "','", *colon)
            self._take()
        self._take()
        return tuple(items)

    # ── tokens ───────────────────────────────────────────────────────────────────────────

    def _name(self) -> s.Name:
        found = _OPERAND.match(self.text, self.at)
        if found is None or found.lastgroup != "name":
            self._unexpected("a name")
        self._move(found.end())
        return s.Name(Span(*found.span()), found[0])

    def _key(self) -> str:
        found = _OPERAND.match(self.text, self.at)
        if found is None or found.lastgroup not in ("name", "string"):
            self._unexpected("a name", "a string")
        self._move(found.end())
        return found[0] if found.lastgroup == "name" else self._scalar(Span(*found.span()), found)

    def _scalar(self, span: Span, found: re.Match[str]) -> Any:
        """The value of a string, a number, a regular expression or a constant."""
        written = found[0]
        if found.lastgroup == "regex":
            pattern = written[1:-1].replace("\\/", "/")
            if error := regex_error(pattern):
                self._fail(span, "E111", error.message, error.help)
            return pattern
        if found.lastgroup == "string":
            try:
                return json.loads(written)
            except ValueError:
                message = "the string has an escape or a character that JSON does not know"
                help = 'Write \\" for a quote, \\\\ for a backslash, \\n for a new line.'
                self._fail(span, "E102", message, help)
        try:
            return read_json(written)
        except JsonError as error:
            self._fail(span, "E102", f"not a number: {error.message}", "Write 7, -7, 0.7 or 7e3.")

    # ── mistakes ─────────────────────────────────────────────────────────────────────────

    def _unexpected(self, *expected: str) -> NoReturn:
        """Reports the token that comes next, and what could stand in its place."""
        text, start = self.text, self.at
        ended = start == len(text)
        if ended and expected[0] in ("an operator", "arithmetic"):
            expected = expected[1:]  # the text may go on, but what is missing is its end
        or_else = f"{', '.join(expected[:-1])} or {expected[-1]}" if expected[1:] else expected[0]
        if ended:
            end = len(text.rstrip())
            message = f"the formula ends too early: expected {or_else}"
            closed = f"{text[:end]})" if or_else == "')'" else None
            help = "A parenthesis is not closed." if closed else None
            help = _NEEDED if or_else == "a formula" else help
            self._fail(Span(end, end + 1), "E101", message, help, closed)
        hint = rewrite = None
        found = _OPERAND.match(text, start)
        token = self.symbol or (found[0] if found else "")
        if not token and text[start] == '"':
            self._fail(Span(start, len(text)), "E102", "the string is not closed", 'Add a ".')
        if not token:
            message = f"unexpected character '{text[start]}'"
            self._fail(Span(start, start + 1), "E102", message)
        if token in _PREFIXES and expected[0] == "an operator":
            hint = f"An operator is missing before it: a -> {token} b."
        elif token in KEYWORDS:
            hint = f"'{token}' is a keyword; a tool of that name is written \"{token}\"."
        elif token in RELATIONS and expected[0] == "an operator":
            hint = "A comparison has two sides: write a < b & b < c."
        elif or_else == "a formula":
            hint = _NEEDED
        elif token == ")" and or_else.endswith("the end"):
            hint, rewrite = "No parenthesis is open.", text[:start] + text[start + 1 :]
        elif found is not None and expected[0] == "an operator":
            comma = "A comma or an operator" if "','" in expected else "An operator"
            hint = f"{comma} is missing between the two: a & b, a | b or a -> b."
        span = Span(start, start + len(token))
        message = f"unexpected '{token}': expected {or_else}"
        self._fail(span, "E101", message, hint, rewrite)

    def _fail(
        self,
        span: Span,
        code: str,
        message: str,
        help: str | None = None,
        rewrite: str | None = None,
    ) -> NoReturn:
        raise SpecError(Diagnostic.at(self.text, span, code, message, help, rewrite)) from None


def _across(first: s.Item | s.Binding, last: s.Item) -> Span:
    return Span(first.span.start, last.span.end)
