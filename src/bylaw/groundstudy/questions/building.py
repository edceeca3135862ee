"""Building and checking questions about pinned repositories and checkouts."""

from __future__ import annotations

import hashlib
import os
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from bylaw.errors import Diagnostic, UsageError, did_you_mean
from bylaw.groundstudy.questions.questions import QuestionSet, StudiedRepository, SymbolQuestion
from bylaw.groundstudy.questions.symbols import Symbol, places_by_lines, symbols
from bylaw.groundstudy.repositories.download import fetch
from bylaw.groundstudy.repositories.file_tools import Repository
from bylaw.groundstudy.repositories.pinned import OWN, PINNED, PinnedRepository

PER_REPOSITORY: Final = 10
SEED: Final = 42
_STUDY_FILE: Final = re.compile(rb'\s*\{\s*"bylaw"\s*:')
"""The beginning of question files and of results files."""


def build_questions(
    names: Sequence[str],
    checkouts: Mapping[str, Path],
    packages: Mapping[str, PinnedRepository] = MappingProxyType({}),
    *,
    output: Path,
    store: Path,
    index: str,
    seed: int,
    count: int,
    step: Callable[[], None] = lambda: None,
) -> QuestionSet:
    """Questions about these repositories. Those without a checkout are downloaded to `store`.

    `packages` has those that are not in the paper.
    """
    known = {**PINNED, **packages}
    repositories, questions = [], []
    for name in names:
        root = checkouts[name] if name in checkouts else _fetched(name, known, store, index)
        if not root.is_dir():
            raise UsageError(Diagnostic("E402", f"{name}: no such folder: {root}"))
        repository = Repository(root)
        found = questions_about(name, repository, seed=seed, count=count)
        if not found:
            message = f"{name}: no public function or class is defined in exactly one file"
            raise UsageError(Diagnostic("E402", message, f"Searched the .py files of {root}."))
        pinned = known.get(name)
        version, bucket = (pinned.version, pinned.bucket) if pinned else (OWN, OWN)
        place = os.path.relpath(root.resolve(), output.parent.resolve())
        repositories.append(
            StudiedRepository(name, version, bucket, place, tree_digest(repository))
        )
        questions += found
        step()
    return QuestionSet(seed, repositories, questions, output.parent)


def _fetched(name: str, known: Mapping[str, PinnedRepository], store: Path, index: str) -> Path:
    if name not in known:
        help = did_you_mean(name, known) or f"For a repository of your own: --checkout {name}=DIR"
        raise UsageError(Diagnostic("E402", f"unknown repository '{name}'", help))
    return fetch(known[name], store, index)


def questions_about(
    name: str, repository: Repository, *, seed: int = SEED, count: int = PER_REPOSITORY
) -> list[SymbolQuestion]:
    """At most `count` questions about a repository, spread evenly over its files."""
    rng = random.Random(f"{seed} {name}")
    by_file: dict[str, list[Symbol]] = {}
    for symbol in symbols(repository):
        by_file.setdefault(symbol.file, []).append(symbol)
    for each in by_file.values():
        rng.shuffle(each)
    files = list(by_file)
    rng.shuffle(files)
    chosen: list[Symbol] = []
    while files and len(chosen) < count:
        chosen += [by_file[file].pop() for file in files][: count - len(chosen)]
        files = [file for file in files if by_file[file]]
    return [SymbolQuestion(name, each.name, each.kind, each.file) for each in chosen]


def tree_digest(repository: Repository) -> str:
    """A digest of the paths and contents of all readable files.

    Files written by a study are left out: they may lie in the repository, and are written later.
    """
    digest = hashlib.sha256()
    for path in repository.files():
        content = repository.contents(path)
        if not _STUDY_FILE.match(content) and (content or not path.endswith(".jsonl")):
            digest.update(f"{path}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def problems(asked: QuestionSet) -> Iterator[str]:
    """Problems of a question set: changed trees, and answers that are not correct."""
    for each in asked.repositories:
        repository = asked.repository(each.name)
        if not os.path.isdir(repository.root):  # noqa: PTH112  (Path raises on long names)
            yield f"{each.name}: no such folder: {repository.root}"
        elif tree_digest(repository) != each.tree:
            yield f"{each.name}: the files have changed since the questions were built"
        else:
            places = places_by_lines(repository)
            for question in asked.questions:
                correct = places.get(question.symbol) == {question.file}
                if question.repository == each.name and not correct:
                    yield f"{question.key}: not defined in exactly the file {question.file}"
