"""`bylaw bench run`: measures how well models follow procedures."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from bylaw.agents.profiles import OBEDIENT_RANDOM, PROFILES
from bylaw.agents.protocol import ChatModel
from bylaw.bench.analysis.overview import overview
from bylaw.bench.analysis.runs import BASELINE, FLOOR
from bylaw.bench.instance import SEEDS, TRIALS, template_named
from bylaw.bench.jobs import Job, jobs
from bylaw.bench.models import model_named
from bylaw.bench.results import Results, read_results
from bylaw.bench.runner import HARNESSES, BenchRunner
from bylaw.bench.templates import TEMPLATES
from bylaw.bench.templates.template import DIFFICULTIES
from bylaw.cli.inputs import at_least_one
from bylaw.cli.main import OK, UNUSABLE
from bylaw.cli.model_options import add_model_options, in_use, model_options
from bylaw.cli.terminal import counted, progress, safe
from bylaw.enforcement.hints import HINTS
from bylaw.enforcement.severity import SETTINGS

_SETTINGS: Final = tuple(setting for setting in SETTINGS if setting != "as-written")

EPILOG: Final = f"""\
Each model makes 360 runs per setting: twelve templates, five difficulties, two
seeds, three trials. A run on record is not made again: interrupt the command
whenever you like, and give it again to go on. Beside every enforced setting,
{FLOOR} is run: it has no plan and only obeys refusals, so
its score is what the gate alone buys.

  bylaw bench run sim:careless -o results.jsonl
  bylaw bench run sim:gold sim:batcher --setting block-and-warn --trials 1
  bylaw bench run openai:gpt-4.1-mini          any OpenAI-compatible endpoint
  bylaw bench run hf:models/qwen --temperature 0.7   a local model, batched
  bylaw bench run gguf:models/qwen.gguf        a local model in llama.cpp
  bylaw bench report results.jsonl

Simulated agents, for trying things out:
{chr(10).join(f"  sim:{p.name:<11} {p.about}"[:80] for p in PROFILES.values())}
  sim:{OBEDIENT_RANDOM}

Exit code 0: all runs are on record; 2: some could not be finished.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("models", nargs="+", metavar="MODEL", help="KIND:WHICH, as sim:careless")
    parser.add_argument(
        "-o", "--output", default="results.jsonl", metavar="FILE", help="default: results.jsonl"
    )
    parser.add_argument(
        "--setting", choices=_SETTINGS, action="append", help="may be repeated (default: all)"
    )
    parser.add_argument(
        "--template", action="append", metavar="NAME", help="may be repeated (default: all)"
    )
    parser.add_argument(
        "--difficulty", type=int, choices=DIFFICULTIES, action="append", help="default: all"
    )
    parser.add_argument(
        "--seed", type=int, action="append", metavar="N", help=f"default: {SEEDS[0]} and {SEEDS[1]}"
    )
    parser.add_argument(
        "--trials", type=at_least_one, default=TRIALS, metavar="N", help="default: 3"
    )
    parser.add_argument(
        "--hints", choices=HINTS, default="rule", help="what a refusal tells (default: rule)"
    )
    parser.add_argument(
        "--harness", choices=HARNESSES, default="loop", help="who runs the turns (default: loop)"
    )
    add_model_options(parser)
    parser.add_argument(
        "--no-floor", action="store_true", help="do not run sim:obedient-random beside"
    )
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")


def run(options: argparse.Namespace) -> int:
    """Makes the runs that are missing."""
    settings = list(dict.fromkeys(options.setting or _SETTINGS))
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
    done: dict[str, BenchRunner] = {}
    with Results(options.output) as results:
        for name, under in planned.items():
            with in_use(model_named(name, model_options(options))) as model:
                wanted = list(jobs(model.name, under, **chosen))
                done[model.name] = _run(model, wanted, results, options)
    _tell(done, options)
    return UNUSABLE if any(outcome.failed for outcome in done.values()) else OK


def _run(
    model: ChatModel, wanted: list[Job], results: Results, options: argparse.Namespace
) -> BenchRunner:
    how = {"hints": options.hints, "harness": options.harness}
    missing = BenchRunner(model, results, **how).missing(wanted)
    if not options.json:
        on_record = len(wanted) - len(missing)
        already = f", {on_record:,} on record already" if on_record else ""
        print(f"{model.name}: {counted(len(missing), 'run')} to make{already}", flush=True)
    with progress(f"runs of {model.name}", len(missing)) as line:
        return BenchRunner(model, results, **how, step=line.step).run(missing)


def _tell(done: dict[str, BenchRunner], options: argparse.Namespace) -> None:
    if options.json:
        print(
            json.dumps(
                {
                    "results": options.output,
                    "models": {
                        name: {"made": outcome.made, "failed": outcome.failed}
                        for name, outcome in done.items()
                    },
                }
            )
        )
    else:
        print()
        print(overview(list(read_results(options.output))).text())
        print(f"\nResults: {Path(options.output)}. For more: bylaw bench report {options.output}")
    for name, outcome in done.items():
        if outcome.failed:
            key, reason = next(iter(outcome.failed.items()))
            many = counted(len(outcome.failed), "run")
            text = f"{name}: {many} could not be finished, such as {key}: {reason}"
            print(safe(text), file=sys.stderr)
            print("They are not on record: give the command again to make them.", file=sys.stderr)
