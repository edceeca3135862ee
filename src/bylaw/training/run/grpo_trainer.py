"""TRL's trainer without the computation on padding.

TRL pads prompts on the left and completions on the right, to the longest rollout of a round. One
long rollout thus pads all the others to its length. Attention with a padding mask is slow on a GPU,
and rows without anything to attend to can have NaN gradients. Here rows start with their prompts
and are padded only to the longest row of the same forward pass. Causal attention then never sees
padding, and needs no mask.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from trl import GRPOTrainer

_NO_GRADIENT_FACTOR: Final = 4
"""Without gradients, a forward pass has this many times as many rollouts."""


class UnpaddedGrpoTrainer(GRPOTrainer):  # type: ignore[misc]  # TRL has no types
    """TRL's trainer; each forward pass is padded to its own longest row."""

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        **options: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        micro_batch_size = batch_size or len(input_ids)
        if not torch.is_grad_enabled():
            micro_batch_size *= _NO_GRADIENT_FACTOR
        order = attention_mask.sum(1).argsort(descending=True)  # rows of similar length together
        parts = [
            self._left_aligned(
                model, input_ids[rows], attention_mask[rows], logits_to_keep, **options
            )
            for rows in order.split(micro_batch_size)
        ]
        logprobs, entropies, losses = zip(*parts, strict=True)
        back = order.argsort()
        return (
            torch.cat(logprobs)[back],
            None if entropies[0] is None else torch.cat(entropies)[back],
            None if losses[0] is None else torch.stack(losses).mean(),
        )

    def _left_aligned(
        self, model: Any, ids: torch.Tensor, mask: torch.Tensor, logits_to_keep: int, **options: Any
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        """TRL's log-probabilities and entropies of completions, zero on padding."""
        first, sizes = mask.int().argmax(1, keepdim=True), mask.sum(1, keepdim=True)
        longest = int(sizes.max())
        places = torch.arange(longest, device=ids.device)
        aligned = ids.gather(1, (first + places).clamp(max=ids.size(1) - 1))
        start = ids.size(1) - logits_to_keep - first  # of the completions, after alignment
        before = int(start.min())
        logprobs, entropies, loss = super()._get_per_token_logps_and_entropies(
            _without_mask(model), aligned, (places < sizes).long(), longest - before, **options
        )
        places = start - before + torch.arange(logits_to_keep, device=ids.device)
        padding = places >= sizes - before
        places = places.clamp(max=longest - before - 1)
        kept = (
            None if each is None else each.gather(1, places).masked_fill(padding, 0.0)
            for each in (logprobs, entropies)
        )
        return *kept, loss


def _without_mask(model: Any) -> Any:
    """The model, ignoring the mask that TRL passes."""
    return lambda attention_mask, **inputs: model(**inputs)
