"""Questions about repositories: where is a function or class defined? And the file they are in."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, get_args

from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.groundstudy.questions.symbols import Symbol, SymbolKind, places_by_lines, symbols
from bylaw.groundstudy.repositories.file_tools import Repository

VERSION: Final = 1
"""The format of question files."""
PER_REPOSITORY: Final = 10
SEED: Final = 42
_OF_A_STUDY: Final = re.compile(rb'\s*\{\s*"bylaw"\s*:')
"""How files of questions and of results begin."""


@dataclass(frozen=True, slots=True)
class SymbolQuestion:
    """Where is a symbol defined?"""

    repository: str
    symbol: str
    kind: SymbolKind
    file: str
    """The right answer."""

    @property
    def key(self) -> str:
        """What tells this question from all others."""
        return f"{self.repository}/{self.symbol}"

    @property
    def text(self) -> str:
        """The question as an agent reads it."""
        return (
            f"In the repository `{self.repository}`, where is the {self.kind} `{self.symbol}` "
            "defined? Give the exact path of the file."
        )

    @property
    def truth(self) -> tuple[str, ...]:
        """What a right answer contains. The symbol proves nothing: the question names it."""
        return (self.file,)


@dataclass(frozen=True, slots=True)
class StudiedRepository:
    """A repository that questions are about."""

    name: str
    version: str
    bucket: str
    """How popular it is: hi, mid or low."""
    root: str
    """Where its files are, relative to the file of the questions."""
    tree: str
    """A digest of its files."""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions, and the repositories they are about."""

    seed: int
    repositories: Sequence[StudiedRepository]
    questions: Sequence[SymbolQuestion]
    folder: Path
    """What the roots of repositories are relative to."""

    def repository(self, name: str) -> Repository:
        """The files that a question is about."""
        return Repository(self.folder / self.about(name).root)

    def about(self, name: str) -> StudiedRepository:
        """The repository of this name."""
        return next(each for each in self.repositories if each.name == name)

    @property
    def digest(self) -> str:
        """What results depend on: the questions and the trees that they are about."""
        trees = [f"{each.name} {each.tree}" for each in self.repositories]
        keys = [f"{each.key} {each.file}" for each in self.questions]
        return hashlib.sha256("\n".join(trees + keys).encode()).hexdigest()[:16]


def questions_about(
    name: str, repository: Repository, *, seed: int = SEED, count: int = PER_REPOSITORY
) -> list[SymbolQuestion]:
    """Questions about a repository; as many as there can be, if that is less than `count`.

    They are spread over its files: a second one about a file comes after one about every other.
    """
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
    """A digest of the paths and contents of all files that can be read.

    What a study writes is left out: it may lie in the repository, and comes after the digest.
    """
    digest = hashlib.sha256()
    for path in repository.files():
        content = repository.contents(path)
        if not _OF_A_STUDY.match(content) and (content or not path.endswith(".jsonl")):
            digest.update(f"{path}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def problems(asked: QuestionSet) -> Iterator[str]:
    """What is wrong with questions: changed trees, and answers that are not the truth."""
    for each in asked.repositories:
        repository = asked.repository(each.name)
        if not repository.root.is_dir():
            yield f"{each.name}: there is no folder {repository.root}"
        elif tree_digest(repository) != each.tree:
            yield f"{each.name}: the files are not those that the questions were made from"
        else:
            places = places_by_lines(repository)
            for question in asked.questions:
                right = places.get(question.symbol) == {question.file}
                if question.repository == each.name and not right:
                    yield f"{question.key}: is not defined in {question.file} alone"


# ── files ─────────────────────────────────────────────────────────────────────────────────


def write_questions(path: Path, asked: QuestionSet) -> None:
    """Writes a file of questions."""
    document = {
        "bylaw": VERSION,
        "seed": asked.seed,
        "repositories": [asdict(each) for each in asked.repositories],
        "questions": [asdict(each) | {"question": each.text} for each in asked.questions],
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        message = f"cannot be written: {error.strerror or error}"
        raise UsageError(Diagnostic("E403", message, source=str(path))) from None


def read_questions(path: Path) -> QuestionSet:
    """The questions in a file."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if document["bylaw"] != VERSION:
            raise ValueError(f"the format {document['bylaw']} is not {VERSION}")
        if type(document["seed"]) is not int:
            raise TypeError("'seed' must be a whole number")
        repositories = [StudiedRepository(**_texts(each)) for each in document["repositories"]]
        questions = [_question(_texts(each)) for each in document["questions"]]
        unlisted = {each.repository for each in questions} - {each.name for each in repositories}
        if unlisted:
            raise ValueError(f"the repository '{min(unlisted)}' is asked about, and not listed")
        return QuestionSet(document["seed"], repositories, questions, path.parent)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise TraceError(Diagnostic("E310", message, source=str(path))) from None
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        message = f"the file holds no questions: {reason}"
        help = "Questions are what `bylaw ground questions build` writes."
        raise TraceError(Diagnostic("E310", message, help, source=str(path))) from None


def _question(fields: dict[str, Any]) -> SymbolQuestion:
    if fields["kind"] not in get_args(SymbolKind):
        raise ValueError(f"there is no kind '{fields['kind']}'")
    return SymbolQuestion(**{key: value for key, value in fields.items() if key != "question"})


def _texts(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a repository or a question, which are all texts."""
    if not isinstance(fields, dict):
        raise TypeError(f"{json.dumps(fields)} is not an object")
    for name, value in fields.items():
        if not isinstance(value, str):
            raise TypeError(f"'{name}' is {json.dumps(value)}, and must be a text")
    return fields
