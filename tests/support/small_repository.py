"""A small repository, and questions about it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bylaw.groundstudy.questions.building import (
    questions_about,
    tree_digest,
)
from bylaw.groundstudy.questions.questions import (
    QuestionSet,
    StudiedRepository,
)
from bylaw.groundstudy.repositories.file_tools import Repository

FILES: Final[Mapping[str, str]] = {
    "README.md": "# small\n",
    "src/small/__init__.py": "from small.api import request\n",
    "src/small/api.py": "def request(url): ...\n\n\ndef _hidden(): ...\n",
    "src/small/session.py": "class Session:\n    def request(self): ...\n",
    "src/small/retry.py": "def backoff(attempt):\n    return 2**attempt\n\n\nclass Retry: ...\n",
}


def write(root: Path, files: Mapping[str, str] = FILES) -> Repository:
    """Writes files, and gives the repository that they make."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return Repository(root)


def asked_about(folder: Path) -> QuestionSet:
    """Questions about the repository, which is written below the folder."""
    repository = write(folder / "small")
    about = StudiedRepository("small", "1.0", "low", "small", tree_digest(repository))
    return QuestionSet(42, [about], questions_about("small", repository), folder)
