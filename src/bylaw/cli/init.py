"""`bylaw init`: writes a starter procedure from recorded traces."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from bylaw.cli.inputs import add_max_line, entries
from bylaw.cli.main import OK, UNUSABLE
from bylaw.cli.outputs import write_file
from bylaw.cli.terminal import counted, progress, safe
from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.scoring.starter import Starter, starter

EPILOG: Final = """\
The procedure lists the tools that the traces call and states rules that held in
all of them, each with the evidence as a comment. They say what the agents did:
read them, keep what is meant, delete the rest.

  bylaw init runs/*.json -o procedure.yaml
  bylaw verify -p procedure.yaml runs/*.json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="a trace file, folder or -")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to write (default: standard output)"
    )
    parser.add_argument("--name", default="my-procedure", help="the procedure's name")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--json", action="store_true", help="print the proposals as JSON")
    add_max_line(parser)


def run(options: argparse.Namespace) -> int:
    """Writes the procedure."""
    traces, unusable = [], 0
    with progress("traces") as line:
        for entry in entries(options.traces, options.max_line):
            if entry.trace is None:
                unusable += 1
                print(safe(str(entry.error)), file=sys.stderr)
            else:
                traces.append(entry.trace)
            line.step()
    if not any(trace.calls for trace in traces):
        message = "no trace has a tool call to learn from"
        raise TraceError(Diagnostic("E302", message, "Give at least one trace with tool calls."))
    found = starter(traces, options.name)
    if options.json:
        print(json.dumps(_as_json(found)))
    elif options.output is None:
        print(found.to_yaml(), end="")
    if options.output is not None:
        _write(Path(options.output), found.to_yaml(), force=options.force)
        print(
            f"wrote {options.output}: {counted(len(found.tools), 'tool')}, "
            f"{counted(len(found.kept), 'rule')} and {len(found.offered)} more in comments, "
            f"from {counted(len(traces), 'trace')}",
            file=sys.stderr if options.json else sys.stdout,
        )
    return UNUSABLE if unusable else OK


def _as_json(found: Starter) -> dict[str, object]:
    def rows(proposals: tuple[object, ...]) -> list[dict[str, object]]:
        fields = ("name", "rule", "meaning", "active")
        return [{field: getattr(proposal, field) for field in fields} for proposal in proposals]

    return {
        "name": found.name,
        "traces": found.traces,
        "tools": list(found.tools),
        "kept": rows(found.kept),
        "offered": rows(found.offered),
    }


def _write(path: Path, text: str, *, force: bool) -> None:
    if path.exists() and not force:
        raise UsageError(Diagnostic("E403", f"{path} exists already", "Add --force to replace it."))
    write_file(path, text)
