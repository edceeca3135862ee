"""Options and error messages that the training commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bylaw.cli.options import add_choice, add_number, at_least_one
from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.training.data.corpus import SEED, corpus
from bylaw.training.data.example import Example
from bylaw.training.data.rows import from_row, read_rows

if TYPE_CHECKING:
    from bylaw.training.run.lora import Lora

PAPERS_MODEL: Final = "Qwen/Qwen3-4B-Instruct-2507"
_TARGETS: Final = "q_proj,v_proj"


def add_base(parser: argparse.ArgumentParser, adapter: str = "start from this one") -> None:
    """Adds the model to train or evaluate; `adapter` says what an adapter is for."""
    parser.add_argument(
        "base",
        nargs="?",
        default=PAPERS_MODEL,
        metavar="BASE",
        help=f"a folder, a .gguf file, or a downloaded model (default: {PAPERS_MODEL})",
    )
    parser.add_argument("--adapter", metavar="DIR", help=f"a peft adapter: {adapter}")
    add_choice(parser, "--precision", ("fp32", "bf16"), "fp32", "the paper uses fp32")


def add_adapter_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a new adapter; an existing adapter keeps its own."""
    add_number(parser, "--rank", 8, "LoRA rank of a new adapter")
    add_number(parser, "--alpha", 16, "its LoRA alpha")
    add_number(parser, "--dropout", 0.05, "its dropout", float)
    help = f"the layers it adapts (default: {_TARGETS})"
    parser.add_argument("--targets", default=_TARGETS, metavar="NAMES", help=help)


def add_examples(parser: argparse.ArgumentParser, most: int | None = None) -> None:
    """Adds the options for the training examples."""
    parser.add_argument(
        "--data", metavar="FILE", help="a file from `train data build` (default: the corpus)"
    )
    help = f"use only the first N (default: {most or 'all'})"
    parser.add_argument("--examples", type=at_least_one, default=most, metavar="N", help=help)
    add_number(parser, "--seed", SEED, "random seed of training; it does not change the data", int)


def examples_from(options: argparse.Namespace) -> list[Example]:
    """The examples to train on, in the order of the curriculum."""
    if options.data is None:
        return corpus()[: options.examples]
    rows = read_rows(Path(options.data))[: options.examples]
    if not rows:
        raise TraceError(Diagnostic("E310", "the file has no examples", source=options.data))
    return [from_row(row, options.data) for row in rows]


def lora_from(options: argparse.Namespace) -> Lora:
    """The adapter that the options describe."""
    from bylaw.training.run.lora import Lora

    targets = tuple(name.strip() for name in options.targets.split(","))
    return Lora(options.rank, options.alpha, options.dropout, targets)


@contextmanager
def with_libraries() -> Iterator[None]:
    """Explains a missing library or an unusable model. Nothing is downloaded."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the libraries are imported
    try:
        yield
    except ModuleNotFoundError as error:
        help = "pip install 'bylaw[train]'"
        raise UsageError(Diagnostic("E420", f"{error.name} is not installed", help)) from error
    except FileNotFoundError as error:
        raise UsageError(Diagnostic("E420", str(error))) from error
    except (OSError, ValueError) as error:  # raised by the libraries for files that are not a model
        message = f"the model cannot be used: {str(error).splitlines()[0]}"
        help = (
            "Give the folder of a transformers model or a .gguf file, and an adapter that fits it."
        )
        raise UsageError(Diagnostic("E420", message, help)) from error


@contextmanager
def within_memory(smaller: str) -> Iterator[None]:
    """Explains that memory ran out, and which options (`smaller`) save some."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        message = f"out of memory: {str(error).split(' If reserved')[0]}"
        help = f"Use a smaller {smaller}, free the GPU of other programs, or try --precision bf16."
        raise UsageError(Diagnostic("E440", message, help)) from error


def printer(options: argparse.Namespace) -> Callable[[str], None]:
    """Prints lines as they come; with `--json`, prints nothing."""

    def show(line: str) -> None:
        if not options.json:
            print(line, flush=True)

    return show
