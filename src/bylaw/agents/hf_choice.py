"""How the next token is chosen in each of many rows, which are at different places of their turns.

Two ways: drawn for all rows at once, as training wants it; and row by row, as a run of the
benchmark wants it, where a turn has a seed and perhaps a grammar of its own, and so does not
depend on the turns beside it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final, Protocol

import torch

from bylaw.agents.hf_decoding import Grammars, allowed_by, inverted
from bylaw.agents.local import turn_seed
from bylaw.agents.protocol import Conversation


class Choice(Protocol):
    """What decides on the next tokens beside the model."""

    def begin(self, row: int, conversation: Conversation) -> None:
        """A turn begins in a row."""

    def moved(self, rows: Sequence[int]) -> None:
        """There are so many rows from now on, each what the listed one was; some are idle."""

    def __call__(self, logits: Any, writes: Any, nth: Any) -> tuple[Any, Any]:
        """A token for each row, and its log-probability; both count only in rows that write.

        `nth` is the place of the token in the row's turn.
        """


class Draw:
    """The most likely token, or one drawn at a temperature, for all rows alike."""

    def __init__(self, temperature: float, generator: Any) -> None:
        self._temperature = temperature
        self._generator = generator

    def begin(self, row: int, conversation: Conversation) -> None:
        """All turns are alike."""

    def moved(self, rows: Sequence[int]) -> None:
        """All rows are alike."""

    def __call__(self, logits: Any, writes: Any, nth: Any) -> tuple[Any, Any]:
        chances = torch.log_softmax(logits.float() / (self._temperature or 1.0), dim=-1)
        if self._temperature > 0:
            waits = torch.empty_like(chances).exponential_(generator=self._generator)
            drawn = (chances - waits.log()).argmax(dim=-1)  # who waits least: Gumbel's way to draw
        else:
            drawn = chances.argmax(dim=-1)
        return drawn, chances.gather(1, drawn[:, None])[:, 0]


class TurnByTurn:
    """Each turn by its own seed, and within its own grammar where there are grammars."""

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

    def begin(self, row: int, conversation: Conversation) -> None:
        """Makes the row's draws for a turn, and puts its grammar back to the start."""
        if self._temperature > 0:
            chance = random.Random(turn_seed(self._seed, conversation))
            # A draw of almost one could, by rounding, fall behind the last token.
            draws = [min(chance.random(), 1 - 1e-6) for _ in range(self._turn_tokens)]
            self._draws[row] = torch.tensor(draws, device=self._draws.device)
        if self._grammars is not None:
            self._matchers[row] = self._grammars.matcher(conversation.tools)

    def moved(self, rows: Sequence[int]) -> None:
        """Takes the rows' draws and grammars along."""
        self._draws = self._draws[list(rows)]
        self._matchers = [self._matchers[row] for row in rows]

    def __call__(self, logits: Any, writes: Any, nth: Any) -> tuple[Any, Any]:
        """The tokens; grammars go on with those that are written."""
        scores = logits.float()
        rows = writes.nonzero().flatten().tolist() if self._grammars is not None else []
        if rows:
            scores = self._held(scores, rows)
        chances = torch.log_softmax(scores / (self._temperature or 1.0), dim=-1)
        if self._temperature > 0:
            at = nth.clamp(0, self._turn_tokens - 1)[: len(self._draws), None]
            drawn = inverted(chances.exp(), self._draws.gather(1, at), self._top_p)
        else:
            drawn = chances.argmax(dim=-1)
        if rows and self._grammars is not None:
            tokens = drawn[rows].tolist()
            self._grammars.go_on([self._matchers[row] for row in rows], tokens)
        return drawn, chances.gather(1, drawn[:, None])[:, 0]

    def _held(self, scores: Any, rows: Sequence[int]) -> Any:
        """The scores, with all tokens ruled out that do not fit a row's grammar."""
        assert self._grammars is not None, "there is something to hold to"
        bits = self._grammars.masks([self._matchers[row] for row in rows], scores.shape[1])
        allowed = allowed_by(bits.to(scores.device))[:, : scores.shape[1]]
        scores[rows] = scores[rows].masked_fill(~allowed, -torch.inf)
        return scores
