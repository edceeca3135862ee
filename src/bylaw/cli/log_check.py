"""`bylaw log check`: is an audit log what it was?"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Final

from bylaw.cli.main import OK, VIOLATED
from bylaw.cli.terminal import safe, wrapped
from bylaw.enforcement.log import check
from bylaw.errors import Diagnostic, TraceError

EPILOG: Final = """\
Every entry of an audit log names the hash of the one before it. An entry that
was changed, removed or put in between breaks the chain. A torn last line is
what a crash leaves; nobody had been told of it, and it is cut off when the log
is opened again. That entries are missing at the end shows only against a hash
that was noted elsewhere: --noted.

  bylaw log check gate.jsonl
  bylaw log check gate.jsonl --noted 3f1c…    a hash that an earlier check gave

Exit code 0: intact; 1: not intact; 2: the file could not be read.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("log", metavar="FILE", help="the audit log")
    parser.add_argument(
        "--noted", metavar="HASH", help="the hash of an entry that must be in the log"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


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
        print(f"Good up to there: {_entries(found.entries)}.")
    else:
        torn = f"; a torn last line of {found.torn} bytes behind them" if found.torn else ""
        print(f"intact: {_entries(found.entries)}{torn}")
        print(f"last hash {found.last}")
    return OK if found.problem is None else VIOLATED


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"
