"""Examples as rows of flat columns, for `datasets.load_dataset("json", …)` and other loaders.

Conversations are lists of chat messages. Fields whose keys vary between rows (arguments, tools,
rules) are JSON text, so that every row has the same columns of the same types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from bylaw.bench.gold import BranchCall, GoldCall
from bylaw.bench.tools import TOOLS
from bylaw.errors import BylawError, Diagnostic, TraceError
from bylaw.opening import read_regular
from bylaw.procedure.procedure import Procedure
from bylaw.saved import text
from bylaw.training.data.alias import Alias
from bylaw.training.data.example import Example
from bylaw.values import Json, read_json, write_json

COLUMNS: Final[Mapping[str, str]] = {
    "name": "the name of the example",
    "split": "the split, which is also the name of the file",
    "template": "the procedural pattern",
    "transform": "the tool for the seed transform",
    "augmentation": "none, prefix, suffix or both",
    "parameters": "JSON: the parameters of the core",
    "difficulty": "1 to 5, by the number of calls",
    "prompt": "the conversation before the first turn: system and user",
    "completion": "the rest of the conversation, for an agent that makes no mistakes",
    "tools": "JSON: the tools in the OpenAI function format",
    "aliases": "JSON: the benchmark's tool behind each name",
    "gold": "JSON: the gold trace",
    "answer": "the answer, an integer",
    "procedure": "JSON: the rules, as in a procedure file",
}
"""The columns, in order, with their descriptions."""
_KINDS: Final = {str: "a string", int: "an integer", bool: "true or false", dict: "an object"}
_CALL: Final = {"tool": str, "arguments": dict}


def to_row(example: Example) -> dict[str, Json]:
    """The example as a row."""
    values: dict[str, Json] = {
        "name": example.name,
        "split": example.split,
        "template": example.template,
        "transform": example.transform,
        "augmentation": example.augmentation,
        "parameters": write_json(dict(example.parameters)),
        "difficulty": example.difficulty,
        "prompt": example.opening,
        "completion": example.transcript,
        "tools": write_json([spec.to_dict() for spec in example.specs]),
        "aliases": write_json([alias.to_dict() for alias in example.tools]),
        "gold": write_json([_gold_to_dict(call) for call in example.gold]),
        "answer": example.answer,
        "procedure": write_json(example.procedure.to_dict()),
    }
    return {column: values[column] for column in COLUMNS}


def from_row(row: Mapping[str, Any], source: str | None = None) -> Example:
    """The example in a row. Errors name the `source`."""
    try:
        texts = dict.fromkeys(("name", "split", "template", "augmentation"), str)
        _checked(row, {**texts, "difficulty": int, "answer": int})
        if row["transform"] is not None:
            _checked(row, {"transform": str})
        return Example(
            name=row["name"],
            split=row["split"],
            template=row["template"],
            transform=row["transform"],
            augmentation=row["augmentation"],
            parameters=_checked(read_json(text(row["parameters"])), {"seed": int}),
            difficulty=row["difficulty"],
            prompt=_checked(row["prompt"][-1], {"content": str})["content"],
            tools=tuple(_alias(alias) for alias in read_json(text(row["aliases"]))),
            gold=tuple(_gold_from_dict(call) for call in read_json(text(row["gold"]))),
            answer=row["answer"],
            procedure=Procedure.from_dict(read_json(text(row["procedure"]))),
        )
    except (KeyError, TypeError, ValueError, IndexError, BylawError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        message = f"a row is not an example: {reason}"
        help = "`bylaw train data build` writes files of examples."
        raise TraceError(Diagnostic("E310", message, help, source=source)) from None


def rows_text(examples: Iterable[Example]) -> str:
    """The text of a file of examples, one row per line."""
    return "".join(f"{write_json(to_row(example))}\n" for example in examples)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of examples."""
    try:
        return [read_json(line) for line in read_regular(path).splitlines()]
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise TraceError(Diagnostic("E310", message, source=str(path))) from None
    except ValueError as error:
        message = f"the file is not JSON Lines: {error}"
        raise TraceError(Diagnostic("E310", message, source=str(path))) from None


def _gold_to_dict(call: GoldCall) -> dict[str, Json]:
    other = call.instead
    return {
        "tool": call.tool,
        "arguments": dict(call.arguments),
        "result": call.result,
        "given": call.given,
        "instead": None if other is None else {"tool": other.tool, "arguments": other.arguments},
    }


def _gold_from_dict(call: Mapping[str, Any]) -> GoldCall:
    _checked(call, {**_CALL, "result": str, "given": bool})
    other = call["instead"]
    instead = None if other is None else BranchCall(**_checked(other, _CALL))
    return GoldCall(**{**call, "instead": instead})


def _alias(fields: Mapping[str, Any]) -> Alias:
    alias = Alias(**_checked(fields, {**_CALL, "name": str}))
    if alias.tool not in TOOLS:
        raise ValueError(f"the benchmark has no tool '{alias.tool}'")
    _checked(alias.arguments, dict.fromkeys(TOOLS[alias.tool].parameters, str))
    return alias


def _checked(fields: Mapping[str, Any], kinds: Mapping[str, type]) -> Mapping[str, Any]:
    """The fields, after checking that these are present and have the right types."""
    for name, kind in kinds.items():
        if type(fields[name]) is not kind:  # not isinstance: true is not a number here
            raise TypeError(f"'{name}' must be {_KINDS[kind]}")
    return fields
