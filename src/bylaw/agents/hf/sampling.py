"""Samplers: they choose the next token in each row of a batch.

`BatchSampler` draws for all rows at once, for training. `SeededSampler` gives each turn its own
seed, and optionally its own grammar, so a turn does not depend on the other rows of the batch.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

import torch

from bylaw.agents.hf.constrained_decoding import Grammars
from bylaw.agents.local import turn_seed
from bylaw.agents.protocol import Chat


class Sampler(Protocol):
    """Chooses the next tokens from the model's logits."""

    def begin(self, row: int, conversation: Chat) -> None:
        """Starts a turn in a row."""

    def keep_rows(self, rows: Sequence[int]) -> None:
        """Replaces the rows by the listed ones, in this order; duplicates are idle."""

    def __call__(self, logits: Any, active: Any, position: Any) -> tuple[Any, Any]:
        """A token for each row and its log-probability; both are valid only in active rows.

        `position` is the index of the token in the row's turn.
        """


class BatchSampler:
    """The most likely token, or one sampled at a temperature, for all rows alike."""

    def __init__(self, temperature: float, generator: Any) -> None:
        self._temperature = temperature
        self._generator = generator

    def begin(self, row: int, conversation: Chat) -> None:
        """Does nothing: turns share one generator."""

    def keep_rows(self, rows: Sequence[int]) -> None:
        """Does nothing: rows have no state."""

    def __call__(self, logits: Any, active: Any, position: Any) -> tuple[Any, Any]:
        logprobs = torch.log_softmax(logits.float() / (self._temperature or 1.0), dim=-1)
        scores = logprobs
        if self._temperature > 0:  # the Gumbel-max trick
            noise = torch.empty_like(logprobs).exponential_(generator=self._generator)
            scores = logprobs - noise.log()
        drawn = scores.argmax(dim=-1)
        return drawn, logprobs.gather(1, drawn[:, None])[:, 0]


class SeededSampler:
    """Samples each turn with its own seed, and within its own grammar if there are grammars."""

    def __init__(
        self,
        width: int,
        turn_tokens: int,
        device: Any,
        *,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int = 0,
        grammars: Grammars | None = None,
    ) -> None:
        self._turn_tokens: Final = turn_tokens
        self._temperature: Final = temperature
        self._top_p: Final = top_p
        self._seed: Final = seed
        self._grammars: Final = grammars
        self._draws = torch.zeros(width, turn_tokens, device=device)
        self._matchers: list[Any] = [None] * width

    def begin(self, row: int, conversation: Chat) -> None:
        """Draws the random numbers of a turn and resets its grammar."""
        if self._temperature > 0:
            rng = random.Random(turn_seed(self._seed, conversation))
            # Rounding could push a draw close to one past the last token.
            draws = [min(rng.random(), 1 - 1e-6) for _ in range(self._turn_tokens)]
            self._draws[row] = torch.tensor(draws, device=self._draws.device)
        if self._grammars is not None:
            self._matchers[row] = self._grammars.matcher(conversation.tools)

    def keep_rows(self, rows: Sequence[int]) -> None:
        """Keeps the draws and grammars of these rows."""
        self._draws = self._draws[list(rows)]
        self._matchers = [self._matchers[row] for row in rows]

    def __call__(self, logits: Any, active: Any, position: Any) -> tuple[Any, Any]:
        """The tokens; the grammars of active rows advance with them."""
        scores = logits.float()
        rows = active.nonzero().flatten().tolist() if self._grammars is not None else []
        matchers = [self._matchers[row] for row in rows]
        if self._grammars is not None and rows:
            allowed = self._grammars.allowed(matchers, scores.shape[1], scores.device)
            scores[rows] = scores[rows].masked_fill(~allowed, -torch.inf)
        logprobs = torch.log_softmax(scores / (self._temperature or 1.0), dim=-1)
        if self._temperature > 0:
            at = position.clamp(0, self._turn_tokens - 1)[: len(self._draws), None]
            drawn = _inverse_cdf(logprobs.exp(), self._draws.gather(1, at), self._top_p)
        else:
            drawn = logprobs.argmax(dim=-1)
        if self._grammars is not None and rows:
            self._grammars.advance(matchers, drawn[rows].tolist())
        return drawn, logprobs.gather(1, drawn[:, None])[:, 0]


class SamplerLogitsProcessor:
    """A sampler as the logits processor of `generate`: all tokens but the chosen one are masked."""

    def __init__(self, sampler: Sampler, turn_ends: Iterable[int]) -> None:
        self._sampler: Final = sampler
        self._turn_ends: Final = torch.tensor(sorted(turn_ends))
        self._active: Any = None
        self._step = 0

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores with all tokens but the chosen one masked."""
        if self._active is None:
            self._active = torch.ones(len(scores), dtype=torch.bool, device=scores.device)
        else:  # `generate` pads the rows whose turns have ended
            self._active &= ~torch.isin(input_ids[:, -1], self._turn_ends.to(scores.device))
        position = torch.full((len(scores),), self._step, device=scores.device)
        drawn, _ = self._sampler(scores, self._active, position)
        self._step += 1
        return torch.full_like(scores, -torch.inf).scatter(1, drawn[:, None], 0.0)


def _inverse_cdf(probabilities: Any, draws: Any, top_p: float) -> Any:
    """The token of each row that a number from 0 to 1 selects, within the nucleus."""
    if top_p < 1:
        probabilities = _nucleus(probabilities, top_p)
    cumulative = probabilities.cumsum(dim=-1)
    return torch.searchsorted(cumulative, draws * cumulative[:, -1:], right=True)[:, 0]


def _nucleus(probabilities: Any, top_p: float) -> Any:
    """The probabilities, zero for the least likely tokens not needed to reach `top_p`."""
    ordered, which = probabilities.sort(dim=-1, descending=True)
    before = ordered.cumsum(dim=-1) - ordered
    kept = ordered.masked_fill(before >= top_p, 0.0)
    return torch.zeros_like(probabilities).scatter(1, which, kept)
