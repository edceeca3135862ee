"""`bylaw log show`: prints the entries of an audit log."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from bylaw.audit.entry import LogEntry
from bylaw.audit.reader import LogReader
from bylaw.cli.log.log_options import add_log, add_run, given_key, readable
from bylaw.cli.main import exit_code
from bylaw.cli.options import add_json
from bylaw.opening import open_regular
from bylaw.terminal import coloured, safe, shortened
from bylaw.values import write_json

EPILOG: Final = """\
One line for each entry: its number, time (UTC), run, kind, and what it says.
The chain is checked on the way: printing stops at the first entry that is not
intact. With --json, each entry is one line of JSON, complete.

  bylaw log show gate.jsonl
  bylaw log show gate.jsonl --run 5f0c2a9b1d3e --json

Exit code: 0 if the log is intact, 1 if it is torn or altered, 2 if it cannot
be read or is not a log.
"""
_COLOURS: Final = {"allow": "green", "warn": "yellow", "ask": "yellow", "block": "red"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_log(parser)
    add_run(parser)
    add_json(parser, "each entry as a line of JSON")


def run(options: argparse.Namespace) -> int:
    """Prints the entries."""
    with readable(options.log), open_regular(options.log) as file:
        reader = LogReader(file, options.log, given_key(options))
        for entry in reader.entries():
            if options.run_id is not None and entry.content.get("run") != options.run_id:
                continue
            if options.json:
                shown = {"entry": entry.number, **entry.content, "hash": entry.hash}
                print(json.dumps(shown))
            else:
                print(_line(entry))
    problem = reader.problem
    if reader.tail or not reader.number:
        problem = f"torn: {len(reader.tail)} bytes of an entry that is not complete"
    if problem is not None:
        print(safe(f"error: {options.log}: {problem}"), file=sys.stderr)
    return exit_code(violated=problem)


def _line(entry: LogEntry) -> str:
    content = entry.content
    run, says = str(content.get("run") or "-"), _says(entry.kind, content)
    line = f"{entry.number:>5} {_time(content.get('time'))} {run[:8]:<8} {entry.kind:<8} {says}"
    text, action = shortened(safe(" ".join(line.split("\n")))), str(content.get("action"))
    if entry.kind != "decision":
        return text
    return text.replace(action, coloured(action, _COLOURS.get(action, "red")), 1)


def _time(stated: object) -> str:
    try:
        return datetime.fromtimestamp(float(str(stated)), UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "no time            "


def _says(kind: str, content: Mapping[str, Any]) -> str:
    """An entry in a few words."""
    get = content.get
    match kind:
        case "open":
            torn = ", after a torn tail" if get("torn") else ""
            return f"format {get('format')}, bylaw {get('version')}, clock {get('clock')}{torn}"
        case "start" | "resume":
            return f"{get('procedure')} {str(get('procedure_hash'))[:12]}, {get('setting')}"
        case "decision":
            return f"{get('action')} {get('tool')} {write_json(get('arguments'))}{_past(content)}"
        case "result":
            returned = f"error {get('error')}" if "error" in content else write_json(get("result"))
            return f"{get('turn')}.{get('index')} {returned}"
        case "message":
            return f"{get('role')}: {get('text')}"
        case "finish":
            return f"score {get('score')}, {get('label') or get('reason')}"
        case _:
            rest = {k: v for k, v in content.items() if k not in ("time", "run", "kind")}
            return write_json(rest) if rest else ""


def _past(content: Mapping[str, Any]) -> str:
    """The rules that a call broke or was let past, and by whom."""
    words = {
        "approved": "approved by a person: ",
        "insisted": "the agent insisted: ",
        "violations": "",
    }
    told: list[str] = []
    for field, why in words.items():
        listed = content.get(field)
        rules = [_rule_name(each) for each in listed] if isinstance(listed, list) else []
        if rules:
            told.append(f" ({why}{', '.join(rules)})")
    return "".join(told)


def _rule_name(listed: object) -> str:
    return str(listed.get("constraint") if isinstance(listed, dict) else listed)
