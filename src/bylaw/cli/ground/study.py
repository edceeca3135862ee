"""`bylaw ground study`: do agents that answer questions about a repository read it first?"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from bylaw.agents.protocol import ChatModel
from bylaw.agents.simulated import PREFIX
from bylaw.bench.models import model_named
from bylaw.bench.results import Results
from bylaw.cli.inputs import at_least_one
from bylaw.cli.main import OK, UNUSABLE
from bylaw.cli.model_options import add_model_options, in_use, model_options
from bylaw.cli.outputs import write_files
from bylaw.cli.terminal import counted, progress, safe
from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.groundstudy.agents import AGENTS, SimulatedAgent
from bylaw.groundstudy.analysis import ANALYSES
from bylaw.groundstudy.analysis.judges import judges
from bylaw.groundstudy.analysis.runs import read_study
from bylaw.groundstudy.judges import JUDGEMENT, SAMPLES, TEMPERATURE, JudgeRunner, judgements
from bylaw.groundstudy.prompts import PROMPTS
from bylaw.groundstudy.questions.questions import (
    QuestionSet,
    SymbolQuestion,
    problems,
    read_questions,
)
from bylaw.groundstudy.study import SEEDS, STUDY, StudyRunner, study_jobs
from bylaw.tables import Table

SHORT: Final = ("categories", "strict")
"""The tables that are printed unless others are asked for."""

EPILOG: Final = f"""\
Each model is asked each question {SEEDS} times under each prompt. The default prompt
asks it to read before it answers; the strict one to say nothing that it has not
read, or to refuse. A run on record is not made again: give the command again to
go on. Without a model, it shows what is on record.

  bylaw ground questions build -o questions.json
  bylaw ground study sim:reader sim:refuser --questions questions.json
  bylaw ground study openai:gpt-4.1-mini --questions questions.json
  bylaw ground study --judge openai:gpt-4.1      judges what is on record
  bylaw ground study --table popularity

A judge is asked {SAMPLES} times about each answer, at temperature {TEMPERATURE}: with the calls
in view, whether they support it; without, whether it is right. No judge judges
itself.

Simulated agents, for trying things out:
{chr(10).join(f"  {name:<13} {agent.__doc__}" for name, agent in AGENTS.items())}

{fill(f"Tables: {', '.join(ANALYSES)}, judges.", 80)}
Exit code 0: all runs are on record; 2: some could not be finished.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("models", nargs="*", metavar="MODEL", help="KIND:WHICH, as sim:reader")
    parser.add_argument("--questions", metavar="FILE", help="needed where models are to be asked")
    parser.add_argument(
        "-o",
        "--output",
        default="grounding.jsonl",
        metavar="FILE",
        help="the results (default: grounding.jsonl)",
    )
    parser.add_argument(
        "--prompt", choices=(*PROMPTS, "both"), default="both", help="default: both"
    )
    parser.add_argument(
        "--repository", action="append", metavar="NAME", help="may be repeated (default: all)"
    )
    parser.add_argument(
        "--seeds",
        type=at_least_one,
        default=SEEDS,
        metavar="N",
        help=f"how often to ask (default: {SEEDS})",
    )
    parser.add_argument("--judge", metavar="MODEL", help="a model that judges what is on record")
    parser.add_argument(
        "--judgements", metavar="FILE", help="where they are put (default: beside the results)"
    )
    parser.add_argument(
        "--table",
        action="append",
        choices=[*ANALYSES, "judges", "all"],
        metavar="NAME",
        help="which to print, or all; may be repeated (default: the short ones)",
    )
    parser.add_argument("--csv", metavar="DIR", help="write each table as a CSV file there")
    add_model_options(parser)
    parser.add_argument("--json", action="store_true", help="print the tables as JSON")


def run(options: argparse.Namespace) -> int:
    """Makes the runs and judgements that are missing, and shows what is on record."""
    failed: dict[str, str] = {}
    if options.models:
        failed |= _asked(options)
    elif not Path(options.output).exists():
        raise UsageError(Diagnostic("E402", f"there is no {options.output}: name a MODEL to ask"))
    if options.judge:
        failed |= _judged(options)
    if (options.models or options.judge) and not options.json:
        print()
    if failed:
        key, reason = next(iter(failed.items()))
        many = counted(len(failed), "run")
        print(safe(f"{many} could not be finished, such as {key}: {reason}"), file=sys.stderr)
        print("They are not on record: give the command again to make them.", file=sys.stderr)
    _show(_tables(options), options)
    return UNUSABLE if failed else OK


# ── asking ────────────────────────────────────────────────────────────────────────────────


def _asked(options: argparse.Namespace) -> dict[str, str]:
    """Makes the runs that are missing; those that failed, and why."""
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
                wanted = list(study_jobs(model.name, prompts, chosen, options.seeds))
                missing = StudyRunner(model, asked, results).missing(wanted)
                _announce(model.name, "run", len(missing), len(wanted), options)
                with progress(f"runs of {model.name}", len(missing)) as line:
                    study = StudyRunner(model, asked, results, step=line.step)
                    study.run(missing)
                failed |= study.failed
    return failed


def _questions(options: argparse.Namespace) -> QuestionSet:
    if not options.questions:
        help = "`bylaw ground questions build -o questions.json` makes them."
        raise UsageError(Diagnostic("E402", "--questions FILE is needed to ask a model", help))
    asked = read_questions(Path(options.questions))
    for name in options.repository or ():
        if name not in {each.name for each in asked.repositories}:
            message = f"there are no questions about '{name}'"
            raise UsageError(Diagnostic("E402", message, source=options.questions))
    found = list(problems(asked))
    if found:  # answers would be held against another truth
        help = "Build the questions again."
        raise TraceError(Diagnostic("E310", each, help, options.questions) for each in found)
    return asked


def _model(name: str, questions: list[SymbolQuestion], options: argparse.Namespace) -> ChatModel:
    if name.startswith(PREFIX):
        return SimulatedAgent(name, questions)
    return model_named(name, model_options(options))


def _announce(who: str, what: str, left: int, total: int, options: argparse.Namespace) -> None:
    if not options.json:
        already = f", {total - left:,} on record already" if total > left else ""
        print(f"{who}: {counted(left, what)} to make{already}", flush=True)


# ── judging ───────────────────────────────────────────────────────────────────────────────


def _judgements(options: argparse.Namespace) -> Path:
    beside = Path(options.output).with_suffix(".judged.jsonl")
    return Path(options.judgements) if options.judgements else beside


def _judged(options: argparse.Namespace) -> dict[str, str]:
    """Makes the judgements that are missing; those that failed, and why."""
    if options.judge.startswith(PREFIX):
        raise UsageError(Diagnostic("E420", "a simulated agent is no judge"))
    chosen = model_named(options.judge, {"temperature": TEMPERATURE} | _given(options))
    runs = list(read_study(options.output))
    _on_record(_judgements(options), JUDGEMENT)
    with in_use(chosen) as judge, Results(_judgements(options)) as results:
        wanted = list(judgements(judge.name, runs))
        missing = JudgeRunner(judge, results).missing(wanted)
        _announce(judge.name, "judgement", len(missing), len(wanted), options)
        with progress("judgements", len(missing)) as line:
            judging = JudgeRunner(judge, results, step=line.step)
            judging.run(missing)
    return judging.failed


def _given(options: argparse.Namespace) -> dict[str, Any]:
    return {key: value for key, value in model_options(options).items() if value is not None}


# ── showing ───────────────────────────────────────────────────────────────────────────────


def _tables(options: argparse.Namespace) -> dict[str, Table]:
    runs = list(read_study(options.output))
    if not runs:
        raise TraceError(
            Diagnostic("E421", "there are no runs in this file", source=options.output)
        )
    tables = {name: analysis(runs) for name, analysis in ANALYSES.items()}
    judged = _on_record(_judgements(options), JUDGEMENT)
    return tables | ({"judges": judges(judged)} if judged else {})


def _on_record(path: Path, study: str = STUDY) -> list[dict[str, Any]]:
    """What a file holds already; anything but lines of this study is an error."""
    return list(read_study(path, study=study)) if path.is_file() else []


def _show(tables: Mapping[str, Table], options: argparse.Namespace) -> None:
    if options.csv:
        sheets = {f"{table.name}.csv": table.csv() for table in tables.values()}
        write_files(Path(options.csv), sheets)
    if options.json:
        print(json.dumps({name: table.to_dict() for name, table in tables.items()}))
        return
    wanted = options.table or [*SHORT, *(["judges"] if options.judge else [])]
    names = list(tables) if "all" in wanted else wanted
    if any(name not in tables for name in names):
        raise UsageError(Diagnostic("E402", "nothing was judged yet", "--judge MODEL does that."))
    print("\n\n".join(tables[name].text() for name in names))
    more = f"bylaw ground study -o {options.output} --table all"
    print(f"\nResults: {options.output}. All tables: {more}")
