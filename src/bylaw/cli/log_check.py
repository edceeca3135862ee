"""`bylaw log check`: verifies that an audit log has not been altered."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Final

from bylaw.cli.arguments import add_json
from bylaw.cli.main import exit_code
from bylaw.cli.terminal import wrapped
from bylaw.enforcement.log import check
from bylaw.errors import Diagnostic, TraceError
from bylaw.printable import safe

EPILOG: Final = """\
Every entry of an audit log holds the hash of the entry before it. Changing,
removing or inserting an entry breaks this chain. An incomplete last line is the
trace of a crash: it was never acknowledged, and is cut off when the log is next
opened. Entries missing at the end can only be detected by a hash that was kept
elsewhere: --noted.

  bylaw log check gate.jsonl
  bylaw log check gate.jsonl --noted 3f1c…    a hash from an earlier check

Exit code: 0 if the log is intact, 1 if not, 2 if it cannot be read.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("log", metavar="FILE", help="the audit log")
    parser.add_argument(
        "--noted", metavar="HASH", help="the hash of an entry that must be in the log"
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Checks the log."""
    path = Path(options.log)
    try:
        if path.exists() and not path.is_file():
            raise OSError("it is not a regular file")
        found = check(path, noted=options.noted)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise TraceError(Diagnostic("E310", message, source=options.log)) from None
    if options.json:
        print(json.dumps({"intact": found.problem is None, **asdict(found)}))
    elif found.problem is not None:
        print(wrapped(safe(f"NOT INTACT: {found.problem}."), 0))
        print(f"Intact before that: {_entries(found.entries)}.")
    else:
        torn = f"; then an incomplete line of {found.torn} bytes" if found.torn else ""
        print(f"intact: {_entries(found.entries)}{torn}")
        print(f"last hash {found.last}")
    return exit_code(violated=found.problem is not None)


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"
