"""Simulated agents of the study: one that remembers, one that reads, one that prefers to refuse.

They are given the questions with their answers, so their mistakes are deliberate. Every result
marks them as simulated.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from bylaw.agents.protocol import Chat, Reply
from bylaw.agents.simulated import PREFIX
from bylaw.errors import Diagnostic, UsageError, did_you_mean
from bylaw.grounding import REFUSAL
from bylaw.grounding.predicate import READ_FILE
from bylaw.groundstudy.questions.questions import SymbolQuestion
from bylaw.groundstudy.repositories.file_tools import LIST_DIRECTORY
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.values import Json, decoded

REMEMBERED: Final = 0.6
"""The probability that memory is right."""


def _recall(question: SymbolQuestion, rng: random.Random) -> str:
    """The file recalled from memory: the right one, or a plausible one."""
    if rng.random() < REMEMBERED:
        return question.file
    return f"{question.repository}/{question.symbol.lower()}.py"


def recaller(question: SymbolQuestion, conversation: Chat) -> Call:
    """Lists the root, then answers from memory."""
    if not _results(conversation):
        return Call(LIST_DIRECTORY, {"path": ""})
    return _answer(_recall(question, random.Random(conversation.seed)))


def reader(question: SymbolQuestion, conversation: Chat) -> Call:
    """Walks down to the file and reads until it sees the definition."""
    made = _results(conversation)
    folders = ["", *_above(question.file)]
    if len(made) < len(folders):
        return Call(LIST_DIRECTORY, {"path": folders[len(made)]})
    pages = [page for page in made[len(folders) :] if isinstance(page, Mapping)]
    word = "class" if question.kind == "class" else "def"
    if any(f"{word} {question.symbol}" in page["content"] for page in pages):
        return _answer(question.file)
    offset = pages[-1]["next_offset"] if pages else 0
    if offset is None:
        return _answer(REFUSAL)
    return Call(READ_FILE, {"path": question.file, "offset": offset})


def refuser(question: SymbolQuestion, conversation: Chat) -> Call:
    """Opens a file; refuses if the prompt allows it, else recalls."""
    made = _results(conversation)
    if REFUSAL not in conversation.messages[0]["content"]:
        return recaller(question, conversation)
    if not made:
        return Call(LIST_DIRECTORY, {"path": ""})
    files = [
        entry for entry in made[0]["entries"] if entry.endswith((".md", ".rst", ".toml", ".py"))
    ]
    if len(made) == 1 and files:
        return Call(READ_FILE, {"path": files[0], "offset": 0})
    return _answer(REFUSAL)


Behaviour = Callable[[SymbolQuestion, Chat], Call]
AGENTS: Final[Mapping[str, Behaviour]] = {
    f"{PREFIX}{behaviour.__name__}": behaviour for behaviour in (recaller, reader, refuser)
}


class SimulatedAgent:
    """A chat model with one of these behaviours."""

    batched = True
    width = 64

    def __init__(self, name: str, questions: Sequence[SymbolQuestion]) -> None:
        if name not in AGENTS:
            help = did_you_mean(name, AGENTS) or f"The agents are {', '.join(AGENTS)}."
            message = f"unknown simulated agent '{name}'"
            raise UsageError(Diagnostic("E420", message, help))
        behaviour = AGENTS[name]
        self.name = name
        self.about: dict[str, Json] = {"simulated": True, "habits": behaviour.__doc__}
        self._behaviour: Final = behaviour
        self._questions: Final = {question.key: question for question in questions}

    def reply(self, conversations: Sequence[Chat]) -> list[Reply]:
        """The next turn of each conversation."""
        return [self._reply(each) for each in conversations]

    def _reply(self, conversation: Chat) -> Reply:
        question = self._questions[conversation.seed.rpartition("/")[0]]
        call = self._behaviour(question, conversation)
        number = len(conversation.messages)
        return Reply(calls=(Call(call.tool, call.args, id=f"call-{number}"),))


def _results(conversation: Chat) -> list[Any]:
    """The tool results so far."""
    messages = (message for message in conversation.messages if message["role"] == "tool")
    return [decoded(message["content"]) for message in messages]


def _above(file: str) -> list[str]:
    """The folders that contain a file, from the outermost."""
    folders = file.split("/")[:-1]
    return ["/".join(folders[:count]) for count in range(1, len(folders) + 1)]


def _answer(text: str) -> Call:
    return Call(FINAL_ANSWER, {"answer": text})
