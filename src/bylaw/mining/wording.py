"""The text of rules about data, and the words for it."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.formulas import call
from bylaw.mining.fitting import FittedLimit
from bylaw.mining.leaves import LeafValue
from bylaw.mining.sites import ArgumentPath, EarlierValue
from bylaw.syntax.printer import to_text
from bylaw.values import write_json


def tool_text(name: str) -> str:
    """A tool as rules write it."""
    return to_text(call(name))


def group_text(tools: Sequence[str]) -> str:
    """A set of tools as rules write it."""
    return "{" + ", ".join(map(tool_text, tools)) + "}"


def bind(argument: ArgumentPath) -> str:
    """Names the argument `v`."""
    return f"{'forall v in' if argument.listed else 'let v ='} args.{argument.path}:"


def place_in_result(source: EarlierValue) -> str:
    """The place in a result that has the values."""
    where = f"result.{source.path}" if source.path else "result"
    return f"keys({where})" if source.kind == "keys" else where


def earlier_event(source: EarlierValue) -> str:
    """An earlier event has the value `v`."""
    match source.kind:
        case "argument":
            return f"earlier call({tool_text(source.tool)}, {source.path} = v, ok)"
        case "said":
            return "earlier (says(user) & text contains v)"
        case _:
            test = f"v {'in' if source.listed else '='} {place_in_result(source)}"
            return f"earlier (call({tool_text(source.tool)}, ok) & {test})"


def last_result(lookup: EarlierValue) -> str:
    """The result of the last lookup of `v`."""
    return f"last(call({tool_text(lookup.tool)}, {lookup.path} = v, ok)).result"


def is_one_of(term: str, values: Sequence[LeafValue]) -> str:
    """The term has one of these values."""
    written = [write_json(value) for value in values]
    return f"{term} = {written[0]}" if len(written) == 1 else f"{term} in [{', '.join(written)}]"


def any_of(values: Sequence[LeafValue]) -> str:
    """The values in a sentence."""
    return either([write_json(value) for value in values])


def either(words: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def times(number: int) -> str:
    """A number of times, as a sentence says it."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def limit_words(limit: FittedLimit) -> str:
    """The bound in a sentence."""
    if limit.value.startswith('"'):
        return f"no {'later' if limit.operator == '<=' else 'earlier'} than {limit.value[1:-1]}"
    return f"at {'most' if limit.operator == '<=' else 'least'} {limit.value}"
