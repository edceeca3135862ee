"""`bylaw bench report`: reports on benchmark runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Final

from bylaw.bench.analysis import ANALYSES
from bylaw.bench.result_fields import read_runs
from bylaw.bench.results import RunRecord
from bylaw.cli.main import OK
from bylaw.cli.options import add_json, add_output, add_tables
from bylaw.cli.outputs import make_folder, write_folder, write_output, write_tables
from bylaw.errors import Diagnostic, TraceError
from bylaw.reports.figures import FIGURES, standalone
from bylaw.reports.html.bench import render_bench
from bylaw.reports.provenance import provenance
from bylaw.tables import Table
from bylaw.terminal import counted, in_line, progress

SHORT: Final = ("overview", "intervals", "effects", "layers", "events")
"""The tables that are printed by default."""

EPILOG: Final = f"""\
Tables of the runs that `bylaw bench run` recorded. Simulated agents are marked.
Next to each result under a gate is what the gate achieves by itself.

  bylaw bench report results.jsonl
  bylaw bench report results.jsonl --table templates --table loss
  bylaw bench report results.jsonl -o report.html
  bylaw bench report results.jsonl --csv tables/ --figures figures/

The page is a single file that needs no network. It has all tables, their
figures, and every run with its calls, including those refused.

{fill(f"Tables: {', '.join(ANALYSES)}.", 80)}
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("results", nargs="+", metavar="RESULTS", help="results files")
    add_tables(parser, ANALYSES, SHORT)
    mark = 'name="generator" content="bylaw bench"'
    add_output(parser, "-o", "--output", help="write a report in HTML", mark=mark)
    help = "write each figure there, as an SVG file"
    add_output(parser, "--figures", help=help, folder=True)
    add_json(parser, "the tables as JSON")


def run(options: argparse.Namespace) -> int:
    """Prints the tables, and writes the files asked for."""
    runs = _distinct(read_runs(*options.results))
    if not runs:
        raise TraceError(Diagnostic("E421", "there are no runs in these files"))
    tables = {name: analysis(runs) for name, analysis in ANALYSES.items()}
    lines = [
        *(_csv(tables, options) if options.csv else []),
        *(_figures(tables, options) if options.figures else []),
        *(_page(runs, options) if options.output else []),
    ]
    if options.json:
        print(json.dumps({name: table.to_dict() for name, table in tables.items()}))
        return OK
    if options.table or not (options.output or options.figures):
        lines = [_text(tables, options.table), *lines]
    print("\n".join(lines))
    return OK


def _distinct(results: Iterable[RunRecord]) -> list[RunRecord]:
    """Each run once. A run that was recorded under two conditions is an error."""
    found: dict[str, RunRecord] = {}
    for run in results:
        other = found.setdefault(run["key"], run)
        if other["conditions"] != run["conditions"]:
            message = f"the run '{run['key']}' was made under two different conditions"
            help = "Report on one file at a time."
            raise TraceError(Diagnostic("E421", message, help))
    return list(found.values())


def _text(tables: Mapping[str, Table], wanted: Sequence[str] | None) -> str:
    """The tables asked for; by default the short ones, and how to see the others."""
    shown = ANALYSES if "all" in (wanted or ()) else wanted or SHORT
    text = "\n\n".join(tables[name].text() for name in shown)
    more = f"{len(ANALYSES) - len(SHORT)} more tables: --table NAME, or -o report.html"
    return text if wanted else f"{text}\n\n{more}"


def _csv(tables: Mapping[str, Table], options: argparse.Namespace) -> list[str]:
    write_tables(options, "csv", tables.values())
    return [f"wrote {counted(len(tables), 'table')} to {in_line(options.csv)}"]


def _figures(tables: Mapping[str, Table], options: argparse.Namespace) -> list[str]:
    drawn = {figure.name: figure.svg(tables[figure.table]) for figure in FIGURES}
    written = {name: svg for name, svg in drawn.items() if svg is not None}
    files = {f"{name}.svg": standalone(svg) for name, svg in written.items()}
    write_folder(options, "figures", files)
    return [f"wrote {counted(len(written), 'figure')} to {in_line(options.figures)}"]


def _page(runs: Sequence[RunRecord], options: argparse.Namespace) -> list[str]:
    with progress("runs", len(runs)) as line:
        origin = provenance(options.command_line, inputs=options.results)
        page = render_bench(runs, line.step, origin)
    make_folder(Path(options.output).parent)
    size = write_output(options, "output", page)
    name = in_line(options.output)
    return [f"wrote {name} ({size / 1024:,.0f} KiB, {counted(len(runs), 'run')})"]
