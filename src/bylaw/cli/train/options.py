"""What the commands that train have in common: their options, their files, what they need."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bylaw.cli.inputs import at_least_one
from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.training.data.corpus import SEED, corpus
from bylaw.training.data.example import Example
from bylaw.training.data.rows import from_row, read_rows

if TYPE_CHECKING:
    from bylaw.training.run.lora import Lora

PAPERS_MODEL: Final = "Qwen/Qwen3-4B-Instruct-2507"
_TARGETS: Final = "q_proj,v_proj"


def add_base(parser: argparse.ArgumentParser, adapter: str = "begin with this one") -> None:
    """Adds the model that is trained or tried; `adapter` says what an adapter is for."""
    parser.add_argument(
        "base",
        nargs="?",
        default=PAPERS_MODEL,
        metavar="BASE",
        help=f"a folder, a .gguf file, or what was downloaded (default: {PAPERS_MODEL})",
    )
    parser.add_argument("--adapter", metavar="DIR", help=f"of peft: {adapter}")
    parser.add_argument(
        "--precision", choices=("fp32", "bf16"), default="fp32", help="default: fp32, as the paper"
    )


def add_adapter_options(parser: argparse.ArgumentParser) -> None:
    """Adds what a new adapter may be like; one that is given stays as it is."""
    parser.add_argument(
        "--rank",
        type=at_least_one,
        default=8,
        metavar="N",
        help="of a new adapter, as the next three (default: 8)",
    )
    parser.add_argument("--alpha", type=at_least_one, default=16, metavar="N", help="default: 16")
    parser.add_argument("--dropout", type=float, default=0.05, metavar="N", help="default: 0.05")
    parser.add_argument(
        "--targets",
        default=_TARGETS,
        metavar="NAMES",
        help=f"the layers that learn (default: {_TARGETS})",
    )


def add_examples(parser: argparse.ArgumentParser, most: int | None = None) -> None:
    """Adds what is trained on."""
    parser.add_argument(
        "--data", metavar="FILE", help="as `train data build` writes it (default: the corpus)"
    )
    shown = "all" if most is None else str(most)
    parser.add_argument(
        "--examples",
        type=at_least_one,
        default=most,
        metavar="N",
        help=f"only so many, from the beginning (default: {shown})",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=SEED,
        metavar="N",
        help=f"of what training draws; the data stay the same (default: {SEED})",
    )


def examples_from(options: argparse.Namespace) -> list[Example]:
    """The examples to train on, in the order of the curriculum."""
    if options.data is None:
        return corpus()[: options.examples]
    rows = read_rows(Path(options.data))[: options.examples]
    if not rows:
        raise TraceError(Diagnostic("E310", "there are no examples", source=options.data))
    return [from_row(row, options.data) for row in rows]


def lora_from(options: argparse.Namespace) -> Lora:
    """The adapter that was asked for."""
    from bylaw.training.run.lora import Lora

    targets = tuple(name.strip() for name in options.targets.split(","))
    return Lora(options.rank, options.alpha, options.dropout, targets)


@contextmanager
def with_libraries() -> Iterator[None]:
    """Says in words what is missing: a library, or a usable model. Nothing is fetched."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the libraries are imported
    try:
        yield
    except ModuleNotFoundError as error:
        help = "pip install 'bylaw[train]'"
        raise UsageError(Diagnostic("E420", f"{error.name} is not installed", help)) from error
    except FileNotFoundError as error:
        raise UsageError(Diagnostic("E420", str(error))) from error
    except (OSError, ValueError) as error:  # what the libraries say of files that are no model
        message = f"the model cannot be used: {str(error).splitlines()[0]}"
        help = (
            "Give a folder of a transformers model, or a .gguf file; and an adapter that fits it."
        )
        raise UsageError(Diagnostic("E420", message, help)) from error


@contextmanager
def within_memory(smaller: str) -> Iterator[None]:
    """Says in words that there is not enough memory, and which options (`smaller`) need less."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        message = f"there is not enough memory: {str(error).split(' If reserved')[0]}"
        help = f"Give a smaller {smaller}; see that nobody else uses the GPU; or try bf16."
        raise UsageError(Diagnostic("E440", message, help)) from error


def teller(options: argparse.Namespace) -> Callable[[str], None]:
    """Tells people how far a run is; programs that read JSON are not told."""

    def tell(line: str) -> None:
        if not options.json:
            print(line, flush=True)

    return tell
