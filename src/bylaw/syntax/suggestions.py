"""Suggestions for names and forms that mean nothing where they stand.

The elaborator asks these functions when it has found a mistake. A suggestion has a sentence, and
the text that would replace the mistake if that can be computed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from bylaw.errors import closest
from bylaw.logic.operators import BY_SPELLING, KEYWORDS, RELATIONS
from bylaw.logic.terms import FIELDS
from bylaw.syntax import shapes as s
from bylaw.syntax.scope import NameScope
from bylaw.trace.event import ROLES
from bylaw.vocabulary.function import LIST
from bylaw.vocabulary.functions import FUNCTIONS
from bylaw.vocabulary.predicate import OperandKind, Predicate
from bylaw.vocabulary.predicates import PREDICATES


class Suggestion(NamedTuple):
    """A sentence, and the text that replaces the mistake."""

    help: str | None = None
    instead: str | None = None


FIELD_WORDS: Final = {
    **dict.fromkeys(("arguments", "argument", "arg", "params", "parameters", "kwargs"), "args"),
    **dict.fromkeys(("param", "input", "inputs", "tool_input"), "args"),
    **dict.fromkeys(("output", "outputs", "response", "results", "return", "returned"), "result"),
    **dict.fromkeys(("tool_result", "res"), "result"),
    **dict.fromkeys(("name", "tool_name", "function"), "tool"),
    **dict.fromkeys(("txt", "content", "message", "msg"), "text"),
    **dict.fromkeys(("exception", "err"), "error"),
    "timestamp": "start",
}
"""Words for the fields of an event."""
_EVENT_WORDS: Final = frozenset({"event", "e", "call", "this", "self", "it", "action", "step"})
_ROLE_WORDS: Final = {
    **dict.fromkeys(("customer", "human", "client"), "user"),
    **dict.fromkeys(("ai", "bot", "model", "agent"), "assistant"),
    **{role: role for role in ROLES},
}
"""Words for those who speak."""
_FUNCTION_WORDS: Final = {
    **dict.fromkeys(("len", "size", "strlen", "count_of"), "length"),
    **dict.fromkeys(("int", "float", "number", "to_int", "parse_int", "parseInt"), "to_number"),
    **dict.fromkeys(("str", "string", "text_of", "toString"), "to_string"),
    **dict.fromkeys(("strip", "clean"), "trim"),
    **dict.fromkeys(("lowercase", "to_lower", "casefold", "toLowerCase"), "lower"),
    **dict.fromkeys(("uppercase", "to_upper", "toUpperCase"), "upper"),
    **dict.fromkeys(("json", "parse_json", "from_json", "loads"), "decode"),
    **dict.fromkeys(("set", "distinct", "uniq"), "unique"),
    **dict.fromkeys(("mean", "average"), "avg"),
    **dict.fromkeys(("findall", "extract", "regex"), "find"),
    **dict.fromkeys(("startswith", "startsWith"), "starts_with"),
    **dict.fromkeys(("endswith", "endsWith"), "ends_with"),
}
"""Words for functions."""
_TIME_WORDS: Final = frozenset({"time", "now", "today", "clock", "hour", "date"})
_TIME: Final = Suggestion(
    'The event\'s time is start. Its hour is hour(start, "Europe/Berlin"), its day date(…).'
)
_COUNTING: Final = frozenset({"Called", "CalledN", "count", "calls", "length", "len", "number_of"})


def for_name(name: str, keys: Sequence[str], scope: NameScope, after: str) -> Suggestion:
    """The suggestion for a name that stands for no value. `after` is the text that follows."""
    rest = "".join(f".{key}" for key in keys)
    is_left = any(_begins(after, symbol) for symbol in RELATIONS)
    if name in (scope.tools or ()) or name in scope.groups:
        if keys and keys[0] in FIELDS:
            value = f"last({name}){rest}"
            return Suggestion(f"'{name}' is a tool. What its latest call had is {value}.", value)
        value = f"last({name}).result{rest}"
        if keys or is_left:
            return Suggestion(f"'{name}' is a tool. Its latest result is {value}.", value)
        return Suggestion(f"'{name}' is a tool. Its name as text is \"{name}\".", f'"{name}"')
    known = [*scope.variables, *scope.constants, *scope.macros]
    if close := closest(name, known):
        return Suggestion(f"did you mean '{close}'?", close + rest)
    if name in _EVENT_WORDS and keys and keys[0] in FIELDS:
        value = ".".join(keys)
        return Suggestion(f"The event is not named: write {value}.", value)
    if (field := FIELD_WORDS.get(name)) in FIELDS:
        return Suggestion(f"This field of an event is called {field}.", f"{field}{rest}")
    if name in _TIME_WORDS:
        return _TIME
    if name in _ROLE_WORDS:
        role = _ROLE_WORDS[name]
        return Suggestion(f"What the {role} says is text, at an event with says({role}).")
    if name == "metrics":
        example = f'exists m in metrics("{".".join(keys) or "tokens"}"): m < 5'
        return Suggestion(f"A metric is read with a quantifier: {example}.")
    if keys and keys[0] in FIELDS:
        value = f"last({name}){rest}"
        return Suggestion(f"If '{name}' is a tool, what its latest call had is {value}.", value)
    if is_left or keys:
        value = f"args.{name}{rest}"
        help = f"An argument of the call is {value}."
        if scope.tools is None:
            help += f" If '{name}' is a tool, its latest result is last({name}).result{rest}."
        return Suggestion(help, value)
    return Suggestion(f'A string is written "{name}", an argument args.{name}.', f'"{name}"')


def _begins(text: str, symbol: str) -> bool:
    text = text.lstrip()
    return text.startswith(f"{symbol} " if symbol.isidentifier() else symbol)


def for_function(name: str, operands: str, scope: NameScope) -> Suggestion:
    """The suggestion for an unknown function; `operands` is the text in its parentheses."""
    if name in _TIME_WORDS:
        return _TIME
    meant = _FUNCTION_WORDS.get(name) or closest(name, [*FUNCTIONS, *scope.macros])
    if meant in FUNCTIONS or meant in scope.macros:
        return Suggestion(f"did you mean '{meant}'?", f"{meant}({operands})")
    return Suggestion(f"The functions are: {', '.join(FUNCTIONS)}.")


def for_operands(name: str, given: int, operands: str) -> Suggestion:
    """The suggestion for a function with too many operands or too few."""
    function = FUNCTIONS[name]
    if function.takes == (LIST,) and given > 1:
        instead = f"{name}([{operands}])"
        return Suggestion(f"It takes a list: {instead}.", instead)
    return Suggestion(f"For example: {function.example}.")


def for_predicate(
    shape: s.Invocation, text: str, scope: NameScope, *, is_tool: bool
) -> tuple[str, Suggestion]:
    """The message and the suggestion for a name that is no predicate."""
    name = shape.name.text
    message = f"unknown predicate '{name}'"
    if is_tool:
        message = f"'{name}' is a tool, not a predicate"
    elif name in KEYWORDS:
        message = f"'{name}' is a keyword that takes no operands"
    return message, _for_predicate(shape, text, scope, is_tool=is_tool)


def for_listed_tools(listed: s.Brackets, name: str, text: str) -> Suggestion:
    """The suggestion for a list in place of several operands."""
    instead = text[listed.span.start + 1 : listed.span.end - 1]
    return Suggestion(f"Leave the brackets out: {name}({instead}).", instead)


def _for_predicate(
    shape: s.Invocation, text: str, scope: NameScope, *, is_tool: bool
) -> Suggestion:
    """The suggestion for `name(…)` where a formula is expected and nothing has the name."""
    name, operands = shape.name.text, [text[o.span.start : o.span.end] for o in shape.operands]
    inside = text[shape.operands[0].span.start : shape.span.end - 1] if operands else ""
    operator = BY_SPELLING.get(name) or BY_SPELLING.get(name.lower())
    if operator is not None and operator.fixity in ("right", "flat") and len(operands) > 1:
        instead = f"({f' {operator.symbol} '.join(operands)})"
        return Suggestion(f"An operator stands between its operands: {instead}.", instead)
    if name == "within":
        return Suggestion("within follows an operator and its formula: F verify within 10 min.")
    if name in ("ok", "failed") and len(operands) == 1:
        instead = f"call({inside}, {name})"
        return Suggestion(f"This is a pattern of a call: {instead}.", instead)
    known = [*PREDICATES, *scope.vocabulary.predicates, *scope.macros]
    if not is_tool and (close := closest(name, known)):
        return Suggestion(f"did you mean '{close}'?", f"{close}({inside})")
    if is_tool or any(isinstance(o, s.Relation | s.Pair | s.Braces) for o in shape.operands):
        if not inside:
            return Suggestion(f"Write its name alone: {name}.", name)
        if any(isinstance(o, s.Relation) and _reads_event(o.right) for o in shape.operands):
            named = f"let i = args.id: … call({name}, id = i)"
            return Suggestion(f"Name the value of this call, and use it in the other: {named}.")
        instead = f"call({name}, {inside})"
        return Suggestion(f"Conditions on a call are written {instead}.", instead)
    return Suggestion(
        f"If it is a tool, write its name alone: {name}. The predicates are: "
        f"{', '.join(PREDICATES)}; others are registered on a Vocabulary."
    )


def _reads_event(shape: s.Shape) -> bool:
    return isinstance(shape, s.Access) and isinstance(shape.base, s.Name)


def for_comparison(relation: s.Relation, text: str, scope: NameScope) -> Suggestion | None:
    """The suggestion for a comparison one side of which is a tool, a predicate or `says`."""
    if scope.uses:
        return None  # the text is not that of the definition
    left, symbol = relation.left, relation.symbol
    right = text[relation.right.span.start : relation.right.span.end]
    match left, relation.right:
        case s.Name(_, "tool"), s.Braces(_, items) | s.Brackets(_, items) if items and all(
            isinstance(i, s.Name) and not scope.gives_value(i.text) for i in items
        ):
            members = ", ".join(text[i.span.start : i.span.end] for i in items)
            instead = f"{{{members}}}"
            return Suggestion(f"A call of one of several tools is written {instead}.", instead)
        case s.Name(_, "tool"), s.Name(_, name) if symbol in ("=", "!=") and (
            not scope.gives_value(name)
        ):
            instead = name if symbol == "=" else f"!{name}"
            return Suggestion(f"A call of a tool is written with its name: {instead}.", instead)
        case s.Invocation(_, s.Name(_, "says"), _), _:
            said = text[left.span.start : left.span.end]
            instead = f"({said} & text {symbol} {right})"
            return Suggestion("What is said is text, at the same event.", instead)
        case s.Invocation(_, s.Name(_, "metrics"), _), _:
            domain = text[left.span.start : left.span.end]
            instead = f"(exists m in {domain}: m {symbol} {right})"
            return Suggestion("A metric is read with a quantifier.", instead)
        case s.Invocation(_, s.Name(_, name), [s.Name(_, tool)]), s.Scalar(_, int()) if (
            name in _COUNTING and not scope.gives_value(tool)
        ):
            instead = f"CalledN({tool}, {symbol} {right})"
            return Suggestion(f"Calls of a tool are counted with {instead}.", instead)
        case s.Access(_, s.Name(_, tool), keys), _ if left.plain_keys and (
            not scope.gives_value(tool)
            and (keys[0] == "args" or tool in (scope.tools or ()))
            and (keys[0] == "args" or keys[0] not in FIELDS)
            and tool not in _EVENT_WORDS
        ):
            path = ".".join(left.plain_keys[keys[0] == "args" :])
            instead = f"call({tool}, {path} {symbol} {right})"
            return Suggestion(f"Conditions on a call are written {instead}.", instead)
    return None


def for_atom(shape: s.Item, text: str, scope: NameScope) -> Suggestion:
    """The suggestion for something that is no formula."""
    written = text[shape.span.start : shape.span.end]
    match shape:
        case s.Access(_, s.Name(_, tool), ("ok" | "failed" as outcome,)):
            instead = f"call({tool}, {outcome})"
            return Suggestion(f"This is a pattern of a call: {instead}.", instead)
        case s.Access(_, s.Name(_, name)) if not scope.gives_value(name):
            return _quoted(written)
        case s.Arithmetic() if _is_dashed(shape, scope):
            return _quoted(written)
        case s.Access() | s.Arithmetic():
            return Suggestion(f"Compare it with something: {written} = 5.")
        case s.Brackets(_, [s.Operation()]) | s.Braces(_, [s.Operation()]):
            instead = f"({written[1:-1]})"
            return Suggestion("Formulas are grouped with parentheses.", instead)
        case s.Brackets(_, items) if items and all(isinstance(i, s.Name) for i in items):
            instead = f"{{{written[1:-1]}}}"
            return Suggestion(f"A set of tools is written {instead}.", instead)
    return Suggestion('A tool name in quotes is one: "a-b".')


def _quoted(name: str) -> Suggestion:
    instead = f'"{name}"'
    return Suggestion(f"If this is the name of a tool, it stands in quotes: {instead}.", instead)


def _is_dashed(shape: s.Item, scope: NameScope) -> bool:
    """Is it a name with dashes, such as `get-order`, and not a difference?"""
    match shape:
        case s.Arithmetic(_, "-", left, right):
            return _is_dashed(left, scope) and _is_dashed(right, scope)
        case s.Name(_, name):
            return not scope.gives_value(name)
        case _:
            return False


def for_regex(value: object) -> Suggestion:
    """The suggestion for a text that is no regular expression, but a pattern of file names."""
    if not isinstance(value, str) or not value.startswith("*"):
        return Suggestion()
    parts = (re.escape(part).replace("/", r"\/") for part in value.split("*"))
    instead = f"/^{'.*'.join(parts)}$/"
    return Suggestion(f"In a regular expression .* stands for any text: {instead}.", instead)


def for_says(operands: Sequence[s.Item], text: str) -> Suggestion:
    """The suggestion for operands that `says` does not take."""
    match operands:
        case [s.Name(_, role) | s.Scalar(_, str(role)), *more] if role.lower() in _ROLE_WORDS:
            said = f"says({_ROLE_WORDS[role.lower()]})"
            if not more:
                return Suggestion(f"For example: {said}.", said)
            pattern = text[more[0].span.start : more[0].span.end]
            symbol = "~" if pattern.startswith("/") else "contains"
            instead = f"({said} & text {symbol} {pattern})"
            return Suggestion(f"What is said is text: {instead[1:-1]}.", instead)
    return Suggestion("For example: says(user).")


def for_pattern(operand: s.Item, text: str) -> Suggestion:
    """The suggestion for an operand of `call` that is no pattern."""
    pairs = operand.items if isinstance(operand, s.Braces) else (operand,)
    written = []
    for pair in pairs:
        match pair:
            case s.Pair(_, s.Name(_, key) | s.Scalar(_, str(key)), value):
                written.append(f"{key} = {text[value.span.start : value.span.end]}")
    if written and len(written) == len(pairs):
        instead = ", ".join(written)
        return Suggestion(f"Arguments are written {instead}.", instead)
    return Suggestion("Write key = value: amount = 5. Join other conditions to the call with &.")


def for_operand(kind: OperandKind, shape: s.Item, text: str) -> Suggestion:
    """The suggestion for an operand of the wrong kind."""
    written = text[shape.span.start : shape.span.end]
    match kind, shape:
        case OperandKind.COUNT, s.Scalar(_, int()):
            return Suggestion(f"Say how it is compared: = {written}, <= {written}.", f"= {written}")
        case OperandKind.TOOLS, s.Name():
            return Suggestion(f"A list is written in brackets: [{written}].", f"[{written}]")
        case OperandKind.NUMBER, s.HalfComparison(_, _, right):
            number = text[right.span.start : right.span.end]
            return Suggestion(f"The number stands alone: {number}.", number)
    return Suggestion()


def for_predicate_operands(predicate: Predicate, shape: s.Invocation, text: str) -> Suggestion:
    """The suggestion for a predicate with too many operands or too few."""
    written = [text[o.span.start : o.span.end] for o in shape.operands]
    kinds = [parameter.kind for parameter in predicate.parameters]
    match shape.operands:
        case [s.Relation(_, symbol, s.Name(_, tool), right)] if OperandKind.COUNT in kinds:
            number = text[right.span.start : right.span.end]
            instead = f"{predicate.name}({tool}, {symbol} {number})"
            return Suggestion(f"A comma follows the tool: {instead}.", instead)
        case [_, _, *_] if kinds == [OperandKind.TOOL]:
            instead = " & ".join(f"{predicate.name}({each})" for each in written)
            return Suggestion("It is about one tool.", instead)
    return Suggestion(f"For example: {predicate.example}.")
