"""`bylaw replay`: what a gate would have done on recorded traces."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final

from bylaw.cli.inputs import add_max_line, add_procedure, entries, load_procedure
from bylaw.cli.main import OK, UNUSABLE, VIOLATED
from bylaw.cli.terminal import counted, progress, safe, width
from bylaw.enforcement.replay import Replay, Replayer
from bylaw.enforcement.severity import SETTINGS
from bylaw.names import FINAL_ANSWER
from bylaw.trace.files import Entry

EPILOG: Final = """\
The steps of a trace are the agent's turns. A recorded call that the gate
refuses is left out, as if it had not been executed, and the replay goes on with
the next: what the agent would have done instead is not known.

Some rules are lost through a result or a message: that no call failed, say. No
gate can refuse a call for them, because the call has run by then. They are
counted as lost.

  bylaw replay -p refund.yaml runs/*.json
  bylaw replay -p refund.yaml runs.jsonl --setting soft-block --json

Exit code 0: nothing would have been refused, whatever was lost; 1: something
would; 2: an input could not be used.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="the traces")
    add_procedure(parser)
    parser.add_argument(
        "--setting",
        choices=SETTINGS,
        action="append",
        help="which severities act; may be given several times (default: all but baseline)",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object per trace")
    add_max_line(parser)


def run(options: argparse.Namespace) -> int:
    """Replays every trace in every setting; the exit code says whether anything is refused."""
    procedure = load_procedure(options)
    wanted = options.setting or [each for each in SETTINGS if each != "baseline"]
    settings = list(dict.fromkeys(wanted))
    gates = [Replayer(procedure, setting) for setting in settings]
    totals: dict[str, Counter[str]] = {setting: Counter() for setting in settings}
    refused: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    unusable = traces = 0
    with progress("traces") as line:
        for entry in entries(options.traces, options.max_line):
            line.clear()
            if entry.trace is None:
                unusable += 1
                _unusable(entry, as_json=options.json)
                continue
            traces += 1
            found = [gate.replay(entry.trace) for gate in gates]
            for each in found:
                totals[each.setting].update(each.actions)
                totals[each.setting]["runs"] += bool(each.refusals)
                totals[each.setting]["unreached"] += each.unreached
                totals[each.setting]["lost"] += len(each.lost)
            refused.update({n for each in found for r in each.refusals for n in r.constraints})
            lost.update({name for each in found for name in each.lost})
            if options.json:
                replays = [each.to_dict() for each in found]
                print(json.dumps({"trace": entry.name, "replays": replays}))
            else:
                _print(entry.name, found)
            line.step()
    if not options.json:
        _summary(traces, totals)
        _rules("runs refused for it", refused)
        _rules("runs that lost it", lost)
    if unusable:
        return UNUSABLE
    return VIOLATED if any(total["runs"] for total in totals.values()) else OK


def _unusable(entry: Entry, *, as_json: bool) -> None:
    diagnostics = entry.error.diagnostics if entry.error else ()
    if as_json:
        print(json.dumps({"trace": entry.name, "errors": [d.to_dict() for d in diagnostics]}))
    else:
        print(f"unusable  {safe(entry.name)}")
    sys.stdout.flush()
    print("\n".join(safe(d.render()) for d in diagnostics), file=sys.stderr)


def _print(name: str, found: list[Replay]) -> None:
    if not any(each.refusals or each.lost for each in found):
        return
    print(safe(name))
    for each in found:
        for told in (*_refused(each), *_lost(each)):
            text = f"  {each.setting:<15} {told}"
            print(safe(text if len(text) <= width() else text[: width() - 1] + "…"))


def _refused(found: Replay) -> Iterator[str]:
    for refusal in found.refusals[:1]:
        rules = ", ".join(refusal.constraints)
        many = f", {len(found.refusals)} refused" if len(found.refusals) > 1 else ""
        answer = refusal.tool == FINAL_ANSWER
        place = "the answer" if answer else f"#{refusal.call + 1} {refusal.tool}"
        yield f"{refusal.action} at {place}: {rules}{many}"


def _lost(found: Replay) -> Iterator[str]:
    if found.lost:
        yield f"lost through a result or message: {', '.join(found.lost)}"


_COLUMNS: Final = {
    "runs": "with a refusal",
    "warn": "warned",
    "block": "blocked",
    "ask": "asked",
    "stop": "stopped",
    "unreached": "unreached",
    "lost": "lost",
}


def _summary(traces: int, totals: dict[str, Counter[str]]) -> None:
    print(f"\n{counted(traces, 'trace')}")
    print("  ".join([f"{'setting':<14}", *_COLUMNS.values()]))
    for setting, total in totals.items():
        cells = [f"{total[key]:>{len(title)}}" for key, title in _COLUMNS.items()]
        print("  ".join([f"{setting:<14}", *cells]))


def _rules(title: str, rules: Counter[str]) -> None:
    if rules:
        longest = max(4, *map(len, rules))
        print(f"\n{'rule':<{longest}}  {title}")
        for name, number in sorted(rules.items(), key=lambda each: (-each[1], each[0])):
            print(f"{safe(name):<{longest}}  {number:>{len(title)}}")
