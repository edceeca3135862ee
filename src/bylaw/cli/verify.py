"""`bylaw verify`: scores traces against a procedure."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final

from bylaw.batch.input.chunks import Limits, records
from bylaw.batch.input.files import find_files
from bylaw.cli.arguments import add_edit_results, add_json, add_procedure, add_traces
from bylaw.cli.inputs import UsableTraces, load_procedure
from bylaw.cli.main import exit_code
from bylaw.cli.terminal import (
    LABEL_COLOURS,
    WORDS,
    coloured,
    counted,
    score_text,
    shortened,
    wrapped,
)
from bylaw.cli.verify_corpus import add_corpus, check_output, is_corpus, verify_corpus
from bylaw.codes import CODES
from bylaw.errors import Diagnostic, UsageError
from bylaw.printable import in_line, safe
from bylaw.procedure.known_tools import KnownTools
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.edits import Repair
from bylaw.scoring.occurrences import summary
from bylaw.scoring.repair import repair_procedure
from bylaw.scoring.verify import Report, verify_trace
from bylaw.trace.files import MEGABYTE, Entry
from bylaw.values import Json

EPILOG: Final = """\
A TRACE is a JSON record, a JSONL file with one record a line (perhaps .gz or
.zst), a Parquet or Arrow file, a folder of such files, a quoted pattern, or -
for standard input. Records may also be messages (OpenAI chat and Responses,
Anthropic, LangChain), sessions of Claude Code, smolagents steps, OpenTelemetry
spans, Inspect logs, and runs of τ-bench, τ²-bench and AgentDojo.

One record prints every rule. Several print a line each and a summary. With
--json, one record prints its report as a JSON object, several print one object
a line.

With --out, --report or --summary, or if the input is large, only the summary is
printed, and all cores share the work. To resume an interrupted run with --out,
repeat the command.

  bylaw verify -p refund.yaml run.json
  bylaw verify -p refund.yaml gate.jsonl          the runs in a gate's log
  bylaw verify -p refund.yaml runs/ --json > scores.jsonl
  bylaw verify -p refund.yaml "runs/*.jsonl.gz" --out scores.parquet

Exit code: 0 if every rule holds in every trace; 1 if a rule is violated; 2 if a
file cannot be used or a rule cannot be decided (the others are still scored).
"""
_SHOWN_NOTES: Final = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_traces(parser)
    add_procedure(parser)
    parser.add_argument(
        "--repair", action="store_true", help="also print the cheapest edits that fix one trace"
    )
    add_edit_results(parser)
    help = "the gate's log: a refusal in a transcript counts only if the gate made it"
    parser.add_argument("--log", metavar="FILE", help=help)
    add_json(parser)
    add_corpus(parser)


def run(options: argparse.Namespace) -> int:
    """Scores every trace."""
    procedure = load_procedure(options)
    limits = Limits(max_line=options.max_line * MEGABYTE)
    corpus = find_files(options.traces, without=options.out)
    for written in filter(None, (options.out, options.report)):
        check_output(written, corpus)
    if options.log is None and is_corpus(options, corpus):
        if options.repair:
            raise _repairs_one_trace("only a summary of the corpus is printed")
        return verify_corpus(options, procedure, corpus, limits)
    found = records(corpus, limits)
    if options.log is not None:
        from bylaw.cli.log.refusals import confirmed  # only where there is a log

        found = confirmed(found, options.log)
    first = list(islice(found, 2))
    if len(first) == 1:
        return _verify_one(procedure, first[0], options)
    if options.repair:
        raise _repairs_one_trace("there are several")
    return _verify_many(procedure, chain(first, found), as_json=options.json)


def _repairs_one_trace(reason: str) -> UsageError:
    message = f"--repair works on one trace, and {reason}"
    help = "Give a file with one record. `bylaw explain RULE` repairs runs.jsonl:17, for one rule."
    return UsageError(Diagnostic("E402", message, help))


def _as_dict(report: Report, notes: Sequence[Diagnostic]) -> dict[str, Json]:
    shown = {"notes": [note.to_dict() for note in notes]} if notes else {}
    return report.to_dict() | shown


# ── one trace ─────────────────────────────────────────────────────────────────────────────


def _verify_one(procedure: Procedure, entry: Entry, options: argparse.Namespace) -> int:
    report = verify_trace(entry.required(), procedure)
    notes = (*entry.notes, *KnownTools(procedure).notes(report.trace))
    repair, edit_results = options.repair, options.edit_results
    found: Repair | None = None
    if repair and report.violated:
        found = repair_procedure(report.trace, procedure, edit_results=edit_results)
    if options.json:
        edits = {"repair": found.to_dict() if found else None} if repair else {}
        print(json.dumps(_as_dict(report, notes) | edits, indent=2))
    else:
        _print_report(report)
        for line in _note_lines(notes):
            print(coloured(wrapped(safe(line), 10), "grey"))
        if repair and report.violated:
            _print_repair(found, edit_results=edit_results)
    return exit_code(unusable=report.undecided, violated=report.violated)


def _note_lines(notes: Sequence[Diagnostic]) -> Iterator[str]:
    """`note[W521]: a result answers no call (at messages[3])`, for the first few notes."""
    for note in notes[:_SHOWN_NOTES]:
        yield f"note[{note.code}]: {note.message} (at {note.where})"
    if len(notes) > _SHOWN_NOTES:
        yield f"… and {counted(len(notes) - _SHOWN_NOTES, 'more note')}"


def _print_repair(found: Repair | None, *, edit_results: bool) -> None:
    if found is None:
        kept = "" if edit_results else " What tools returned was left alone: see --edit-results."
        print(f"\n{wrapped(f'No edits were found that fix all rules at once.{kept}', 0)}")
        return
    bound = "" if found.exact else ", an upper bound"
    print(f"\nWhat would have kept every rule (cost {found.cost:g}{bound}):")
    for sentence in found.sentences():
        print(wrapped(safe(sentence), 2))


def _print_report(report: Report) -> None:
    trace = report.trace
    size = counted(len(trace.calls), "call")
    if trace.refusals:
        size += f", {len(trace.refusals)} more refused by a gate"
    print(in_line(f"{report.procedure.name} on {trace.name} ({size})"))
    print()
    for result in report.constraints:
        word, colour = WORDS[result.outcome]
        layer = result.constraint.layer or ""
        notes = f"{layer} weight {result.constraint.weight:g}".strip()
        print(
            f"{coloured(f'{word:<8}', colour)}  {in_line(result.name)}  {coloured(notes, 'grey')}"
        )
        print(wrapped(safe(result.detail), 10))
        if times := summary(result.occurrences):
            print(wrapped(safe(times), 10))
        if result.passed is False:
            for label, text in (("why", result.constraint.why), ("fix", result.constraint.fix)):
                if text:
                    print(wrapped(safe(f"{label}: {text}"), 10))
    if report.layers:
        rates = [f"{name} {layer.passed}/{layer.total}" for name, layer in report.layers.items()]
        print(f"\n{'layers':<8}  {'  '.join(rates)}")
    else:
        print()
    label = coloured(report.label or "UNDECIDED", LABEL_COLOURS[report.label])
    print(f"{'score':<8}  {score_text(report.score)}  {label}")
    print(wrapped(safe(report.details), 10))


# ── many traces ───────────────────────────────────────────────────────────────────────────


class _Tally:
    """Counts over all traces, for the summary."""

    def __init__(self) -> None:
        self.labels: Counter[str] = Counter()
        self.violations: Counter[str] = Counter()
        self.vacuous: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.total = 0.0
        self.scored = 0

    def add(self, report: Report) -> None:
        self.labels[report.label or "UNDECIDED"] += 1
        if report.score is not None:
            self.total += report.score
            self.scored += 1
        for result in report.constraints:
            self.violations[result.name] += result.passed is False
            self.vacuous[result.name] += result.outcome.value == "vacuous"


def _verify_many(procedure: Procedure, found: Iterator[Entry], *, as_json: bool) -> int:
    tally, known = _Tally(), KnownTools(procedure)
    row = f"  none  {coloured('unusable', 'yellow')}"
    traces = UsableTraces(found, as_json=as_json, row=row)
    for entry, trace in traces:
        report = verify_trace(trace, procedure)
        tally.add(report)
        notes = (*entry.notes, *known.notes(trace))
        tally.notes.update(note.code for note in notes)
        print(json.dumps(_as_dict(report, notes)) if as_json else _row(report))
    if not as_json:
        _print_summary(procedure, tally, traces.unusable)
    return exit_code(
        unusable=traces.unusable or tally.labels["UNDECIDED"],
        violated=tally.labels["PARTIAL"] or tally.labels["NONE"],
    )


def _row(report: Report) -> str:
    label = report.label or "UNDECIDED"
    row = f"{score_text(report.score):>6}  {label:<9} {in_line(report.trace.name or '')}"
    broken = ", ".join(result.name for result in (*report.undecided, *report.violated))
    text = shortened(f"{row}  {in_line(broken)}" if broken else row)
    return text.replace(label, coloured(label, LABEL_COLOURS[report.label]), 1)


def _print_summary(procedure: Procedure, tally: _Tally, unusable: int) -> None:
    traces = sum(tally.labels.values())
    labels = ", ".join(f"{count} {label}" for label, count in tally.labels.most_common())
    mean = score_text(tally.total / tally.scored if tally.scored else None)
    print(f"\n{counted(traces, 'trace')}: {labels or 'none'}; mean score {mean}")
    if unusable:
        print(f"{counted(unusable, 'record')} could not be used; see the errors above")
    if tally.notes:
        kinds = "; ".join(f"{n} × {code}, {CODES[code].title}" for code, n in tally.notes.items())
        total = counted(tally.notes.total(), "note")
        print(coloured(wrapped(f"{total} on the traces: {kinds}", 0), "grey"))
    if not traces:
        return
    longest = max(4, *(len(constraint.name) for constraint in procedure.constraints))
    print(f"\n{'rule':<{longest}}  in play  violated")
    for constraint in procedure.constraints:
        broken, in_play = tally.violations[constraint.name], traces - tally.vacuous[constraint.name]
        print(f"{in_line(constraint.name):<{longest}}  {in_play:>7}  {broken:>8}")
