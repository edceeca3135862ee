"""`bylaw init`: writes a starter procedure, from recorded traces or from a packaged one."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from bylaw.cli.main import exit_code
from bylaw.cli.options import add_json, add_output, add_traces
from bylaw.cli.outputs import write_output
from bylaw.cli.traces import entries
from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.procedure.packaged import PACKAGED, packaged_file
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.starter import Starter, starter
from bylaw.terminal import counted, in_line

EPILOG: Final = """\
Writes a procedure with the tools that the traces call, and with rules that held
in all of them, each with its evidence as a comment. The rules describe what the
agents did, not what they should do: keep those that you mean, delete the rest.

  bylaw init runs/*.json -o procedure.yaml
  bylaw verify -p procedure.yaml runs/*.json

With --from, the procedure is one that comes with Bylaw, for the folder --root:

  bylaw init --from coding -o procedure.yaml
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_traces(parser, needed=False)
    parser.add_argument(
        "--from",
        dest="packaged",
        choices=[*PACKAGED],
        help="a procedure that comes with Bylaw: "
        + "; ".join(f"{name} ({subject})" for name, subject in PACKAGED.items()),
    )
    parser.add_argument(
        "--root", metavar="DIR", help="the work tree of --from (default: the current folder)"
    )
    add_output(parser, "-o", "--output", help="output file (default: standard output)")
    parser.add_argument("--name", default="my-procedure", help="the procedure's name")
    add_json(parser, "the proposals as JSON")


def run(options: argparse.Namespace) -> int:
    """Writes the procedure."""
    if options.packaged is not None:
        return _write_packaged(options)
    if not options.traces or options.root is not None:
        message = "--root is for --from" if options.traces else "no traces are given"
        help = "Give recorded traces, or start from a packaged procedure: --from coding."
        raise UsageError(Diagnostic("E402", message, help))
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


def _write_packaged(options: argparse.Namespace) -> int:
    """Copies a procedure that comes with the package, with the work tree filled in."""
    if options.traces:
        message = "--from writes a packaged procedure, which needs no traces"
        raise UsageError(Diagnostic("E402", message, "Leave the traces out, or --from."))
    root = Path(options.root or ".").resolve().as_posix().rstrip("/") + "/"
    text = packaged_file(options.packaged).read_text(encoding="utf-8")
    text = text.replace("\n  ROOT: /workspace/\n", f"\n  ROOT: {json.dumps(root)}\n", 1)
    procedure = Procedure.load(packaged_file(options.packaged))
    if options.json:
        rules = [{"name": each.name, "why": each.why} for each in procedure.constraints]
        print(json.dumps({"name": procedure.name, "root": root, "rules": rules}))
    elif options.output is None:
        print(text, end="")
    if options.output is not None:
        write_output(options, "output", text)
        print(
            f"wrote {in_line(options.output)}: {counted(len(procedure.constraints), 'rule')} for "
            f"{in_line(root)}",
            file=sys.stderr if options.json else sys.stdout,
        )
    return exit_code(unusable=0)


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
