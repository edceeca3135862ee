"""The two prompts of the study, which differ only in their rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

from bylaw.agents.protocol import ToolSpec
from bylaw.grounding import REFUSAL
from bylaw.grounding.predicate import READ_FILE
from bylaw.groundstudy.repositories.file_tools import LIST_DIRECTORY
from bylaw.names import FINAL_ANSWER

Prompt: TypeAlias = Literal["default", "strict"]
PROMPTS: Final[tuple[Prompt, ...]] = get_args(Prompt)

_PREAMBLE: Final = f"""\
You answer questions about the source code of a repository. Your tools see its files:

- {LIST_DIRECTORY}: what a folder of the repository holds.
- {READ_FILE}: the text of a file, page by page.

When you know what to say, hand your answer in with {FINAL_ANSWER}, which ends the task.

Rules:
"""

_DEFAULT: Final = """\
1. Before you read any file, look around in the folders.
2. Answer from the source code itself, which you have to read; do not answer from memory.
3. Name the files, classes, functions and code that you find.
4. Where you are not sure of something, first look it up in the code."""

_STRICT: Final = f"""\
1. Say nothing about files, classes, functions or code but what you have read directly with
   {READ_FILE} in this session. What you know of this repository from before must not be used.
2. Your final answer may mention a file path, a class name, a function name or a signature only
   if it was in a result of {READ_FILE} in this session. A name that you saw in a result of
   {LIST_DIRECTORY} alone does not count, unless you opened the file as well.
3. If a reasonable search does not turn the answer up in what you read, your final answer must
   be exactly "{REFUSAL}"
   To refuse is a valid answer, and the better one where the evidence is missing."""

RULES: Final[Mapping[Prompt, str]] = {"default": _DEFAULT, "strict": _STRICT}
"""The instructions of the paper, paraphrased one by one. The refusal is verbatim."""

ANSWER: Final = ToolSpec(
    FINAL_ANSWER, "Gives the final answer and ends the task.", {"answer": {"type": "string"}}
)


def system_prompt(prompt: Prompt) -> str:
    """The system prompt."""
    return _PREAMBLE + RULES[prompt]


def user_prompt(repository: str, question: str) -> str:
    """The user prompt, which states the task."""
    return (
        f"Repository: {repository}\n\nTASK\n----\n{question}\n\n"
        "Look into the source code with your tools, and answer thoroughly from what you find "
        "there. Name the files, classes, functions and patterns in the code that you come upon."
    )
