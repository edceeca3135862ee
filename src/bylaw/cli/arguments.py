"""Options that commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable


def at_least_one(text: str) -> int:
    """A whole number above zero, as an argument."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def add_procedure(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Adds the options for a procedure and the Python code it may use."""
    parser.add_argument(
        "-p", "--procedure", metavar="FILE", required=required, help="the procedure, YAML or JSON"
    )
    add_vocabulary(parser)


def add_vocabulary(parser: argparse.ArgumentParser) -> None:
    """Adds the option for Python code that rules may use."""
    parser.add_argument(
        "--with",
        dest="vocabulary",
        metavar="MODULE:NAME",
        help="a bylaw.Vocabulary with the predicates and extractors that rules use; the module "
        "is imported (nothing else runs code)",
    )


def add_traces(parser: argparse.ArgumentParser) -> None:
    """Adds the traces to read, and the limit on their lines."""
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="a file, folder, pattern or -")
    add_max_line(parser)


def add_max_line(parser: argparse.ArgumentParser) -> None:
    """Adds the limit on the length of a line."""
    help = "longest line to read (default: 64)"
    parser.add_argument("--max-line", metavar="MIB", type=at_least_one, default=64, help=help)


def add_json(parser: argparse.ArgumentParser, what: str = "JSON") -> None:
    """Adds `--json`; `what` completes "print …"."""
    parser.add_argument("--json", action="store_true", help=f"print {what}")


def add_edit_results(parser: argparse.ArgumentParser) -> None:
    """Adds the option for repairs that change results."""
    help = "let repairs also change what tools returned"
    parser.add_argument("--edit-results", action="store_true", help=help)


def add_number(
    parser: argparse.ArgumentParser,
    flag: str,
    default: float,
    help: str,
    kind: Callable[[str], float] = at_least_one,
) -> None:
    """Adds an option that takes a number; its help names the default."""
    help = f"{help} (default: {default:g})"
    parser.add_argument(flag, type=kind, default=default, metavar="N", help=help)


def add_choice(
    parser: argparse.ArgumentParser, flag: str, choices: Iterable[str], default: str, help: str
) -> None:
    """Adds an option that takes one of a few words; its help names the default."""
    help = f"{help} (default: {default})"
    parser.add_argument(flag, choices=tuple(choices), default=default, help=help)


def add_names(
    parser: argparse.ArgumentParser, flag: str, choices: Iterable[str] | None = None
) -> None:
    """Adds an option that may be repeated, and that selects all names by default."""
    names = None if choices is None else tuple(choices)
    help = "repeatable (default: all)"
    parser.add_argument(flag, action="append", choices=names, metavar="NAME", help=help)


def add_tables(parser: argparse.ArgumentParser, names: Iterable[str], short: Iterable[str]) -> None:
    """Adds the options that choose tables to print, and where to write them."""
    help = f"a table to print, or all; repeatable (default: {', '.join(short)})"
    choices = [*names, "all"]
    parser.add_argument("--table", action="append", choices=choices, metavar="NAME", help=help)
    add_csv(parser)


def add_csv(parser: argparse.ArgumentParser) -> None:
    """Adds the option to write tables as CSV files."""
    from bylaw.cli.output_options import add_output  # only where something is written

    add_output(parser, "--csv", help="write each table there, as a CSV file", folder=True)
