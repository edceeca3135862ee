"""Constrained decoding with llguidance: the tokens that a turn's grammar allows next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch

from bylaw.agents.call_grammar import call_grammar
from bylaw.agents.protocol import ToolSpec
from bylaw.values import canonical

_BITS: Final = 32
"""The word size of a token mask, which has one bit per token."""


class Grammars:
    """A grammar for each set of tools, compiled once."""

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

    def matcher(self, tools: Sequence[ToolSpec]) -> Any:
        """A new matcher for one turn with these tools."""
        key = canonical([tool.to_dict() for tool in tools])
        if key not in self._compiled:
            grammar = call_grammar(tools, self._line_tokens, self._added)
            matcher = self._matcher(self._tokenizer, grammar, log_level=0)
            if matcher.is_error():
                names = ", ".join(tool.name for tool in tools) or "none"
                raise ValueError(f"no grammar for the tools ({names}): {matcher.get_error()}")
            self._compiled[key] = matcher
        return self._compiled[key].deep_copy()

    def allowed(self, matchers: Sequence[Any], vocabulary: int, device: Any) -> Any:
        """For each matcher, a boolean per token: may it come next? Computed in parallel.

        After a complete call only the end of the turn is allowed.
        """
        bits = torch.zeros(len(matchers), -(-vocabulary // _BITS), dtype=torch.int32)
        numbered = [(matcher, number) for number, matcher in enumerate(matchers)]
        self._executor.unsafe_compute_mask_ptr(
            numbered, bits.data_ptr(), bits.shape[1] * bits.element_size(), len(matchers)
        )
        places = torch.arange(_BITS, dtype=torch.int32, device=device)
        return ((bits.to(device)[:, :, None] >> places) & 1).bool().flatten(1)[:, :vocabulary]

    def advance(self, matchers: Sequence[Any], tokens: Sequence[int]) -> None:
        """Feeds each matcher the token that was chosen."""
        self._executor.consume_token_par(list(zip(matchers, tokens, strict=True)))
