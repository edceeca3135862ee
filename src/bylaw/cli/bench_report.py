"""`bylaw bench report`: what benchmark runs say."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from bylaw.bench.analysis import ANALYSES
from bylaw.bench.results import read_results
from bylaw.cli.main import OK
from bylaw.errors import Diagnostic, TraceError

EPILOG: Final = """\
Tables of what `bylaw bench run` has put on record. Simulated agents are marked
as such. Beside each enforced result stands what the gate alone buys.

  bylaw bench report results.jsonl
  bylaw bench report results.jsonl --csv tables/
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("results", nargs="+", metavar="RESULTS", help="results files")
    parser.add_argument("--csv", metavar="DIR", help="write each table as a CSV file there")
    parser.add_argument("--json", action="store_true", help="print the tables as JSON")


def run(options: argparse.Namespace) -> int:
    """Shows the tables."""
    runs = list(read_results(*options.results))
    if not runs:
        raise TraceError(Diagnostic("E421", "there are no runs in these files"))
    tables = [analysis(runs) for analysis in ANALYSES]
    if options.csv:
        folder = Path(options.csv)
        folder.mkdir(parents=True, exist_ok=True)
        for table in tables:
            (folder / f"{table.name}.csv").write_text(table.csv())
    if options.json:
        print(json.dumps({table.name: table.to_dict() for table in tables}))
    else:
        print("\n\n".join(table.text() for table in tables))
    return OK
