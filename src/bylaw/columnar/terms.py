"""What terms denote in many places at once, and how two of them compare.

Values are JSON of any kind, so they are kept as lists; `bylaw.vocabulary.reading` has the
definitions for one place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bylaw.columnar.quantifiers import counts
from bylaw.columnar.segments import Mask, Places, latest
from bylaw.logic import formula as f
from bylaw.logic.terms import (
    Answer,
    Apply,
    At,
    Counted,
    Labels,
    Last,
    ListTerm,
    Literal,
    ObjectTerm,
    Reading,
    Term,
    Variable,
)
from bylaw.trace.event import MISSING
from bylaw.vocabulary.function_table import apply
from bylaw.vocabulary.reading import Seen, as_object, field_of, found_at, together
from bylaw.vocabulary.relations import related

if TYPE_CHECKING:
    from bylaw.columnar.evaluation import Evaluation


def compared(over: Evaluation, formula: f.Compare, places: Places) -> Mask:
    """Whether two values compare so, in each place."""
    pairs = zip(
        values(over, formula.left, places), values(over, formula.right, places), strict=True
    )
    found = (related(left, formula.symbol, right) for left, right in pairs)
    return np.fromiter(found, np.bool_, len(places))


def values(over: Evaluation, term: Term, places: Places) -> list[Seen]:
    """The value of a term in each place."""
    match term:
        case Literal():
            return [term.value] * len(places)
        case Variable(name):
            return over.subject.bound_values(name, places)
        case Reading(field):
            return [field_of(event, field) for event in over.subject.events(places.indices)]
        case At(base, key):
            pairs = zip(values(over, base, places), values(over, key, places), strict=True)
            return [found_at(value, key_) for value, key_ in pairs]
        case Apply(function, operands):
            columns = [values(over, operand, places) for operand in operands]
            return [apply(function, list(row)) for row in _rows(columns, len(places))]
        case ListTerm(items):
            columns = [values(over, item, places) for item in items]
            return [together(list(row)) for row in _rows(columns, len(places))]
        case ObjectTerm(entries):
            keys = [entry.key for entry in entries]
            columns = [values(over, entry.value, places) for entry in entries]
            return [
                MISSING if MISSING in row else dict(zip(keys, row, strict=True))
                for row in _rows(columns, len(places))
            ]
        case Last(condition):
            return _last(over, condition, places)
        case Counted():
            return counts(over, term, places)
        case Answer() | Labels():
            raise AssertionError("what belongs to a trace is asked of one trace at a time")


def _rows(columns: list[list[Seen]], count: int) -> list[tuple[Seen, ...]]:
    return list(zip(*columns, strict=True)) if columns else [()] * count


def _last(over: Evaluation, condition: f.Formula, places: Places) -> list[Seen]:
    """The latest event of an earlier step that meets a condition, as an object."""
    before = over.subject.columns.step_starts[places.indices] - np.int32(1)
    found = latest(over.row(condition).true, before)
    exist = (before >= places.start) & (found >= places.start)
    events = iter(over.subject.events(found[exist]))
    return [as_object(next(events)) if there else MISSING for there in exist]
