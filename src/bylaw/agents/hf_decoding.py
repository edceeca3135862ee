"""How the next token is chosen: among those a grammar allows, and with a draw of one's own.

Both are logits processors as transformers takes them, so that plain `generate` does the rest.
Rows of a batch do not see each other: what a conversation gets does not depend on its companions,
up to rounding in the model itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import torch

from bylaw.agents.grammar import call_grammar
from bylaw.agents.protocol import ToolSpec
from bylaw.values import canonical

_BITS: Final = 32
"""Masks come with one bit per token, in words of this size."""


class Draw:
    """Samples: each row has its own draws, made from its own seed."""

    def __init__(self, seeds: Sequence[int], most: int, temperature: float, top_p: float) -> None:
        rows = [random.Random(seed) for seed in seeds]
        # A draw of almost one could, by rounding, fall behind the last token.
        draws = [[min(row.random(), 1 - 1e-6) for _ in range(most)] for row in rows]
        self._draws = torch.tensor(draws)
        self._temperature = temperature
        self._top_p = top_p
        self._step = 0

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores with all tokens but the drawn one ruled out."""
        chances = torch.softmax(scores.float() / self._temperature, dim=-1)
        draws = self._draws[:, self._step, None].to(scores.device)
        drawn = inverted(chances, draws, self._top_p)[:, None]
        self._step += 1
        return torch.full_like(scores, -torch.inf).scatter(1, drawn, 0.0)


def inverted(chances: Any, draws: Any, top_p: float) -> Any:
    """The token of each row that a number from 0 to 1 falls on, among the most likely ones."""
    if top_p < 1:
        chances = _nucleus(chances, top_p)
    reached = chances.cumsum(dim=-1)
    return torch.searchsorted(reached, draws * reached[:, -1:], right=True)[:, 0]


def _nucleus(chances: Any, top_p: float) -> Any:
    """The chances without those of the least likely tokens that are not needed to reach `top_p`."""
    ordered, which = chances.sort(dim=-1, descending=True)
    before = ordered.cumsum(dim=-1) - ordered
    return torch.zeros_like(chances).scatter(1, which, ordered.masked_fill(before >= top_p, 0.0))


class Grammars:
    """Makes constraints: one grammar for each set of tools, compiled once."""

    def __init__(
        self, tokenizer: Any, vocabulary: int, ends: Sequence[int], line_tokens: int
    ) -> None:
        try:
            import llguidance
            import llguidance.hf
        except ModuleNotFoundError as error:
            missing = "llguidance is not installed: pip install 'bylaw[hf]'"
            raise ModuleNotFoundError(missing, name=error.name) from error
        self._tokenizer = llguidance.hf.from_tokenizer(tokenizer, vocabulary, list(ends))
        self._matcher = llguidance.LLMatcher
        self._executor = llguidance.LLExecutor()
        self._added = tokenizer.get_added_vocab()
        self._line_tokens = line_tokens
        self._compiled: dict[str, Any] = {}

    def constraint(self, tools: Sequence[Sequence[ToolSpec]]) -> Constraint:
        """The constraint for a batch in which each row has these tools."""
        rows: dict[str, list[int]] = {}
        for row, offered in enumerate(tools):
            rows.setdefault(self._compile(offered), []).append(row)
        return Constraint([(self._compiled[key].deep_copy(), same) for key, same in rows.items()])

    def matcher(self, tools: Sequence[ToolSpec]) -> Any:
        """What follows one turn with these tools, from its beginning."""
        return self._compiled[self._compile(tools)].deep_copy()

    def masks(self, matchers: Sequence[Any], vocabulary: int) -> Any:
        """For each matcher, a bit for each token: may it come next? On all processors."""
        bits = torch.zeros(len(matchers), -(-vocabulary // _BITS), dtype=torch.int32)
        numbered = [(matcher, number) for number, matcher in enumerate(matchers)]
        self._executor.unsafe_compute_mask_ptr(
            numbered, bits.data_ptr(), bits.shape[1] * bits.element_size(), len(matchers)
        )
        return bits

    def go_on(self, matchers: Sequence[Any], tokens: Sequence[int]) -> None:
        """Each matcher hears which token came."""
        self._executor.consume_token_par(list(zip(matchers, tokens, strict=True)))

    def _compile(self, tools: Sequence[ToolSpec]) -> str:
        """Makes sure that there is a grammar for these tools, and says under which key."""
        key = canonical([tool.to_dict() for tool in tools])
        if key not in self._compiled:
            grammar = call_grammar(tools, self._line_tokens, self._added)
            matcher = self._matcher(self._tokenizer, grammar, log_level=0)
            if matcher.is_error():
                names = ", ".join(tool.name for tool in tools) or "none"
                raise ValueError(f"no grammar for the tools ({names}): {matcher.get_error()}")
            self._compiled[key] = matcher
        return key


class Constraint:
    """Rules out the tokens with which no text of the row's grammar goes on.

    After a complete text only the end of the turn is left. Rows that have written the same so far
    have one matcher and one mask between them.
    """

    def __init__(self, groups: list[tuple[Any, list[int]]]) -> None:
        self._groups = groups
        """Matchers, each with its rows."""
        self._begun = False

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores with all tokens ruled out that do not fit."""
        if self._begun:
            self._groups = list(self._after(input_ids[:, -1].tolist()))
        self._begun = True
        bits = torch.zeros(len(self._groups), -(-scores.shape[1] // _BITS), dtype=torch.int32)
        which = torch.zeros(len(scores), dtype=torch.long)
        for group, (matcher, rows) in enumerate(self._groups):
            mask = bits[group]
            matcher.unsafe_compute_mask_ptr(mask.data_ptr(), mask.numel() * mask.element_size())
            which[rows] = group
        allowed = allowed_by(bits.to(scores.device))[:, : scores.shape[1]]
        return scores.masked_fill(~allowed[which.to(scores.device)], -torch.inf)

    def _after(self, last: Sequence[int]) -> Iterator[tuple[Any, list[int]]]:
        """The groups after each row's last token."""
        for matcher, rows in self._groups:
            parted: dict[int, list[int]] = {}
            for row in rows:
                parted.setdefault(last[row], []).append(row)
            for token, same in parted.items():
                own = matcher if len(parted) == 1 else matcher.deep_copy()
                own.consume_token(token)
                yield own, same


def allowed_by(bits: Any) -> Any:
    """A row of truth values for each row of bits, the lowest bit first."""
    places = torch.arange(_BITS, dtype=torch.int32, device=bits.device)
    return ((bits[:, :, None] >> places) & 1).bool().flatten(1)
