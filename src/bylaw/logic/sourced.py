"""`x from (a)`: every leaf of a value occurs in the output of an earlier event where `a` holds.

It is an abbreviation, written out here in one place:

    forall leaf in leaves(x): earlier (a & text mentions leaf & !(args mentions leaf))

The last part excludes echoes: a result that repeats an argument of its own call is no source.
`x from t of (a)` reads the term `t` of those events instead of `text`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from bylaw.logic import formula as f
from bylaw.logic import terms as t

_OUTPUT: Final = t.Reading("text")


class SourcedValue(NamedTuple):
    """The operands of `value from part of (condition)`."""

    value: t.Term
    condition: f.Formula
    part: t.Term = _OUTPUT

    @property
    def is_output(self) -> bool:
        """Is the whole output of an event its source?"""
        return self.part == _OUTPUT


def sourced(value: t.Term, condition: f.Formula, part: t.Term = _OUTPUT) -> f.ForAll:
    """The formula that `value from part of (condition)` abbreviates."""
    taken = condition.free | part.free
    leaf = next(name for name in _names() if name not in taken)
    mentioned = f.Compare("mentions", part, t.Variable(leaf))
    echoed = f.Compare("mentions", t.Reading("args"), t.Variable(leaf))
    seen = f.Earlier(f.And((condition, mentioned, f.Not(echoed))))
    return f.ForAll(leaf, f.Found(t.Apply("leaves", (value,))), seen)


def as_sourced(formula: f.Formula) -> SourcedValue | None:
    """The operands, if the formula is what the abbreviation stands for."""
    match formula:
        case f.ForAll(
            leaf,
            f.Found(t.Apply("leaves", (value,))),
            f.Earlier(f.And((*given, f.Compare("mentions", part, t.Variable()), f.Not()))),
        ):
            condition = given[0] if len(given) == 1 else f.And(tuple(given)) if given else None
            if condition is None or leaf in condition.free | part.free:
                return None
            found = SourcedValue(value, condition, part)
            return found if sourced(*found) == formula else None
        case _:
            return None


def seeks_source(condition: f.Formula) -> bool:
    """Does a condition on other events ask for the source of a value?"""
    match condition:
        case f.And(
            (
                *_,
                f.Compare("mentions", _, t.Variable(leaf)),
                f.Not(f.Compare("mentions", t.Reading("args"), t.Variable(echo))),
            )
        ):
            return leaf == echo
        case _:
            return False


def _names() -> tuple[str, ...]:
    return ("leaf", *(f"leaf{number}" for number in range(2, 100)))
