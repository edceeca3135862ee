"""Attention for decoding many conversations at once, one new token in each.

In most models several query heads share one head of keys and values. For padded rows,
transformers copies keys and values for each query head, at every token and for the whole batch,
which dominates the run time. Here the query heads that share keys are laid out as positions, so
nothing is copied. Given the filled length of each row (`prefix_lengths`), a GPU reads no further
than that. cuDNN attention is disabled: it plans again for every length, which takes longer than
the attention itself.
"""

from __future__ import annotations

from typing import Any, Final

from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

attend_prefixes: Any
try:
    from bylaw.agents.hf.prefix_attention import attend_prefixes
except ModuleNotFoundError:  # torch builds for GPUs include Triton
    attend_prefixes = None

_NAME: Final = "bylaw_shared_keys"
_BACKENDS: Final = (
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
)


def share_keys(model: Any) -> None:
    """Installs this attention, unless the model has an implementation of its own."""
    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(_NAME, _attend)
        AttentionMaskInterface.register(_NAME, sdpa_mask)
        model.set_attn_implementation(_NAME)


def supports_prefix_lengths(model: Any) -> bool:
    """Does the model use `prefix_lengths`? It needs an attention mask in either case."""
    on_gpu = next(model.parameters()).device.type == "cuda"
    return on_gpu and attend_prefixes is not None and model.config._attn_implementation == _NAME


def without_cudnn() -> Any:
    """A context for generation and training that disables cuDNN attention."""
    return sdpa_kernel(list(_BACKENDS))


def _attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any
) -> tuple[Any, Any]:
    rows, heads, positions, size = query.shape
    shared = key.shape[1]
    lengths = options.pop("prefix_lengths", None)
    fits_kernel = size.bit_count() == 1 and value.shape[-1] == size  # blocks are powers of two
    if lengths is not None and fits_kernel:
        scale = options.get("scaling") or size**-0.5
        return attend_prefixes(query[:, :, 0], key, value, lengths, scale)[:, None], None
    plain = heads == shared or positions > 1 or attention_mask is None
    if plain or options.get("position_bias") is not None:
        return tuple(sdpa_attention_forward(module, query, key, value, attention_mask, **options))
    grouped = query.reshape(rows, shared, heads // shared, size)
    attended = scaled_dot_product_attention(
        grouped, key, value, attn_mask=attention_mask, scale=options.get("scaling")
    )
    return attended.reshape(rows, 1, heads, value.shape[-1]), None
