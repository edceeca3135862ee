"""Transcripts of looking a definition up: list folders, read likely files, answer with the place.

The calls and results are those of the grounding study. The agent of a transcript does not know the
answer in advance: it may list another folder or read other files first, it reads a file page by
page until it sees the definition, and it answers only then. Under the strict prompt, some
transcripts never get there and end with the refusal that this prompt asks for.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bylaw.agents.protocol import ChatMessage, Reply
from bylaw.grounding import REFUSAL
from bylaw.grounding.predicate import READ_FILE
from bylaw.groundstudy.prompts import ANSWER, PROMPTS, Prompt, system_prompt, user_prompt
from bylaw.groundstudy.questions.questions import QuestionSet, SymbolQuestion
from bylaw.groundstudy.repositories.file_tools import LIST_DIRECTORY, PAGE, SPECS, Repository
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.training.data.transcripts import Transcript
from bylaw.values import decoded

LONGEST: Final = 3 * PAGE
"""The most bytes that the files read in a transcript may have together."""
_OTHERS: Final = (0, 0, 0, 0, 1, 1, 2)
"""The number of other files that are read first, drawn from these."""
_OTHER_FOLDER: Final = 0.15
"""The share of transcripts that list another folder first."""
_REFUSED: Final = 0.1
"""The share of transcripts under the strict prompt that end with a refusal."""
_READ_BEFORE_REFUSAL: Final = 3
_SMALL: Final = PAGE * 2 // 3
"""Other files are this small, so that one page shows that the definition is elsewhere."""


def lookups(asked: QuestionSet) -> list[Transcript]:
    """A transcript for each question whose file is short enough; prompts and repositories mix."""
    order = random.Random("lookups").sample(asked.questions, len(asked.questions))
    made = (
        lookup(asked.repository(question.repository), question, PROMPTS[number % len(PROMPTS)])
        for number, question in enumerate(order)
    )
    return [each for each in made if each is not None]


def lookup(repository: Repository, question: SymbolQuestion, prompt: Prompt) -> Transcript | None:
    """A transcript that answers a question; None if it would be longer than `LONGEST`.

    It depends on the question and the prompt alone.
    """
    session = _Session(repository, question, random.Random(f"lookup {prompt} {question.key}"))
    session.find_and_answer(may_refuse=prompt == "strict")
    if session.bytes_read > LONGEST:
        return None
    return Transcript(opening(question, prompt), (*SPECS, ANSWER), session.messages[:-1])


def opening(question: SymbolQuestion, prompt: Prompt) -> list[ChatMessage]:
    """The conversation before the agent's first turn, as in the study."""
    task = user_prompt(question.repository, question.text)
    return [
        {"role": "system", "content": system_prompt(prompt)},
        {"role": "user", "content": task},
    ]


class _Session:
    """One agent at work; its messages grow call by call."""

    def __init__(self, repository: Repository, question: SymbolQuestion, rng: random.Random):
        self.messages: Final[list[ChatMessage]] = []
        self.bytes_read = 0
        self._repository: Final = repository
        self._question: Final = question
        self._rng: Final = rng
        word = "class" if question.kind == "class" else "def"
        self._sought: Final = f"{word} {question.symbol}"
        self._definition: Final = re.compile(rf"(?m)^(?:async )?{self._sought}\b")

    def find_and_answer(self, *, may_refuse: bool) -> None:
        """Makes all calls of the transcript."""
        rng, file = self._rng, self._question.file
        other_folder = rng.random() < _OTHER_FOLDER
        others = rng.choice(_OTHERS)
        refuses = may_refuse and rng.random() < _REFUSED
        entries = self._list_down(file.split("/")[:-1], other_folder=other_folder)
        note = ""
        for path in self._other_files(entries)[: _READ_BEFORE_REFUSAL if refuses else others]:
            self._call(READ_FILE, note, path=path, offset=0)
            note = f"{self._sought} is not in {path}."
        if refuses:
            self._call(FINAL_ANSWER, note, answer=REFUSAL)
            return
        self._read_until_seen(note)
        answer = f"The {self._question.kind} {self._question.symbol} is defined in {file}."
        self._call(FINAL_ANSWER, f"{self._sought} is in {file}.", answer=answer)

    def _list_down(self, folders: Sequence[str], *, other_folder: bool) -> list[str]:
        """Lists the folders from the root to the last one, and returns what that one holds."""
        entries = self._call(LIST_DIRECTORY, path="")["entries"]
        for depth, name in enumerate(folders):
            above = "/".join(folders[:depth])
            others = [
                each
                for each in entries
                if each.endswith("/") and each != f"{name}/" and not each.startswith((".", "_"))
            ]
            if other_folder and others:
                self._call(LIST_DIRECTORY, path=_joined(above, self._rng.choice(others)[:-1]))
                other_folder = False
            entries = self._call(LIST_DIRECTORY, path=_joined(above, name))["entries"]
        found: list[str] = entries
        return found

    def _other_files(self, entries: Sequence[str]) -> list[str]:
        """Files next to the right one that might be it, the likeliest first."""
        file = self._question.file
        folder = file.rpartition("/")[0]
        beside = [_joined(folder, each) for each in entries if each.endswith(".py")]
        small = [
            path
            for path in beside
            if path != file and 0 < len(self._repository.contents(path)) <= _SMALL
        ]
        words = set(_words(self._question.symbol))
        likeness = {path: len(words & set(_words(path))) for path in small}
        return sorted(self._rng.sample(small, len(small)), key=lambda path: -likeness[path])

    def _read_until_seen(self, note: str) -> None:
        offset: int | None = 0
        while offset is not None:
            page = self._call(READ_FILE, note, path=self._question.file, offset=offset)
            if self._definition.search(page["content"]):
                return
            note = f"{self._sought} is not on this page, and the file has more."
            offset = page["next_offset"]
        raise ValueError(f"{self._question.file} does not define {self._question.symbol}")

    def _call(self, tool: str, note: str = "", **arguments: Any) -> Mapping[str, Any]:
        """Makes a call after a line of text, and returns its result."""
        call = Call(tool, arguments, id=f"call-{len(self.messages)}")
        text = "{}" if tool == FINAL_ANSWER else self._repository.tools[tool](**arguments)
        result = {"role": "tool", "tool_call_id": call.id, "name": tool, "content": text}
        self.messages.extend((Reply(note, (call,)).to_message(), result))
        found: Mapping[str, Any] = decoded(text)
        self.bytes_read += len(found.get("content", ""))
        return found


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _words(name: str) -> Iterator[str]:
    """The words in a name or a path: `HTTPError` has http and error."""
    return (
        word.lower()
        for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
        if len(word) > 2
    )
