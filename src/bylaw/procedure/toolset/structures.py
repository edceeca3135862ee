"""Keywords about the parts of lists and objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bylaw.errors import did_you_mean
from bylaw.procedure.toolset.clause import (
    Memo,
    Misfit,
    Schema,
    SchemaClause,
    ValuePath,
    fits_all,
    phrase,
)
from bylaw.procedure.toolset.compiling import SchemaPart
from bylaw.values import Json, identity

# ── lists ─────────────────────────────────────────────────────────────────────────────────


def items(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`prefixItems` and `items`; or, as older drafts write it, `items` and `additionalItems`."""
    older = isinstance(part.get("items"), list)
    first, rest = ("items", "additionalItems") if older else ("prefixItems", "items")
    if not older and "additionalItems" in part:
        part.complain("additionalItems", "'additionalItems' needs 'items' that is a list")
    listed = part.get(first, [])
    if not isinstance(listed, list):
        part.complain(first, f"'{first}' is a list of schemas")
        return None
    before = [part.inner(each, first, i) for i, each in enumerate(listed)]
    after = part.inner(part.get(rest, True), rest)

    def fits(value: Json, memo: Memo) -> bool:
        if type(value) is not list:
            return True
        for each, item in zip(before, value, strict=False):
            if not each.fits(item, memo):
                return False
        if after.fits is not fits_all:
            for item in value[len(before) :] if before else value:
                if not after.fits(item, memo):
                    return False
        return True

    def misfits(value: Json, place: ValuePath, memo: Memo) -> Iterator[Misfit]:
        for i, item in enumerate(value):
            wanted = before[i] if i < len(before) else after
            yield from wanted.misfits(item, (*place, i), memo)

    return SchemaClause(fits, phrase("a list of fitting items"), misfits)


def unique_items(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`uniqueItems`."""
    if part["uniqueItems"] is not True:
        return None

    def fits(value: Json, memo: Memo) -> bool:
        return type(value) is not list or len(set(map(identity, value))) == len(value)

    return SchemaClause(fits, phrase("a list without repetitions"))


# ── objects ───────────────────────────────────────────────────────────────────────────────


def required(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`required`: the keys that an object must have."""
    names = part["required"]
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        part.complain("required", "'required' is a list of names")
        return None
    into.required = needed = frozenset(names)

    def fits(value: Json, memo: Memo) -> bool:
        return type(value) is not dict or value.keys() >= needed

    def misfits(value: Json, place: ValuePath, memo: Memo) -> Iterator[Misfit]:
        for name in names:
            if name not in value:
                inner = into.properties.get(name)
                wanted = f" (it must be {inner.expected})" if inner and inner.clauses else ""
                yield Misfit((*place, name), f"is missing{wanted}")

    return SchemaClause(fits, phrase("an object with all required keys"), misfits)


def properties(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`properties`, `patternProperties` and `additionalProperties`."""
    named = into.properties = part.inner_by_name("properties")
    forms = [
        (search, inner)
        for form, inner in part.inner_by_name("patternProperties").items()
        if (search := part.regex(form, "patternProperties", form)) is not None
    ]
    others = part.get("additionalProperties", True)
    rest = part.inner(others, "additionalProperties")
    into.closed = others is False and not forms
    tests = {name: inner.fits for name, inner in named.items()}

    def schemas_of(name: str) -> Sequence[Schema]:
        """The schemas that the value of a key must fit."""
        found = [named[name]] if name in named else []
        found += [inner for search, inner in forms if search(name)]
        return found or [rest]

    def fits(value: Json, memo: Memo) -> bool:
        if type(value) is not dict:
            return True
        for name, item in value.items():  # noqa: SIM110 - a generator would cost more
            if not tests.get(name, rest.fits)(item, memo):
                return False
        return True

    def fits_forms(value: Json, memo: Memo) -> bool:
        return type(value) is not dict or all(
            inner.fits(item, memo) for name, item in value.items() for inner in schemas_of(name)
        )

    def misfits(value: Json, place: ValuePath, memo: Memo) -> Iterator[Misfit]:
        for name, item in value.items():
            for inner in schemas_of(name):
                if inner is rest and others is False:
                    close = did_you_mean(name, named)
                    yield Misfit((*place, name), f"is unknown{f' ({close})' if close else ''}")
                else:
                    yield from inner.misfits(item, (*place, name), memo)

    return SchemaClause(
        fits_forms if forms else fits, phrase("an object with fitting keys"), misfits
    )


def property_names(part: SchemaPart, into: Schema) -> SchemaClause | None:
    """`propertyNames`: a schema that every key must fit."""
    inner = part.inner(part["propertyNames"], "propertyNames")

    def fits(value: Json, memo: Memo) -> bool:
        return type(value) is not dict or all(inner.fits(name, memo) for name in value)

    return SchemaClause(fits, lambda: f"an object whose keys are each {inner.expected}")
