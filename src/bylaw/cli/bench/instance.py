"""`bylaw bench instance`: shows a task of the benchmark."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from typing import Final

import yaml

from bylaw.bench.gold import GoldCall
from bylaw.bench.instance import TaskInstance, instance
from bylaw.bench.templates import TEMPLATES
from bylaw.cli.main import OK
from bylaw.cli.options import add_json, add_number, add_output
from bylaw.cli.outputs import write_folder
from bylaw.procedure.procedure import LAYERS, Procedure
from bylaw.terminal import in_line, shortened

EPILOG: Final = f"""\
An instance is a pure function of template, difficulty and seed: the prompt, the
gold trace of an agent that follows it, the answer, and the rules that the gold
trace implies.

  bylaw bench instance loop_termination --difficulty 1 --seed 42
  bylaw bench instance fan_out_fan_in --seed 2 --json
  bylaw bench instance nested_loops -o task    writes procedure.yaml, gold.json
  bylaw verify -p task/procedure.yaml task/gold.json

The templates:
{chr(10).join(f"  {t.name:<25} {t.structure}" for t in TEMPLATES.values())}
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("template", metavar="TEMPLATE", help="the procedural pattern")
    add_number(parser, "--difficulty", 1, "1 to 5", int)
    add_number(parser, "--seed", 42, "random seed", int)
    help = "write instance.json, procedure.yaml, gold.json there"
    add_output(parser, "-o", "--output", help=help, folder=True)
    add_json(parser, "the instance as JSON")


def run(options: argparse.Namespace) -> int:
    """Shows or writes the instance."""
    task = instance(options.template, options.difficulty, options.seed)
    if options.output:
        _write(task, options)
    if options.json:
        print(json.dumps(task.to_dict()))
    elif not options.output:
        _print(task)
    return OK


def gold_record(task: TaskInstance) -> dict[str, object]:
    """The gold trace as a trace record, one call per step."""
    calls = [
        {
            "step": step,
            "tool_name": call.tool,
            "arguments": dict(call.arguments),
            "tool_result": call.result,
        }
        for step, call in enumerate(task.gold.calls)
    ]
    return {"tool_calls": calls, "final_answer": str(task.answer)}


def _write(task: TaskInstance, options: argparse.Namespace) -> None:
    files = {
        "procedure.yaml": yaml.safe_dump(
            task.procedure.to_dict(), sort_keys=False, allow_unicode=True
        ),
        "gold.json": json.dumps(gold_record(task), indent=1),
        "instance.json": json.dumps(task.to_dict(), indent=1),
    }
    write_folder(options, "output", files)


def _print(task: TaskInstance) -> None:
    template = task.template
    print(f"{task.name}   {template.structure}: {template.failure}\n")
    print(task.prompt)
    print(f"\nGOLD TRACE   {len(task.gold.calls)} calls, budget {task.budget}")
    print_gold(task.gold.calls, task.answer)
    print_rules(task.procedure)


def print_gold(calls: Iterable[GoldCall], answer: object) -> None:
    """Prints the gold calls, numbered, and the answer."""
    for number, call in enumerate(calls, 1):
        arguments = ", ".join(f"{key} = {value}" for key, value in call.arguments.items())
        print(in_line(f"{number:>3}. {call.tool}({arguments}) -> {call.result}"))
    print(f"     final_answer(answer = {answer})")


def print_rules(procedure: Procedure) -> None:
    """Prints the rules of each layer."""
    total = sum(constraint.weight for constraint in procedure.constraints)
    print(f"\nRULES   {len(procedure.constraints)}, weight {total:g}")
    for layer, about in LAYERS.items():
        rules = [each for each in procedure.constraints if each.layer == layer]
        if rules:
            print(f"{layer}  {about}: {len(rules)} of weight {rules[0].weight:g}")
        for rule in rules:
            print(shortened(f"      {rule.rule}"))
