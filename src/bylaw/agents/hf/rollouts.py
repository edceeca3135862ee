"""Rollouts: executes many runs in one batch, whose turns a local model generates.

Finished runs leave the batch and waiting ones take their rows. When none is waiting, the batch
shrinks. No token is read twice, and the generated tokens can be trained on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import torch
from jinja2 import TemplateError

from bylaw.agents.clock import Clock
from bylaw.agents.driving import AgentRun
from bylaw.agents.hf.attention import without_cudnn
from bylaw.agents.hf.batch_decoder import BatchDecoder, GeneratedTurn, KVMemory
from bylaw.agents.hf.chat_tokenizer import ChatTokenizer, CompletionTokens
from bylaw.agents.hf.loading import longest_context
from bylaw.agents.hf.sampling import BatchSampler, Sampler
from bylaw.agents.local import parse_turn, template_failure
from bylaw.agents.protocol import Reply

_ROUND: Final = 256
"""Lengths are rounded up to a multiple of this, so that recorded CUDA graphs can be reused."""

_REFILL: Final = 8
"""Waiting runs begin when one in this many rows is free."""


R = TypeVar("R", bound=AgentRun)


@dataclass(frozen=True, slots=True)
class TokenizedRun(Generic[R]):
    """A run and its tokens."""

    run: R
    prompt_ids: list[int]
    completion: CompletionTokens = field(default_factory=CompletionTokens)


class Rollouts:
    """Executes runs with one model, `width` at a time, with at most `turn_tokens` per turn."""

    def __init__(
        self,
        model: Any,
        tokenizer: ChatTokenizer,
        *,
        width: int = 512,
        turn_tokens: int = 96,
        context: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.model: Final = model
        self.tokenizer: Final = tokenizer
        self.width: Final = width
        self.turn_tokens: Final = turn_tokens
        self.context: Final = context or longest_context(model)
        """The longest conversation, in tokens."""
        self.clock: Final = clock or Clock()
        self._decoders: Final[dict[tuple[int, int], BatchDecoder]] = {}
        """One per shape, so that recorded graphs are reused."""
        self._memory: Final = KVMemory()

    def batch_sampler(self, temperature: float, seed: int) -> Callable[[int], Sampler]:
        """A sampler of tokens at a temperature; at zero, of the most likely ones.

        On one machine, equal seeds and equal runs give equal rollouts.
        """
        device = next(self.model.parameters()).device
        return lambda width: BatchSampler(temperature, torch.Generator(device).manual_seed(seed))

    def execute_runs(
        self,
        runs: Sequence[R],
        *,
        max_completion_tokens: int,
        sampler: Callable[[int], Sampler],
        done: Callable[[TokenizedRun[R]], None] = lambda _: None,
    ) -> list[TokenizedRun[R]]:
        """Executes runs until they end, or have `max_completion_tokens` tokens after the prompt.

        No run exceeds the context. `sampler` makes a sampler for a number of rows. `done` is called
        with each run that has ended.
        """
        with self.clock.making_rollouts(), _evaluating(self.model):
            with self.clock.in_own_code():
                started = [self._start(run) for run in runs]
                pending = [each for each in started if not each.run.done]
                for each in started:
                    if each.run.done:
                        done(each)
            if pending:
                self._generate(pending, max_completion_tokens, sampler, done)
        return started

    def _start(self, run: R) -> TokenizedRun[R]:
        chat = run.conversation
        try:
            prompt_ids = self.tokenizer.prompt(chat.messages, chat.tools)
        except TemplateError as error:
            run.take(template_failure(error))
            return TokenizedRun(run, [])
        if len(prompt_ids) + self.turn_tokens > self.context:
            run.take(Reply(full=True, input_tokens=len(prompt_ids)))
        return TokenizedRun(run, prompt_ids)

    def _generate(
        self,
        pending: Sequence[TokenizedRun[R]],
        max_completion_tokens: int,
        sampler: Callable[[int], Sampler],
        done: Callable[[TokenizedRun[R]], None],
    ) -> None:
        longest = max(len(each.prompt_ids) for each in pending)
        limit = min(max_completion_tokens, self.context - longest)
        length = -(-(longest + limit) // _ROUND) * _ROUND
        waiting = deque(pending)
        width = self._fitting_width(min(self.width, _next_power_of_2(len(pending))), length)
        decoder = self._decoder(width, length)
        sample = sampler(width)
        rows: list[TokenizedRun[R] | None] = [None] * width
        while waiting or any(rows):
            if waiting:
                self._refill(decoder, rows, waiting, sample)
            turns = decoder.step(sample)
            if not turns:
                continue
            with self.clock.in_own_code():
                heard = {turn.row: self._take(rows[turn.row], turn, limit) for turn in turns}
            resumed = {row: ids for row, ids in heard.items() if ids is not None}
            if resumed:
                decoder.resume(list(resumed), list(resumed.values()))
                _begin_turns(sample, rows, resumed)
            for row in heard.keys() - resumed.keys():
                over, rows[row] = rows[row], None
                assert over is not None, "a row with a turn has a run"
                with self.clock.in_own_code():
                    done(over)
            decoder, rows = self._shrink(decoder, rows, waiting, sample)

    def _refill(
        self,
        decoder: BatchDecoder,
        rows: list[TokenizedRun[R] | None],
        waiting: deque[TokenizedRun[R]],
        sample: Sampler,
    ) -> None:
        """Begins waiting runs in free rows, several at a time: decoding stops meanwhile."""
        free = [row for row, busy in enumerate(rows) if busy is None][: len(waiting)]
        if len(free) >= min(len(waiting), max(1, decoder.width // _REFILL)):
            for row in free:
                rows[row] = waiting.popleft()
            decoder.begin(free, [each.prompt_ids for row in free if (each := rows[row])])
            _begin_turns(sample, rows, free)

    def _take(
        self, started: TokenizedRun[R] | None, turn: GeneratedTurn, limit: int
    ) -> list[int] | None:
        """Executes a turn. Returns the messages that follow it, or None if the run has ended."""
        assert started is not None, "a row with a turn has a run"
        run, tokens = started.run, started.completion
        read = len(started.prompt_ids) + len(tokens.ids)
        tokens.add_turn(turn.ids, turn.logprobs)
        self.clock.tokens += len(turn.ids)
        chat = run.conversation
        before = len(chat.messages)
        run.take(parse_turn(self.tokenizer.decode(turn.ids), chat, read, len(turn.ids)))
        if run.done:
            return None
        missing_end = [] if turn.ids[-1] in self.tokenizer.ends else [self.tokenizer.end]
        try:
            heard = missing_end + self.tokenizer.between(chat.messages[before + 1 :])
        except TemplateError as error:
            run.take(template_failure(error))
            return None
        if len(tokens.ids) + len(heard) + self.turn_tokens > limit:
            run.take(Reply(full=True))
            return None
        tokens.add_messages(heard)
        return heard

    def _shrink(
        self,
        decoder: BatchDecoder,
        rows: list[TokenizedRun[R] | None],
        waiting: deque[TokenizedRun[R]],
        sample: Sampler,
    ) -> tuple[BatchDecoder, list[TokenizedRun[R] | None]]:
        """Moves the runs to a batch of half the width or less once they fit."""
        left = [row for row, busy in enumerate(rows) if busy is not None]
        if waiting or not left or len(left) > decoder.width // 2:
            return decoder, rows
        narrower = self._decoder(_next_power_of_2(len(left)), decoder.length)
        decoder.move_rows(left, narrower)
        idle = narrower.width - len(left)
        sample.keep_rows(left + left[:1] * idle)
        return narrower, [rows[row] for row in left] + [None] * idle

    def _fitting_width(self, width: int, length: int) -> int:
        """A width that fits into GPU memory: the given one, or halved until it does."""
        device = next(self.model.parameters()).device
        if device.type != "cuda" or (width, length) in self._decoders:
            return width
        free, _ = torch.cuda.mem_get_info(device)
        free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        # Decoders share their memory; a fifth is left for everything else.
        room = int(free / (1.25 * length * _bytes_per_token(self.model)))
        while width > max(room, 1):
            width //= 2
        return width

    def _decoder(self, width: int, length: int) -> BatchDecoder:
        shape = width, length
        if shape not in self._decoders:
            ends = self.tokenizer.ends
            self._decoders[shape] = BatchDecoder(
                self.model, *shape, self.turn_tokens, ends, self._memory
            )
        return self._decoders[shape]


def _begin_turns(
    sample: Sampler, rows: Sequence[TokenizedRun[R] | None], started: Iterable[int]
) -> None:
    for row in started:
        each = rows[row]
        assert each is not None, "a row with a turn has a run"
        sample.begin(row, each.run.conversation)


def _bytes_per_token(model: Any) -> int:
    """The size of one token in the key-value cache."""
    config = model.config.get_text_config()
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    shared = getattr(config, "num_key_value_heads", None) or heads
    return int(2 * config.num_hidden_layers * shared * size * model.dtype.itemsize)


def _next_power_of_2(number: int) -> int:
    """The smallest power of two that is not less than `number`; few shapes then occur."""
    return 1 << (number - 1).bit_length()


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Puts the model into evaluation mode."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad(), without_cudnn():
            yield
    finally:
        model.train(training)
