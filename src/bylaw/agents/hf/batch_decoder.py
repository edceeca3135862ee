"""Decodes many conversations in one batch, each at its own position, one token per step.

Each row is a table of tokens, known up to some position. A step reads one token per row; where no
further token is known, the model generates the next one. A row can thus read short messages while
others generate: no row waits for another, and no token is read twice. A long message, such as a
page of a file, would take thousands of steps; it is read in one pass, while the others wait.
Everything happens on the device; the host learns of a row only when its turn ends.

On a GPU the forward pass of a step is recorded once as a CUDA graph and then replayed. Launching
its hundreds of small kernels one by one would otherwise take most of the time.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicCache

from bylaw.agents.hf.attention import supports_prefix_lengths
from bylaw.agents.hf.sampling import Sampler

_PREFILL: Final = 64
"""Prompts that are read in one forward pass."""
LONG: Final = 256
"""Messages of so many tokens are read in one pass, which takes as long as about ten steps."""


@dataclass(frozen=True, slots=True)
class GeneratedTurn:
    """A finished turn of one row."""

    row: int
    ids: list[int]
    logprobs: list[float]


class KVMemory:
    """Memory for the keys and values of several decoders, of which one is in use at a time."""

    def __init__(self) -> None:
        self._blocks: Final[dict[tuple[int, str], Any]] = {}

    def take(self, layer: int, name: str, like: Any, shape: tuple[int, ...]) -> Any:
        """A tensor in this memory; it overlaps every other one of this layer and name."""
        size = math.prod(shape)
        block = self._blocks.get((layer, name))
        if block is None or block.numel() < size:  # decoders keep the smaller one they have
            block = self._blocks[layer, name] = like.new_zeros(size)
        return block[:size].view(shape)


class _KVCacheLayer(CacheLayerMixin):
    """Keys and values of one layer; each row writes at its own position."""

    def __init__(self, keys: Any, values: Any, position: Any) -> None:
        super().__init__()
        self.keys, self.values = keys, values
        self.is_initialized = True
        self._position = position
        self._rows = torch.arange(len(keys), device=keys.device)

    def update(self, key_states: Any, value_states: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Stores one position per row."""
        self.keys[self._rows, :, self._position] = key_states[:, :, 0]
        self.values[self._rows, :, self._position] = value_states[:, :, 0]
        return self.keys, self.values

    def lazy_initialization(self, key_states: Any, value_states: Any) -> None:
        """Does nothing: memory is allocated from the start."""

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.keys.shape[2], 0

    def get_seq_length(self) -> int:
        return 0

    def get_max_length(self) -> int:
        return int(self.keys.shape[2])


class BatchDecoder:
    """Rows of one model, `length` tokens long. A turn has at most `turn_tokens`.

    Decoders can share `memory`. Moving rows to another decoder then costs no more memory, and ends
    the conversations of all other rows.
    """

    def __init__(
        self,
        model: Any,
        width: int,
        length: int,
        turn_tokens: int,
        ends: Iterable[int],
        memory: KVMemory | None = None,
    ) -> None:
        self.width: Final = width
        self.length: Final = length
        self._model: Final = model
        self._turn_tokens: Final = turn_tokens
        self._memory: Final = memory or KVMemory()
        device = self._device = next(model.parameters()).device
        self._ends: Final = torch.tensor(sorted(ends), device=device)
        self._rows: Final = torch.arange(width, device=device)
        self._columns: Final = torch.arange(length, device=device)
        self._table: Final = torch.zeros(width, length, dtype=torch.long, device=device)
        self._logprobs: Final = torch.zeros(width, length, device=device)
        self._position: Final = torch.zeros(width, dtype=torch.long, device=device)
        self._known: Final = torch.ones(width, dtype=torch.long, device=device)
        self._turn_start: Final = torch.zeros(width, dtype=torch.long, device=device)
        self._live: Final = torch.zeros(width, dtype=torch.bool, device=device)
        self._token: Final = torch.zeros(width, 1, dtype=torch.long, device=device)
        """The input of the recorded step."""
        self._cache: Cache | None = None
        self._supports_prefix_lengths: Final = supports_prefix_lengths(model)
        self._records = device.type == "cuda"
        self._graph: Any = None
        self._logits: Any = None

    def begin(self, rows: Sequence[int], prompts: Sequence[Sequence[int]]) -> None:
        """Starts conversations in these rows. Each distinct prompt is read once."""
        rows_of: dict[tuple[int, ...], list[int]] = {}
        for row, prompt in zip(rows, prompts, strict=True):
            rows_of.setdefault(tuple(prompt), []).append(row)
        distinct = list(rows_of.items())
        for start in range(0, len(distinct), _PREFILL):
            self._prefill(distinct[start : start + _PREFILL])
        self._append(rows, prompts, [0] * len(rows))

    def resume(self, rows: Sequence[int], messages: Sequence[Sequence[int]]) -> None:
        """Appends messages to rows whose turn has ended, and starts their next turn."""
        starts = self._known[self._tensor(rows)].tolist()
        self._append(rows, messages, starts)
        for row, start, message in zip(rows, starts, messages, strict=True):
            if len(message) >= LONG:
                self._read(row, start - 1, start + len(message) - 1)

    def step(self, sampler: Sampler) -> list[GeneratedTurn]:
        """Reads one token per row, and generates the next in rows that have read all of theirs."""
        self._token.copy_(self._table.gather(1, self._position[:, None]))
        after = self._position + 1
        active = self._live & (after >= self._known)
        drawn, logprob = sampler(self._next_logits(), active, after - self._turn_start)
        at = after.clamp(max=self.length - 1)
        self._table[self._rows, at] = torch.where(active, drawn, self._table[self._rows, at])
        self._logprobs[self._rows, at] = logprob
        self._known.copy_(torch.where(active, after + 1, self._known))
        full = (after + 1 - self._turn_start >= self._turn_tokens) | (after + 1 >= self.length)
        over = active & (torch.isin(drawn, self._ends) | full)
        self._position.copy_(torch.where(self._live, at, self._position))
        self._live.logical_and_(~over)
        rows: list[int] = over.nonzero().flatten().tolist()
        return self._turns(rows) if rows else []

    def move_rows(self, rows: Sequence[int], target: BatchDecoder) -> None:
        """Copies these rows into the first ones of another decoder, which continues them."""
        assert self._cache is not None, "the rows have begun"
        mine, theirs = self._tensor(rows), target._tensor(range(len(rows)))
        for name in ("_table", "_logprobs", "_position", "_known", "_turn_start"):
            getattr(target, name)[theirs] = getattr(self, name)[mine]
        target._live.zero_()
        target._live[theirs] = self._live[mine]
        self._live.zero_()
        for layer, copy in zip(self._cache.layers, target._layers(self._cache), strict=True):
            # Indexing copies the rows first, so the two decoders may share memory.
            copy.keys[theirs] = layer.keys[mine]
            copy.values[theirs] = layer.values[mine]

    def _turns(self, rows: list[int]) -> list[GeneratedTurn]:
        which = self._tensor(rows)
        start = self._turn_start[which]
        window = start[:, None] + torch.arange(self._turn_tokens, device=self._device)
        window.clamp_(max=self.length - 1)
        sizes = (self._known[which] - start).tolist()
        ids = self._table[which[:, None], window].tolist()
        logprobs = self._logprobs[which[:, None], window].tolist()
        return [
            GeneratedTurn(row, ids[n][: sizes[n]], logprobs[n][: sizes[n]])
            for n, row in enumerate(rows)
        ]

    def _append(
        self, rows: Sequence[int], texts: Sequence[Sequence[int]], at: Sequence[int]
    ) -> None:
        """Writes texts into the table; each row's turn starts after its text."""
        which, sizes, starts = self._tensor(rows), self._tensor(map(len, texts)), self._tensor(at)
        longest = max(map(len, texts))
        padded = torch.tensor([[*text, *[0] * (longest - len(text))] for text in texts])
        columns = (starts[:, None] + self._columns[:longest]).clamp(max=self.length - 1)
        self._table[which[:, None], columns] = padded.to(self._device)
        self._known[which] = self._turn_start[which] = starts + sizes
        # Reading resumes at the last token of the turn before, or of the prompt.
        self._position[which] = torch.where(starts > 0, starts, sizes) - 1
        self._live[which] = True

    def _prefill(self, prompts: Sequence[tuple[tuple[int, ...], list[int]]]) -> None:
        """Reads prompts except for their last tokens, and copies the cache to their rows."""
        longest = max(len(ids) for ids, _ in prompts) - 1
        tokens = torch.zeros(len(prompts), longest, dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, (ids, _) in enumerate(prompts):  # padding on the right is never attended to
            tokens[row, : len(ids) - 1] = torch.tensor(ids[:-1])
            mask[row, : len(ids) - 1] = 1
        cache = self._model(
            input_ids=tokens.to(self._device),
            attention_mask=mask.to(self._device),
            use_cache=True,
            logits_to_keep=1,
        ).past_key_values
        rows = self._tensor(row for _, into in prompts for row in into)
        source = self._tensor(n for n, (_, into) in enumerate(prompts) for _ in into)
        for layer, read in zip(self._layers(cache), cache.layers, strict=True):
            layer.keys[rows, :, :longest] = read.keys[source]
            layer.values[rows, :, :longest] = read.values[source]

    def _read(self, row: int, start: int, end: int) -> None:
        """Reads the tokens of a row from `start` to before `end` in one forward pass."""
        assert self._cache is not None, "the row has begun"
        before = DynamicCache()
        for index, layer in enumerate(self._cache.layers):
            keys, values = (each[row : row + 1, :, :start] for each in (layer.keys, layer.values))
            before.update(keys, values, index)
        read = self._model(
            input_ids=self._table[row : row + 1, start:end],
            past_key_values=before,
            use_cache=True,
            logits_to_keep=1,
        ).past_key_values
        for layer, each in zip(self._cache.layers, read.layers, strict=True):
            layer.keys[row, :, start:end] = each.keys[0, :, start:]
            layer.values[row, :, start:end] = each.values[0, :, start:]
        self._position[row] = end

    def _layers(self, like: Cache) -> list[Any]:
        """The layers of the cache, allocated when the shape is first known."""
        if self._cache is None:
            layers = [self._layer(index, each) for index, each in enumerate(like.layers)]
            self._cache = Cache(layers=layers)
        made: list[Any] = self._cache.layers
        return made

    def _layer(self, index: int, like: Any) -> _KVCacheLayer:
        keys, values = (
            self._memory.take(
                index, name, each, (self.width, each.shape[1], self.length, each.shape[3])
            )
            for name, each in (("keys", like.keys), ("values", like.values))
        )
        return _KVCacheLayer(keys, values, self._position)

    def _next_logits(self) -> Any:
        """The model's logits for the token after each row's position."""
        if self._records and self._graph is None:
            try:
                self._record()
            except RuntimeError as error:  # some models run operations that cannot be recorded
                self._records, self._graph = False, None
                message = f"decoding is slow, because its steps cannot be recorded: {error}"
                warnings.warn(message, stacklevel=2)
        if self._graph is None:
            return self._forward()
        self._graph.replay()
        return self._logits

    def _record(self) -> None:
        """Records a step. Steps are idempotent, so running it several times is harmless."""
        warm_up = torch.cuda.Stream()
        warm_up.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(warm_up):
            for _ in range(3):
                self._forward()
        torch.cuda.current_stream().wait_stream(warm_up)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._logits = self._forward()

    def _forward(self) -> Any:
        mask = self._columns[None, :] <= self._position[:, None]
        prefix = {"prefix_lengths": self._position + 1} if self._supports_prefix_lengths else {}
        return self._model(
            input_ids=self._token,
            position_ids=self._position[:, None],
            attention_mask=mask[:, None, None, :],
            past_key_values=self._cache,
            use_cache=True,
            **prefix,
        ).logits[:, -1]

    def _tensor(self, numbers: Iterable[int]) -> Any:
        return torch.tensor(list(numbers), dtype=torch.long, device=self._device)
