"""`bylaw replay`: shows what a gate would have refused in recorded traces."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bylaw.cli.coverage_table import print_coverage
from bylaw.cli.main import exit_code
from bylaw.cli.options import add_json, add_procedure, add_traces, load_procedure
from bylaw.cli.traces import UsableTraces, entries
from bylaw.enforcement.coverage import coverage
from bylaw.enforcement.replay import Replay, ReplayedRefusal, Replayer
from bylaw.enforcement.severity import SETTINGS
from bylaw.errors import listing
from bylaw.names import FINAL_ANSWER
from bylaw.terminal import counted, in_line, shortened
from bylaw.trace.files import Entry
from bylaw.trace.trace import Trace

EPILOG: Final = """\
The steps of a trace are the agent's turns. A recorded call that the gate
refuses counts as not executed, and the replay continues with the next call,
since what the agent would have done instead is unknown. A later call may then
be refused only because that call is missing. Such refusals are listed as
following from the first, and do not count.

A result or a message can violate a rule, too (that no call fails, say). No gate
can prevent that, because the call has already run. Such rules are counted as
lost. Rules that a gate cannot enforce before the call or at the answer are
listed at the end, with the reason.

Rules across runs see the turns of all traces in order of time.

  bylaw replay -p refund.yaml runs/*.json
  bylaw replay -p refund.yaml runs.jsonl --setting soft-block --json

Exit code: 0 if nothing would have been refused (rules may be lost), 1 if
something would, 2 if an input cannot be used.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_traces(parser)
    add_procedure(parser)
    parser.add_argument(
        "--setting",
        choices=SETTINGS,
        action="append",
        help="which severities act; repeatable (default: all but baseline)",
    )
    add_json(parser, "a JSON object per trace")


def run(options: argparse.Namespace) -> int:
    """Replays every trace under every setting."""
    procedure = load_procedure(options)
    wanted = options.setting or [each for each in SETTINGS if each != "baseline"]
    settings = list(dict.fromkeys(wanted))
    gates = [Replayer(procedure, setting) for setting in settings]
    totals: dict[str, Counter[str]] = {setting: Counter() for setting in settings}
    refused: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    count = 0
    covered = [rule.to_dict() for rule in coverage(procedure)] if options.json else []
    traces = UsableTraces(entries(options.traces, options.max_line), as_json=options.json)
    for entry, found in _replays(gates, traces, together=bool(procedure.across)):
        count += 1
        for each in found:
            totals[each.setting].update(each.actions)
            totals[each.setting]["runs"] += bool(each.refusals)
            totals[each.setting]["unreached"] += each.unreached
            totals[each.setting]["lost"] += len(each.lost)
        refused.update({n for each in found for r in each.refusals for n in r.constraints})
        lost.update({name for each in found for name in each.lost})
        if options.json:
            replays = [each.to_dict() for each in found]
            print(json.dumps({"trace": entry.name, "replays": replays, "coverage": covered}))
        else:
            _print(entry.name, found)
    if not options.json:
        late = [rule for rule in coverage(procedure) if rule.place == "afterwards"]
        _print_summary(count, totals)
        _print_rules("traces with a refusal", refused)
        _print_rules("traces that lost it", lost)
        if late:
            print()
            print_coverage(late)
    return exit_code(
        unusable=traces.unusable, violated=any(total["runs"] for total in totals.values())
    )


def _replays(
    gates: Sequence[Replayer], traces: Iterable[tuple[Entry, Trace]], *, together: bool
) -> Iterator[tuple[Entry, list[Replay]]]:
    """Each trace with its replays. Rules across runs need all traces at once."""
    if not together:
        yield from ((entry, [gate.replay(trace) for gate in gates]) for entry, trace in traces)
        return
    known = list(traces)
    found = [gate.replay_together([trace for _, trace in known]) for gate in gates]
    for (entry, _), *replays in zip(known, *found, strict=True):
        yield entry, replays


def _print(name: str, found: list[Replay]) -> None:
    if not any(each.refusals or each.lost for each in found):
        return
    print(in_line(name))
    for each in found:
        for line in (*_refused(each), *_lost(each)):
            print(in_line(shortened(f"  {each.setting:<15} {line}")))


def _refused(found: Replay) -> Iterator[str]:
    for refusal in found.refusals[:1]:
        rules = ", ".join(refusal.constraints) or refusal.problem
        many = f", {len(found.refusals)} refused" if len(found.refusals) > 1 else ""
        yield f"{refusal.action} at {_place(refusal)}: {rules}{many}"
    for refusal in found.consequences[:1]:
        causes = sorted({call for calls in refusal.follows.values() for call in calls})
        earlier = listing([f"#{call + 1}" for call in causes], 3)
        more = f"; {len(found.consequences)} such" if len(found.consequences) > 1 else ""
        yield f"{_place(refusal)} follows from the refusal of {earlier}{more}"


def _place(refusal: ReplayedRefusal) -> str:
    answer = refusal.tool == FINAL_ANSWER
    return "the answer" if answer else f"#{refusal.call + 1} {refusal.tool}"


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


def _print_summary(traces: int, totals: dict[str, Counter[str]]) -> None:
    print(f"\n{counted(traces, 'trace')}")
    print("  ".join([f"{'setting':<14}", *_COLUMNS.values()]))
    for setting, total in totals.items():
        cells = [f"{total[key]:>{len(title)}}" for key, title in _COLUMNS.items()]
        print("  ".join([f"{setting:<14}", *cells]))


def _print_rules(title: str, rules: Counter[str]) -> None:
    if rules:
        longest = max(4, *map(len, rules))
        print(f"\n{'rule':<{longest}}  {title}")
        for name, number in sorted(rules.items(), key=lambda each: (-each[1], each[0])):
            print(f"{in_line(name):<{longest}}  {number:>{len(title)}}")
