"""`bylaw verify`: scores traces against a procedure, one by one or as a corpus.

A corpus gets a summary in the terminal, and if asked for, rows in a file and a page in HTML.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bylaw.batch.input.chunks import Limits, records
from bylaw.batch.input.files import STANDARD_INPUT, CorpusFile, find_files, total_size
from bylaw.batch.optional import can_score_corpora, not_installed
from bylaw.cli.main import exit_code
from bylaw.cli.options import (
    add_corpus,
    add_edit_results,
    add_json,
    add_output,
    add_procedure,
    add_traces,
    load_procedure,
)
from bylaw.cli.outputs import write_output
from bylaw.cli.verify_formats import RequestedReport, check_report
from bylaw.codes import CODES
from bylaw.errors import TERMINAL_WIDTH, Diagnostic, UsageError, did_you_mean
from bylaw.procedure.procedure import Procedure
from bylaw.reports.ci.formats import REPORT_FORMATS
from bylaw.terminal import ProgressLine, coloured, counted, in_line, progress, score_text
from bylaw.trace.files import MEGABYTE

if TYPE_CHECKING:  # NumPy may not be installed
    from bylaw.batch.corpus import CorpusEngine, CorpusProgress
    from bylaw.batch.output.summary import Summary
    from bylaw.scoring.across import AcrossResult, AcrossTraces

EPILOG: Final = """\
A TRACE is a JSON record, a JSONL file with one record a line (perhaps .gz or
.zst), a Parquet or Arrow file, a folder of such files, a quoted pattern, or -
for standard input. Records may also be messages (OpenAI chat and Responses,
Anthropic, LangChain), sessions of Claude Code, smolagents steps, OpenTelemetry
spans, Inspect logs, and runs of τ-bench, τ²-bench and AgentDojo.

For one record, prints every rule. For several, prints a line each, and a
summary. --format writes other reports, to standard output or to files, several
at once: json (one object, as --json), jsonl (a line per trace), junit, sarif,
markdown, github.

The command fails if a trace violates a rule; with --fail-under, only if a score
is below that. With --baseline, violations that an earlier report (--format
jsonl) has do not count. With --fail-vacuous, the command also fails if a rule
is vacuous in every trace: true, but never put to the test.

With --out, --report or --summary, or if the input is large, only the summary is
printed, and all cores share the work. To resume an interrupted run with --out,
repeat the command.

  bylaw verify -p refund.yaml run.json
  bylaw verify -p refund.yaml gate.jsonl          the runs in a gate's log
  bylaw verify -p refund.yaml runs/ --json > report.json
  bylaw verify -p refund.yaml runs/ --format junit=junit.xml --format github
  bylaw verify -p refund.yaml runs/ --baseline old.jsonl --format sarif=r.sarif
  bylaw verify -p refund.yaml "runs/*.jsonl.gz" --out scores.parquet
  bylaw verify -p refund.yaml run.json --certificate c.json

Exit code: 0 if no trace fails, 1 if one does; 2 if a file cannot be used or a
rule cannot be decided (the others are still scored).
"""
LARGE: Final = 64 * MEGABYTE
"""From this many bytes on, only a summary is printed, not a line per trace."""


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
    add_json(parser, "the report as one JSON object")
    add_formats(parser)
    help = "write a certificate of one trace's verdicts, for bylaw-check"
    add_output(parser, "--certificate", help=help, mark='{"certificate": ')
    add_failure(parser)
    add_corpus(parser)


def add_failure(parser: argparse.ArgumentParser) -> None:
    """Adds the conditions under which the command exits with 1."""
    group = parser.add_argument_group("failing")
    help = "a trace fails only if it scores below this, from 0 to 1"
    group.add_argument("--fail-under", metavar="SCORE", type=_score, help=help)
    help = "fail if a rule is vacuous in every trace"
    group.add_argument("--fail-vacuous", action="store_true", help=help)
    help = "an earlier report (jsonl): only violations that are not in it fail"
    group.add_argument("--baseline", metavar="FILE", help=help)


def _score(text: str) -> float:
    score = float(text)
    if not 0 <= score <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a score from 0 to 1")
    return score


def add_formats(parser: argparse.ArgumentParser) -> None:
    """Adds the option for formats."""
    help = f"{', '.join(REPORT_FORMATS)}; to a file, or to standard output; repeatable"
    parser.add_argument(
        "--format", metavar="NAME[=FILE]", type=_requested, action="append", default=[], help=help
    )


def _requested(text: str) -> RequestedReport:
    name, separator, path = text.partition("=")
    if name not in REPORT_FORMATS:
        advice = (
            did_you_mean(name, REPORT_FORMATS) or f"the formats are {', '.join(REPORT_FORMATS)}"
        )
        raise argparse.ArgumentTypeError(f"unknown format '{name}': {advice}")
    if separator and not path:
        raise argparse.ArgumentTypeError(f"'{text}' names no file")
    return RequestedReport(REPORT_FORMATS[name], Path(path) if path else None)


def requested_reports(options: argparse.Namespace) -> list[RequestedReport]:
    """The reports to write. Standard output has exactly one: text, unless another is named."""
    asked: list[RequestedReport] = list(options.format)
    if options.json:
        asked.append(RequestedReport(REPORT_FORMATS["json"]))
    printed = [each.format.name for each in asked if each.path is None]
    if len(printed) > 1:
        message = f"standard output takes one format, not {' and '.join(printed)}"
        help = f"Write the others to files: --format {printed[0]}=FILE."
        raise UsageError(Diagnostic("E402", message, help))
    files = [each.path.resolve() for each in asked if each.path is not None]
    if len(set(files)) < len(files):
        raise UsageError(Diagnostic("E402", "two reports cannot be written to the same file"))
    for each in asked:
        if each.path is not None:
            check_report(each, options)
    return asked if printed else [RequestedReport(REPORT_FORMATS["text"]), *asked]


def run(options: argparse.Namespace) -> int:
    """Scores every trace."""
    procedure = load_procedure(options)
    limits = Limits(max_line=options.max_line * MEGABYTE)
    corpus = find_files(options.traces, without=options.out)
    reports = requested_reports(options)
    files = [str(each.path) for each in reports if each.path is not None]
    for written in filter(None, (options.out, options.report, *files)):
        _check_output(written, corpus)
    if options.log is None and _is_corpus(options, corpus, reports):
        _check_corpus(options, reports)
        return verify_corpus(options, procedure, corpus, limits, as_json=_prints_json(reports))
    from bylaw.cli.verify_traces import verify_traces  # slow to import

    found = records(corpus, limits)
    if options.log is not None:
        from bylaw.cli.log.refusals import confirmed  # only where there is a log

        found = confirmed(found, options.log)
    return verify_traces(options, procedure, corpus, found, reports)


# ── corpora ───────────────────────────────────────────────────────────────────────────────


def _is_corpus(
    options: argparse.Namespace, corpus: Sequence[CorpusFile], reports: Sequence[RequestedReport]
) -> bool:
    """Is a summary wanted, rather than a report on each trace?"""
    asked = (options.out, options.report, options.summary, options.engine == "ray")
    if any(asked) or options.jobs is not None:
        return True
    if options.baseline or [each.format.name for each in reports] != ["text"]:
        return False
    return (total_size(corpus) or 0) > LARGE and can_score_corpora()


def _check_corpus(options: argparse.Namespace, reports: Sequence[RequestedReport]) -> None:
    """Raises a UsageError if a report on each trace is wanted, and only a summary, too."""
    detailed = [each for each in reports if each.path or each.format.name not in ("text", "json")]
    wanted = [f"--format {detailed[0].format.name}"] if detailed else []
    wanted += ["--baseline"] if options.baseline else []
    if wanted:
        message = f"{wanted[0]} needs every violation, and only a summary is made of the corpus"
        help = (
            "Leave out --out, --report, --summary, --jobs and --engine, or run the command twice."
        )
        raise UsageError(Diagnostic("E402", message, help))


def _prints_json(reports: Sequence[RequestedReport]) -> bool:
    return any(each.path is None and each.format.name == "json" for each in reports)


def _check_output(path: str, corpus: Sequence[CorpusFile]) -> None:
    """Raises a UsageError if writing the file would overwrite a folder or an input."""
    if Path(path).is_dir():
        raise UsageError(Diagnostic("E402", f"{path} is a folder", "Name a file in it."))
    written = Path(path).resolve()
    if any(Path(source.path).resolve() == written for source in corpus):
        message = f"{path} is one of the files to read, and would be overwritten"
        raise UsageError(Diagnostic("E402", message, "Write to another file."))


def engine_for(options: argparse.Namespace) -> CorpusEngine:
    """The engine that the options select."""
    if options.jobs is not None and options.jobs < 1:
        raise UsageError(Diagnostic("E402", "--jobs must be 1 or more"))
    try:
        from bylaw.batch.corpus import LocalEngine, core_count
    except ModuleNotFoundError as error:
        raise not_installed(error.name, "scoring a corpus") from None
    if options.engine == "ray":
        from bylaw.batch.ray_engine import RayEngine

        return RayEngine(options.jobs)
    return LocalEngine(options.jobs or core_count())


def verify_corpus(
    options: argparse.Namespace,
    procedure: Procedure,
    corpus: Sequence[CorpusFile],
    limits: Limits,
    *,
    as_json: bool,
) -> int:
    """Scores the corpus, prints the summary, and writes the files asked for."""
    if options.certificate:
        from bylaw.cli.certify import certifies_one_trace

        raise certifies_one_trace("only a summary of the corpus is printed")
    if options.repair:
        from bylaw.cli.verify_traces import repairs_one_trace

        raise repairs_one_trace("only a summary of the corpus is printed")
    engine = engine_for(options)
    across = across_traces(procedure, corpus, limits)
    procedure = procedure.of_one_run()
    from bylaw.batch.corpus import score_corpus
    from bylaw.batch.output.results_file import ResultsFile

    output = None
    if options.out:
        output = ResultsFile(options.out, procedure, corpus, limits, restart=options.restart)
        if output.state.parts:
            print(in_line(f"resuming the run in {output.folder}"), file=sys.stderr)
    with progress("traces", size=total_size(corpus)) as line:
        summary = score_corpus(
            procedure,
            corpus,
            engine=engine,
            limits=limits,
            output=output,
            watch=watching(line),
        )
    more = summary.unusable.total() - len(summary.errors)
    if more > 0 and summary.errors:
        print(f"… and {counted(more, 'record')} more that could not be used", file=sys.stderr)
    results = [] if across is None else list(across.results())
    if options.report or as_json:
        _report(options, summary, corpus, limits, results, as_json=as_json)
    if not as_json:
        _print(summary)
        if results:
            from bylaw.reports.ci.across_text import across_lines

            print("\n".join(across_lines(results, sys.stdout)))
        for kind, path in (("scores", options.out), ("report", options.report)):
            if path:
                print(in_line(f"{kind} written to {path}"))
    labels, passed = summary.label_counts(), [each.passed for each in results]
    unusable = summary.unusable or "UNDECIDED" in labels or None in passed
    return exit_code(unusable=unusable, violated=_failed(options, summary) or False in passed)


def across_traces(
    procedure: Procedure, corpus: Sequence[CorpusFile], limits: Limits
) -> AcrossTraces | None:
    """The traces of the corpus for rules across runs, read once more; None if there are none."""
    if not procedure.across:
        return None
    if any(file.path == STANDARD_INPUT for file in corpus):
        message = "rules across runs read the corpus twice, and standard input can be read once"
        raise UsageError(Diagnostic("E402", message, "Write the traces to a file first."))
    from bylaw.scoring.across import AcrossTraces  # slow to import

    found = AcrossTraces(procedure)
    for entry in records(corpus, limits):
        if entry.trace is not None:
            found.add(entry.trace, entry.name)
    return found


def _failed(options: argparse.Namespace, summary: Summary) -> bool:
    """Does a trace fail the run, or a rule that no trace puts to the test?"""
    untested = any(rule.traces and rule.vacuous == rule.traces for rule in summary.rules())
    if options.fail_vacuous and untested:
        return True
    under = 1.0 if options.fail_under is None else options.fail_under
    return any(each.score < under for each in summary.worst) or (
        options.fail_under is None and bool(set(summary.label_counts()) - {"FULL"})
    )


def watching(line: ProgressLine) -> Callable[[CorpusProgress], None]:
    """A callback that advances a progress line and prints what is wrong with records."""

    def watch(step: CorpusProgress) -> None:
        if step.problems:
            line.clear()
            shown = "\n".join(each.render(TERMINAL_WIDTH) for each in step.problems)
            print(shown, file=sys.stderr)
        if step.resumed:
            line.resume(step.traces, step.size)
        else:
            line.step(step.traces, step.size)

    return watch


def _report(
    options: argparse.Namespace,
    summary: Summary,
    corpus: Sequence[CorpusFile],
    limits: Limits,
    across: Sequence[AcrossResult],
    *,
    as_json: bool,
) -> None:
    """Writes the page and prints the summary as JSON, both with their origin."""
    from bylaw.cli.verify_traces import origin_of

    origin = origin_of(options, summary.procedure, corpus)
    if options.report:
        from bylaw.reports.html.corpus import render_corpus

        write_output(options, "report", render_corpus(summary, corpus, limits, origin))
    if as_json:
        from bylaw.reports.ci.json_object import summary_object

        shown = {"across": [each.to_dict() for each in across]} if across else {}
        print(summary_object(summary.to_dict() | shown, origin), end="")


# ── the summary ───────────────────────────────────────────────────────────────────────────


def _print(summary: Summary) -> None:
    labels = ", ".join(f"{count:,} {label}" for label, count in summary.label_counts().items())
    print(f"{counted(summary.traces, 'trace')}, {counted(summary.calls, 'call')}")
    print(f"{labels or 'none scored'}; mean score {score_text(summary.mean)}")
    if summary.unusable:
        print(f"{counted(summary.unusable.total(), 'record')} could not be used")
    for code, count in summary.notes.items():
        print(coloured(f"{count:,} × {code}, {CODES[code].title}", "grey"))
    for table in summary.tables():
        print(f"\n{table.text()}")
    print()
