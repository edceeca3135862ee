"""`bylaw log anchor`: prints the head of a log, to be kept elsewhere."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Final

from bylaw.cli.log.log_options import add_log, checked
from bylaw.cli.main import VIOLATED, exit_code
from bylaw.terminal import safe

EPILOG: Final = """\
Prints one line of JSON: the number of entries, the hash of the last one, and
the time. Keep it where the writer of the log cannot change it: another machine,
a ticket, a mail. `bylaw log check --anchor` later shows whether the log was cut
or rewritten since. No anchor is taken of a log that was altered.

  bylaw log anchor gate.jsonl >> anchors.jsonl
  bylaw log check gate.jsonl --anchor anchors.jsonl

Exit code: 0, or 1 if the log was altered or has no entries, or 2 if it cannot
be read.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_log(parser)


def run(options: argparse.Namespace) -> int:
    """Prints the anchor."""
    found = checked(options)
    if found.problem is not None or not found.entries:
        problem = found.problem or "it has no complete entry"
        print(safe(f"error: no anchor of {options.log}: {problem}"), file=sys.stderr)
        return VIOLATED
    print(json.dumps(found.anchor.to_dict()))
    return exit_code()
