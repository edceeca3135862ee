"""The formula of a text with named tools, groups, constants and definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, KeysView, Mapping
from itertools import starmap
from typing import Final

from bylaw.argument_types import expect
from bylaw.errors import Diagnostic, SpecError
from bylaw.logic.formula import Formula
from bylaw.logic.operators import is_plain, may_be_variable
from bylaw.syntax.elaborate import parse_in
from bylaw.syntax.scope import Macro, NameScope
from bylaw.syntax.shape_parser import read_shape
from bylaw.values import Json
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
    """The formula of a text.

    With `tools`, any other tool is an error. `groups` are named sets of tools, `vocabulary` has
    the registered functions, `constants` are named values, and `define` names formulas, values
    and sets of tools: `{"order(i)": "last(call(get_order, id = i))"}`. Raises SpecError with
    every mistake found.
    """
    expect(text, str, "the text of a formula", 'For example: parse("G(search -> F cite)").')
    if tools is not None:
        expect(tools, _NAMES, "a list of tools", "Write a list: tools=[…].")
    macros = {m.name: m for m in starmap(read_definition, (define or {}).items())}
    return parse_in(text, NameScope.of(tools, groups, vocabulary, constants, macros))


_NAMES: Final = (list, tuple, set, frozenset, dict, KeysView)
_HEAD = re.compile(r"\s*([^\W\d]\w*)\s*(?:\((.*)\)\s*)?")


def read_definition(head: str, body: str) -> Macro:
    """One definition: `name` or `name(parameter, …)`, and its body."""
    found = _HEAD.fullmatch(head)
    parameters = [] if found is None or found[2] is None else found[2].split(",")
    names = [parameter.strip() for parameter in parameters]
    plain = found is not None and is_plain(found[1]) and all(map(may_be_variable, names))
    if found is None or not plain or len(set(names)) < len(names):
        help = 'For example: pending(o): o.status = "pending".'
        raise SpecError(Diagnostic("E118", f"'{head}' is not a name with parameters", help))
    return Macro(found[1], tuple(names), read_shape(body))
