"""`bylaw ground questions`: generates and checks the questions of the grounding study."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bylaw.cli.main import OK, exit_code
from bylaw.cli.options import add_json, add_names, add_number, add_output, check_outputs
from bylaw.errors import Diagnostic, UsageError
from bylaw.groundstudy.questions.building import (
    PER_REPOSITORY,
    SEED,
    build_questions,
    problems,
)
from bylaw.groundstudy.questions.questions import (
    QuestionSet,
    read_questions,
    write_questions,
)
from bylaw.groundstudy.repositories.download import index_url
from bylaw.groundstudy.repositories.pinned import PINNED, PinnedRepository, package
from bylaw.terminal import counted, in_line, progress

EPILOG: Final = f"""\
Each question asks in which file a public function or class is defined. The
answer comes from the syntax trees of a repository. A question is used only if a
scan of all lines finds no other file that seems to define the name.

  bylaw ground questions build -o questions.json
  bylaw ground questions build -o questions.json --repository flask
  bylaw ground questions build -o questions.json --checkout mine=../mine
  bylaw ground questions build -o training.json --package attrs==25.3.0
  bylaw ground questions check questions.json

`build` fetches pinned source distributions from the package index that pip
uses. It verifies their checksums and runs none of their code. The study has
{", ".join(list(PINNED)[:8])},
{", ".join(list(PINNED)[8:14])},
{" and ".join(list(PINNED)[14:])}. The index does not have mac_apt:
without --checkout mac_apt=DIR it is left out.

`check` verifies that the repositories have not changed since the questions were
generated, and that the answers are still right.

Exit code: 0 on success, 1 if a check fails, 2 if an input cannot be used.
"""

_PACKAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._!+-]*")
"""The name or the version of a package: never a path."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "action", choices=("build", "check"), help="generate questions, or check them"
    )
    parser.add_argument("questions", nargs="?", metavar="FILE", help="the file to check")
    add_output(parser, "-o", "--output", help="the file to write", mark='{\n "bylaw": 1,\n "seed":')
    add_names(parser, "--repository")
    parser.add_argument(
        "--checkout",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="use the files in this folder; repeatable",
    )
    parser.add_argument(
        "--package",
        action="append",
        default=[],
        metavar="NAME==VERSION",
        help="ask about this package of the index; repeatable",
    )
    parser.add_argument(
        "--store", metavar="DIR", help="where to unpack (default: repositories, next to FILE)"
    )
    parser.add_argument("--index-url", metavar="URL", help="default: the one that pip uses")
    add_number(parser, "--seed", SEED, "random seed", int)
    add_number(parser, "--count", PER_REPOSITORY, "questions per repository")
    add_json(parser, "the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Builds or checks a file of questions."""
    needed = {"build": options.output, "check": options.questions}
    if not needed[options.action] or all(needed.values()):
        help = "Write `build -o FILE`, or `check FILE`."
        raise UsageError(Diagnostic("E402", "name one file of questions", help))
    return _check(options) if options.action == "check" else _build(options)


def _build(options: argparse.Namespace) -> int:
    output = Path(options.output)
    checkouts = dict(map(_checkout, options.checkout))
    packages = {each.name: each for each in map(_package, options.package)}
    own = {**checkouts, **packages}
    names = list(dict.fromkeys([*(options.repository or _default_repositories(own)), *own]))
    with progress("repositories", len(names)) as line:
        asked = build_questions(
            names,
            checkouts,
            packages,
            output=output,
            store=Path(options.store) if options.store else output.parent / "repositories",
            index=options.index_url or index_url(),
            seed=options.seed,
            count=options.count,
            step=line.step,
        )
    check_outputs(options)  # again: making questions takes a while
    write_questions(output, asked)
    _print(asked, options)
    return OK


def _checkout(given: str) -> tuple[str, Path]:
    name, equals, folder = given.partition("=")
    if not (name and equals and folder):
        message = f"'{given}' is not of the form NAME=DIR"
        raise UsageError(Diagnostic("E402", message, "For example: --checkout mac_apt=../mac_apt"))
    return name, Path(folder)


def _package(given: str) -> PinnedRepository:
    name, equals, version = given.partition("==")
    if not (equals and _PACKAGE.fullmatch(name) and _PACKAGE.fullmatch(version)):
        message = f"'{given}' is not of the form NAME==VERSION"
        raise UsageError(Diagnostic("E402", message, "For example: --package attrs==25.3.0"))
    if name in PINNED:
        message = f"'{name}' is a repository of the study"
        raise UsageError(Diagnostic("E402", message, f"Write --repository {name}."))
    return package(name, version)


def _default_repositories(own: Mapping[str, object]) -> list[str]:
    """The repositories by default: the user's own, or the whole study."""
    if own and not own.keys() & PINNED.keys():
        return list(own)
    return [name for name, each in PINNED.items() if each.project or name in own]


def _print(asked: QuestionSet, options: argparse.Namespace) -> None:
    counts = Counter(question.repository for question in asked.questions)
    if options.json:
        found = {"questions": options.output, "seed": asked.seed, "repositories": dict(counts)}
        print(json.dumps(found))
        return
    for each in asked.repositories:
        few = "" if counts[each.name] >= options.count else ", as many as there are"
        many = counted(counts[each.name], "question")
        print(in_line(f"{each.name} {each.version} ({each.bucket}): {many}{few}"))
    print(f"\n{counted(len(asked.questions), 'question')} written to {in_line(options.output)}")


def _check(options: argparse.Namespace) -> int:
    asked = read_questions(Path(options.questions))
    found = list(problems(asked))
    if options.json:
        print(json.dumps({"questions": len(asked.questions), "problems": found}))
    else:
        many = counted(len(asked.questions), "question")
        sound = f"{many}: the repositories and the answers are as recorded"
        print("\n".join(map(in_line, found)) or sound)
    return exit_code(violated=found)
