"""Builds a set of questions: fetches what is pinned, takes what is at hand, asks about both."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bylaw.errors import Diagnostic, UsageError, did_you_mean
from bylaw.groundstudy.questions.questions import (
    QuestionSet,
    StudiedRepository,
    questions_about,
    tree_digest,
)
from bylaw.groundstudy.repositories.download import fetch
from bylaw.groundstudy.repositories.file_tools import Repository
from bylaw.groundstudy.repositories.pinned import PINNED

OWN: Final = "own"
"""The bucket and version of a repository that is not one of the paper's."""


def build_questions(
    names: Sequence[str],
    checkouts: Mapping[str, Path],
    *,
    output: Path,
    store: Path,
    index: str,
    seed: int,
    count: int,
    step: Callable[[], None] = lambda: None,
) -> QuestionSet:
    """Questions about these repositories; those without a checkout are fetched into `store`."""
    repositories, questions = [], []
    for name in names:
        root = checkouts[name] if name in checkouts else _fetched(name, store, index)
        if not root.is_dir():
            raise UsageError(Diagnostic("E402", f"{name}: there is no folder {root}"))
        repository = Repository(root)
        found = questions_about(name, repository, seed=seed, count=count)
        if not found:
            message = f"{name}: no public function or class is defined in one file alone"
            raise UsageError(Diagnostic("E402", message, f"Looked at the .py files of {root}."))
        pinned = PINNED.get(name)
        version, bucket = (pinned.version, pinned.bucket) if pinned else (OWN, OWN)
        place = os.path.relpath(root.resolve(), output.parent.resolve())
        repositories.append(
            StudiedRepository(name, version, bucket, place, tree_digest(repository))
        )
        questions += found
        step()
    return QuestionSet(seed, repositories, questions, output.parent)


def _fetched(name: str, store: Path, index: str) -> Path:
    if name not in PINNED:
        help = did_you_mean(name, PINNED) or f"For one of your own: --checkout {name}=DIR"
        raise UsageError(Diagnostic("E402", f"'{name}' is not one of the study", help))
    return fetch(PINNED[name], store, index)
