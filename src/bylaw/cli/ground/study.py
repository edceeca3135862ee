"""`bylaw ground study`: measures how well models ground their answers in what they read."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from bylaw.agents.protocol import ChatModel
from bylaw.agents.simulated import PREFIX
from bylaw.bench.models import model_named
from bylaw.bench.results import Results
from bylaw.cli.main import exit_code
from bylaw.cli.model_runs import (
    add_model_options,
    in_use,
    model_options,
    print_failures,
    run_missing,
)
from bylaw.cli.options import add_choice, add_json, add_names, add_number, add_output, add_tables
from bylaw.cli.outputs import write_tables
from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.groundstudy.agents import AGENTS, SimulatedAgent
from bylaw.groundstudy.analysis import ANALYSES
from bylaw.groundstudy.analysis.judges import judges
from bylaw.groundstudy.analysis.runs import read_study
from bylaw.groundstudy.judges import JUDGEMENT, SAMPLES, TEMPERATURE, JudgeRunner, judgements
from bylaw.groundstudy.prompts import PROMPTS
from bylaw.groundstudy.questions.building import (
    problems,
)
from bylaw.groundstudy.questions.questions import (
    QuestionSet,
    SymbolQuestion,
    read_questions,
)
from bylaw.groundstudy.study import SEEDS, STUDY, StudyRunner, study_jobs
from bylaw.tables import Table
from bylaw.terminal import in_line

SHORT: Final = ("categories", "strict")
"""The tables that are printed by default."""

EPILOG: Final = f"""\
Each model is asked each question {SEEDS} times under each prompt. The default prompt
asks it to read before it answers; the strict prompt also asks it to say only
what it has read, and to refuse otherwise. Results are recorded run by run:
repeat the command to resume. Without a model, it reports on the recorded runs.

  bylaw ground questions build -o questions.json
  bylaw ground study sim:reader sim:refuser --questions questions.json
  bylaw ground study openai:gpt-4.1-mini --questions questions.json
  bylaw ground study --judge openai:gpt-4.1      judges the recorded answers
  bylaw ground study --table popularity

A judge is asked {SAMPLES} times about each answer, at temperature {TEMPERATURE}: with the calls
in view, whether they support the answer; without them, whether it is right. No
model judges its own answers.

Simulated agents, for trying things out:
{chr(10).join(f"  {name:<13} {agent.__doc__}" for name, agent in AGENTS.items())}

{fill(f"Tables: {', '.join(ANALYSES)}, judges.", 80)}
Exit code: 0 if all runs are on record, 2 if some could not be finished.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("models", nargs="*", metavar="MODEL", help="KIND:NAME, such as sim:reader")
    parser.add_argument("--questions", metavar="FILE", help="the questions; required to ask models")
    name = "grounding.jsonl"
    add_output(parser, "-o", "--output", help=f"default: {name}", resumes=True, default=name)
    add_choice(parser, "--prompt", (*PROMPTS, "both"), "both", "the prompts to ask under")
    add_names(parser, "--repository")
    add_number(parser, "--seeds", SEEDS, "times to ask each question")
    parser.add_argument("--judge", metavar="MODEL", help="a model that judges the recorded answers")
    parser.add_argument(
        "--judgements", metavar="FILE", help="where to record them (default: next to the results)"
    )
    add_tables(parser, [*ANALYSES, "judges"], SHORT)
    add_model_options(parser)
    add_json(parser, "the tables as JSON")


def run(options: argparse.Namespace) -> int:
    """Makes the runs and judgements that are not yet on record, and prints the tables."""
    failed: dict[str, str] = {}
    if options.models:
        failed |= _ask(options)
    elif not Path(options.output).exists():
        raise UsageError(
            Diagnostic("E402", f"{options.output} does not exist: name a MODEL to ask")
        )
    if options.judge:
        failed |= _judge(options)
    if (options.models or options.judge) and not options.json:
        print()
    print_failures(failed)
    _print(_tables(options), options)
    return exit_code(unusable=failed)


# ── asking ────────────────────────────────────────────────────────────────────────────────


def _ask(options: argparse.Namespace) -> dict[str, str]:
    """Makes the runs that are not yet on record, and returns why some failed."""
    asked = _questions(options)
    chosen = [
        question
        for question in asked.questions
        if not options.repository or question.repository in options.repository
    ]
    prompts = PROMPTS if options.prompt == "both" else (options.prompt,)
    failed: dict[str, str] = {}
    _on_record(Path(options.output))
    with Results(options.output) as results:
        for name in dict.fromkeys(options.models):
            with in_use(_model(name, chosen, options)) as model:
                done = run_missing(
                    partial(StudyRunner, model, asked, results),
                    list(study_jobs(model.name, prompts, chosen, options.seeds)),
                    "run",
                    quiet=options.json,
                )
                failed |= done.failed
    return failed


def _questions(options: argparse.Namespace) -> QuestionSet:
    if not options.questions:
        help = "`bylaw ground questions build -o questions.json` generates them."
        raise UsageError(Diagnostic("E402", "--questions FILE is needed to ask a model", help))
    asked = read_questions(Path(options.questions))
    for name in options.repository or ():
        if name not in {each.name for each in asked.repositories}:
            message = f"there are no questions about '{name}'"
            raise UsageError(Diagnostic("E402", message, source=options.questions))
    found = list(problems(asked))
    if found:  # answers would be compared with the wrong truth
        help = "Build the questions again."
        raise TraceError(Diagnostic("E310", each, help, options.questions) for each in found)
    return asked


def _model(name: str, questions: list[SymbolQuestion], options: argparse.Namespace) -> ChatModel:
    if name.startswith(PREFIX):
        return SimulatedAgent(name, questions)
    return model_named(name, model_options(options))


# ── judging ───────────────────────────────────────────────────────────────────────────────


def _judgements(options: argparse.Namespace) -> Path:
    return Path(options.judgements or Path(options.output).with_suffix(".judged.jsonl"))


def _judge(options: argparse.Namespace) -> dict[str, str]:
    """Makes the judgements that are not yet on record, and returns why some failed."""
    if options.judge.startswith(PREFIX):
        raise UsageError(Diagnostic("E420", "a simulated agent cannot judge"))
    given = {key: value for key, value in model_options(options).items() if value is not None}
    chosen = model_named(options.judge, {"temperature": TEMPERATURE} | given)
    runs = list(read_study(options.output))
    _on_record(_judgements(options), JUDGEMENT)
    with in_use(chosen) as judge, Results(_judgements(options)) as results:
        return run_missing(
            partial(JudgeRunner, judge, results),
            list(judgements(judge.name, runs)),
            "judgement",
            quiet=options.json,
        ).failed


# ── tables ───────────────────────────────────────────────────────────────────────────────


def _tables(options: argparse.Namespace) -> dict[str, Table]:
    runs = list(read_study(options.output))
    if not runs:
        raise TraceError(Diagnostic("E421", "the file has no runs", source=options.output))
    tables = {name: analysis(runs) for name, analysis in ANALYSES.items()}
    judged = _on_record(_judgements(options), JUDGEMENT)
    return tables | ({"judges": judges(judged)} if judged else {})


def _on_record(path: Path, study: str = STUDY) -> list[dict[str, Any]]:
    """The recorded lines of a file, if it exists; lines of anything else are an error."""
    return list(read_study(path, study=study)) if path.is_file() else []


def _print(tables: Mapping[str, Table], options: argparse.Namespace) -> None:
    if options.csv:
        write_tables(options, "csv", tables.values())
    if options.json:
        print(json.dumps({name: table.to_dict() for name, table in tables.items()}))
        return
    wanted = options.table or [*SHORT, *(["judges"] if options.judge else [])]
    names = list(tables) if "all" in wanted else wanted
    if any(name not in tables for name in names):
        raise UsageError(Diagnostic("E402", "no answer has been judged yet", "Add --judge MODEL."))
    print("\n\n".join(tables[name].text() for name in names))
    output = in_line(options.output)
    print(f"\nResults: {output}. All tables: bylaw ground study -o {output} --table all")
