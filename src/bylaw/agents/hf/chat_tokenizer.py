"""A conversation as an append-only list of tokens, as training needs it.

The agent's turns keep the tokens that the model generated. The messages between two turns are the
text that the chat template puts there, tokenised separately: turns end with a special token, so no
token spans the boundary.
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

_QUESTION: Final[ChatMessage] = {"role": "user", "content": "?"}
_ANSWER: Final[ChatMessage] = {"role": "assistant", "content": "!"}


class ChatTokenizer:
    """Applies a tokenizer's chat template to parts of a conversation."""

    def __init__(self, tokenizer: Any, ends: Sequence[int], *, takes_tools: bool) -> None:
        self.ends: Final = frozenset(ends)
        """All tokens that end a turn."""
        self._tokenizer: Final = tokenizer
        self._takes_tools: Final = takes_tools
        self._prompts: Final[dict[object, list[int]]] = {}
        self._between: Final[dict[object, list[int]]] = {}

    @cached_property
    def end(self) -> int:
        """The end token that the template itself writes."""
        rendered = self._ids(self.text([_QUESTION, _ANSWER], ()))
        return next((token for token in reversed(rendered) if token in self.ends), min(self.ends))

    def prompt(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> list[int]:
        """The tokens before the agent's first turn; cached, as rollouts share prompts."""
        key = canonical([tool.to_dict() for tool in tools]), _key(messages)
        if key not in self._prompts:
            self._prompts[key] = self._ids(self.text(messages, tools, generate=True))
        return self._prompts[key]

    def turn(self, message: ChatMessage) -> list[int]:
        """A turn of the agent, including its end token."""
        before = self.text([_QUESTION], (), generate=True)
        whole = self.text([_QUESTION, message], ())
        assert whole.startswith(before), "the template writes a turn after its generation prompt"
        ids = self._ids(whole[len(before) :])
        last = max(at for at, token in enumerate(ids) if token == self.end)
        return ids[: last + 1]

    def between(self, messages: Sequence[ChatMessage]) -> list[int]:
        """The tokens between the end of a turn and the next turn: the others' messages."""
        key = _key(messages)
        if key not in self._between:
            end = self._tokenizer.convert_ids_to_tokens(self.end)
            before = self.text([_QUESTION, _ANSWER], ())
            if end not in before:
                raise TemplateError("it does not mark where a turn ends")
            before = before[: before.rindex(end) + len(end)]
            whole = self.text([_QUESTION, _ANSWER, *messages], (), generate=True)
            if not whole.startswith(before):
                raise TemplateError("it changes a turn when a message follows")
            self._between[key] = self._ids(whole[len(before) :])
        return self._between[key]

    @cached_property
    def is_append_only(self) -> bool:
        """Does the template leave a turn unchanged, whatever follows it?"""
        result: ChatMessage = {"role": "tool", "tool_call_id": "c", "name": "t", "content": "1"}
        try:
            return bool(self.between([result])) and bool(self.between([_QUESTION]))
        except TemplateError:
            return False

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a turn, without its end token."""
        inside = [token for token in ids if token not in self.ends]
        fast = getattr(self._tokenizer, "backend_tokenizer", None)
        text: str = (
            self._tokenizer.decode(inside, clean_up_tokenization_spaces=False)
            if fast is None
            else fast.decode(inside, skip_special_tokens=False)  # the same, with less overhead
        )
        return text

    def text(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec], *, generate: bool = False
    ) -> str:
        """The conversation as the template writes it, ready for the next turn if `generate`."""
        listed = [tool.to_dict() for tool in tools] or None
        shown = with_objects(messages)
        if not self._takes_tools:
            listed, shown = None, in_plain_text(shown, tools)
        text: str = self._tokenizer.apply_chat_template(
            shown, tools=listed, add_generation_prompt=generate, tokenize=False
        )
        return text

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


def _key(messages: Sequence[ChatMessage]) -> tuple[tuple[str, str], ...]:
    """A cache key for messages without calls."""
    return tuple((message["role"], message["content"]) for message in messages)


@dataclass(slots=True)
class CompletionTokens:
    """The tokens after the prompt of one conversation."""

    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    """1 for tokens that the agent generated, 0 for those of other messages."""
    logprobs: list[float] = field(default_factory=list)
    """The log-probability of each generated token; 0 for those of other messages."""

    def add_turn(self, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        """Appends a turn of the agent."""
        self.ids += ids
        self.mask += [1] * len(ids)
        self.logprobs += logprobs

    def add_messages(self, ids: Sequence[int]) -> None:
        """Appends messages of others."""
        self.ids += ids
        self.mask += [0] * len(ids)
        self.logprobs += [0.0] * len(ids)
