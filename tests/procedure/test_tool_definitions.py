"""The tools of a procedure: names, schemas, and definitions as others write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bylaw import Procedure, SpecError
from bylaw.values import Json

ARGUMENTS: Json = {
    "type": "object",
    "properties": {"order": {"type": "string"}, "amount": {"type": "number"}},
    "required": ["order", "amount"],
    "additionalProperties": False,
}
RULE = {"name": "small", "rule": "G(refund -> args.amount <= 100)"}
ABOUT = {"description": "Pays a refund."}

SAME: dict[str, Json] = {
    "schemas by name": {"refund": ARGUMENTS, "lookup": None},
    "OpenAI, chat completions": [
        {"type": "function", "function": {"name": "refund", **ABOUT, "parameters": ARGUMENTS}},
        {"type": "function", "function": {"name": "lookup"}},
    ],
    "OpenAI, responses": [
        {"type": "function", "name": "refund", **ABOUT, "parameters": ARGUMENTS, "strict": True},
        {"type": "function", "name": "lookup", "parameters": None},
    ],
    "OpenAI, the older functions": [
        {"name": "refund", **ABOUT, "parameters": ARGUMENTS},
        {"name": "lookup"},
    ],
    "Anthropic": [
        {"name": "refund", **ABOUT, "input_schema": ARGUMENTS, "cache_control": {"type": "x"}},
        {"name": "lookup", "type": "lookup_20250124"},
    ],
    "MCP": [
        {"name": "refund", **ABOUT, "inputSchema": ARGUMENTS, "annotations": {"readOnlyHint": 0}},
        {"name": "lookup"},
    ],
    "MCP, the answer to tools/list": {
        "tools": [{"name": "refund", "inputSchema": ARGUMENTS}, {"name": "lookup"}],
        "nextCursor": "2",
    },
    "definitions and names": [{"name": "refund", "input_schema": ARGUMENTS}, "lookup"],
    "a hosted tool has the name of its type": [
        {"name": "refund", "input_schema": ARGUMENTS},
        {"type": "lookup"},
    ],
}


def _procedure(tools: Json, **more: Json) -> Procedure:
    return Procedure.from_dict({"tools": tools, "constraints": [RULE], **more})


@pytest.mark.parametrize("tools", SAME.values(), ids=SAME)
def test_every_form_says_the_same(tools: Json) -> None:
    procedure = _procedure(tools)
    assert procedure.tools == ("refund", "lookup")
    assert {name: schema.written for name, schema in procedure.schemas.items()} == {
        "refund": ARGUMENTS
    }
    assert procedure == _procedure(SAME["schemas by name"])
    assert Procedure.from_dict(procedure.to_dict()) == procedure


@pytest.mark.parametrize("form", SAME)
@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_tools_in_a_file_beside_the_procedure(tmp_path: Path, form: str, ending: str) -> None:
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / f"tools.{ending}").write_text(json.dumps(SAME[form]))  # JSON is YAML, too
    (folder / "p.yaml").write_text(
        f"tools: tools.{ending}\nconstraints:\n  - {{name: small, rule: '{RULE['rule']}'}}\n"
    )
    procedure = Procedure.load(folder / "p.yaml")
    assert procedure.schemas == _procedure(SAME[form]).schemas
    assert procedure.to_dict()["tools"] == {"refund": ARGUMENTS, "lookup": None}


def test_names_alone_have_no_schemas() -> None:
    procedure = _procedure(["refund", "lookup"])
    assert (procedure.tools, procedure.schemas) == (("refund", "lookup"), {})
    assert procedure.to_dict()["tools"] == ["refund", "lookup"]


def test_a_procedure_made_in_python_takes_schemas_too() -> None:
    made = _procedure(["refund"])
    again = Procedure(made.constraints, tools={"refund": ARGUMENTS, "lookup": None})
    assert again.schemas == _procedure(SAME["schemas by name"]).schemas
    with pytest.raises(SpecError, match="'nullable' is not supported"):
        Procedure(made.constraints, tools={"refund": {"nullable": True}})


MISTAKES: list[tuple[Json, str, str, str]] = [
    # tools | code | where | message
    (5, "E202", "tools", "expected a list of tools, found a number"),
    ([5], "E202", "tools[0]", "expected text, found a number"),
    ([""], "E202", "tools[0]", "expected a tool name"),
    ([{"description": "?"}], "E215", "tools[0]", "the tool definition has no name"),
    ([{"name": 5}], "E202", "tools[0].name", "expected text, found a number"),
    (
        [{"name": "refund", "inputschema": ARGUMENTS}],
        "E215",
        "tools[0].inputschema",
        "unknown field 'inputschema' of a tool definition",
    ),
    (
        [{"name": "refund", "parameters": {}, "input_schema": {}}],
        "E215",
        "tools[0]",
        "the tool definition has two schemas: parameters and input_schema",
    ),
    (
        [{"name": "refund", "parameters": {}}, {"name": "refund"}],
        "E211",
        "tools[1]",
        "two tools are called 'refund'",
    ),
    ({"refund": "string"}, "E214", "tools.refund", "expected a schema, found a string"),
    (
        {"refund": {"properties": {"amount": {"type": "money"}}}},
        "E214",
        "tools.refund.properties.amount.type",
        "in the schema of 'refund': \"money\" is not a type",
    ),
    (
        {"refund": {"name": "refund", "input_schema": ARGUMENTS}},
        "E214",
        "tools.refund.name",
        "the keyword 'name' is not supported",
    ),
    ("tools.json", "E215", "tools", "a mapping has no folder"),
]


@pytest.mark.parametrize(("tools", "code", "where", "message"), MISTAKES, ids=str)
def test_mistakes(tools: Json, code: str, where: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        _procedure(tools, constraints=[{"name": "a", "rule": "Called(final_answer)"}])
    first = caught.value.diagnostics[0]
    assert (first.code, first.where) == (code, where)
    assert message in first.message


def _loaded(tmp_path: Path, tools: str | bytes | None) -> list[tuple[Any, ...]]:
    if tools is not None:
        data = tools.encode() if isinstance(tools, str) else tools
        (tmp_path / "tools.json").write_bytes(data)
    (tmp_path / "p.yaml").write_text(
        "tools: tools.json\nconstraints:\n  - {name: a, rule: Called(final_answer)}\n"
    )
    with pytest.raises(SpecError) as caught:
        Procedure.load(tmp_path / "p.yaml")
    return [(d.code, Path(d.source or "").name, d.line, d.column) for d in caught.value.diagnostics]


def test_mistakes_in_a_file_of_tools_have_their_places_there(tmp_path: Path) -> None:
    tools = '[{"name": "pay",\n  "input_schema": {"type": "object",\n    "maximum": "5"}}]'
    assert _loaded(tmp_path, tools) == [("E214", "tools.json", 3, 5)]
    assert _loaded(tmp_path, "[{]") == [("E201", "tools.json", 1, 3)]
    assert _loaded(tmp_path, '{"pay": {"type": 1}}') == [("E214", "tools.json", 1, 10)]
    assert _loaded(tmp_path, b"\xff") == [("E206", "tools.json", None, None)]


def test_a_file_of_tools_that_is_not_there(tmp_path: Path) -> None:
    assert _loaded(tmp_path, None) == [("E206", "tools.json", None, None)]
