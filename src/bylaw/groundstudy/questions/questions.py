"""Questions about repositories (where is a symbol defined?), and the file that stores them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, get_args

from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.groundstudy.questions.symbols import SymbolKind
from bylaw.groundstudy.repositories.file_tools import Repository
from bylaw.opening import read_regular
from bylaw.saved import table
from bylaw.values import read_json
from bylaw.writing import replace_file

VERSION: Final = 1
"""The version of the format of question files."""


@dataclass(frozen=True, slots=True)
class SymbolQuestion:
    """A question: where is a symbol defined?"""

    repository: str
    symbol: str
    kind: SymbolKind
    file: str
    """The correct answer."""

    @property
    def key(self) -> str:
        """The identity of the question."""
        return f"{self.repository}/{self.symbol}"

    @property
    def text(self) -> str:
        """The question as the agent reads it."""
        return (
            f"In the repository `{self.repository}`, where is the {self.kind} `{self.symbol}` "
            "defined? Give the exact path of the file."
        )

    @property
    def truth(self) -> tuple[str, ...]:
        """The strings that a correct answer contains. The question itself names the symbol."""
        return (self.file,)


@dataclass(frozen=True, slots=True)
class StudiedRepository:
    """A repository that is asked about."""

    name: str
    version: str
    bucket: str
    """Its popularity: hi, mid or low."""
    root: str
    """The folder of its files, relative to the question file."""
    tree: str
    """A digest of its files."""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions, and the repositories that they ask about."""

    seed: int
    repositories: Sequence[StudiedRepository]
    questions: Sequence[SymbolQuestion]
    folder: Path
    """The folder that the roots of repositories are relative to."""

    def repository(self, name: str) -> Repository:
        """The files of a repository, by its name."""
        return Repository(self.folder / self.about(name).root)

    def about(self, name: str) -> StudiedRepository:
        """The description of a repository, by its name."""
        return next(each for each in self.repositories if each.name == name)

    @property
    def digest(self) -> str:
        """A digest of the questions and of the trees, on which results depend."""
        trees = [f"{each.name} {each.tree}" for each in self.repositories]
        keys = [f"{each.key} {each.file}" for each in self.questions]
        return hashlib.sha256("\n".join(trees + keys).encode()).hexdigest()[:16]


def write_questions(path: Path, asked: QuestionSet) -> None:
    """Writes a question file."""
    document = {
        "bylaw": VERSION,
        "seed": asked.seed,
        "repositories": [asdict(each) for each in asked.repositories],
        "questions": [asdict(each) | {"question": each.text} for each in asked.questions],
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(document, indent=1, ensure_ascii=False)
        replace_file(path, f"{text}\n".encode())
    except OSError as error:
        message = f"cannot be written: {error.strerror or error}"
        raise UsageError(Diagnostic("E403", message, source=str(path))) from None


def read_questions(path: Path) -> QuestionSet:
    """The questions in a question file."""
    try:
        document = table(read_json(read_regular(path)))
        if document["bylaw"] != VERSION:
            raise ValueError(f"format {document['bylaw']} is not supported, only {VERSION}")
        if type(document["seed"]) is not int:
            raise TypeError("'seed' must be an integer")
        repositories = [StudiedRepository(**_texts(each)) for each in document["repositories"]]
        questions = [_question(_texts(each)) for each in document["questions"]]
        unlisted = {each.repository for each in questions} - {each.name for each in repositories}
        if unlisted:
            raise ValueError(f"the repository '{min(unlisted)}' is not listed")
        return QuestionSet(document["seed"], repositories, questions, path.parent)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise TraceError(Diagnostic("E310", message, source=str(path))) from None
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        message = f"not a question file: {reason}"
        help = "Question files are written by `bylaw ground questions build`."
        raise TraceError(Diagnostic("E310", message, help, source=str(path))) from None


def _question(fields: dict[str, Any]) -> SymbolQuestion:
    if fields["kind"] not in get_args(SymbolKind):
        raise ValueError(f"unknown kind '{fields['kind']}'")
    return SymbolQuestion(**{key: value for key, value in fields.items() if key != "question"})


def _texts(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a repository or a question, which must all be strings."""
    if not isinstance(fields, dict):
        raise TypeError(f"{json.dumps(fields)} is not an object")
    for name, value in fields.items():
        if not isinstance(value, str):
            raise TypeError(f"'{name}' must be a string, not {json.dumps(value)}")
    return fields
