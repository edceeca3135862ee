"""`bylaw log check`: verifies that an audit log has not been altered."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

from bylaw.audit.anchor import Anchor
from bylaw.audit.check import LogCheck
from bylaw.cli.log.log_options import add_log, checked, given_anchors
from bylaw.cli.main import exit_code
from bylaw.cli.options import add_json, add_procedure, load_procedure
from bylaw.enforcement.run_log import procedure_hash
from bylaw.terminal import coloured, counted, safe, width

EPILOG: Final = """\
Says whether a log is intact, torn or altered. Every entry holds the hash of the
entry before it, so an entry that was changed, removed, inserted or moved is
found. A torn log ends in the middle of an entry: its writer was interrupted, or
somebody cut the file.

Without a key, somebody who can write the file can rewrite it from any entry on,
hashes included, or cut entries off its end, and this is not found. With a key,
rewriting is found. With an anchor that was kept elsewhere, both are found, up
to the entry that the anchor names.

  bylaw log check gate.jsonl
  bylaw log check gate.jsonl --public-key gate.pub
  bylaw log check gate.jsonl --key gate.key --anchor anchors.jsonl
  bylaw log check gate.jsonl --procedure refund.yaml

With --procedure, every run in the log must have been decided by exactly these
rules, as they are spelt: their hash is in the entry with which a run starts.
Comments and the order of fields do not count.

Exit code: 0 if the log is intact and, with --procedure, every run was decided
by it; 1 if the log is torn or altered, or a run was decided by another
procedure; 2 if the log or the procedure cannot be read, or the file is not a
log.
"""
_TORN: Final = (
    "The writer was interrupted, and the entry was never acknowledged; or the file was cut. "
    "AuditLog sets these bytes aside in a file of their own."
)
_COLOURS: Final = {"intact": "green", "torn": "yellow", "altered": "red"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_log(parser)
    parser.add_argument(
        "--anchor",
        action="append",
        default=[],
        metavar="FILE",
        help="anchors that `bylaw log anchor` printed, one a line: the log must contain their "
        "entries; repeatable",
    )
    add_procedure(parser, required=False)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Checks the log."""
    anchors = given_anchors(options.anchor)
    procedure = None if options.procedure is None else load_procedure(options)
    expected = None if procedure is None else procedure_hash(procedure)
    found = checked(options, anchors, expected)
    if options.json:
        print(json.dumps({"state": found.state, **asdict(found)}))
    else:
        print(f"{coloured(found.state.upper(), _COLOURS[found.state])}  {safe(options.log)}")
        for title, text in _rows(found, anchors):
            print(_row(title, safe(text)))
        if expected is not None:
            print(_row("rules", safe(_procedure(found, expected))))
    return exit_code(violated=found.state != "intact" or found.other_procedure is not None)


def _row(title: str, text: str) -> str:
    import textwrap

    indent = f"  {title:<8} "
    return textwrap.fill(text, width(), initial_indent=indent, subsequent_indent=" " * len(indent))


def _rows(found: LogCheck, anchors: Sequence[Anchor]) -> Iterator[tuple[str, str]]:
    entries = counted(found.entries, "entry").replace("entrys", "entries")
    if found.problem is not None:
        yield "problem", f"{found.problem}."
        yield "entries", f"{entries} before that can be trusted as far as the rows below say."
    elif found.state == "torn":
        yield "entries", f"{entries}, then {found.torn} bytes of one that is not complete."
        yield "tail", _TORN
    else:
        yield "entries", f"{entries}. {_end(found)}"
    for name in found.set_aside:
        yield "aside", f"A torn tail was set aside in {name}."
    if found.interruptions:
        yield "note", f"Sessions that were not closed: {found.interruptions}."
    yield "seals", _seals(found)
    if anchors and found.problem is None:
        latest = max(anchor.entries for anchor in anchors)
        yield "anchors", f"The log contains what was anchored, up to entry {latest - 1}."
    elif not anchors:
        yield "anchors", "None given: entries cut off the end would not show."
    yield "head", found.head


def _procedure(found: LogCheck, expected: str) -> str:
    other = found.other_procedure
    if other is not None:
        return (
            f"Run {other.run}, entry {other.entry}, was decided by another procedure, "
            f"{other.name}, with the hash {other.hash}. The file has the hash {expected}. "
            f"Runs under another procedure: {found.other_procedures} of {found.runs}."
        )
    if not found.runs:
        return "No run was started, so no procedure decided anything."
    return f"Every run was decided by the procedure in the file, hash {expected}."


def _end(found: LogCheck) -> str:
    if found.closed:
        return "The last one closes the log."
    return "The log is not closed: it is in use, its writer was killed, or its end was cut off."


def _seals(found: LogCheck) -> str:
    if found.sealed_by in (None, "none"):
        return "None: somebody who can write the file can rewrite it."
    if found.seals_checked:
        return f"Made with the key {found.key}, {found.sealed_by}."
    return f"Not checked: give --key or --public-key ({found.sealed_by}, key {found.key})."
