"""A local transformers model that serves many conversations: `pip install 'bylaw[hf]'`.

    model = HFModel("models/qwen-0.5b")            # a folder, or a .gguf file
    model.reply(conversations)                     # one turn each
    model.execute_runs(runs, end)                  # whole runs, each at its own pace

It computes in bfloat16 on a GPU, and in float32 on a CPU. Decoding is greedy unless a temperature
is given. Each turn then has its own seed, derived from the model's seed, the conversation's seed
and its length. In either case a turn does not depend on the rest of the batch, except that rounding
varies with the shape of a batch and can decide between tokens of equal probability.

With `constrained`, every turn is exactly one tool call that fits its schema, after at most one line
of text of `line_tokens` tokens (0 for none), provided that `max_new_tokens` leaves room for both.

A conversation without room for another turn is not shortened: its reply is marked as full.

Whole runs keep the tokens that were generated, and no token is read twice (`rollouts`). `reply`
renders a conversation as text and reads all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, TypeVar

from bylaw.agents.local import (
    Throughput,
    existing_path,
    fingerprint,
    parse_turn,
    template_failure,
)
from bylaw.agents.protocol import Chat, Reply
from bylaw.values import Json

try:
    import torch
    import transformers
    from jinja2 import TemplateError
    from transformers import GenerationConfig
except ModuleNotFoundError as error:
    missing = "transformers is not installed: pip install 'bylaw[hf]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

from bylaw.agents.driving import AgentRun
from bylaw.agents.hf.attention import share_keys, without_cudnn
from bylaw.agents.hf.chat_tokenizer import ChatTokenizer
from bylaw.agents.hf.constrained_decoding import Grammars
from bylaw.agents.hf.loading import (
    has_tag_tokens,
    load_model,
    longest_context,
    takes_tools,
    turn_ends,
    with_adapter,
)
from bylaw.agents.hf.rollouts import Rollouts, TokenizedRun
from bylaw.agents.hf.sampling import SamplerLogitsProcessor, SeededSampler

R = TypeVar("R", bound=AgentRun)

MAX_CONTEXT: Final = 8192
"""The default limit of a conversation, in tokens: memory is reserved for rows of this length."""


@dataclass(frozen=True, slots=True)
class _Prompt:
    index: int
    """The index of its conversation."""
    chat: Chat
    ids: list[int]


class HFModel:
    """A causal language model as a chat model; see the module's docstring."""

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
        path = existing_path(Path(path))
        gpu = torch.cuda.is_available()
        self._device = torch.device("cuda" if gpu else "cpu")
        self._model, self._tokenizer = load_model(path, torch.bfloat16 if gpu else torch.float32)
        self._ends = turn_ends(self._model, self._tokenizer)
        self._model.generation_config = GenerationConfig(  # replaces the folder's own settings
            max_new_tokens=max_new_tokens,
            do_sample=False,
            eos_token_id=self._ends,
            pad_token_id=self._ends[0],
        )
        share_keys(self._model)
        parameters = self._model.num_parameters()
        if adapter is not None:
            self._model = with_adapter(self._model, existing_path(Path(adapter)))
        self._model.to(self._device).eval()
        by_template = takes_tools(self._tokenizer)
        self._chat = ChatTokenizer(self._tokenizer, self._ends, takes_tools=by_template)
        self._grammars = self._make_grammars(line_tokens) if constrained else None
        self._temperature, self._top_p, self._seed = temperature, top_p, seed
        self._max_new_tokens = max_new_tokens
        self._max_context = min(max_context or MAX_CONTEXT, longest_context(self._model))
        self._max_batch_tokens = max_batch_tokens or _default_batch_tokens(self._device)
        self.width = width or (512 if gpu else 8)
        self.throughput = Throughput()
        self.name = f"hf:{path.name}" + (f"+{Path(adapter).name}" if adapter else "")
        self.about: dict[str, Json] = {
            "model": path.name,
            "weights": fingerprint(path),
            "parameters": parameters,
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
            "tools": "by the chat template" if by_template else "in the system message",
            "tags": "tokens" if has_tag_tokens(self._tokenizer) else "letters",
        }

    def reply(self, conversations: Sequence[Chat]) -> list[Reply]:
        """The next turn of each conversation, in order."""
        with self.throughput.running():
            replies = dict(self._turns(conversations))
        for reply in replies.values():
            self.throughput.add(reply)
        return [replies[index] for index in range(len(conversations))]

    def execute_runs(self, runs: Sequence[R], end: Callable[[Sequence[R]], None]) -> None:
        """Executes whole runs, as many at a time as fit into memory."""

        def done(ended: TokenizedRun[R]) -> None:
            end([ended.run])

        with self.throughput.running():
            ended = self._rollouts.execute_runs(
                runs, max_completion_tokens=self._max_context, sampler=self._sampler, done=done
            )
        for each in ended:
            self.throughput.output_tokens += sum(each.completion.mask)

    @property
    def can_execute_runs(self) -> bool:
        """Does the template only append, and do all layers attend to the whole conversation?"""
        layers = getattr(self._model.config.get_text_config(), "layer_types", None) or ()
        return set(layers) <= {"full_attention"} and self._chat.is_append_only

    def _sampler(self, width: int) -> SeededSampler:
        return SeededSampler(
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
        return Rollouts(
            self._model,
            self._chat,
            width=self.width,
            turn_tokens=self._max_new_tokens,
            context=self._max_context,
        )

    def _turns(self, conversations: Sequence[Chat]) -> Iterator[tuple[int, Reply]]:
        texts: dict[int, str] = {}
        for index, chat in enumerate(conversations):
            try:
                texts[index] = self._chat.text(chat.messages, chat.tools, generate=True)
            except TemplateError as error:
                yield index, template_failure(error)
        prompts: list[_Prompt] = []
        for index, ids in zip(texts, self._tokens(list(texts.values())), strict=True):
            if len(ids) + self._max_new_tokens > self._max_context:
                yield index, Reply(full=True, input_tokens=len(ids))
            else:
                prompts.append(_Prompt(index, conversations[index], ids))
        for batch in self._batches(prompts):
            yield from self._replies(batch)

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        if not texts:
            return []
        ids: list[list[int]] = self._tokenizer(texts, add_special_tokens=False)["input_ids"]
        return ids

    def _batches(self, prompts: Sequence[_Prompt]) -> Iterator[list[_Prompt]]:
        """Batches of prompts of similar length, each within the width and the token budget."""
        batch: list[_Prompt] = []
        for prompt in sorted(prompts, key=lambda prompt: len(prompt.ids)):
            full = (len(batch) + 1) * self._padded_length([prompt]) > self._max_batch_tokens
            if batch and (full or len(batch) == self.width):
                yield batch
                batch = []
            batch.append(prompt)
        if batch:
            yield batch

    def _replies(self, batch: Sequence[_Prompt]) -> Iterator[tuple[int, Reply]]:
        try:
            generated = self._generate(batch)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            generated = None
        if generated is not None:
            for prompt, ids in zip(batch, generated, strict=True):
                text = self._chat.decode(ids)
                yield prompt.index, parse_turn(text, prompt.chat, len(prompt.ids), len(ids))
        elif len(batch) == 1:
            yield batch[0].index, Reply(failure="there is not enough memory for the conversation")
        else:
            self._max_batch_tokens = len(batch) * self._padded_length(batch) // 2  # from now on
            for smaller in self._batches(batch):
                yield from self._replies(smaller)

    def _generate(self, batch: Sequence[_Prompt]) -> list[list[int]]:
        """The tokens generated in each row, including the one that ends the turn."""
        longest = self._padded_length(batch) - self._max_new_tokens
        ids = torch.full((len(batch), longest), self._ends[0])
        mask = torch.zeros_like(ids)
        sampler = self._sampler(len(batch))
        for row, prompt in enumerate(batch):  # padded on the left, so that all rows end together
            ids[row, longest - len(prompt.ids) :] = torch.tensor(prompt.ids)
            mask[row, longest - len(prompt.ids) :] = 1
            sampler.begin(row, prompt.chat)
        with torch.inference_mode(), without_cudnn():
            output = self._model.generate(
                input_ids=ids.to(self._device),
                attention_mask=mask.to(self._device),
                logits_processor=[SamplerLogitsProcessor(sampler, self._ends)],
            )
        return [self._until_end(row) for row in output[:, longest:].tolist()]

    def _padded_length(self, batch: Sequence[_Prompt]) -> int:
        """The length to which the rows of a batch are padded, room for a turn included."""
        return max(len(prompt.ids) for prompt in batch) + self._max_new_tokens

    def _until_end(self, ids: list[int]) -> list[int]:
        end = next((at for at, id in enumerate(ids) if id in self._ends), len(ids))
        return ids[: end + 1]

    def _make_grammars(self, line_tokens: int) -> Grammars:
        vocabulary = self._model.get_output_embeddings().weight.shape[0]
        return Grammars(self._tokenizer, vocabulary, self._ends, line_tokens)


def _default_batch_tokens(device: torch.device) -> int:
    """The default limit of a batch, in tokens, suited to small models.

    A batch that does not fit into memory is halved.
    """
    if device.type != "cuda":
        return 2**14
    _, memory = torch.cuda.mem_get_info(device)
    return int(memory) // 2**16
