"""`bylaw ground questions`: questions for the grounding study, made and checked."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Final

from bylaw.cli.inputs import at_least_one
from bylaw.cli.main import OK, VIOLATED
from bylaw.cli.terminal import counted, progress, safe
from bylaw.errors import Diagnostic, UsageError
from bylaw.groundstudy.questions.building import build_questions
from bylaw.groundstudy.questions.questions import (
    PER_REPOSITORY,
    SEED,
    QuestionSet,
    problems,
    read_questions,
    write_questions,
)
from bylaw.groundstudy.repositories.download import index_url
from bylaw.groundstudy.repositories.pinned import PINNED

EPILOG: Final = f"""\
Each question asks in which file a public function or class is defined. It is
found by the syntax trees of a repository, and counts only if a scan of all its
lines finds no other file that seems to define that name.

  bylaw ground questions build -o questions.json
  bylaw ground questions build -o questions.json --repository flask
  bylaw ground questions build -o questions.json --checkout mine=../mine
  bylaw ground questions check questions.json

`build` fetches pinned source distributions from the package index that pip
would ask. Checksums are verified, and none of their code is run. The study has
{", ".join(list(PINNED)[:8])},
{", ".join(list(PINNED)[8:14])},
{" and ".join(list(PINNED)[14:])}. The index does not have mac_apt:
without --checkout mac_apt=DIR it is left out.

`check` finds out whether the repositories are still those that the questions
were made from, and the answers still right.

Exit code 0: done; 1: a check found something; 2: something could not be used.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("action", choices=("build", "check"), help="what to do")
    parser.add_argument("questions", nargs="?", metavar="FILE", help="what to check")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to build")
    parser.add_argument(
        "--repository", action="append", metavar="NAME", help="may be repeated (default: all)"
    )
    parser.add_argument(
        "--checkout",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="use these files; may be repeated",
    )
    parser.add_argument(
        "--store", metavar="DIR", help="where to unpack (default: repositories, beside FILE)"
    )
    parser.add_argument("--index-url", metavar="URL", help="default: the one pip would ask")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"default: {SEED}")
    parser.add_argument(
        "--count", type=at_least_one, default=PER_REPOSITORY, metavar="N", help="per repository"
    )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(options: argparse.Namespace) -> int:
    """Builds or checks."""
    needed = {"build": options.output, "check": options.questions}
    if not needed[options.action] or all(needed.values()):
        help = "Write `build -o FILE`, or `check FILE`."
        raise UsageError(Diagnostic("E402", "one file of questions is needed", help))
    return _check(options) if options.action == "check" else _build(options)


def _build(options: argparse.Namespace) -> int:
    output = Path(options.output)
    checkouts = dict(map(_checkout, options.checkout))
    names = options.repository or _all_there_are(checkouts)
    with progress("repositories", len(names)) as line:
        asked = build_questions(
            list(dict.fromkeys([*names, *checkouts])),
            checkouts,
            output=output,
            store=Path(options.store) if options.store else output.parent / "repositories",
            index=options.index_url or index_url(),
            seed=options.seed,
            count=options.count,
            step=line.step,
        )
    write_questions(output, asked)
    _tell(asked, options)
    return OK


def _checkout(given: str) -> tuple[str, Path]:
    name, equals, folder = given.partition("=")
    if not (name and equals and folder):
        message = f"'{given}' is not of the form NAME=DIR"
        raise UsageError(Diagnostic("E402", message, "For example: --checkout mac_apt=../mac_apt"))
    return name, Path(folder)


def _all_there_are(checkouts: dict[str, Path]) -> list[str]:
    """What is asked about unless somebody chooses: checkouts of one's own, or the whole study."""
    if checkouts and not checkouts.keys() & PINNED.keys():
        return list(checkouts)
    return [name for name, each in PINNED.items() if each.project or name in checkouts]


def _tell(asked: QuestionSet, options: argparse.Namespace) -> None:
    counts = Counter(question.repository for question in asked.questions)
    if options.json:
        found = {"questions": options.output, "seed": asked.seed, "repositories": dict(counts)}
        print(json.dumps(found))
        return
    for each in asked.repositories:
        few = "" if counts[each.name] >= options.count else ", as many as there are"
        many = counted(counts[each.name], "question")
        print(safe(f"{each.name} {each.version} ({each.bucket}): {many}{few}"))
    print(f"\n{counted(len(asked.questions), 'question')} written to {options.output}")


def _check(options: argparse.Namespace) -> int:
    asked = read_questions(Path(options.questions))
    found = list(problems(asked))
    if options.json:
        print(json.dumps({"questions": len(asked.questions), "problems": found}))
    else:
        many = counted(len(asked.questions), "question")
        print(safe("\n".join(found) or f"{many}: the repositories and the answers are as recorded"))
    return VIOLATED if found else OK
