"""Corpora for tests: many runs of a refund desk, some of them damaged, in all kinds of files."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bylaw import Procedure

DESK = Procedure.from_dict(
    {
        "name": "desk",
        "constraints": [
            {"name": "verify-first", "rule": "G(refund -> O verify)", "weight": 3, "layer": "L4"},
            {"name": "one-refund", "rule": "CalledN(refund, <= 1)", "layer": "L5"},
            {"name": "told", "rule": "G(refund -> F notify)", "layer": "L3"},
            {
                "name": "what-was-paid",
                "rule": 'forall p in results(lookup, "paid"): G(refund -> args.amount = p)',
                "weight": 2,
                "layer": "L6",
            },
        ],
    }
)
TOOLS = ("lookup", "verify", "refund", "notify")


def records(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Runs of all kinds: good, bad, empty."""
    chance = random.Random(seed)
    for number in range(count):
        tools = chance.choices(TOOLS, k=chance.randrange(7))
        calls = [_call(tool, number, chance) for tool in tools]
        answer = {"answer": f"Order {number}: done – naïve"} if chance.random() < 0.5 else {}
        yield {"tool_calls": calls, **answer}


def _call(tool: str, number: int, chance: random.Random) -> dict[str, Any]:
    match tool:
        case "lookup":
            paid = {"paid": chance.choice([20, 30])}
            return {"tool_name": tool, "arguments": {"order": number}, "tool_result": paid}
        case "refund":
            return {"tool_name": tool, "arguments": {"amount": chance.choice([20, 30])}}
        case _:
            return {"tool_name": tool, "arguments": {}}


def lines(count: int, seed: int = 0) -> list[str]:
    """The same as lines of JSONL, with blank ones and damaged ones among them."""
    chance = random.Random(seed + 1)
    found = [json.dumps(record, ensure_ascii=False) for record in records(count, seed)]
    for number in range(7, count, 97):
        found[number] = chance.choice([found[number][:-3], "", "[1]", '{"tool_calls": [{}]}'])
    return found


def jsonl(path: Path, count: int, seed: int = 0) -> Path:
    """A JSONL file; compressed where its name says so."""
    text = "".join(f"{line}\n" for line in lines(count, seed)).encode()
    path.write_bytes(packed(path.name, text))
    return path


def packed(name: str, text: bytes) -> bytes:
    """The text as a file of this name has it."""
    if name.endswith(".gz"):
        return gzip.compress(text, mtime=0)
    if name.endswith(".zst"):
        import zstandard

        return bytes(zstandard.ZstdCompressor().compress(text))
    return text


def table(path: Path, rows: Sequence[dict[str, Any]], **options: Any) -> Path:
    """A Parquet file, an Arrow file or an Arrow stream, by its name."""
    import pyarrow
    from pyarrow import parquet

    names = dict.fromkeys(name for row in rows for name in row)
    made = pyarrow.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
    if path.suffix == ".parquet":
        parquet.write_table(made, path, **options)
        return path
    open_ = pyarrow.ipc.new_stream if path.suffix == ".arrows" else pyarrow.ipc.new_file
    with open_(path, made.schema) as writer:
        writer.write_table(made, **options)
    return path
