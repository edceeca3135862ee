"""`bylaw train data build`: writes the training corpus and the evaluation splits."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from bylaw.cli.main import OK
from bylaw.cli.options import add_json, add_number, add_output
from bylaw.cli.outputs import write_folder
from bylaw.terminal import in_line
from bylaw.training.data.corpus import SEED, TRAIN, corpus
from bylaw.training.data.rows import rows_text
from bylaw.training.data.splits import SPLITS, splits
from bylaw.training.reward.reward import Goal, Rollout
from bylaw.training.reward.summary import summary

EPILOG: Final = f"""\
Writes {TRAIN}.jsonl and a file per split:
{", ".join(SPLITS)}. The same
seed gives the same bytes. A row is an example: a prompt in chat form, the gold
transcript, tools, rules and the answer.

  bylaw train data build -o data
  bylaw train data build -o data --seed 7
  bylaw train data inspect data/{TRAIN}.jsonl 3

The table shows the rewards of the gold transcripts and, for comparison, the
compliance of an agent that does nothing.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_output(parser, "-o", "--output", help="output folder", folder=True, required=True)
    add_number(parser, "--seed", SEED, "random seed", int)
    add_json(parser, "what was written as JSON")


def run(options: argparse.Namespace) -> int:
    """Builds the data and writes it."""
    built = {TRAIN: corpus(options.seed)} | splits(options.seed)
    paths = {name: Path(options.output) / f"{name}.jsonl" for name in built}
    rows = {paths[name].name: rows_text(examples) for name, examples in built.items()}
    write_folder(options, "output", rows)
    goals = [Goal(example) for examples in built.values() for example in examples]
    gold = [goal.reward(Rollout(goal.example.calls, goal.example.answer)) for goal in goals]
    table = summary(f"Gold transcripts, seed {options.seed}", goals, gold)
    if options.json:
        files = {name: str(path) for name, path in paths.items()}
        print(json.dumps({"seed": options.seed, "files": files, "summary": table.to_dict()}))
    else:
        print(table.text())
        names = ", ".join(path.name for path in paths.values())
        print(f"\nWritten to {in_line(options.output)}: {names}")
    return OK
