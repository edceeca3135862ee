"""A desk with one rule and a few traces, verified by the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bylaw.cli.main import main
from bylaw.values import Json

RULES: Json = [
    {
        "name": "verify-first",
        "rule": "G(refund -> O verify)",
        "why": "Refunds need a verified customer.",
        "fix": "Call verify first.",
    },
    {"name": "told", "rule": "G(refund -> F notify)", "severity": "BLOCK_AND_WARN"},
]


def call(tool: str, **arguments: Json) -> Json:
    return {"tool_name": tool, "arguments": arguments}


def write_procedure(folder: Path, rules: Json = RULES) -> None:
    (folder / "p.json").write_text(json.dumps({"name": "desk", "constraints": rules}))


def write_runs(path: Path, *runs: list[Json], indent: int | None = None) -> None:
    """One run a line; a single indented one is a document."""
    text = "".join(f"{json.dumps({'tool_calls': run}, indent=indent)}\n" for run in runs)
    path.write_text(text)


def report(format: str, *arguments: str) -> tuple[int, str]:
    """The exit code, and the report as it was written to a file."""
    target = Path(f"report.{format}")
    command = ["verify", "-p", "p.json", *arguments, "--force", "--format", f"{format}={target}"]
    return main(command), target.read_text(encoding="utf-8")


def json_report(*arguments: str) -> tuple[int, Any]:
    code, text = report("json", *arguments)
    return code, json.loads(text)
