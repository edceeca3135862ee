"""`bylaw train data inspect`: an example of the training data, as a person would read it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from bylaw.cli.main import OK
from bylaw.cli.terminal import safe, width, wrapped
from bylaw.errors import Diagnostic, UsageError
from bylaw.procedure.constraint import LAYERS
from bylaw.training.data.corpus import SEED, corpus
from bylaw.training.data.example import Example
from bylaw.training.data.rows import from_row, read_rows, to_row
from bylaw.training.reward.reward import NOTHING, Goal
from bylaw.values import write_json

EPILOG: Final = """\
Shows the prompt, the gold calls, the answer, and the rules by layer. Without a
file, the example is one of the training corpus.

  bylaw train data inspect 3
  bylaw train data inspect data/diverse-tool.jsonl 5
  bylaw train data inspect data/train.jsonl 5 --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="as `train data build` writes it")
    parser.add_argument("number", nargs="?", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument(
        "--seed", type=int, default=SEED, metavar="N", help=f"without a file; default: {SEED}"
    )
    parser.add_argument("--json", action="store_true", help="print the example's row")


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
        help = f"They are counted from 1 to {count}." if count else "The file is empty."
        raise UsageError(Diagnostic("E402", f"there is no example {number}", help))
    return number - 1


def _print(example: Example) -> None:
    print(f"{example.name}   augmentation: {example.augmentation}, D{example.difficulty}\n")
    print(safe("\n".join(wrapped(line, 0) if line else "" for line in example.prompt.split("\n"))))
    print(f"\nGOLD CALLS   {len(example.gold)}")
    for number, call in enumerate(example.gold, 1):
        arguments = ", ".join(f"{key} = {value}" for key, value in call.arguments.items())
        print(safe(f"{number:>3}. {call.tool}({arguments}) -> {call.result}"))
    print(f"     final_answer(answer = {example.answer})")
    _print_rules(example)


def _print_rules(example: Example) -> None:
    rules = example.procedure.constraints
    total = sum(rule.weight for rule in rules)
    print(f"\nRULES   {len(rules)}, weight {total:g}")
    for layer, about in LAYERS.items():
        of_layer = [rule for rule in rules if rule.layer == layer]
        if of_layer:
            print(f"{layer}  {about}: {len(of_layer)} of weight {of_layer[0].weight:g}")
        for rule in of_layer:
            shown = f"      {rule.rule}"
            print(shown if len(shown) <= width() else f"{shown[: width() - 1]}…")
    nothing = Goal(example).reward(NOTHING).compliance
    print(f"\nAn agent that does nothing has a compliance of {nothing:.3f}.")
