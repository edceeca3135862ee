"""Keywords about single values: types, lists of values, bounds and patterns."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from bylaw.errors import listing
from bylaw.procedure.toolset.clause import KINDS, Memo, Schema, SchemaClause, phrase, quoted
from bylaw.procedure.toolset.compiling import SchemaPart
from bylaw.values import Json, identity, is_number, write_json

# ── types and values ──────────────────────────────────────────────────────────────────────

_TYPES: Final[dict[str, tuple[str, frozenset[type]]]] = {
    "string": ("a string", frozenset({str})),
    "number": ("a number", frozenset({int, float})),
    "integer": ("a whole number", frozenset({int})),
    "boolean": ("true or false", frozenset({bool})),
    "null": ("null", frozenset({type(None)})),
    "array": ("a list", frozenset({list})),
    "object": ("an object", frozenset({dict})),
}
"""Each type in a sentence, and the Python types of its values. Subclasses do not count."""


def types(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`type`: a name or a list of names. As in JSON Schema, `1.0` is an integer."""
    written = part["type"]
    names = written if isinstance(written, list) else [written]
    if not names or not all(isinstance(each, str) and each in _TYPES for each in names):
        help = f"The types are: {', '.join(_TYPES)}."
        part.complain("type", f"{quoted(written)} is not a type", help)
        return None
    classes: frozenset[type] = frozenset().union(*(_TYPES[each][1] for each in names))
    into.stated &= {KINDS[each] for each in classes}
    whole = "integer" in names and "number" not in names

    def fits(value: Json, memo: Memo) -> bool:
        return type(value) in classes

    def fits_whole(value: Json, memo: Memo) -> bool:
        return type(value) in classes or (type(value) is float and value.is_integer())

    return SchemaClause(
        fits_whole if whole else fits, phrase(" or ".join(_TYPES[each][0] for each in names))
    )


def values(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`enum` and `const`: the values that are allowed."""
    listed = [part["const"]] if "const" in part else part["enum"]
    if not isinstance(listed, list) or not listed or ("const" in part and "enum" in part):
        part.complain("enum", "'enum' is a list of values, and 'const' one value in its place")
        return None
    into.stated &= {KINDS[type(value)] for value in listed}
    texts = frozenset(value for value in listed if isinstance(value, str))
    others = frozenset(identity(value) for value in listed if not isinstance(value, str))

    def fits(value: Json, memo: Memo) -> bool:
        if type(value) is str:
            return value in texts
        return bool(others) and identity(value) in others

    shown = listing([quoted(value) for value in listed], 6)
    return SchemaClause(fits, phrase(f"one of {shown}" if len(listed) > 1 else shown))


# ── bounds ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Bound:
    """A keyword that bounds numbers, or the sizes of texts, lists and objects."""

    name: str
    of: frozenset[type]
    keeps: Callable[[Any, Any], bool]
    text: str
    """Completes "it must be …" with the bound in place of `{}`."""

    def __call__(self, part: SchemaPart, into: Schema) -> SchemaClause | None:
        """The clause of this keyword."""
        limit, of, keeps = part[self.name], self.of, self.keeps
        sizes = of is not _NUMBERS
        if not is_number(limit) or (sizes and (limit < 0 or limit != int(limit))):
            wanted = "a whole number, 0 or more" if sizes else "a number"
            help = f"Write the bound: {self.name}: 0." if isinstance(limit, bool) else None
            message = f"'{self.name}' is {wanted}, not {quoted(limit)}"
            part.complain(self.name, message, help)
            return None

        def fits(value: Json, memo: Memo) -> bool:
            return type(value) not in of or keeps(value, limit)

        def fits_in_size(value: Json, memo: Memo) -> bool:
            return type(value) not in of or keeps(len(value), limit)

        text = self.text.format(write_json(limit))
        return SchemaClause(fits_in_size if sizes else fits, phrase(text))


_NUMBERS: Final = _TYPES["number"][1]
_TEXTS: Final = _TYPES["string"][1]
_LISTS: Final = _TYPES["array"][1]
_OBJECTS: Final = _TYPES["object"][1]
BOUNDS: Final = (
    Bound("minimum", _NUMBERS, operator.ge, "at least {}"),
    Bound("maximum", _NUMBERS, operator.le, "at most {}"),
    Bound("exclusiveMinimum", _NUMBERS, operator.gt, "more than {}"),
    Bound("exclusiveMaximum", _NUMBERS, operator.lt, "less than {}"),
    Bound("minLength", _TEXTS, operator.ge, "a text of {} characters or more"),
    Bound("maxLength", _TEXTS, operator.le, "a text of {} characters or fewer"),
    Bound("minItems", _LISTS, operator.ge, "a list of {} items or more"),
    Bound("maxItems", _LISTS, operator.le, "a list of {} items or fewer"),
    Bound("minProperties", _OBJECTS, operator.ge, "an object of {} keys or more"),
    Bound("maxProperties", _OBJECTS, operator.le, "an object of {} keys or fewer"),
)


def multiples(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`multipleOf`, of numbers as they are written: 19.99 is a multiple of 0.01."""
    from fractions import Fraction  # slow to import, and rarely needed

    step = part["multipleOf"]
    if not is_number(step) or step <= 0:
        part.complain("multipleOf", f"'multipleOf' is a number above 0, not {quoted(step)}")
        return None
    exact = Fraction(write_json(step))

    def fits(value: Json, memo: Memo) -> bool:
        return type(value) not in _NUMBERS or Fraction(write_json(value)) % exact == 0

    return SchemaClause(fits, phrase(f"a multiple of {write_json(step)}"))


def patterns(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`pattern`: a regular expression that is found somewhere in the text."""
    search = part.regex(part["pattern"], "pattern")
    if search is None:
        return None

    def fits(value: Json, memo: Memo) -> bool:
        return type(value) is not str or search(value)

    return SchemaClause(fits, phrase(f"a text that matches {quoted(part['pattern'])}"))
