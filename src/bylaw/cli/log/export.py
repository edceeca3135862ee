"""`bylaw log export`: writes the runs of an audit log as trace records."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Final

from bylaw.cli.log.log_options import add_log, checked, readable
from bylaw.cli.main import exit_code
from bylaw.cli.options import add_output
from bylaw.cli.outputs import write_output
from bylaw.errors import Diagnostic, TraceError
from bylaw.trace.files import read_traces

EPILOG: Final = """\
Each run becomes one line of JSON, a trace record: the calls that were allowed,
with their results, the messages, the answer, and the refusals. `bylaw verify`,
`view` and `explain` read a log as it is, too. A log that was altered is not
exported.

  bylaw log export gate.jsonl -o runs.jsonl

Exit code: 0; 1 if the log is torn, or a run in it cannot be read (the others
are exported); 2 if it cannot be used.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_log(parser)
    help = "output file (default: standard output)"
    add_output(parser, "-o", "--output", help=help)


def run(options: argparse.Namespace) -> int:
    """Writes the records."""
    found = checked(options)
    if found.problem is not None:
        help = "`bylaw log check` says what is wrong with a log."
        message = f"the log is not intact: {found.problem}"
        raise TraceError(Diagnostic("E411", message, help, source=options.log))
    lines, left_out = [], 0
    with readable(options.log):
        for entry in read_traces(options.log):
            if entry.trace is not None:
                lines.append(json.dumps(entry.trace.to_record()))
            else:
                left_out += 1
                print(entry.error, file=sys.stderr)
    text = "".join(f"{line}\n" for line in lines)
    if options.output is None:
        print(text, end="")
    else:
        write_output(options, "output", text)
    return exit_code(violated=found.state == "torn" or left_out > 0)
