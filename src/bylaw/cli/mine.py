"""`bylaw mine`: proposes a procedure from recorded runs, with the evidence for each rule."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from bylaw.batch.optional import not_installed
from bylaw.cli.main import exit_code
from bylaw.cli.options import (
    add_json,
    add_number,
    add_output,
    add_traces,
    add_vocabulary,
    load_procedure,
)
from bylaw.cli.outputs import write_output
from bylaw.cli.traces import entries
from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.terminal import counted, in_line, progress
from bylaw.trace.trace import Trace
from bylaw.values import Json

if TYPE_CHECKING:  # NumPy takes a while to start
    from bylaw.mining.mine import MinedProcedure

EPILOG: Final = """\
Good runs suffice; bad ones tell more. A rule is proposed if good runs keep it
and bad runs break it, or, where there are no bad runs, if chance alone would
hardly keep so many runs from breaking it. Rules speak of order and counts, of
values, bounds and totals, and of data: this argument was returned by that tool,
was looked up before, and the lookup said "pending".

Each rule comes with the runs for and against it. The choice is repeated without
each third of the runs; what is not found again is written in comments.

  bylaw mine good/ -o procedure.yaml
  bylaw mine good/ --bad bad/ -o procedure.yaml --page rules.html
  bylaw mine runs.jsonl --label reward -o procedure.yaml   good where it is 1
  bylaw mine good/ --decisions decisions.json -o procedure.yaml   see the page
  bylaw mine good/ --bad bad/ -p procedure.yaml    edits of rules you have

Needs the extra `corpus`: pip install 'bylaw[corpus]'
"""
MAX_CALLS: Final = 60_000
"""The calls that are learned from; a larger corpus is sampled."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_traces(parser)
    parser.add_argument(
        "--bad",
        metavar="TRACE",
        action="append",
        default=[],
        help="runs that went wrong; repeatable",
    )
    help = "the label that says whether a run is good: true, or 1 and more"
    parser.add_argument("--label", metavar="NAME", help=help)
    help = "output file (default: standard output)"
    add_output(parser, "-o", "--output", help=help, mark="# Mined from ")
    mark = 'name="generator" content="bylaw mine"'
    add_output(parser, "--page", help="write a page to decide on the rules (HTML)", mark=mark)
    parser.add_argument("--decisions", metavar="FILE", help="the decisions that the page saved")
    parser.add_argument("--name", default="mined", help="the procedure's name")
    help = "the share of good runs that may break a rule"
    add_number(parser, "--tolerance", 0.05, help, _share)
    add_number(parser, "--max-calls", MAX_CALLS, "the number of calls to learn from")
    help = "a procedure to improve: print edits of its rules that the runs suggest"
    parser.add_argument("-p", "--procedure", metavar="FILE", help=help)
    add_vocabulary(parser)
    add_json(parser, "the rules and their evidence, or the edits, as JSON")


def _share(text: str) -> float:
    number = float(text)
    if not 0 <= number < 0.5:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to below 0.5")
    return number


def run(options: argparse.Namespace) -> int:
    """Mines rules, and writes the procedure."""
    if options.bad and options.label:
        raise UsageError(Diagnostic("E402", "--bad and --label both say which runs are bad"))
    try:
        from bylaw.mining.mine import mine
        from bylaw.mining.sampling import RunSample
    except ModuleNotFoundError as error:
        raise not_installed(error.name, "mining rules") from None
    sample = RunSample(options.max_calls)
    unusable = 0
    for traces, bad_ones in ((options.traces, False), (options.bad, True)):
        for trace in _usable(traces, options.max_line):
            if trace is None:
                unusable += 1
            elif bad_ones:
                sample.add(trace, good=False)
            else:
                sample.add(trace, good=options.label is None or _is_good(trace, options.label))
    good, bad = sample.runs(good=True), sample.runs(good=False)
    if not any(trace.calls for trace in good):
        message = "no good run has a tool call to learn from"
        raise TraceError(Diagnostic("E302", message, "Give at least one trace with tool calls."))
    if options.procedure:
        _print_edits(options, good, bad)
        return exit_code(unusable=unusable)
    with progress("stages") as line:
        mined = mine(
            good,
            bad,
            name=options.name,
            tolerance=options.tolerance,
            watch=lambda stage: line.step(),
        )
    if options.decisions:
        mined = _decided(mined, options.decisions)
    _write(options, mined, sample)
    return exit_code(unusable=unusable)


def _usable(paths: Sequence[str], max_line: int) -> Iterator[Trace | None]:
    """The traces of some files; None for a record that cannot be used, which is reported."""
    with progress("traces") as line:
        for entry in entries(paths, max_line) if paths else ():
            if entry.trace is None:  # standard output is for the procedure
                line.clear()
                print(entry.error, file=sys.stderr)
            yield entry.trace
            line.step()


def _is_good(trace: Trace, label: str) -> bool:
    if label not in trace.labels:
        name = in_line(trace.name or "a trace")
        known = ", ".join(trace.labels) or "none"
        help = f"Its labels are: {known}."
        raise UsageError(Diagnostic("E402", f"{name} has no label '{label}'", help))
    value = trace.labels[label]
    return value is True or (isinstance(value, int | float) and value >= 1)


def _print_edits(options: argparse.Namespace, good: list[Trace], bad: list[Trace]) -> None:
    """Prints the edits of the rules of a procedure that the runs suggest."""
    from bylaw.mining.edits import proposed_edits

    found = proposed_edits(load_procedure(options), good, bad)
    if options.json:
        print(json.dumps({"edits": [each.to_dict() for each in found]}))
        return
    for each in found:
        print(f"{in_line(each.name)}: {in_line(each.reason)}")
        print(in_line(f"  - {each.old}"))
        print(in_line(f"  + {each.new}"))
        fixed = counted(each.good_fixed, "good run")
        print(f"  {fixed} more keep it, {each.good_broken} still break it")
        if bad:
            lost = counted(each.bad_lost, "bad run")
            print(f"  {lost} fewer break it, {each.bad_caught} still do")
        print()
    print(f"{counted(len(found), 'edit')} for {counted(len(good), 'good run')}")


def _decided(mined: MinedProcedure, path: str) -> MinedProcedure:
    """The procedure with the rules that a person decided to keep."""
    from bylaw.mining.decisions import apply_decisions, read_decisions

    return apply_decisions(mined, read_decisions(path))


def _write(options: argparse.Namespace, mined: MinedProcedure, sample: object) -> None:
    from bylaw.mining.procedure_file import to_yaml

    text = to_yaml(mined)
    if options.json:
        print(json.dumps(_as_json(mined)))
    elif options.output is None:
        print(text, end="")
    if options.output is not None:
        write_output(options, "output", text)
    if options.page is not None:
        from bylaw.reports.html.mining import render_mined
        from bylaw.reports.provenance import provenance

        origin = provenance(options.command_line, inputs=[*options.traces, *options.bad])
        write_output(options, "page", render_mined(mined, origin))
    stream = sys.stderr if options.json or options.output is None else sys.stdout
    for line in _summary(options, mined, sample):
        print(line, file=stream)


def _summary(options: argparse.Namespace, mined: MinedProcedure, sample: object) -> Iterator[str]:
    certain = sum(each.certain for each in mined.rules)
    runs = counted(mined.good, "good run")
    if mined.bad:
        runs += f" and {counted(mined.bad, 'bad one')}"
    yield f"{counted(certain, 'rule')} and {len(mined.rules) - certain} uncertain, from {runs}"
    seen = getattr(sample, "seen", 0)
    if seen > mined.good + mined.bad:
        yield f"a sample: {seen:,} runs were offered (--max-calls {options.max_calls:,})"
    if mined.bad:
        yield f"{mined.explained} of {counted(mined.bad, 'bad run')} break a rule"
    for kind in ("output", "page"):
        if path := getattr(options, kind):
            yield in_line(f"{'procedure' if kind == 'output' else kind} written to {path}")


def _as_json(mined: MinedProcedure) -> dict[str, Json]:
    return {
        "name": mined.name,
        "tools": list(mined.tools),
        "good": mined.good,
        "bad": mined.bad,
        "explained": mined.explained,
        "failed": mined.failed,
        "rules": [each.to_dict() for each in mined.rules],
    }
