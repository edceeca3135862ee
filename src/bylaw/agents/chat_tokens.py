"""A conversation as tokens that only ever grows, as it must be to train on it.

What the agent wrote stays token by token as it wrote it. What others say in between is the text
that the chat template puts between two turns of the agent, tokenised on its own: turns end with a
special token, so nothing runs together across it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from jinja2 import TemplateError

from bylaw.agents.protocol import ChatMessage, ToolSpec
from bylaw.agents.tool_text import in_plain_text, with_objects
from bylaw.values import canonical

_ASKED: Final[ChatMessage] = {"role": "user", "content": "?"}
_SAID: Final[ChatMessage] = {"role": "assistant", "content": "!"}


class ChatTokens:
    """The chat template of a tokenizer, asked for the pieces of a conversation."""

    def __init__(self, tokenizer: Any, ends: Sequence[int], *, takes_tools: bool) -> None:
        self.ends: Final = frozenset(ends)
        """All tokens that end a turn."""
        self._tokenizer: Final = tokenizer
        self._takes_tools: Final = takes_tools
        self._openings: Final[dict[object, list[int]]] = {}
        self._between: Final[dict[object, list[int]]] = {}
        rendered = self._ids(self._text([_ASKED, _SAID], ()))
        written = (token for token in reversed(rendered) if token in self.ends)
        self.end: Final = next(written, min(self.ends))
        """The one of them that the template itself writes."""

    def opening(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> list[int]:
        """What stands before the agent's first turn. Rollouts of one prompt ask for it often."""
        key = canonical([tool.to_dict() for tool in tools]), _key(messages)
        if key not in self._openings:
            self._openings[key] = self._ids(self._text(messages, tools, asks=True))
        return self._openings[key]

    def turn(self, message: ChatMessage) -> list[int]:
        """A turn of the agent, the end of the turn included."""
        before = self._text([_ASKED], (), asks=True)
        whole = self._text([_ASKED, message], ())
        assert whole.startswith(before), "the template writes a turn as it asks for one"
        ids = self._ids(whole[len(before) :])
        last = max(at for at, token in enumerate(ids) if token == self.end)
        return ids[: last + 1]

    def between(self, messages: Sequence[ChatMessage]) -> list[int]:
        """What stands behind the end of a turn and before the next: others' messages."""
        key = _key(messages)
        if key not in self._between:
            end = self._tokenizer.convert_ids_to_tokens(self.end)
            before = self._text([_ASKED, _SAID], ())
            if end not in before:
                raise TemplateError("it does not mark where a turn ends")
            before = before[: before.rindex(end) + len(end)]
            whole = self._text([_ASKED, _SAID, *messages], (), asks=True)
            if not whole.startswith(before):
                raise TemplateError("it writes a turn otherwise once something follows it")
            self._between[key] = self._ids(whole[len(before) :])
        return self._between[key]

    @cached_property
    def only_grows(self) -> bool:
        """Does the template leave a turn as it is, whatever follows it?"""
        heard: list[ChatMessage] = [
            {"role": "tool", "tool_call_id": "c", "name": "t", "content": "1"}
        ]
        try:
            return bool(self.between(heard)) and bool(self.between([_ASKED]))
        except TemplateError:
            return False

    def read(self, ids: Sequence[int]) -> str:
        """The text of a turn, without its end."""
        inside = [token for token in ids if token not in self.ends]
        fast = getattr(self._tokenizer, "backend_tokenizer", None)
        text: str = (
            self._tokenizer.decode(inside, clean_up_tokenization_spaces=False)
            if fast is None
            else fast.decode(inside, skip_special_tokens=False)  # the same, with less in between
        )
        return text

    def _text(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec], *, asks: bool = False
    ) -> str:
        listed = [tool.to_dict() for tool in tools] or None
        shown = with_objects(messages)
        if not self._takes_tools:
            listed, shown = None, in_plain_text(shown, tools)
        text: str = self._tokenizer.apply_chat_template(
            shown, tools=listed, add_generation_prompt=asks, tokenize=False
        )
        return text

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


def _key(messages: Sequence[ChatMessage]) -> tuple[tuple[str, str], ...]:
    """What tells messages without calls apart."""
    return tuple((message["role"], message["content"]) for message in messages)


@dataclass(slots=True)
class Tokens:
    """The tokens behind the opening of one conversation."""

    ids: list[int] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    """1 for what the agent wrote, 0 for what others said."""
    chances: list[float] = field(default_factory=list)
    """The log-probability with which each was written; 0 for what others said."""

    def write(self, ids: Sequence[int], chances: Sequence[float]) -> None:
        """The agent wrote a turn."""
        self.ids += ids
        self.own += [1] * len(ids)
        self.chances += chances

    def hear(self, ids: Sequence[int]) -> None:
        """Others said something."""
        self.ids += ids
        self.own += [0] * len(ids)
        self.chances += [0.0] * len(ids)
