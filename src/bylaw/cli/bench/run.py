"""`bylaw bench run`: measures how well models follow procedures."""

from __future__ import annotations

import argparse
import json
from functools import partial
from textwrap import fill
from typing import Any, Final

from bylaw.agents.profiles import OBEDIENT_RANDOM, PROFILES
from bylaw.bench.analysis.overview import overview
from bylaw.bench.analysis.runs import BASELINE, FLOOR
from bylaw.bench.instance import SEEDS, TRIALS, template_named
from bylaw.bench.jobs import jobs
from bylaw.bench.models import check_model, model_named
from bylaw.bench.result_fields import read_runs
from bylaw.bench.results import Results
from bylaw.bench.runner import HARNESSES, BenchRunner
from bylaw.bench.templates import TEMPLATES
from bylaw.bench.templates.template import DIFFICULTIES
from bylaw.cli.main import exit_code
from bylaw.cli.model_runs import (
    RUN_SETTINGS,
    add_model_options,
    in_use,
    model_options,
    print_failures,
    run_missing,
)
from bylaw.cli.options import add_choice, add_json, add_names, add_number, add_output
from bylaw.enforcement.decision import HINTS
from bylaw.terminal import in_line


def _simulated() -> str:
    """A line or two for each simulated agent."""
    rows = ((f"  sim:{profile.name:<11} ", profile.about) for profile in PROFILES.values())
    hanging = " " * 18
    return "\n".join(
        fill(told, 80, initial_indent=name, subsequent_indent=hanging) for name, told in rows
    )


EPILOG: Final = f"""\
Each model makes 360 runs per setting: twelve templates, five difficulties, two
seeds, three trials. Results are recorded run by run: interrupt the command at
any time, and repeat it to resume. For every enforced setting, the agent
{FLOOR} also runs. It has no plan and only obeys refusals, so
its score is what the gate achieves by itself.

  bylaw bench run sim:careless -o results.jsonl
  bylaw bench run sim:gold sim:batcher --setting block-and-warn --trials 1
  bylaw bench run openai:gpt-4.1-mini          any OpenAI-compatible endpoint
  bylaw bench run hf:models/qwen --temperature 0.7   a local model, batched
  bylaw bench run gguf:models/qwen.gguf        a local model in llama.cpp
  bylaw bench report results.jsonl

Simulated agents, for trying things out:
{_simulated()}
  sim:{OBEDIENT_RANDOM}
                  has no plan, and does what refusals say

Exit code: 0 if all runs are on record, 2 if some could not be finished.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="KIND:NAME, such as sim:careless"
    )
    name = "results.jsonl"
    add_output(parser, "-o", "--output", help=f"default: {name}", resumes=True, default=name)
    parser.add_argument(
        "--setting", choices=RUN_SETTINGS, action="append", help="repeatable (default: all)"
    )
    add_names(parser, "--template")
    parser.add_argument(
        "--difficulty",
        type=int,
        choices=DIFFICULTIES,
        action="append",
        help="repeatable (default: all)",
    )
    parser.add_argument(
        "--seed", type=int, action="append", metavar="N", help=f"default: {SEEDS[0]} and {SEEDS[1]}"
    )
    add_number(parser, "--trials", TRIALS, "runs of each task")
    add_choice(parser, "--hints", HINTS, "rule", "what a refusal says")
    add_choice(parser, "--harness", HARNESSES, "loop", "what runs the agent")
    add_model_options(parser)
    parser.add_argument("--no-floor", action="store_true", help="do not run sim:obedient-random")
    add_json(parser, "what was done as JSON")


def run(options: argparse.Namespace) -> int:
    """Makes the runs that are not yet on record."""
    settings = list(dict.fromkeys(options.setting or RUN_SETTINGS))
    chosen: dict[str, Any] = {
        "templates": [template_named(name).name for name in options.template or TEMPLATES],
        "difficulties": options.difficulty or DIFFICULTIES,
        "seeds": options.seed or SEEDS,
        "trials": options.trials,
    }
    enforced = [setting for setting in settings if setting != BASELINE]
    planned = dict.fromkeys(options.models, settings)
    if enforced and not options.no_floor:
        planned.setdefault(FLOOR, enforced)
    how = {"hints": options.hints, "harness": options.harness}
    for name in planned:  # a mistyped name is found now, and not after hours of other runs
        check_model(name, model_options(options))
    done: dict[str, BenchRunner] = {}
    with Results(options.output) as results:
        for name, under in planned.items():
            with in_use(model_named(name, model_options(options))) as model:
                done[model.name] = run_missing(
                    partial(BenchRunner, model, results, **how),
                    list(jobs(model.name, under, **chosen)),
                    "run",
                    quiet=options.json,
                )
    _print(done, options)
    return exit_code(unusable=any(runner.failed for runner in done.values()))


def _print(done: dict[str, BenchRunner], options: argparse.Namespace) -> None:
    if options.json:
        models = {name: {"made": each.made, "failed": each.failed} for name, each in done.items()}
        print(json.dumps({"results": options.output, "models": models}))
    else:
        print(f"\n{overview(list(read_runs(options.output))).text()}")
        output = in_line(options.output)
        print(f"\nResults: {output}. For more: bylaw bench report {output}")
    for name, runner in done.items():
        print_failures(runner.failed, f"{name}: ")
