"""The options of a gate that is to be installed, and the arguments that it will be run with."""

from __future__ import annotations

import argparse
from pathlib import Path

from bylaw.cli.hook.hook_options import (
    SOFT_BLOCK,
    SOFT_BLOCK_LIMIT,
    add_enforcement,
    guard_options,
)
from bylaw.cli.options import add_procedure, load_procedure
from bylaw.errors import Diagnostic, UsageError


def add_installed(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the gate."""
    add_procedure(parser, required=False)
    add_enforcement(parser)
    parser.add_argument("--state", metavar="DIR", help="the folder of the sessions' records")


def gate_arguments(options: argparse.Namespace) -> list[str]:
    """The arguments of the gate. Mistakes in the procedure show now, not at the first call."""
    from bylaw.enforcement.guard import Guard
    from bylaw.protocols.pinned import digest_of

    if options.procedure is None:
        raise UsageError(Diagnostic("E402", "no procedure is named", "Add -p FILE."))
    Guard(load_procedure(options), **guard_options(options))
    path = Path(options.procedure).resolve()
    arguments = ["-p", str(path), "--pin", digest_of(path)]
    for flag, value, default in (
        ("--with", options.vocabulary, None),
        ("--setting", options.setting, "as-written"),
        ("--hints", options.hints, "rule"),
        ("--soft-block", options.soft_block, SOFT_BLOCK),
        ("--soft-block-limit", options.soft_block_limit, SOFT_BLOCK_LIMIT),
        ("--state", options.state and str(Path(options.state).resolve()), None),
    ):
        if value != default:
            arguments += [flag, str(value)]
    return [*arguments, *(["--observe"] if options.observe else [])]
