"""From text to formula: the grammar gives shapes, the elaborator gives them meaning."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import starmap
from pathlib import Path as FilePath
from typing import Any, NoReturn

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from bylaw.errors import Diagnostic, Span, SpecError
from bylaw.logic.formula import Formula
from bylaw.logic.operators import KEYWORDS, is_plain, may_be_variable
from bylaw.syntax import shapes
from bylaw.syntax.elaborate import elaborate
from bylaw.syntax.scope import Macro, Scope
from bylaw.values import Json, JsonError, read_json
from bylaw.vocabulary.function_table import compiled
from bylaw.vocabulary.registry import Vocabulary


def parse(
    text: str,
    *,
    tools: Iterable[str] | None = None,
    groups: Mapping[str, Iterable[str]] | None = None,
    vocabulary: Vocabulary | None = None,
    constants: Mapping[str, Json] | None = None,
    define: Mapping[str, str] | None = None,
) -> Formula:
    """The formula that a text writes.

    With `tools`, a tool that is not among them is an error; `groups` may stand for sets of
    tools; `vocabulary` lends its registered names; `constants` are named values, and `define`
    names formulas, values and sets of tools: `{"order(i)": "last(call(get_order, id = i))"}`.
    Raises SpecError with every mistake found.
    """
    macros = {m.name: m for m in starmap(read_definition, (define or {}).items())}
    return parse_in(text, Scope.of(tools, groups, vocabulary, constants, macros))


def parse_in(text: str, scope: Scope) -> Formula:
    """The formula that a text writes in a scope."""
    return elaborate(read_shape(text), text, scope)


_HEAD = re.compile(r"\s*([^\W\d]\w*)\s*(?:\((.*)\)\s*)?")


def read_definition(head: str, body: str) -> Macro:
    """One definition: `name` or `name(parameter, …)`, and what it stands for."""
    found = _HEAD.fullmatch(head)
    parameters = [] if found is None or found[2] is None else found[2].split(",")
    names = [parameter.strip() for parameter in parameters]
    plain = found is not None and is_plain(found[1]) and all(map(may_be_variable, names))
    if found is None or not plain or len(set(names)) < len(names):
        help = 'For example: pending(o): o.status = "pending".'
        raise SpecError(Diagnostic("E118", f"'{head}' is not a name with parameters", help))
    return Macro(found[1], tuple(names), read_shape(body))


def read_shape(text: str) -> shapes.Shape:
    """The shape of a text, or a SpecError that says where and what was expected."""
    if not text.strip():
        _fail(text, Span(0, 1), "E101", "the formula is empty", "Write a rule: G(a -> F b).")
    try:
        shape: shapes.Shape = _grammar().parse(text)  # type: ignore[assignment]  # the shaper's, not a tree
    except UnexpectedInput as error:
        _explain(text, error)
    except _BadToken as error:
        _fail(text, _span(error.token), "E102", error.message, error.help)
    return shape


@cache
def _grammar() -> Lark:
    grammar = FilePath(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=_Shaper(), maybe_placeholders=False)


class _Shaper(Transformer[Token, Any]):
    """Builds shapes while the parser works, so that deep texts need no second, deep walk."""

    def start(self, children: list[Any]) -> shapes.Shape:
        shape: shapes.Shape = children[0]
        return shape

    def name(self, children: list[Any]) -> shapes.Name:
        return _name(children[0])

    def string(self, children: list[Any]) -> shapes.Constant:
        return _string(children[0])

    def number(self, children: list[Any]) -> shapes.Constant:
        return _constant(children[0])

    def constant(self, children: list[Any]) -> shapes.Constant:
        return _constant(children[0])

    def call(self, children: list[Any]) -> shapes.Invocation:
        name, _, operands, closing = children
        return shapes.Invocation(_from(name, closing), _name(name), tuple(operands))

    def brackets(self, children: list[Any]) -> shapes.Brackets:
        opening, items, closing = children
        return shapes.Brackets(_from(opening, closing), tuple(items))

    def braces(self, children: list[Any]) -> shapes.Braces:
        opening, items, closing = children
        return shapes.Braces(_from(opening, closing), tuple(items))

    def parentheses(self, children: list[Any]) -> shapes.Shape:
        shape: shapes.Shape = children[1]
        return shape

    def arguments(self, children: list[Any]) -> list[Any]:
        return children

    def regex(self, children: list[Any]) -> shapes.Constant:
        return _regex(children[0])

    def path(self, children: list[Any]) -> shapes.Path:
        base, *accessors = children
        last = accessors[-1][1]
        return shapes.Path(_from(base, last), base, tuple(key for key, _ in accessors))

    def key(self, children: list[Any]) -> tuple[str, Any]:
        (key,) = children
        return (_string(key).value if key.type == "STRING" else str(key)), key

    def index(self, children: list[Any]) -> tuple[str | shapes.Shape, Any]:
        _, key, closing = children
        written = isinstance(key, shapes.Constant) and isinstance(key.value, str)
        return (key.value if written else key), closing

    def arithmetic(self, children: list[Any]) -> shapes.Arithmetic:
        left, symbol, right = children
        return shapes.Arithmetic(_from(left, right), str(symbol), left, right)

    def comparison(self, children: list[Any]) -> shapes.Comparison:
        left, symbol, right = children
        return shapes.Comparison(_from(left, right), str(symbol), left, right)

    def half_comparison(self, children: list[Any]) -> shapes.HalfComparison:
        symbol, right = children
        return shapes.HalfComparison(_from(symbol, right), str(symbol), right)

    def pair(self, children: list[Any]) -> shapes.Pair:
        key, _, value = children
        return shapes.Pair(_from(key, value), key, value)

    def prefix(self, children: list[Any]) -> shapes.Prefix:
        symbol, operand = children
        return shapes.Prefix(_from(symbol, operand), str(symbol), operand)

    def infix(self, children: list[Any]) -> shapes.Infix:
        left, symbol, right = children
        return shapes.Infix(_from(left, right), str(symbol), left, right)

    def flat(self, children: list[Any]) -> shapes.Flat:
        operands = tuple(children[::2])
        return shapes.Flat(_from(operands[0], operands[-1]), str(children[1]), operands)

    def binder(self, children: list[Any]) -> shapes.Binder:
        symbol, variable, _, domain, _, body = children
        return shapes.Binder(_from(symbol, body), str(symbol), _name(variable), domain, body)

    def binding(self, children: list[Any]) -> shapes.Binding:
        variable, symbol, value = children
        return shapes.Binding(_from(variable, value), _name(variable), str(symbol), value)

    def bindings(self, children: list[Any]) -> list[Any]:
        return children

    def let(self, children: list[Any]) -> shapes.Let:
        symbol, bindings, _, body = children
        return shapes.Let(_from(symbol, body), tuple(bindings), body)


def _name(token: Token) -> shapes.Name:
    return shapes.Name(_span(token), str(token))


def _string(token: Token) -> shapes.Constant:
    try:
        return shapes.Constant(_span(token), json.loads(token))
    except ValueError:
        message = "the string has an escape or a character that JSON does not know"
        help = 'Write \\" for a quote, \\\\ for a backslash, \\n for a new line.'
        raise _BadToken(token, message, help) from None


def _regex(token: Token) -> shapes.Constant:
    pattern = str(token)[1:-1].replace("\\/", "/")
    if compiled(pattern) is None:
        raise _BadToken(token, "this is not a regular expression", "Python's `re` must read it.")
    return shapes.Constant(_span(token), pattern)


def _constant(token: Token) -> shapes.Constant:
    try:
        value = read_json(str(token))
    except JsonError as error:
        raise _BadToken(
            token, f"not a number: {error.message}", "Write 7, -7, 0.7 or 7e3."
        ) from None
    return shapes.Constant(_span(token), value)


def _span(place: Any) -> Span:
    if isinstance(place, Token):
        return Span(place.start_pos or 0, place.end_pos or 0)
    span: Span = place.span
    return span


def _from(first: Any, last: Any) -> Span:
    return Span(_span(first).start, _span(last).end)


# ── syntax errors ─────────────────────────────────────────────────────────────────────────


class _BadToken(Exception):
    """A token has the right shape but no value; raised where the whole text is not at hand."""

    def __init__(self, token: Token, message: str, help: str) -> None:
        super().__init__(message)
        self.token, self.message, self.help = token, message, help


_BEGINS = {
    *("NAME", "STRING", "NUMBER", "CONSTANT", "REGEX", "LPAR", "LBRACE", "LSQB"),
    *("PREFIX", "BINDER", "LET"),
}
_CONTINUES = {"IFF", "IMPLIES", "OR", "AND", "TEMPORAL"}
_WITHIN = {"DOT", "COMPARE", "IN", "CONTAINS", "MATCHES", "PLUS", "MINUS", "STAR", "SLASH"}
_WORDS = {
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "COLON": "':'",
    "DOT": "'.'",
    "IN": "'in'",
    "NAME": "a name",
    "STRING": "a string",
    "COMPARE": "a comparison",
    "CONTAINS": "'contains'",
    "MATCHES": "'~'",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*'",
    "SLASH": "'/'",
    "$END": "the end",
}
_OTHER_LANGUAGES = {
    "&&": "Write & for 'and'.",
    "||": "Write | for 'or'.",
    "==": "Write = to compare.",
    "=>": "Write -> for 'implies'.",
    "'": 'Strings are written in double quotes: "text".',
    "~": "Write ! for 'not'.",
    "[]": "Write G for 'always'.",
    "<>": "Write F for 'eventually'.",
}
_MATCHING = {
    *("startswith", "starts_with", "starts", "endswith", "ends_with", "ends", "matches"),
}
"""Words that compare texts in other languages."""
_MATCH = r'Match it with a regular expression: path ~ "^src/", path ~ /\.py$/.'


def _explain(text: str, error: UnexpectedInput) -> NoReturn:
    """Turns the parser's complaint into a place, what was expected, and a suggestion."""
    start = min(error.pos_in_stream if error.pos_in_stream is not None else len(text), len(text))
    hint = next(
        (help for foreign, help in _OTHER_LANGUAGES.items() if _stands_at(text, foreign, start)),
        None,
    )
    if isinstance(error, UnexpectedCharacters):
        if text[start] == '"':
            _fail(text, Span(start, len(text)), "E102", "the string is not closed", 'Add a ".')
        found = text[start]
        _fail(text, Span(start, start + 1), "E102", f"unexpected character '{found}'", hint)
    if not isinstance(error, UnexpectedToken):
        _fail(text, Span(start, start + 1), "E101", "this is not a formula", hint)
    token: Token = error.token
    expected = _expected(set(error.accepts or error.expected))
    if token.type == "$END":
        end = len(text.rstrip())
        _fail(text, Span(end, end + 1), "E101", f"the formula ends too early: expected {expected}")
    if hint is None and str(token) in KEYWORDS:
        hint = f"'{token}' is a word of the language; a tool of that name is written \"{token}\"."
    if str(token) in _MATCHING:
        hint = _MATCH
    message = f"unexpected '{token}': expected {expected}"
    _fail(text, _span(token), "E101", message, hint)


def _stands_at(text: str, foreign: str, position: int) -> bool:
    """Does the foreign symbol cover this position?"""
    return any(
        text.startswith(foreign, position - shift)
        for shift in range(len(foreign))
        if position - shift >= 0
    )


def _expected(terminals: set[str]) -> str:
    words = []
    if {"NAME", "PREFIX"} <= terminals:
        words.append("a formula")
        terminals -= _BEGINS
    elif {"NAME", "STRING", "NUMBER"} <= terminals:
        words.append("a value")
        terminals -= _BEGINS
    if terminals >= _CONTINUES:
        words.append("an operator")
        terminals -= _CONTINUES | _WITHIN | {"LPAR", "LSQB"}
    words += sorted(_WORDS.get(terminal, terminal) for terminal in terminals)
    return " or ".join(words) if len(words) < 3 else ", ".join(words[:-1]) + " or " + words[-1]


def _fail(text: str, span: Span, code: str, message: str, help: str | None = None) -> NoReturn:
    raise SpecError(Diagnostic.at(text, span, code, message, help)) from None
