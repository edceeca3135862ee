"""`bylaw bench report`: what benchmark runs say."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bylaw.bench.analysis import ANALYSES
from bylaw.bench.analysis.runs import RunRecord
from bylaw.bench.results import read_results
from bylaw.cli.main import OK
from bylaw.cli.outputs import write_files
from bylaw.cli.terminal import counted, progress
from bylaw.errors import Diagnostic, TraceError
from bylaw.reports.figures import FIGURES, standalone
from bylaw.reports.html.bench import render_bench
from bylaw.tables import Table

SHORT: Final = ("overview", "effects", "layers", "enforcement")
"""The tables that are printed unless others are asked for."""

EPILOG: Final = f"""\
Tables of what `bylaw bench run` has put on record. Simulated agents are marked
as such. Beside each enforced result stands what the gate alone buys.

  bylaw bench report results.jsonl
  bylaw bench report results.jsonl --table templates --table loss
  bylaw bench report results.jsonl -o report.html
  bylaw bench report results.jsonl --csv tables/ --figures figures/

The page is one file that needs no network: all tables, their figures, and every
run with its calls, refused ones included.

Tables: {", ".join(list(ANALYSES)[:7])},
{", ".join(list(ANALYSES)[7:])}.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("results", nargs="+", metavar="RESULTS", help="results files")
    parser.add_argument(
        "--table",
        action="append",
        choices=[*ANALYSES, "all"],
        metavar="NAME",
        help="which to print, or all; may be repeated (default: the short ones)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write a report in HTML")
    parser.add_argument("--csv", metavar="DIR", help="write each table as a CSV file there")
    parser.add_argument("--figures", metavar="DIR", help="write each figure as an SVG file there")
    parser.add_argument("--json", action="store_true", help="print the tables as JSON")


def run(options: argparse.Namespace) -> int:
    """Shows the tables, and writes what is to be written."""
    runs = _distinct(read_results(*options.results))
    if not runs:
        raise TraceError(Diagnostic("E421", "there are no runs in these files"))
    tables = {name: analysis(runs) for name, analysis in ANALYSES.items()}
    told = [
        *(_csv(tables, Path(options.csv)) if options.csv else []),
        *(_figures(tables, Path(options.figures)) if options.figures else []),
        *(_page(runs, Path(options.output)) if options.output else []),
    ]
    if options.json:
        print(json.dumps({name: table.to_dict() for name, table in tables.items()}))
        return OK
    if options.table or not (options.output or options.figures):
        told = [_text(tables, options.table), *told]
    print("\n".join(told))
    return OK


def _distinct(results: Iterable[RunRecord]) -> list[RunRecord]:
    """Each run once, in whichever files it is; one that was made in two ways is an error."""
    found: dict[str, RunRecord] = {}
    for run in results:
        other = found.setdefault(run["key"], run)
        if other["conditions"] != run["conditions"]:
            message = f"the run '{run['key']}' was made under two different conditions"
            help = "Report on one file at a time."
            raise TraceError(Diagnostic("E421", message, help))
    return list(found.values())


def _text(tables: Mapping[str, Table], wanted: Sequence[str] | None) -> str:
    """The tables that are asked for; else the short ones, and how to see the others."""
    shown = ANALYSES if "all" in (wanted or ()) else wanted or SHORT
    text = "\n\n".join(tables[name].text() for name in shown)
    more = f"{len(ANALYSES) - len(SHORT)} more tables: --table NAME, or -o report.html"
    return text if wanted else f"{text}\n\n{more}"


def _csv(tables: Mapping[str, Table], folder: Path) -> list[str]:
    write_files(folder, {f"{table.name}.csv": table.csv() for table in tables.values()})
    return [f"wrote {counted(len(tables), 'table')} to {folder}"]


def _figures(tables: Mapping[str, Table], folder: Path) -> list[str]:
    drawn = {figure.name: figure.svg(tables[figure.table]) for figure in FIGURES}
    written = {name: svg for name, svg in drawn.items() if svg is not None}
    write_files(folder, {f"{name}.svg": standalone(svg) for name, svg in written.items()})
    return [f"wrote {counted(len(written), 'figure')} to {folder}"]


def _page(runs: Sequence[RunRecord], output: Path) -> list[str]:
    with progress("runs", len(runs)) as line:
        size = write_files(output.parent, {output.name: render_bench(runs, line.step)})
    return [f"wrote {output} ({size / 1024:,.0f} KiB, {counted(len(runs), 'run')})"]
