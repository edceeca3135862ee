"""`bylaw verify`: scores traces against a procedure."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final

from bylaw.batch.input.chunks import Limits, records
from bylaw.batch.input.files import find_files
from bylaw.cli.inputs import add_max_line, add_procedure, load_procedure
from bylaw.cli.main import OK, UNUSABLE, VIOLATED
from bylaw.cli.one_line import note_lines
from bylaw.cli.terminal import (
    LABEL_COLOURS,
    WORDS,
    coloured,
    counted,
    progress,
    safe,
    width,
    wrapped,
)
from bylaw.cli.verify_corpus import add_corpus, check_output, is_corpus, verify_corpus
from bylaw.codes import CODES
from bylaw.errors import Diagnostic, UsageError
from bylaw.procedure.known_tools import KnownTools
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.edits import Repair
from bylaw.scoring.repair import repair_procedure
from bylaw.scoring.verify import Report, verify_trace
from bylaw.trace.files import MEGABYTE, Entry
from bylaw.values import Json

EPILOG: Final = """\
A TRACE is a JSON record, a JSONL file with one record a line (perhaps .gz or
.zst), a Parquet or Arrow file, a folder of such files, a pattern in quotes, or
- for standard input. Records may also be messages (OpenAI chat and Responses,
Anthropic, LangChain), sessions of Claude Code, smolagents steps, OpenTelemetry
spans, Inspect logs, and runs of τ-bench, τ²-bench and AgentDojo. One record
prints every rule; several print a line each and a summary. With --json, one
record prints the report as one JSON object, several print one object a line.

With --out, --report or --summary, or where there is much to read, only the
summary is printed, and all cores work on it. A run with --out that was
interrupted goes on where it stopped when the same command is given again.

  bylaw verify -p refund.yaml run.json
  bylaw verify -p refund.yaml runs/ --json > scores.jsonl
  bylaw verify -p refund.yaml "runs/*.jsonl.gz" --out scores.parquet

Exit code: 0 if every rule holds in every trace, 1 if one is violated, 2 if a
file could not be used or a rule could not be decided (the others are scored).
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="a file, folder, pattern or -")
    add_procedure(parser)
    parser.add_argument(
        "--repair", action="store_true", help="also print the cheapest edits that mend one trace"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_max_line(parser)
    add_corpus(parser)


def run(options: argparse.Namespace) -> int:
    """Scores every trace; the exit code says how it went."""
    procedure = load_procedure(options)
    limits = Limits(max_line=options.max_line * MEGABYTE)
    corpus = find_files(options.traces, without=options.out)
    for written in filter(None, (options.out, options.report)):
        check_output(written, corpus)
    if is_corpus(options, corpus):
        if options.repair:
            raise _one_to_mend("a corpus is summed up")
        return verify_corpus(options, procedure, corpus, limits)
    found = records(corpus, limits)
    first = list(islice(found, 2))
    if len(first) == 1:
        return _one(procedure, first[0], as_json=options.json, mend=options.repair)
    if options.repair:
        raise _one_to_mend("there are several")
    return _many(procedure, chain(first, found), as_json=options.json)


def _one_to_mend(reason: str) -> UsageError:
    help = "Give it a file with one record. `bylaw explain RULE` mends runs.jsonl:17, for one rule."
    return UsageError(Diagnostic("E402", f"--repair mends one trace, and {reason}", help))


def _one(procedure: Procedure, entry: Entry, *, as_json: bool, mend: bool) -> int:
    report = verify_trace(entry.required(), procedure)
    notes = (*entry.notes, *KnownTools(procedure).notes(report.trace))
    mended = repair_procedure(report.trace, procedure) if mend and report.violated else None
    if as_json:
        repair = {"repair": mended.to_dict() if mended else None} if mend else {}
        print(json.dumps(_as_dict(report, notes) | repair, indent=2))
        return _code(report)
    _print_report(report)
    for line in note_lines(notes):
        print(coloured(wrapped(safe(line), 10), "grey"))
    if mend and report.violated:
        _print_repair(mended)
    return _code(report)


def _as_dict(report: Report, notes: Sequence[Diagnostic]) -> dict[str, Json]:
    told = {"notes": [note.to_dict() for note in notes]} if notes else {}
    return report.to_dict() | told


def _print_repair(mended: Repair | None) -> None:
    if mended is None:
        print("\nNo edits were found that mend all rules at once.")
        return
    bound = "" if mended.exact else ", an upper bound"
    print(f"\nWhat would have kept every rule (cost {mended.cost:g}{bound}):")
    for sentence in mended.sentences():
        print(wrapped(safe(sentence), 2))


def _code(report: Report) -> int:
    if report.undecided:
        return UNUSABLE
    return VIOLATED if report.violated else OK


# ── one trace ─────────────────────────────────────────────────────────────────────────────


def _print_report(report: Report) -> None:
    calls = len(report.trace.calls)
    print(safe(f"{report.procedure.name} on {report.trace.name} ({counted(calls, 'call')})\n"))
    for result in report.constraints:
        word, colour = WORDS[result.outcome]
        layer = result.constraint.layer or ""
        notes = f"{layer} weight {result.constraint.weight:g}".strip()
        print(f"{coloured(f'{word:<8}', colour)}  {safe(result.name)}  {coloured(notes, 'grey')}")
        print(wrapped(safe(result.detail), 10))
        if result.passed is False:
            for label, text in (("why", result.constraint.why), ("fix", result.constraint.fix)):
                if text:
                    print(wrapped(safe(f"{label}: {text}"), 10))
    if report.layers:
        rates = [f"{name} {layer.passed}/{layer.total}" for name, layer in report.layers.items()]
        print(f"\n{'layers':<8}  {'  '.join(rates)}")
    else:
        print()
    print(f"{'score':<8}  {_score(report)}")
    print(wrapped(safe(report.details), 10))


def _score(report: Report) -> str:
    score = "none" if report.score is None else f"{report.score:.4f}"
    return f"{score}  {coloured(report.label or 'UNDECIDED', LABEL_COLOURS[report.label])}"


# ── many traces ───────────────────────────────────────────────────────────────────────────


class _Tally:
    """What the summary needs to know of all traces."""

    def __init__(self) -> None:
        self.labels: Counter[str] = Counter()
        self.violations: Counter[str] = Counter()
        self.vacuous: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.total = 0.0
        self.scored = 0
        self.unusable = 0

    def add(self, report: Report) -> None:
        self.labels[report.label or "UNDECIDED"] += 1
        if report.score is not None:
            self.total += report.score
            self.scored += 1
        for result in report.constraints:
            self.violations[result.name] += result.passed is False
            self.vacuous[result.name] += result.outcome.value == "vacuous"

    @property
    def code(self) -> int:
        if self.unusable or self.labels["UNDECIDED"]:
            return UNUSABLE
        return VIOLATED if self.labels["PARTIAL"] or self.labels["NONE"] else OK


def _many(procedure: Procedure, found: Iterator[Entry], *, as_json: bool) -> int:
    tally, listed = _Tally(), KnownTools(procedure)
    with progress("traces") as line:
        for entry in found:
            line.clear()
            if entry.trace is None:
                tally.unusable += 1
                _unusable(entry, as_json=as_json)
            else:
                report = verify_trace(entry.trace, procedure)
                tally.add(report)
                notes = (*entry.notes, *listed.notes(entry.trace))
                tally.notes.update(note.code for note in notes)
                print(json.dumps(_as_dict(report, notes)) if as_json else _row(report))
            line.step()
    if not as_json:
        _summary(procedure, tally)
    return tally.code


def _unusable(entry: Entry, *, as_json: bool) -> None:
    diagnostics = entry.error.diagnostics if entry.error else ()
    if as_json:
        print(json.dumps({"trace": entry.name, "errors": [d.to_dict() for d in diagnostics]}))
    else:
        print(f"  none  {coloured('unusable', 'yellow')}  {safe(entry.name)}")
    sys.stdout.flush()
    print("\n".join(safe(d.render()) for d in diagnostics), file=sys.stderr)


def _row(report: Report) -> str:
    score = "  none" if report.score is None else f"{report.score:.4f}"
    label = report.label or "UNDECIDED"
    row = f"{score}  {label:<9} {safe(report.trace.name or '')}"
    broken = ", ".join(result.name for result in (*report.undecided, *report.violated))
    text = f"{row}  {safe(broken)}" if broken else row
    text = text if len(text) <= width() else text[: width() - 1] + "…"
    return text.replace(label, coloured(label, LABEL_COLOURS[report.label]), 1)


def _summary(procedure: Procedure, tally: _Tally) -> None:
    traces = sum(tally.labels.values())
    labels = ", ".join(f"{count} {label}" for label, count in tally.labels.most_common())
    mean = f"{tally.total / tally.scored:.4f}" if tally.scored else "none"
    print(f"\n{counted(traces, 'trace')}: {labels or 'none'}; mean score {mean}")
    if tally.unusable:
        print(f"{counted(tally.unusable, 'record')} could not be used; see the errors above")
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
        print(f"{safe(constraint.name):<{longest}}  {in_play:>7}  {broken:>8}")
