"""`bylaw view`: writes an HTML page that shows a trace and its verdicts."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from bylaw.cli.main import OK
from bylaw.cli.options import add_json, add_output, add_procedure, load_procedure
from bylaw.cli.outputs import write_output
from bylaw.cli.traces import file_of, one_trace
from bylaw.reports.html.viewer import render_trace
from bylaw.reports.provenance import provenance
from bylaw.scoring.verify import verify_trace
from bylaw.terminal import in_line

EPILOG: Final = """\
The page is a single file that needs no network. Click a rule to see its calls.

  bylaw view run.json -p refund.yaml -o out.html
  bylaw view runs.jsonl:17 -p refund.yaml          the record on line 17
"""


PAGE: Final = 'name="generator" content="bylaw viewer"'
"""The mark of a page that this command wrote."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("trace", metavar="TRACE", help="the trace")
    add_procedure(parser)
    help = "output file (default: the trace's name, .html)"
    add_output(parser, "-o", "--output", help=help, mark=PAGE)
    add_json(parser, "the file's name and size as JSON")


def run(options: argparse.Namespace) -> int:
    """Writes the page."""
    procedure = load_procedure(options)
    report = verify_trace(one_trace(options.trace), procedure)
    options.output = options.output or _default(options.trace)
    origin = provenance(
        options.command_line,
        procedure=procedure,
        procedure_file=options.procedure,
        inputs=[file_of(options.trace)],
    )
    size = write_output(options, "output", render_trace(report, origin=origin))
    if options.json:
        print(json.dumps({"output": options.output, "bytes": size}))
    else:
        print(in_line(f"wrote {options.output} ({size / 1024:.0f} KiB)"))
    return OK


def _default(trace: str) -> str:
    name = Path(trace).name if trace != "-" else "trace"
    return name.replace(":", "-").removesuffix(".json") + ".html"
