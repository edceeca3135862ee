"""`bylaw hook report`: shows what hooks refused, or would have refused, session by session."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from textwrap import TextWrapper
from typing import Any, Final

from bylaw.cli.hook.hook_options import add_state, state_folder
from bylaw.cli.main import exit_code
from bylaw.cli.options import add_json, add_output
from bylaw.cli.outputs import write_output
from bylaw.errors import TERMINAL_WIDTH
from bylaw.terminal import counted, in_line, shortened

EPILOG: Final = """\
A gate that observes refuses nothing: its sessions list what it would have
refused. --traces writes what ran as trace records, for verify, view and init.

  bylaw hook report
  bylaw hook report --traces sessions.jsonl
  bylaw verify -p coding.yaml sessions.jsonl

Exit code: 0 if nothing was refused, 1 if something was.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_state(parser)
    add_output(parser, "--traces", help="write what ran as trace records, one JSON line a session")
    add_json(parser, "a JSON list of the sessions")


def run(options: argparse.Namespace) -> int:
    """Prints the sessions, the latest first."""
    from bylaw.protocols.records import session_record, summary
    from bylaw.protocols.store import SessionStore

    store = SessionStore(Path(state_folder(options)))
    sessions = store.sessions()
    store.close()
    found = [summary(each) for each in sessions]
    if options.traces:
        lines = "".join(json.dumps(session_record(each)) + "\n" for each in sessions)
        write_output(options, "traces", lines)
    if options.json:
        print(json.dumps(found))
    else:
        for each in found:
            _print(each)
        refusals = sum(len(each["refused"]) for each in found)
        print(f"{counted(len(found), 'session')}, {counted(refusals, 'refusal')}")
    return exit_code(violated=any(each["refused"] for each in found))


def _print(session: dict[str, Any]) -> None:
    began = datetime.fromtimestamp(session["started"], UTC).strftime("%Y-%m-%d %H:%M")
    print(in_line(f"{began}  {session['session']}  {counted(session['calls'], 'call')}"))
    how = "would have been refused" if session["observed"] else "refused"
    for refusal in session["refused"]:
        rules = ", ".join(refusal["rules"]) or refusal["problem"] or "the end of the run"
        call = f"{refusal['tool']} {json.dumps(refusal['arguments'], ensure_ascii=False)}"
        print(in_line(shortened(f"  {how} by {rules}: {call}")))
    counts = Counter(rule for each in session["refused"] for rule in each["rules"])
    if len(session["refused"]) > 1:
        listed = ", ".join(f"{rule} {n}" for rule, n in counts.most_common())
        wrapper = TextWrapper(TERMINAL_WIDTH, "  ", "  ", break_on_hyphens=False)
        print(wrapper.fill(in_line(listed)))
