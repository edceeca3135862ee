"""`bylaw train data inspect`: shows an example of the training data."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from bylaw.cli.bench.instance import print_gold, print_rules
from bylaw.cli.main import OK
from bylaw.cli.options import add_json, add_number
from bylaw.errors import Diagnostic, UsageError
from bylaw.terminal import wrapped
from bylaw.training.data.corpus import SEED, corpus
from bylaw.training.data.example import Example
from bylaw.training.data.rows import from_row, read_rows, to_row
from bylaw.training.reward.reward import NOTHING, Goal
from bylaw.values import write_json

EPILOG: Final = """\
Shows the prompt, the gold calls, the answer, and the rules by layer. Without a
file, examples come from the training corpus.

  bylaw train data inspect 3
  bylaw train data inspect data/diverse-tool.jsonl 5
  bylaw train data inspect data/train.jsonl 5 --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="a file from `train data build`")
    parser.add_argument("number", nargs="?", type=int, default=1, metavar="N", help="default: 1")
    add_number(parser, "--seed", SEED, "random seed of the corpus, without a file", int)
    add_json(parser, "the example's row as JSON")


def run(options: argparse.Namespace) -> int:
    """Shows the example."""
    if options.file is not None and options.file.isdecimal():  # the number alone
        options.file, options.number = None, int(options.file)
    if options.file is None:
        examples = corpus(options.seed)
        example = examples[_index(options.number, len(examples))]
    else:
        rows = read_rows(Path(options.file))
        example = from_row(rows[_index(options.number, len(rows))], options.file)
    if options.json:
        print(write_json(to_row(example)))
    else:
        _print(example)
    return OK


def _index(number: int, count: int) -> int:
    if not 1 <= number <= count:
        help = f"Examples are numbered from 1 to {count}." if count else "The file is empty."
        raise UsageError(Diagnostic("E402", f"no example {number}", help))
    return number - 1


def _print(example: Example) -> None:
    print(f"{example.name}   augmentation: {example.augmentation}, D{example.difficulty}\n")
    print("\n".join(wrapped(line, 0) if line else "" for line in example.prompt.split("\n")))
    print(f"\nGOLD CALLS   {len(example.gold)}")
    print_gold(example.gold, example.answer)
    print_rules(example.procedure)
    nothing = Goal(example).reward(NOTHING).compliance
    print(f"\nAn agent that does nothing has a compliance of {nothing:.3f}.")
