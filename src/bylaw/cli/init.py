"""`bylaw init`: writes a starter procedure from recorded traces."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Final

from bylaw.cli.arguments import add_json, add_traces
from bylaw.cli.inputs import entries
from bylaw.cli.main import exit_code
from bylaw.cli.output_options import add_output
from bylaw.cli.outputs import write_output
from bylaw.cli.terminal import counted
from bylaw.errors import Diagnostic, TraceError
from bylaw.printable import in_line
from bylaw.scoring.starter import Starter, starter

EPILOG: Final = """\
The procedure lists the tools that the traces call, and rules that held in all
of them, each with its evidence as a comment. The rules describe what the agents
did, not what they should do: keep those you mean, and delete the rest.

  bylaw init runs/*.json -o procedure.yaml
  bylaw verify -p procedure.yaml runs/*.json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_traces(parser)
    add_output(parser, "-o", "--output", help="output file (default: standard output)")
    parser.add_argument("--name", default="my-procedure", help="the procedure's name")
    add_json(parser, "the proposals as JSON")


def run(options: argparse.Namespace) -> int:
    """Writes the procedure."""
    traces, unusable = [], 0
    for entry in entries(options.traces, options.max_line):
        if entry.trace is None:  # standard output is for the procedure
            unusable += 1
            print(entry.error, file=sys.stderr)
        else:
            traces.append(entry.trace)
    if not any(trace.calls for trace in traces):
        message = "no trace has a tool call to learn from"
        raise TraceError(Diagnostic("E302", message, "Give at least one trace with tool calls."))
    found = starter(traces, options.name)
    if options.json:
        print(json.dumps(_as_json(found)))
    elif options.output is None:
        print(found.to_yaml(), end="")
    if options.output is not None:
        write_output(options, "output", found.to_yaml())
        print(
            f"wrote {in_line(options.output)}: {counted(len(found.tools), 'tool')}, "
            f"{counted(len(found.kept), 'rule')} and {len(found.offered)} more in comments, "
            f"from {counted(len(traces), 'trace')}",
            file=sys.stderr if options.json else sys.stdout,
        )
    return exit_code(unusable=unusable)


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
