"""A local llama.cpp model, in this process: `pip install 'bylaw[gguf]'`.

    model = GGUFModel("models/qwen-0.5b.gguf")
    model.reply(conversations)

Meant for a CPU and a few conversations: `width` of them run concurrently, each in its own thread.
The prefix that a conversation shares with its last turn is cached. Turns are parsed and seeded as
those of `HFModel`. llama.cpp's rounding depends on what else it computes at the same time, which
can decide between tokens of equal probability.

A conversation without room for another turn is not shortened: its reply is marked as full.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bylaw.agents.call_grammar import call_grammar
from bylaw.agents.local import Throughput, existing_path, fingerprint, parse_turn, turn_seed
from bylaw.agents.protocol import Chat, Reply, ToolSpec
from bylaw.agents.tool_text import PROBE, in_plain_text
from bylaw.values import Json

try:
    import xllamacpp
except ModuleNotFoundError as error:
    missing = "xllamacpp is not installed: pip install 'bylaw[gguf]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

_SILENT: Final = -1
_FULL: Final = "exceed_context_size_error"
"""llama.cpp's error type for a conversation that does not fit."""


class GGUFModel:
    """A llama.cpp model as a chat model; see the module's docstring."""

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
        path = existing_path(Path(path))
        self._server = _server(path, max_context, width)
        self._takes_tools = self._prompt_length([PROBE]) > self._prompt_length([])
        self._constrained, self._line_tokens = constrained, line_tokens
        self._seed = seed
        self._max_new_tokens, self._max_context = max_new_tokens, max_context
        self._settings: dict[str, Json] = {
            "max_tokens": max_new_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "top_k": 0,  # llama.cpp limits sampling by default; here it does not
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

    def reply(self, conversations: Sequence[Chat]) -> list[Reply]:
        """The next turn of each conversation, in order."""
        replies = []
        for conversation in conversations:
            with self.throughput.running():
                replies.append(self._turn(conversation))
            self.throughput.add(replies[-1])
        return replies

    def _turn(self, conversation: Chat) -> Reply:
        request = {**self._settings, "seed": turn_seed(self._seed, conversation)}
        messages, tools = conversation.messages, conversation.tools
        if not self._takes_tools:
            messages, tools = in_plain_text(messages, tools), ()
        request |= _messages_and_tools(messages, tools)
        if self._constrained:
            request["grammar"] = call_grammar(conversation.tools, self._line_tokens)
        answer = self._answer(request)
        if error := answer.get("error"):
            full = error.get("type") == _FULL
            return Reply(full=True) if full else Reply(failure=error["message"])
        (choice,), usage = answer["choices"], answer["usage"]
        read, generated = usage["prompt_tokens"], usage["completion_tokens"]
        if read + self._max_new_tokens > self._max_context:  # llama.cpp allows a little more
            return Reply(full=True, input_tokens=read)
        return parse_turn(choice["message"]["content"] or "", conversation, read, generated)

    def _answer(self, request: dict[str, Json]) -> dict[str, Json]:
        try:
            answer: dict[str, Json] = self._server.handle_chat_completions(request)
        except (
            RuntimeError,
            ValueError,
        ) as error:  # other errors are returned
            return {"error": {"message": str(error)}}
        return answer

    def _prompt_length(self, tools: Sequence[ToolSpec]) -> int:
        request = _messages_and_tools([{"role": "user", "content": "?"}], tools)
        answer = self._answer({**request, "max_tokens": 1})
        return int(answer["usage"]["prompt_tokens"])


def _messages_and_tools(messages: Sequence[Json], tools: Sequence[ToolSpec]) -> dict[str, Json]:
    """The messages and tools of a request.

    Tools are passed to the chat template only. llama.cpp itself would otherwise parse and constrain
    calls in its own way, and accept no grammar.
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
