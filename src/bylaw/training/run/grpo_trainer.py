"""TRL's trainer without computation that changes no gradient: on padding, and on equal rewards.

TRL pads prompts on the left and completions on the right, to the longest rollout of a round. One
long rollout thus pads all the others to its length. Attention with a padding mask is slow on a GPU,
and rows without anything to attend to can have NaN gradients. Here rows start with their prompts
and are padded only to the longest row of the same forward pass. Causal attention then never sees
padding, and needs no mask.

Rollouts that have the same reward as their whole group have an advantage of zero. Without a
reference model they add nothing to the gradient. The rollouts of a prompt are therefore kept
together, and forward passes that would have only such rollouts are left out.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from trl import GRPOTrainer

_NO_GRADIENT_FACTOR: Final = 4
"""Without gradients, a forward pass has this many times as many rollouts."""


class UnpaddedGrpoTrainer(GRPOTrainer):  # type: ignore[misc]  # TRL has no types
    """TRL's trainer; each forward pass has an advantage, and is padded to its own longest row."""

    _buffered_inputs: Any
    """TRL's micro-batches of the current round."""

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        """TRL's inputs, with the rollouts of each prompt next to each other.

        TRL shuffles the rollouts of a round before it splits them into micro-batches.
        """
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        made = self._buffered_inputs
        if made is before or made is None:
            return inputs
        joined = {name: _joined([each[name] for each in made]) for name in made[0]}
        self._buffered_inputs = [
            {name: _rows(value, rows) for name, value in joined.items()}
            for rows in _by_prompt(joined["prompt_ids"]).split(len(made[0]["prompt_ids"]))
        ]
        return self._buffered_inputs[self._step % self.args.steps_per_generation]

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        """TRL's loss; zero without a forward pass if no rollout has an advantage."""
        others = self.beta or self.aux_loss_enabled or self._entropy_bonus_enabled
        if others or not model.training or inputs["advantages"].any():
            return super()._compute_loss(model, inputs)
        # Gradients of zero, not none: the optimizer continues as it would with the forward pass.
        learned = [weight for weight in model.parameters() if weight.requires_grad]
        return torch.stack([weight.sum() for weight in learned]).sum() * 0.0

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


def _by_prompt(prompts: torch.Tensor) -> torch.Tensor:
    """An order of the rows in which equal prompts follow each other, by first occurrence."""
    _, which = prompts.unique(dim=0, return_inverse=True)
    places = torch.arange(len(which), device=which.device)
    first = which.new_full((len(which),), len(which)).scatter_reduce(0, which, places, "amin")
    return first[which].argsort(stable=True)


def _joined(values: list[Any]) -> Any:
    """The values of all micro-batches; a value that is not per rollout is the same in each."""
    first = values[0]
    if isinstance(first, torch.Tensor) and first.ndim:
        return torch.cat(values)
    if isinstance(first, list):
        return [each for value in values for each in value]
    return first


def _rows(value: Any, rows: torch.Tensor) -> Any:
    """The values of these rollouts."""
    if isinstance(value, torch.Tensor) and value.ndim:
        return value[rows.to(value.device)]
    return [value[row] for row in rows.tolist()] if isinstance(value, list) else value
