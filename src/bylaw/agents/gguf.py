"""A local model of llama.cpp, in this process: `pip install 'bylaw[gguf]'`.

    model = GGUFModel("models/qwen-0.5b.gguf")
    model.reply(conversations)

Meant for a processor and a few conversations: `width` of them run side by side, each asked for
from a thread of its own. What a conversation shares with its last turn is not computed again.
Turns are read as those of `HFModel` are, and seeded in the same way. llama.cpp rounds differently
with what it computes at the same time, which may decide between equal chances.

A conversation with no room for another turn is not shortened: its reply says that it is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bylaw.agents.grammar import call_grammar
from bylaw.agents.local import Throughput, fingerprint, found_file, read_turn, turn_seed
from bylaw.agents.protocol import Conversation, Reply, ToolSpec
from bylaw.agents.tool_text import PROBE, in_plain_text
from bylaw.values import Json

try:
    import xllamacpp
except ModuleNotFoundError as error:
    missing = "xllamacpp is not installed: pip install 'bylaw[gguf]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

_SILENT: Final = -1
_FULL: Final = "exceed_context_size_error"
"""What llama.cpp calls it that a conversation does not fit."""


class GGUFModel:
    """A model of llama.cpp as a chat model. See the file's first lines."""

    batched: Final = False

    def __init__(
        self,
        path: str | Path,
        *,
        constrained: bool = False,
        line_tokens: int = 32,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int = 0,
        max_new_tokens: int = 96,
        max_context: int = 8192,
        width: int = 2,
    ) -> None:
        path = found_file(Path(path))
        self._server = _server(path, max_context, width)
        self._takes_tools = self._prompt_length([PROBE]) > self._prompt_length([])
        self._constrained, self._line_tokens = constrained, line_tokens
        self._seed = seed
        self._max_new_tokens, self._max_context = max_new_tokens, max_context
        self._settings: dict[str, Json] = {
            "max_tokens": max_new_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "top_k": 0,  # llama.cpp has limits of its own; here they are off
            "min_p": 0.0,
        }
        self.width = width
        self.throughput = Throughput()
        self.name = f"gguf:{path.name}"
        self.about: dict[str, Json] = {
            "model": path.name,
            "weights": fingerprint(path),
            "device": ", ".join(device["name"] for device in xllamacpp.get_device_info()),
            "xllamacpp": xllamacpp.__version__,
            "temperature": temperature,
            "top_p": top_p,
            "seed": seed,
            "max_new_tokens": max_new_tokens,
            "max_context": max_context,
            "constrained": constrained,
            "line_tokens": line_tokens if constrained else None,
            "tools": "by the chat template" if self._takes_tools else "in the system message",
        }

    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """The next turn of each conversation, in their order."""
        replies = []
        for conversation in conversations:
            with self.throughput.running():
                replies.append(self._turn(conversation))
            self.throughput.add(replies[-1])
        return replies

    def _turn(self, conversation: Conversation) -> Reply:
        request = {**self._settings, "seed": turn_seed(self._seed, conversation)}
        if self._takes_tools:
            request |= _asking(conversation.messages, conversation.tools)
        else:
            request |= _asking(in_plain_text(conversation.messages, conversation.tools), ())
        if self._constrained:
            request["grammar"] = call_grammar(conversation.tools, self._line_tokens)
        answer = self._answer(request)
        if error := answer.get("error"):
            full = error.get("type") == _FULL
            return Reply(full=True) if full else Reply(failure=error["message"])
        (choice,), usage = answer["choices"], answer["usage"]
        read, written = usage["prompt_tokens"], usage["completion_tokens"]
        if read + self._max_new_tokens > self._max_context:  # llama.cpp gives a little more
            return Reply(full=True, input_tokens=read)
        return read_turn(choice["message"]["content"] or "", conversation, read, written)

    def _answer(self, request: dict[str, Json]) -> dict[str, Json]:
        try:
            answer: dict[str, Json] = self._server.handle_chat_completions(request)
        except (RuntimeError, ValueError) as error:  # some refusals are raised, others are answers
            return {"error": {"message": str(error)}}
        return answer

    def _prompt_length(self, tools: Sequence[ToolSpec]) -> int:
        request = _asking([{"role": "user", "content": "?"}], tools)
        answer = self._answer({**request, "max_tokens": 1})
        return int(answer["usage"]["prompt_tokens"])


def _asking(messages: Sequence[Json], tools: Sequence[ToolSpec]) -> dict[str, Json]:
    """The part of a request that says what to go on with.

    Tools go to the template past llama.cpp, which would otherwise read and constrain calls in
    ways of its own, and take no grammar.
    """
    listed = {"tools": [tool.to_dict() for tool in tools]} if tools else {}
    return {"messages": list(messages), "chat_template_kwargs": listed}


def _server(path: Path, max_context: int, width: int) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_parallel = width
    params.n_ctx = max_context * width
    params.verbosity = _SILENT
    return xllamacpp.Server(params)
