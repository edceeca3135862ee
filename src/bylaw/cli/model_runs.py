"""Commands that run models: their options, which runs are missing, which failed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final, TypeVar

from bylaw.agents.protocol import ChatModel
from bylaw.bench.recording import JobRunner
from bylaw.cli.options import at_least_one
from bylaw.enforcement.severity import SETTINGS
from bylaw.terminal import counted, in_line, progress

_OPTIONS: Final = (
    ("--temperature", float, "N", "sampling temperature (default: the most likely turn)"),
    ("--top-p", float, "N", "sample from the most likely tokens of this total weight (hf, gguf)"),
    ("--max-new-tokens", at_least_one, "N", "longest turn, in tokens"),
    ("--width", at_least_one, "N", "number of concurrent conversations"),
    ("--base-url", str, "URL", "the endpoint (openai; default: OPENAI_BASE_URL)"),
    ("--requests-per-minute", float, "N", "rate limit (openai)"),
    ("--adapter", str, "DIR", "a peft adapter for the model (hf)"),
    ("--line-tokens", int, "N", "with --constrained, longest line before a call; 0: none"),
    ("--max-context", at_least_one, "N", "longest conversation, in tokens (hf, gguf)"),
)

RUN_SETTINGS: Final = tuple(setting for setting in SETTINGS if setting != "as-written")
"""The settings of the gate that runs are compared under."""


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that models take."""
    for flag, kind, metavar, help in _OPTIONS:
        parser.add_argument(flag, type=kind, metavar=metavar, help=help)
    parser.add_argument(
        "--constrained",
        action="store_true",
        default=None,
        help="constrain the model to well-formed calls (hf, gguf)",
    )


def model_options(options: argparse.Namespace) -> dict[str, Any]:
    """The values of these options; None where none was given."""
    names = [flag.removeprefix("--").replace("-", "_") for flag, *_ in _OPTIONS]
    return {name: getattr(options, name) for name in (*names, "constrained")}


@contextmanager
def in_use(model: ChatModel) -> Iterator[ChatModel]:
    """The model, which is closed afterwards if it can be."""
    with model if isinstance(model, AbstractContextManager) else nullcontext():
        yield model


R = TypeVar("R", bound=JobRunner[Any, Any])


def run_missing(
    make_runner: Callable[..., R], wanted: Sequence[Any], what: str, *, quiet: bool
) -> R:
    """Runs the jobs that are not yet on record, and announces how many they are.

    `make_runner` takes `step`, a function to call after each job; `what` names one job.
    """
    planned = make_runner()
    missing, name = planned.missing(wanted), planned.model.name
    if not quiet:
        recorded = len(wanted) - len(missing)
        already = f", {recorded:,} on record already" if recorded else ""
        print(f"{name}: {counted(len(missing), what)} to make{already}", flush=True)
    with progress(f"{what}s of {name}", len(missing)) as line:
        return make_runner(step=line.step).run(missing)


def print_failures(failed: Mapping[str, str], who: str = "") -> None:
    """Says on standard error how many runs failed, with one example."""
    if failed:
        key, reason = next(iter(failed.items()))
        text = f"{who}{counted(len(failed), 'run')} could not be finished, such as {key}: {reason}"
        print(in_line(text), file=sys.stderr)
        print("They are not on record: repeat the command to run them again.", file=sys.stderr)
