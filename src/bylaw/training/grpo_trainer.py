"""TRL's trainer, less what it computes on padding.

TRL pads all rollouts of a round to the longest of them, and prompts to the longest prompt; then it
takes a few at a time. One rollout that runs away would make all the others as dear as itself.
"""

from __future__ import annotations

from typing import Any

import torch
from trl import GRPOTrainer


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
        parts = [
            self._trimmed(model, ids, mask, logits_to_keep, **how)
            for ids, mask in zip(
                input_ids.split(batch_size or len(input_ids)),
                attention_mask.split(batch_size or len(input_ids)),
                strict=True,
            )
        ]
        chances, entropies, losses = zip(*parts, strict=True)
        return torch.cat(chances), _joined(entropies, torch.cat), _joined(losses, _mean)

    def _trimmed(
        self, model: Any, ids: torch.Tensor, mask: torch.Tensor, logits_to_keep: int, **how: Any
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        """What TRL computes, with zeros where all rows are padded."""
        used = mask.any(0).nonzero()
        first, end = int(used[0]), int(used[-1]) + 1
        behind = ids.size(1) - end
        chances, entropies, loss = super()._get_per_token_logps_and_entropies(
            model, ids[:, first:end], mask[:, first:end], logits_to_keep - behind, **how
        )
        padded = (
            None if each is None else torch.nn.functional.pad(each, (0, behind))
            for each in (chances, entropies)
        )
        return *padded, loss


def _joined(parts: tuple[torch.Tensor | None, ...], join: Any) -> torch.Tensor | None:
    return None if parts[0] is None else join(parts)


def _mean(parts: tuple[torch.Tensor, ...]) -> torch.Tensor:
    return torch.stack(parts).mean()
