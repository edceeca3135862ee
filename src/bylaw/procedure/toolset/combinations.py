"""Keywords that apply other schemas to the same value: `$ref`, `allOf`, `anyOf`, `oneOf`, `not`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from bylaw.procedure.toolset.clause import (
    KINDS,
    FitTest,
    Memo,
    Misfit,
    Schema,
    SchemaClause,
    ValuePath,
    quoted,
)
from bylaw.procedure.toolset.compiling import SchemaPart
from bylaw.values import Json

_EXPLAINED_DEPTH: Final = 3
"""The depth down to which the alternative that was meant is guessed, to explain what it misses."""
_COMPARED: Final = 4
"""The number of misfits by which alternatives are compared."""


def reference(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`$ref`: another part of the schema."""
    target = part.reference(part["$ref"])
    if target is None:
        return None
    into.conjuncts += (target,)
    number = id(target)

    def fits(value: Json, memo: Memo) -> bool:
        key = (number, id(value))
        found = memo.get(key)
        if found is None:
            found = memo[key] = target.fits(value, memo)
        return found

    def misfits(value: Json, place: ValuePath, memo: Memo) -> Iterator[Misfit]:
        return target.misfits(value, place, memo)

    return SchemaClause(fits, lambda: target.expected, misfits)


def all_of(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`allOf`: the value fits every schema."""
    schemas = part.same_listed("allOf")
    into.conjuncts += schemas

    def fits(value: Json, memo: Memo) -> bool:
        return all(each.fits(value, memo) for each in schemas)

    def misfits(value: Json, place: ValuePath, memo: Memo) -> Iterator[Misfit]:
        for each in schemas:
            yield from each.misfits(value, place, memo)

    return SchemaClause(fits, lambda: schemas[0].expected, misfits) if schemas else None


def any_of(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`anyOf`: the value fits at least one schema."""
    schemas = into.alternatives = part.same_listed("anyOf")

    def fits(value: Json, memo: Memo) -> bool:
        return any(each.fits(value, memo) for each in schemas)

    return _alternatives(fits, schemas) if schemas else None


def one_of(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`oneOf`: the value fits exactly one schema."""
    schemas = part.same_listed("oneOf")
    into.alternatives = into.alternatives or schemas

    def fits(value: Json, memo: Memo) -> bool:
        return sum(each.fits(value, memo) for each in schemas) == 1

    return _alternatives(fits, schemas) if schemas else None


def not_(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`not`: the value does not fit the schema."""
    schema = part.same(part["not"], "not")

    def fits(value: Json, memo: Memo) -> bool:
        return not schema.fits(value, memo)

    return SchemaClause(fits, lambda: f"something other than {schema.expected}")


def _alternatives(fits: FitTest, schemas: Sequence[Schema]) -> SchemaClause:
    def expected() -> str:
        return " or ".join(dict.fromkeys(each.expected for each in schemas))

    def misfits(value: Json, place: ValuePath, memo: Memo) -> Iterator[Misfit]:
        """The misfits of the alternative that was probably meant, if one is closest."""
        if any(each.fits(value, memo) for each in schemas):
            yield Misfit(place, f"must fit exactly one of several schemas: {expected()}")
            return
        close = [each for each in schemas if KINDS.get(type(value)) in each.kinds]
        if not close or (len(close) > 1 and len(place) > _EXPLAINED_DEPTH):
            yield Misfit(place, f"must be {expected()}, not {quoted(value)}")
            return
        missed = [list(islice(each.misfits(value, place, memo), _COMPARED)) for each in close]
        yield from min(missed, key=len)

    return SchemaClause(fits, expected, misfits)
