"""`bylaw train eval`: evaluates a checkpoint on the held-out splits and the benchmark."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from bylaw.agents.local import fingerprint
from bylaw.bench.result_fields import FieldCheck, maybe, require_fields, share
from bylaw.bench.results import Results, read_results
from bylaw.cli.main import OK
from bylaw.cli.model_runs import RUN_SETTINGS
from bylaw.cli.options import (
    add_choice,
    add_csv,
    add_json,
    add_names,
    add_number,
    add_output,
    at_least_one,
)
from bylaw.cli.outputs import write_tables
from bylaw.cli.train.options import add_base, printer, with_libraries, within_memory
from bylaw.errors import Diagnostic, TraceError
from bylaw.saved import Damaged, flag, listed, table, text, whole
from bylaw.terminal import counted, progress
from bylaw.training.data.corpus import SEED
from bylaw.training.data.example import PRODUCTION
from bylaw.training.data.splits import SPLITS
from bylaw.training.data.transfer_groups import GROUPS
from bylaw.training.run.eval_tables import tables

_SETS: Final = (*SPLITS, PRODUCTION)


def _messages(value: Any) -> None:
    """A conversation: the second message is what was asked."""
    if len(listed(value)) < 2:
        raise Damaged("expected two messages or more")
    text(table(value[1]).get("content"))


def _condition(value: Any) -> None:
    """Conditions are compared, so each is a plain value."""
    for each in table(value).values():
        if isinstance(each, dict | list):
            raise Damaged("expected a plain value")


_FIELDS: Final[Mapping[str, FieldCheck]] = {
    "model": text,
    "name": text,
    "template": text,
    "trial": whole,
    "compliance": maybe(share),
    "correct": flag,
    "calls": whole,
    "messages": _messages,
    "conditions": _condition,
}
"""The fields of a result that the tables read."""

EPILOG: Final = """\
Evaluates a model, with or without an adapter, and compares it with the other
models in the results file: compliance, accuracy and calls on each set, with
bootstrap intervals; gains over the first model in the file; gains per template.

  bylaw train eval models/qwen-0.5b --name base
  bylaw train eval models/qwen-0.5b --adapter run/adapter --name tuned
  bylaw train eval --tables                         only report on recorded runs
  bylaw train eval models/qwen-0.5b --set unseen-pattern

Sets: unaugmented, augmented, unseen-pattern, diverse-tool, production.

Results are recorded run by run: repeat the command to resume. Results of an
adapter that has changed since are kept apart. Unless you give a temperature,
decoding is greedy and each task of the benchmark is run once.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_base(parser, adapter="evaluate the model with it")
    name = "eval.jsonl"
    add_output(parser, "-o", "--output", help=f"default: {name}", resumes=True, default=name)
    parser.add_argument("--name", metavar="NAME", help="its name in the tables (default: its path)")
    add_names(parser, "--set", _SETS)
    parser.add_argument(
        "--examples", type=at_least_one, metavar="N", help="use only the first N of each set"
    )
    parser.add_argument("--tables", action="store_true", help="only print the tables")
    add_number(parser, "--temperature", 0.0, "sampling temperature", float)
    add_choice(parser, "--setting", RUN_SETTINGS, "baseline", "the gate")
    add_number(parser, "--turn-tokens", 192, "longest turn, in tokens")
    add_number(parser, "--width", 512, "number of concurrent rollouts")
    add_number(parser, "--seed", SEED, "random seed of the splits and of sampling", int)
    add_csv(parser)
    add_json(parser, "the tables as JSON")


def run(options: argparse.Namespace) -> int:
    """Makes the runs that are not yet on record, and prints the tables."""
    show = printer(options)
    if not options.tables:
        if Path(options.output).exists():
            _on_record(options.output)  # reports a wrong file before adding to it
        show(_evaluate(options))
    on_record = _on_record(options.output)
    if not on_record:
        raise TraceError(Diagnostic("E421", "the file has no runs", source=options.output))
    made = tables(on_record)
    if options.csv:
        write_tables(options, "csv", made)
    if options.json:
        print(json.dumps({table.name: table.to_dict() for table in made}))
    show("\n" + "\n\n".join(table.text() for table in made))
    return OK


def _on_record(path: str) -> list[dict[str, Any]]:
    """The recorded runs; results of another command are an error."""
    found = list(read_results(path))
    if not all(map(_is_evaluation, found)):
        help = "`bylaw bench report` reports on runs of the benchmark."
        message = "these are not results of `bylaw train eval`"
        raise TraceError(Diagnostic("E421", message, help, source=path))
    for each in found:
        require_fields(each, _FIELDS, path)
    return found


def _is_evaluation(found: Mapping[str, Any]) -> bool:
    """Is it a run on one of the sets?"""
    split, template = str(found.get("split")), str(found.get("template"))
    return split in _SETS and (split != PRODUCTION or template in GROUPS)


def _evaluate(options: argparse.Namespace) -> str:
    with with_libraries():
        from bylaw.agents.hf.rollouts import Rollouts
        from bylaw.training.run.evaluation import Decoding, evaluate, examples_of
        from bylaw.training.run.lora import learner

        tried = learner(options.base, options.adapter, precision=options.precision)
    rollouts = Rollouts(
        tried.model, tried.chat_tokenizer, width=options.width, turn_tokens=options.turn_tokens
    )
    examples = [
        example
        for name in options.set or _SETS
        for example in examples_of([name], options.seed)[: options.examples]
    ]
    name = options.name or str(options.adapter or options.base)
    decoding = Decoding(options.temperature, options.seed, options.setting)
    about = {
        "base": Path(options.base).name,
        "adapter": None if options.adapter is None else fingerprint(Path(options.adapter)),
        "precision": options.precision,
    }
    with (
        within_memory("--width"),
        Results(options.output) as results,
        progress(f"runs of {name}", len(examples)) as line,
    ):
        made = evaluate(rollouts, name, examples, results, decoding, about, line.step)
    return f"{name}: {counted(made, 'run')} made. {rollouts.clock.summary()}"
