"""Events generated from what a rule mentions: its tools, keys and values, and matching texts.

The way a rule uses a value gives its shape: in `o.status`, `o` is an object with a status; in
`p in keys(o.methods)`, an object whose keys matter; in `forall x in args.items`, the items are a
list. The values are those that occur in the rule, and a few others, so that some match.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Final

from bylaw.frozen import field, record
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.walk import everything
from bylaw.names import FINAL_ANSWER
from bylaw.regex.sample import sample_of
from bylaw.trace.event import MISSING
from bylaw.values import Json, is_list, is_number, is_text

OTHERS: Final = ("x", "y")
"""Values that do not occur in a rule."""
_LISTS: Final = ("sum", "avg", "max", "min", "sort", "unique", "zip", "reverse", "join")
_SAME: Final = ("decode", "lower", "upper", "trim", "normalise", "to_string")


@record
class Looks:
    """The shape of a value, as far as a rule determines it."""

    keys: dict[str, Looks] = field(default_factory=dict)
    any_key: Looks | None = None
    """The shape under keys that are computed or listed."""
    element: Looks | None = None
    values: list[Json] = field(default_factory=list)

    def at(self, key: str) -> Looks:
        """The shape under a key."""
        return self.keys.setdefault(key, Looks())

    def under_any(self) -> Looks:
        """The shape under any key."""
        self.any_key = self.any_key or Looks()
        return self.any_key

    def inside(self) -> Looks:
        """The shape of an element."""
        self.element = self.element or Looks()
        return self.element


class Maker:
    """Generates events for some formulas."""

    def __init__(self, formulas: Iterable[f.Formula], *, messages: bool) -> None:
        parts = [part for formula in formulas for part in everything(formula)]
        names = [p.name for p in parts if isinstance(p, t.ToolName) and p.name != FINAL_ANSWER]
        forms = [p.pattern.replace("*", "x") for p in parts if isinstance(p, t.ToolGlob)]
        self.tools: Final = list(dict.fromkeys([*names, *forms])) or ["something_else"]
        roles = [p.role for p in parts if isinstance(p, f.Says)]
        self.roles: Final[list[Any]] = list(dict.fromkeys(roles)) if messages else []
        self.fields: Final = {name: Looks() for name in ("args", "result", "text")}
        self._variables: dict[str, Looks] = {}
        self._shared: list[Json] = list(OTHERS)
        for part in parts:
            self._learn(part)

    # ── learning the shapes of values ────────────────────────────────────────────────────

    def _learn(self, part: object) -> None:
        match part:
            case f.ArgumentIs(path, expected) | f.ResultIs(path, expected):
                looks = self.fields["args" if isinstance(part, f.ArgumentIs) else "result"]
                for key in path:
                    looks = looks.at(key)
                looks.values += _written(expected)
            case f.Compare(symbol, left, right):
                self._compared(symbol, left, right)
            case f.ForAll(x, domain, _) | f.Exists(x, domain, _) | t.Counted(x, domain, _):
                self._ranged(x, domain)
            case f.Let(x, value, _):
                self._ranged(x, f.Listed((value,)))
            case t.At() | t.Apply():
                self._looks(part)

    def _compared(self, symbol: str, left: t.Term, right: t.Term) -> None:
        for mine, term in ((left, right), (right, left)):
            looks = self._looks(mine)
            if looks is None:
                continue
            for value in _written(term):
                if symbol == "~" and is_text(value):
                    sample = sample_of(value)
                    looks.values += [] if sample is None else [sample]
                elif symbol in ("in", "contains") and is_list(value):
                    looks.values += value
                else:
                    looks.values.append(value)
                    looks.values += [value - 1, value + 1] if is_number(value) else []
        whole, part = (right, left) if symbol == "in" else (left, right)
        looks = self._looks(whole) if symbol in ("in", "contains") else None
        if looks is not None and looks is not self.fields["text"]:
            looks.inside().values += _written(part)

    def _ranged(self, variable: str, domain: f.Domain) -> None:
        match domain:
            case f.Listed((item,)):
                looks = self._looks(item)
            case f.Found(term):
                found = self._looks(term)
                looks = None if found is None else found.inside()
            case _:
                looks = None
        if looks is not None:
            self._variables[variable] = looks

    def _looks(self, term: t.Term) -> Looks | None:
        """The shape that a term reads, as far as that is known."""
        match term:
            case t.Reading(name):
                return self.fields.get(name)
            case t.Variable(name):
                return self._variables.setdefault(name, Looks())
            case t.At(t.Last() | t.Sofar(), t.Literal() as key) if key.value in self.fields:
                return self.fields[key.value]
            case t.At(base, key):
                looks = self._looks(base)
                if looks is None:
                    return None
                if isinstance(key, t.Literal) and is_text(key.value):
                    return looks.at(key.value)
                by_number = isinstance(key, t.Literal) and is_number(key.value)
                return looks.inside() if by_number else looks.under_any()
            case t.Apply("keys" | "values", (base,)):
                looks = self._looks(base)
                if looks is not None:
                    looks.under_any()
                return None
            case t.Apply("find", (base, t.Literal() as pattern)):
                looks = self._looks(base)
                sample = sample_of(pattern.value) if is_text(pattern.value) else None
                if looks is not None and sample is not None:
                    looks.values.append(sample)
                return None
            case t.Apply(name, (operand,)) if name in _LISTS and _is_sofar(operand):
                return self._looks(operand)  # the list is that of the events
            case t.Apply(name, operands):
                found = [self._looks(operand) for operand in operands]
                for looks in found if name in _LISTS else ():
                    if looks is not None:
                        looks.inside()
                return found[0] if name in _SAME else None
            case _:
                return None

    # ── generating events ────────────────────────────────────────────────────────────────

    def arguments(self, random: Random, pool: Sequence[Json]) -> dict[str, Json]:
        """Random arguments of a call."""
        made = self._made(self.fields["args"], random, pool)
        return made if isinstance(made, dict) else {}

    def _made(self, looks: Looks, random: Random, pool: Sequence[Json]) -> Any:
        options: list[str] = []
        options += ["object"] * 3 * bool(looks.keys or looks.any_key)
        options += ["list"] * 2 * bool(looks.element)
        options += ["value"] * bool(looks.values or not options)
        match random.choice(options):
            case "object":
                made = {
                    key: self._made(inner, random, pool)
                    for key, inner in looks.keys.items()
                    if random.random() < 0.85
                }
                if looks.any_key is not None:
                    key = str(random.choice(list(pool)))
                    made[key] = self._made(looks.any_key, random, pool)
                return {key: value for key, value in made.items() if value is not MISSING}
            case "list":
                assert looks.element is not None, "the option was offered"
                inner = [
                    self._made(looks.element, random, pool) for _ in range(random.choice([1, 1, 2]))
                ]
                return [value for value in inner if value is not MISSING]
            case _:
                return random.choice([*looks.values, *pool])


def _written(term: t.Term) -> list[Json]:
    """The constants in a term."""
    match term:
        case t.Literal():
            return [term.value]
        case t.ListTerm(items):
            return [value for item in items for value in _written(item)]
        case t.ObjectTerm(entries):
            return [value for entry in entries for value in _written(entry.value)]
        case _:
            return []


def _is_sofar(term: t.Term) -> bool:
    """Is this a list of events, or of what each of them has at a path?"""
    while isinstance(term, t.At):
        term = term.base
    return isinstance(term, t.Sofar)
