"""A model that goes on with many conversations, each at a place of its own, a token at a time.

Every row is a table of tokens that is known up to somewhere. A step reads the token at the row's
place, and where nothing is known behind it the model writes the next one. So a row that was told
something reads it while others write; none waits for another, and nothing is read twice. All of
this happens on the device: the program hears of a row only when its turn is over.

On a GPU the model's part of a step is recorded once and then played back (a CUDA graph), as
otherwise launching its hundreds of small kernels would take most of the time.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from bylaw.agents.hf_attention import reads_prefixes
from bylaw.agents.hf_choice import Choice

_PREFILL: Final = 64
"""How many openings are read at once."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a row has written when its turn is over."""

    row: int
    ids: list[int]
    chances: list[float]
    """The log-probability of each."""


class _Layer(CacheLayerMixin):
    """Keys and values of one layer; each row writes at its own place."""

    def __init__(self, keys: Any, values: Any, place: Any) -> None:
        super().__init__()
        self.keys, self.values = keys, values
        self.is_initialized = True
        self._place = place
        self._rows = torch.arange(len(keys), device=keys.device)

    def update(self, key_states: Any, value_states: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Takes in one position per row."""
        self.keys[self._rows, :, self._place] = key_states[:, :, 0]
        self.values[self._rows, :, self._place] = value_states[:, :, 0]
        return self.keys, self.values

    def lazy_initialization(self, key_states: Any, value_states: Any) -> None:
        """There is nothing to do: the room is there from the start."""

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.keys.shape[2], 0

    def get_seq_length(self) -> int:
        return 0

    def get_max_length(self) -> int:
        return int(self.keys.shape[2])


class Slots:
    """Rows of one model, `length` tokens long. A turn has at most `turn_tokens`."""

    def __init__(
        self, model: Any, width: int, length: int, turn_tokens: int, ends: Iterable[int]
    ) -> None:
        self.width: Final = width
        self.length: Final = length
        self._model: Final = model
        self._turn_tokens: Final = turn_tokens
        device = self._device = next(model.parameters()).device
        self._ends: Final = torch.tensor(sorted(ends), device=device)
        self._rows: Final = torch.arange(width, device=device)
        self._columns: Final = torch.arange(length, device=device)
        self._table: Final = torch.zeros(width, length, dtype=torch.long, device=device)
        self._chances: Final = torch.zeros(width, length, device=device)
        self._place: Final = torch.zeros(width, dtype=torch.long, device=device)
        self._known: Final = torch.ones(width, dtype=torch.long, device=device)
        self._turn: Final = torch.zeros(width, dtype=torch.long, device=device)
        """Where the row's latest turn begins."""
        self._live: Final = torch.zeros(width, dtype=torch.bool, device=device)
        self._token: Final = torch.zeros(width, 1, dtype=torch.long, device=device)
        """What the recorded step reads."""
        self._cache: Cache | None = None
        self._reads_prefixes: Final = reads_prefixes(model)
        self._records = device.type == "cuda"
        self._graph: Any = None
        self._logits: Any = None

    def begin(self, rows: Sequence[int], openings: Sequence[Sequence[int]]) -> None:
        """Puts conversations into rows. Each opening is read once, however many rows have it."""
        places: dict[tuple[int, ...], list[int]] = {}
        for row, opening in zip(rows, openings, strict=True):
            places.setdefault(tuple(opening), []).append(row)
        distinct = list(places.items())
        for start in range(0, len(distinct), _PREFILL):
            self._read(distinct[start : start + _PREFILL])
        self._put(rows, openings, [0] * len(rows))

    def go_on(self, rows: Sequence[int], heard: Sequence[Sequence[int]]) -> None:
        """Tells rows whose turn is over something; it is their turn again behind it."""
        known = self._known[self._of(rows)].tolist()
        self._put(rows, heard, known)

    def step(self, choose: Choice) -> list[Turn]:
        """Reads one token in each row, and writes one where it is the row's turn."""
        self._token.copy_(self._table.gather(1, self._place[:, None]))
        after = self._place + 1
        writes = self._live & (after >= self._known)
        drawn, chance = choose(self._next(), writes, after - self._turn)
        at = after.clamp(max=self.length - 1)
        self._table[self._rows, at] = torch.where(writes, drawn, self._table[self._rows, at])
        self._chances[self._rows, at] = chance
        self._known.copy_(torch.where(writes, after + 1, self._known))
        long = (after + 1 - self._turn >= self._turn_tokens) | (after + 1 >= self.length)
        over = writes & (torch.isin(drawn, self._ends) | long)
        self._place.copy_(torch.where(self._live, at, self._place))
        self._live.logical_and_(~over)
        rows: list[int] = over.nonzero().flatten().tolist()
        return self._turns(rows) if rows else []

    def moved_to(self, other: Slots, rows: Sequence[int]) -> None:
        """Copies rows into the first ones of other slots, which go on with them."""
        assert self._cache is not None, "there is something to go on with"
        mine, theirs = self._of(rows), other._of(range(len(rows)))
        for name in ("_table", "_chances", "_place", "_known", "_turn"):
            getattr(other, name)[theirs] = getattr(self, name)[mine]
        other._live.zero_()
        other._live[theirs] = self._live[mine]
        self._live.zero_()
        for layer, target in zip(self._cache.layers, other._layers(self._cache), strict=True):
            target.keys[theirs] = layer.keys[mine]
            target.values[theirs] = layer.values[mine]

    def _turns(self, rows: list[int]) -> list[Turn]:
        which = self._of(rows)
        begun = self._turn[which]
        window = begun[:, None] + torch.arange(self._turn_tokens, device=self._device)
        window.clamp_(max=self.length - 1)
        sizes = (self._known[which] - begun).tolist()
        ids = self._table[which[:, None], window].tolist()
        chances = self._chances[which[:, None], window].tolist()
        return [Turn(row, ids[n][: sizes[n]], chances[n][: sizes[n]]) for n, row in enumerate(rows)]

    def _put(self, rows: Sequence[int], texts: Sequence[Sequence[int]], at: Sequence[int]) -> None:
        """Writes texts into the table, and makes it each row's turn behind its text."""
        which, sizes, starts = self._of(rows), self._of(map(len, texts)), self._of(at)
        longest = max(map(len, texts))
        padded = torch.tensor([[*text, *[0] * (longest - len(text))] for text in texts])
        columns = (starts[:, None] + self._columns[:longest]).clamp(max=self.length - 1)
        self._table[which[:, None], columns] = padded.to(self._device)
        self._known[which] = self._turn[which] = starts + sizes
        # A turn's last token is not read yet, and of an opening the last one is left.
        self._place[which] = torch.where(starts > 0, starts, sizes) - 1
        self._live[which] = True

    def _read(self, openings: Sequence[tuple[tuple[int, ...], list[int]]]) -> None:
        """Reads openings, all but their last tokens, and puts what was kept into their rows."""
        longest = max(len(ids) for ids, _ in openings) - 1
        tokens = torch.zeros(len(openings), longest, dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, (ids, _) in enumerate(openings):  # what is written behind an opening is not seen
            tokens[row, : len(ids) - 1] = torch.tensor(ids[:-1])
            mask[row, : len(ids) - 1] = 1
        kept = self._model(
            input_ids=tokens.to(self._device),
            attention_mask=mask.to(self._device),
            use_cache=True,
            logits_to_keep=1,
        ).past_key_values
        rows = self._of(row for _, into in openings for row in into)
        source = self._of(n for n, (_, into) in enumerate(openings) for _ in into)
        for layer, read in zip(self._layers(kept), kept.layers, strict=True):
            layer.keys[rows, :, :longest] = read.keys[source]
            layer.values[rows, :, :longest] = read.values[source]

    def _layers(self, like: Cache) -> list[Any]:
        """The layers of the cache; there is one as soon as it is known what it holds."""
        if self._cache is None:
            self._cache = Cache(layers=[self._layer(each) for each in like.layers])
        layers: list[Any] = self._cache.layers
        return layers

    def _layer(self, like: Any) -> _Layer:
        keys, values = (
            each.new_zeros(self.width, each.shape[1], self.length, each.shape[3])
            for each in (like.keys, like.values)
        )
        return _Layer(keys, values, self._place)

    def _next(self) -> Any:
        """The model's scores for what comes behind each row's place."""
        if self._records and self._graph is None:
            try:
                self._record()
            except RuntimeError as error:  # some models do on the way what cannot be recorded
                self._records, self._graph = False, None
                warnings.warn(f"steps are not recorded, and slow: {error}", stacklevel=2)
        if self._graph is None:
            return self._forward()
        self._graph.replay()
        return self._logits

    def _record(self) -> None:
        """Records a step. To make it several times changes nothing: it writes the same again."""
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                self._forward()
        torch.cuda.current_stream().wait_stream(aside)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._logits = self._forward()

    def _forward(self) -> Any:
        seen = self._columns[None, :] <= self._place[:, None]
        lengths = {"prefix_lengths": self._place + 1} if self._reads_prefixes else {}
        return self._model(
            input_ids=self._token,
            position_ids=self._place[:, None],
            attention_mask=seen[:, None, None, :],
            past_key_values=self._cache,
            use_cache=True,
            **lengths,
        ).logits[:, -1]

    def _of(self, numbers: Iterable[int]) -> Any:
        return torch.tensor(list(numbers), dtype=torch.long, device=self._device)
