"""A local model of transformers, many conversations at once: `pip install 'bylaw[hf]'`.

    model = HFModel("models/qwen-0.5b")            # a folder, or a .gguf file
    model.reply(conversations)                     # a turn each
    model.carry_out(runs, end)                     # whole runs, each at its own pace

On a GPU it computes in bfloat16, otherwise in float32 on the processor. It writes its most likely
turn unless a temperature is given; then each turn has a seed of its own, made from the model's
seed, the conversation's and its length. Either way a turn does not depend on the conversations
beside it, except that rounding may differ with the shape of a batch and decide between equal
chances.

With `constrained`, every turn is exactly one tool call that fits its schema, after at most one line
of text (`line_tokens`; 0 for none), as long as `max_new_tokens` is enough for both.

A conversation with no room for another turn is not shortened: its reply says that it is full.

In whole runs, what was written stays token by token as it was written, and nothing is read twice
(`hf_rollouts`). To reply, a conversation is put into words and read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

from bylaw.agents.local import Throughput, fingerprint, found_file, read_turn, turn_seed
from bylaw.agents.protocol import Conversation, Reply
from bylaw.agents.tool_text import in_plain_text, with_objects
from bylaw.values import Json

try:
    import torch
    import transformers
    from jinja2 import TemplateError
    from transformers import GenerationConfig
except ModuleNotFoundError as error:
    missing = "transformers is not installed: pip install 'bylaw[hf]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

from bylaw.agents.chat_tokens import ChatTokens
from bylaw.agents.driving import Driven
from bylaw.agents.hf_attention import share_keys, without_planning
from bylaw.agents.hf_choice import TurnByTurn
from bylaw.agents.hf_decoding import Draw, Grammars
from bylaw.agents.hf_loading import (
    adapted,
    loaded,
    longest_context,
    reads_marks,
    takes_tools,
    turn_ends,
)
from bylaw.agents.hf_rollouts import Rollouts, Written

D = TypeVar("D", bound=Driven)


MAX_CONTEXT: Final = 8192
"""How long a conversation may get unless it is said: rows as long as this are held in memory."""


@dataclass(frozen=True, slots=True)
class _Prompt:
    place: int
    """Which of the conversations it belongs to."""
    conversation: Conversation
    ids: list[int]


class HFModel:
    """A causal model of transformers as a chat model. See the file's first lines."""

    batched: Final = True

    def __init__(
        self,
        path: str | Path,
        *,
        adapter: str | Path | None = None,
        constrained: bool = False,
        line_tokens: int = 32,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int = 0,
        max_new_tokens: int = 96,
        max_context: int | None = None,
        max_batch_tokens: int | None = None,
        width: int | None = None,
    ) -> None:
        path = found_file(Path(path))
        gpu = torch.cuda.is_available()
        self._device = torch.device("cuda" if gpu else "cpu")
        self._model, self._tokenizer = loaded(path, torch.bfloat16 if gpu else torch.float32)
        self._ends = turn_ends(self._model, self._tokenizer)
        self._model.generation_config = GenerationConfig(  # the folder's own would be mixed in
            max_new_tokens=max_new_tokens,
            do_sample=False,
            eos_token_id=self._ends,
            pad_token_id=self._ends[0],
        )
        share_keys(self._model)
        if adapter is not None:
            self._model = adapted(self._model, found_file(Path(adapter)))
        self._model.to(self._device).eval()
        self._takes_tools = takes_tools(self._tokenizer)
        self._grammars = self._make_grammars(line_tokens) if constrained else None
        self._temperature, self._top_p, self._seed = temperature, top_p, seed
        self._max_new_tokens = max_new_tokens
        self._max_context = min(max_context or MAX_CONTEXT, longest_context(self._model))
        self._max_batch_tokens = max_batch_tokens or _tokens_at_once(self._device)
        self.width = width or (512 if gpu else 8)
        self.throughput = Throughput()
        self.name = f"hf:{path.name}" + (f"+{Path(adapter).name}" if adapter else "")
        self.about: dict[str, Json] = {
            "model": path.name,
            "weights": fingerprint(path),
            "adapter": Path(adapter).name if adapter else None,
            "adapter_weights": fingerprint(Path(adapter)) if adapter else None,
            "device": torch.cuda.get_device_name() if gpu else "cpu",
            "dtype": str(self._model.dtype).removeprefix("torch."),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "temperature": temperature,
            "top_p": top_p,
            "seed": seed,
            "max_new_tokens": max_new_tokens,
            "max_context": self._max_context,
            "constrained": constrained,
            "line_tokens": line_tokens if constrained else None,
            "tools": "by the chat template" if self._takes_tools else "in the system message",
            "tags": "tokens" if reads_marks(self._tokenizer) else "letters",
        }

    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """The next turn of each conversation, in their order."""
        with self.throughput.running():
            replies = dict(self._turns(conversations))
        for reply in replies.values():
            self.throughput.add(reply)
        return [replies[place] for place in range(len(conversations))]

    def carry_out(self, runs: Sequence[D], end: Callable[[Sequence[D]], None]) -> None:
        """Carries whole runs out, as many at a time as there is room for."""

        def done(written: Written[D]) -> None:
            end([written.run])

        with self.throughput.running():
            written = self._rollouts.carry_out(
                runs, most_tokens=self._max_context, choice=self._chooser, done=done
            )
        for each in written:
            self.throughput.output_tokens += sum(each.tokens.own)

    @property
    def carries(self) -> bool:
        """Does its template only ever add to a conversation, and does it see all of it?"""
        layers = getattr(self._model.config.get_text_config(), "layer_types", None) or ()
        try:
            return set(layers) <= {"full_attention"} and self._rollouts.chat.only_grows
        except TemplateError:  # some templates refuse even a greeting
            return False

    def _chooser(self, width: int) -> TurnByTurn:
        return TurnByTurn(
            width,
            self._max_new_tokens,
            self._device,
            temperature=self._temperature,
            top_p=self._top_p,
            seed=self._seed,
            grammars=self._grammars,
        )

    @cached_property
    def _rollouts(self) -> Rollouts:
        chat = ChatTokens(self._tokenizer, self._ends, takes_tools=self._takes_tools)
        return Rollouts(
            self._model,
            chat,
            width=self.width,
            turn_tokens=self._max_new_tokens,
            context=self._max_context,
        )

    def _turns(self, conversations: Sequence[Conversation]) -> Iterator[tuple[int, Reply]]:
        texts: dict[int, str] = {}
        for place, conversation in enumerate(conversations):
            try:
                texts[place] = self._prompt(conversation)
            except TemplateError as error:
                yield place, Reply(failure=f"the chat template refuses the conversation: {error}")
        prompts: list[_Prompt] = []
        for place, ids in zip(texts, self._tokens(list(texts.values())), strict=True):
            if len(ids) + self._max_new_tokens > self._max_context:
                yield place, Reply(full=True, input_tokens=len(ids))
            else:
                prompts.append(_Prompt(place, conversations[place], ids))
        for batch in self._batches(prompts):
            yield from self._replies(batch)

    def _prompt(self, conversation: Conversation) -> str:
        tools: list[Json] | None = [tool.to_dict() for tool in conversation.tools] or None
        messages = with_objects(conversation.messages)
        if not self._takes_tools:
            tools, messages = None, in_plain_text(messages, conversation.tools)
        text: str = self._tokenizer.apply_chat_template(
            messages, tools=tools, add_generation_prompt=True, tokenize=False
        )
        return text

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        if not texts:
            return []
        ids: list[list[int]] = self._tokenizer(texts, add_special_tokens=False)["input_ids"]
        return ids

    def _batches(self, prompts: Sequence[_Prompt]) -> Iterator[list[_Prompt]]:
        """Batches of prompts of similar length, each within the width and the token budget."""
        batch: list[_Prompt] = []
        for prompt in sorted(prompts, key=lambda prompt: len(prompt.ids)):
            full = (len(batch) + 1) * self._longest([prompt]) > self._max_batch_tokens
            if batch and (full or len(batch) == self.width):
                yield batch
                batch = []
            batch.append(prompt)
        if batch:
            yield batch

    def _replies(self, batch: Sequence[_Prompt]) -> Iterator[tuple[int, Reply]]:
        written = self._written(batch)
        if written is not None:
            for prompt, ids in zip(batch, written, strict=True):
                read = len(prompt.ids)
                text = self._text(ids)
                yield prompt.place, read_turn(text, prompt.conversation, read, len(ids))
        elif len(batch) == 1:
            yield batch[0].place, Reply(failure="there is not enough memory for the conversation")
        else:
            self._max_batch_tokens = len(batch) * self._longest(batch) // 2  # from now on
            for smaller in self._batches(batch):
                yield from self._replies(smaller)

    def _written(self, batch: Sequence[_Prompt]) -> list[list[int]] | None:
        """The tokens that each row writes; None if there is not enough memory."""
        try:
            return self._generate(batch)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            return None

    def _generate(self, batch: Sequence[_Prompt]) -> list[list[int]]:
        """The tokens that each row writes, the one that ends the turn included."""
        longest = self._longest(batch) - self._max_new_tokens
        ids = torch.full((len(batch), longest), self._ends[0])
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(batch):  # on the left: all rows go on at the same place
            ids[row, longest - len(prompt.ids) :] = torch.tensor(prompt.ids)
            mask[row, longest - len(prompt.ids) :] = 1
        with torch.inference_mode(), without_planning():
            output = self._model.generate(
                input_ids=ids.to(self._device),
                attention_mask=mask.to(self._device),
                logits_processor=self._choice([prompt.conversation for prompt in batch]),
            )
        return [self._until_end(row) for row in output[:, longest:].tolist()]

    def _choice(self, conversations: Sequence[Conversation]) -> list[Any]:
        """What decides on the next token beside the model."""
        processors: list[Any] = []
        if self._grammars is not None:
            tools = [conversation.tools for conversation in conversations]
            processors.append(self._grammars.constraint(tools))
        if self._temperature > 0:
            seeds = [turn_seed(self._seed, conversation) for conversation in conversations]
            draw = Draw(seeds, self._max_new_tokens, self._temperature, self._top_p)
            processors.append(draw)
        return processors

    def _longest(self, batch: Sequence[_Prompt]) -> int:
        """To how many tokens the rows of a batch may grow; all are padded to it."""
        return max(len(prompt.ids) for prompt in batch) + self._max_new_tokens

    def _text(self, ids: list[int]) -> str:
        inside = [id for id in ids if id not in self._ends]
        text: str = self._tokenizer.decode(inside, clean_up_tokenization_spaces=False)
        return text

    def _until_end(self, ids: list[int]) -> list[int]:
        end = next((at for at, id in enumerate(ids) if id in self._ends), len(ids))
        return ids[: end + 1]

    def _make_grammars(self, line_tokens: int) -> Grammars:
        vocabulary = self._model.get_output_embeddings().weight.shape[0]
        return Grammars(self._tokenizer, vocabulary, self._ends, line_tokens)


def _tokens_at_once(device: torch.device) -> int:
    """How many tokens a batch may have by default: what small models have room for.

    A batch that is too large after all is halved.
    """
    if device.type != "cuda":
        return 2**14
    _, memory = torch.cuda.mem_get_info(device)
    return int(memory) // 2**16
