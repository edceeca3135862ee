"""The schemas of tools: what fits them, what is wrong with what does not, and mistakes in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases

from bylaw.procedure.toolset.schema import SCHEMA_KEYWORDS, ToolSchema
from bylaw.values import Json


class Row(NamedTuple):
    schema: Json
    value: Json
    problem: str
    """Empty if the value fits."""


def _rows(path: Path) -> Iterator[Row]:
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            schema, value, problem = (part.strip() for part in line.split(" | "))
            yield Row(json.loads(schema), json.loads(value), problem)


TABLE = list(_rows(Path(__file__).parent / "schemas.cases"))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{json.dumps(row.schema)} {row.value}")
def test_what_fits(row: Row) -> None:
    schema = ToolSchema(row.schema)
    assert not schema.mistakes
    wanted = f"The arguments do not fit: {row.problem}." if row.problem else None
    assert schema.problem(row.value) == wanted


def test_every_keyword_has_a_value_that_fits_and_one_that_does_not() -> None:
    for keyword in (name for names in SCHEMA_KEYWORDS for name in names):
        found = {bool(row.problem) for row in TABLE if f'"{keyword}"' in json.dumps(row.schema)}
        assert found == {True, False}, keyword


# ── mistakes ──────────────────────────────────────────────────────────────────────────────

MISTAKES: list[tuple[Json, tuple[str | int, ...], str]] = [
    # schema | place | message
    (5, (), "expected a schema, found a number"),
    ({"type": "float"}, ("type",), '"float" is not a type'),
    ({"type": []}, ("type",), "[] is not a type"),
    ({"type": {"a": 1}}, ("type",), "an object is not a type"),
    ({"tpye": "string"}, ("tpye",), "the keyword 'tpye' is not supported"),
    ({"nullable": True}, ("nullable",), "the keyword 'nullable' is not supported"),
    ({"if": {}}, ("if",), "the keyword 'if' is not supported"),
    ({"unevaluatedProperties": False}, ("unevaluatedProperties",), "not supported"),
    ({"dependentRequired": {}}, ("dependentRequired",), "not supported"),
    ({"$id": "https://example.org/s"}, ("$id",), "not supported"),
    ({"enum": []}, ("enum",), "'enum' is a list of values"),
    ({"enum": "a"}, ("enum",), "'enum' is a list of values"),
    ({"enum": [1], "const": 1}, ("enum",), "'const' one value in its place"),
    ({"exclusiveMinimum": True}, ("exclusiveMinimum",), "is a number, not true"),
    ({"maxLength": -1}, ("maxLength",), "is a whole number, 0 or more, not -1"),
    ({"maxLength": 1.5}, ("maxLength",), "is a whole number, 0 or more, not 1.5"),
    ({"multipleOf": 0}, ("multipleOf",), "'multipleOf' is a number above 0, not 0"),
    ({"pattern": "("}, ("pattern",), '"(" cannot be used'),
    ({"pattern": r"(a)\1"}, ("pattern",), "cannot be used"),
    ({"pattern": 5}, ("pattern",), "'pattern' is a regular expression"),
    ({"patternProperties": {"[": {}}}, ("patternProperties",), '"[" cannot be used'),
    ({"required": "a"}, ("required",), "'required' is a list of names"),
    ({"properties": []}, ("properties",), "'properties' is a mapping from names to schemas"),
    ({"properties": {"a": {"type": "x"}}}, ("properties", "a", "type"), '"x" is not a type'),
    ({"additionalItems": False}, ("additionalItems",), "needs 'items' that is a list"),
    ({"prefixItems": {}}, ("prefixItems",), "'prefixItems' is a list of schemas"),
    ({"anyOf": []}, ("anyOf",), "'anyOf' is a list of schemas"),
    ({"anyOf": [{}, {"x": 1}]}, ("anyOf", 1, "x"), "the keyword 'x' is not supported"),
    ({"$ref": "https://example.org/s"}, ("$ref",), "is not a reference inside the schema"),
    ({"$ref": "other.json#/a"}, ("$ref",), "is not a reference inside the schema"),
    ({"$ref": "#/$defs/x"}, ("$ref",), '"#/$defs/x" refers to nothing in the schema'),
    ({"$ref": "#"}, (), '"#" applies to a value whatever it applies to it already'),
    (
        {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"not": {"$ref": "#/$defs/a"}}]}}},
        (),
        '"#/$defs/a" applies to a value',
    ),
    (
        # The way back is found although the part was read as an item before.
        {
            "$ref": "#/$defs/a",
            "$defs": {
                "a": {"items": {"$ref": "#/$defs/b"}, "allOf": [{"$ref": "#/$defs/b"}]},
                "b": {"allOf": [{"$ref": "#/$defs/a"}]},
            },
        },
        (),
        "applies to a value",
    ),
    ({"enum": [float("nan")]}, (), "it is not JSON: nan is not a JSON number"),
]


@pytest.mark.parametrize(("schema", "place", "message"), MISTAKES, ids=str)
def test_mistakes(schema: Json, place: tuple[str | int, ...], message: str) -> None:
    (mistake,) = ToolSchema(schema).mistakes
    assert mistake.place == place
    assert message in mistake.message


def test_annotations_and_extensions_are_ignored() -> None:
    annotated = {"title": "T", "description": "…", "default": 1, "examples": [1], "x-order": 3}
    assert ToolSchema(annotated).problem({}) is None


# ── hostile values ────────────────────────────────────────────────────────────────────────

EXPRESSION = {
    "$ref": "#/$defs/e",
    "$defs": {
        "e": {
            "anyOf": [
                {
                    "properties": {"left": {"$ref": "#/$defs/e"}, "op": {"const": op}},
                    "required": ["op"],
                }
                for op in ("add", "sub", "mul", "div")
            ]
        }
    },
}


def test_recursive_alternatives_take_no_exponential_time() -> None:
    value: Json = {"op": "pow"}
    for _ in range(60):
        value = {"left": value, "op": "div"}
    assert ToolSchema(EXPRESSION).problem(value) is not None


def test_what_nests_too_deeply_to_be_checked_does_not_fit() -> None:
    value: Json = {"op": "add"}
    for _ in range(2_000):
        value = {"left": value, "op": "add"}
    found = ToolSchema(EXPRESSION).problem(value)
    assert found == "The arguments nest too deeply to be checked."


@pytest.mark.parametrize(
    "value", ["x" * 10**6, 10**4000, [["x"] * 1000] * 1000, {"k" * 10**6: 1}, {"a": "\0" * 10**5}]
)
def test_messages_are_short(value: Json) -> None:
    for schema in ({"type": "null"}, {"additionalProperties": False}, {"items": {"type": "null"}}):
        assert len(ToolSchema(schema).problem(value) or "") < 600


class Text(str):
    """Not the type that JSON has."""


def test_subclasses_do_not_fit() -> None:
    assert (
        ToolSchema({"additionalProperties": {"type": "string"}}).problem({"a": Text()}) is not None
    )
    assert ToolSchema({"properties": {"a": {"type": "integer"}}}).problem({"a": True}) is not None


# ── against another implementation ────────────────────────────────────────────────────────

PROBES: list[Json] = [None, True, False, *range(-3, 4), 1.0, 1.5, "", "a", "ab", "ba", "abc"]
PROBES += [[], [1], [1, 1.0], [1, True], ["a", "b", "c"], {}, {"a": 1}, {"a": 1, "b": "a"}]
SCALARS = st.sampled_from(PROBES[:15])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "ab"]), inner, max_size=3)
    ),
    max_leaves=6,
)
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "null", "array", "object"])
SIZES = st.integers(0, 3)
REFERENCES = st.sampled_from(["#/$defs/x", "#/$defs/y"])


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Json]]:
    names = st.dictionaries(st.sampled_from(["a", "b", "ab"]), inner, max_size=2)
    several = st.lists(inner, min_size=1, max_size=2)
    every: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "minimum": st.integers(-2, 2),
        "maximum": st.integers(-2, 2),
        "exclusiveMinimum": st.integers(-2, 2),
        "exclusiveMaximum": st.integers(-2, 2),
        "multipleOf": st.integers(1, 3),
        "minLength": SIZES,
        "maxLength": SIZES,
        "pattern": st.sampled_from(["^a", "b$", "a|c", "^(a|b)*$", "^$"]),
        "minItems": SIZES,
        "maxItems": SIZES,
        "uniqueItems": st.booleans(),
        "items": inner,
        "prefixItems": several,
        "required": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
        "properties": names,
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=1),
        "propertyNames": inner,
        "minProperties": SIZES,
        "maxProperties": SIZES,
        "anyOf": several,
        "oneOf": several,
        "allOf": several,
        "not": inner,
        "$ref": REFERENCES,
    }
    chosen = st.lists(st.sampled_from(list(every)), max_size=4, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({n: every[n] for n in names}))


SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | _keywords(st.booleans()), _keywords, max_leaves=4
)


@cases(600)
@given(SCHEMAS, SCHEMAS, SCHEMAS, st.lists(VALUES, max_size=4))
def test_another_implementation_agrees(root: Json, x: Json, y: Json, values: list[Json]) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="NOT TESTED: jsonschema is not installed")
    if isinstance(root, bool):
        root = {"allOf": [root]}
    schema = {**root, "$defs": {"x": x, "y": y}}
    ours = ToolSchema(schema)
    if ours.mistakes:  # a reference that goes round in circles
        assert all("applies to a value" in mistake.message for mistake in ours.mistakes)
        return
    theirs = jsonschema.Draft202012Validator(schema)
    for value in [*PROBES, *values]:
        assert (ours.problem(value) is None) is theirs.is_valid(value), value
