"""`bylaw verify` on a corpus: rows to a file, a summary to the terminal, a page in HTML."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bylaw.batch.input.chunks import Limits
from bylaw.batch.input.files import CorpusFile, total_size
from bylaw.batch.optional import SCORING, can_score_corpora, import_extra
from bylaw.cli.main import exit_code
from bylaw.cli.output_options import add_output
from bylaw.cli.outputs import write_output
from bylaw.cli.terminal import ProgressLine, coloured, counted, progress, score_text
from bylaw.codes import CODES
from bylaw.errors import Diagnostic, UsageError
from bylaw.printable import in_line
from bylaw.procedure.procedure import Procedure
from bylaw.trace.files import MEGABYTE

if TYPE_CHECKING:  # NumPy takes a while to start, and most commands do not need it
    from bylaw.batch.corpus import CorpusEngine, CorpusProgress
    from bylaw.batch.output.summary import Summary

LARGE: Final = 64 * MEGABYTE
"""From this many bytes on, only a summary is printed, not a line per trace."""


def add_corpus(parser: argparse.ArgumentParser) -> None:
    """Adds the options for corpora."""
    group = parser.add_argument_group("corpora")
    help = "write a row per trace: .parquet, .jsonl, .jsonl.gz or .zst"
    add_output(parser, "--out", help=help, mark=_is_results_file, group=group)
    help = "write the summary as a page (HTML)"
    mark = 'name="generator" content="bylaw corpus"'
    add_output(parser, "--report", help=help, mark=mark, group=group)
    group.add_argument("--summary", action="store_true", help="print only the summary")
    group.add_argument(
        "--restart", action="store_true", help="discard an unfinished run and start over"
    )
    add_engine(group)


def add_engine(parser: argparse._ActionsContainer) -> None:
    """Adds the options for parallel work."""
    parser.add_argument(
        "--jobs", metavar="N", type=int, help="number of processes (default: one per core)"
    )
    parser.add_argument(
        "--engine", choices=("local", "ray"), default="local", help="default: local processes"
    )


def is_corpus(options: argparse.Namespace, corpus: Sequence[CorpusFile]) -> bool:
    """Is a summary wanted, rather than a line per trace?"""
    asked = (options.out, options.report, options.summary, options.engine == "ray")
    if any(asked) or options.jobs is not None:
        return True
    large = (total_size(corpus) or 0) > LARGE
    return large and not options.json and can_score_corpora()


def _is_results_file(path: Path) -> bool:
    from bylaw.batch.output.formats import is_results_file  # imports NumPy

    return is_results_file(path)


def check_output(path: str, corpus: Sequence[CorpusFile]) -> None:
    """Raises a UsageError if writing the file would overwrite a folder or an input."""
    if Path(path).is_dir():
        raise UsageError(Diagnostic("E402", f"{path} is a folder", "Name a file in it."))
    written = Path(path).resolve()
    if any(Path(source.path).resolve() == written for source in corpus):
        message = f"{path} is one of the files to read, and would be overwritten"
        raise UsageError(Diagnostic("E402", message, "Write to another file."))


def engine_for(options: argparse.Namespace) -> CorpusEngine:
    """The engine that the options select."""
    for module in SCORING:
        import_extra(module, "scoring a corpus")
    if options.jobs is not None and options.jobs < 1:
        raise UsageError(Diagnostic("E402", "--jobs must be 1 or more"))
    if options.engine == "ray":
        from bylaw.batch.ray_engine import RayEngine

        return RayEngine(options.jobs)
    from bylaw.batch.corpus import LocalEngine, core_count

    return LocalEngine(options.jobs or core_count())


def verify_corpus(
    options: argparse.Namespace, procedure: Procedure, corpus: Sequence[CorpusFile], limits: Limits
) -> int:
    """Scores a corpus."""
    engine = engine_for(options)
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
    if options.report:
        _write_report(options, summary, corpus, limits)
    if options.json:
        print(json.dumps(summary.to_dict(), indent=2))
    else:
        _print(summary)
        for kind, path in (("scores", options.out), ("report", options.report)):
            if path:
                print(in_line(f"{kind} written to {path}"))
    labels = summary.label_counts()
    return exit_code(
        unusable=summary.unusable or "UNDECIDED" in labels, violated=set(labels) - {"FULL"}
    )


def watching(line: ProgressLine) -> Callable[[CorpusProgress], None]:
    """A callback that advances a progress line and prints what is wrong with records."""

    def watch(step: CorpusProgress) -> None:
        if step.problems:
            line.clear()
            print("\n".join(each.render() for each in step.problems), file=sys.stderr)
        if step.resumed:
            line.resume(step.traces, step.size)
        else:
            line.step(step.traces, step.size)

    return watch


def _write_report(
    options: argparse.Namespace, summary: Summary, corpus: Sequence[CorpusFile], limits: Limits
) -> None:
    from bylaw.reports.html.corpus import render_corpus

    write_output(options, "report", render_corpus(summary, corpus, limits))


# ── the summary ───────────────────────────────────────────────────────────────────────────


def _print(summary: Summary) -> None:
    labels = ", ".join(f"{count:,} {label}" for label, count in summary.label_counts().items())
    print(f"{counted(summary.traces, 'trace')}, {counted(summary.calls, 'call')}")
    print(f"{labels or 'none scored'}; mean score {score_text(summary.mean)}")
    if summary.unusable:
        print(f"{counted(summary.unusable.total(), 'record')} could not be used")
    for code, count in summary.notes.items():
        print(coloured(f"{count:,} × {code}, {CODES[code].title}", "grey"))
    from bylaw.batch.output.summary_tables import tables

    for table in tables(summary):
        print(f"\n{table.text()}")
    print()
