"""`bylaw train curves`: compares the training curves of GRPO runs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from bylaw.cli.main import OK
from bylaw.cli.options import add_json, add_output
from bylaw.cli.outputs import write_output
from bylaw.cli.train.options import printer
from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.reports.figures import FIGURE, curves_svg
from bylaw.training.run.metrics import METRICS, curves, read_metrics

EPILOG: Final = """\
Shows the three terms of the reward and their total, on training rollouts and on
held-out examples, by the number of weight updates. The figure has a row for
each run.

  bylaw train curves run
  bylaw train curves run-42 run-43 -o curves.svg
  bylaw train curves "seed 42=run-42/grpo" "seed 43=run-43/grpo" -o curves.svg
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "run",
        nargs="+",
        metavar="RUN",
        help="an output folder of `train grpo`, or NAME=FOLDER to name it in the table",
    )
    help = "write the figure there, as SVG"
    add_output(parser, "-o", "--output", help=help, mark=FIGURE)
    add_output(parser, "--csv", help="write the table there, as CSV")
    add_json(parser, "the table as JSON")


def run(options: argparse.Namespace) -> int:
    """Reads the metrics of the runs, and shows them."""
    show = printer(options)
    folders = _named(options.run)
    table = curves({name: read_metrics(folder / METRICS) for name, folder in folders.items()})
    svg = curves_svg(table)
    if svg is None:
        message = "no reward has been logged"
        raise TraceError(Diagnostic("E310", message, source=", ".join(map(str, folders.values()))))
    for name, text in (("output", svg), ("csv", table.csv())):
        if getattr(options, name):
            write_output(options, name, text)
    if options.json:
        print(json.dumps(table.to_dict()))
    show(table.text())
    return OK


def _named(given: list[str]) -> dict[str, Path]:
    """The folders of the runs, by their names in the table."""
    folders: dict[str, Path] = {}
    for each in given:
        name, named, folder = each.partition("=")
        if not named or Path(each).is_dir():
            name, folder = Path(Path.cwd(), each).name, each
        if not name or not folder:
            help = 'Give a name and a folder: bylaw train curves "seed 42=run-42"'
            raise UsageError(Diagnostic("E402", f"'{each}' does not name a run", help))
        if name in folders:
            help = f"Name them: bylaw train curves FIRST={folders[name]} SECOND={folder}"
            raise UsageError(Diagnostic("E402", f"two runs are named {name}", help))
        folders[name] = Path(folder)
    return folders
