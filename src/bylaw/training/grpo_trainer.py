"""TRL's trainer, less what it computes on padding.

TRL pads prompts on their left and completions on their right, all rollouts of a round to the
longest of them, and takes a few at a time. One rollout that runs away makes all the others as dear
as itself; attention that must be told by a mask what is padding is slow on a GPU, and where a row
has nothing to attend to its gradient may be no number. Here rows begin where their prompts do and
are as long as the longest of those beside them: then causal attention, which looks only back, never
sees padding, and needs no mask.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from trl import GRPOTrainer

_WITHOUT_GRADIENT: Final = 4
"""So many times as many rollouts go through the model at once if nothing is kept for gradients."""


class Trainer(GRPOTrainer):  # type: ignore[misc]  # TRL has no types
    """TRL's trainer; what goes through the model at once is as long as the longest of it."""

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        **how: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        at_once = batch_size or len(input_ids)
        if not torch.is_grad_enabled():
            at_once *= _WITHOUT_GRADIENT
        order = attention_mask.sum(1).argsort(descending=True)  # equals beside equals
        parts = [
            self._left_aligned(model, input_ids[rows], attention_mask[rows], logits_to_keep, **how)
            for rows in order.split(at_once)
        ]
        chances, entropies, losses = zip(*parts, strict=True)
        back = order.argsort()
        return (
            torch.cat(chances)[back],
            None if entropies[0] is None else torch.cat(entropies)[back],
            None if losses[0] is None else torch.stack(losses).mean(),
        )

    def _left_aligned(
        self, model: Any, ids: torch.Tensor, mask: torch.Tensor, logits_to_keep: int, **how: Any
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        """What TRL computes of completions, with zeros where there is padding."""
        first, sizes = mask.int().argmax(1, keepdim=True), mask.sum(1, keepdim=True)
        longest = int(sizes.max())
        places = torch.arange(longest, device=ids.device)
        aligned = ids.gather(1, (first + places).clamp(max=ids.size(1) - 1))
        begun = ids.size(1) - logits_to_keep - first  # where completions begin now
        before = int(begun.min())
        chances, entropies, loss = super()._get_per_token_logps_and_entropies(
            _without_mask(model), aligned, (places < sizes).long(), longest - before, **how
        )
        places = begun - before + torch.arange(logits_to_keep, device=ids.device)
        padding = places >= sizes - before
        places = places.clamp(max=longest - before - 1)
        kept = (
            None if each is None else each.gather(1, places).masked_fill(padding, 0.0)
            for each in (chances, entropies)
        )
        return *kept, loss


def _without_mask(model: Any) -> Any:
    """The model, for TRL to call with a mask that it is not to see."""
    return lambda attention_mask, **inputs: model(**inputs)
