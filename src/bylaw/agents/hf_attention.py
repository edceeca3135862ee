"""Attention for many conversations at once, when one more token is to be written in each.

In most models several query heads share one head of keys and values. Where rows are padded,
transformers copies keys and values for each query head, at every token, for the whole batch: most
of the time goes there. Here the query heads that share keys stand side by side as if they were
positions, and nothing is copied. Where rows lie in a long table, and it is said how far each is
filled (`prefix_lengths`), a GPU reads no more than that. cuDNN's attention is left out: it plans
anew for every length, which takes longer than the attention does.
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
    from bylaw.agents.hf_prefix import attend_prefixes
except ModuleNotFoundError:  # Triton comes with torch wherever there can be a GPU
    attend_prefixes = None

_NAME: Final = "bylaw_shared_keys"
_BACKENDS: Final = (
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
)


def share_keys(model: Any) -> None:
    """Makes a model attend in this way, unless it attends in a way of its own."""
    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(_NAME, _attend)
        AttentionMaskInterface.register(_NAME, sdpa_mask)
        model.set_attn_implementation(_NAME)


def reads_prefixes(model: Any) -> bool:
    """Does the model heed `prefix_lengths`? It must still be told by a mask what to attend to."""
    on_gpu = next(model.parameters()).device.type == "cuda"
    return on_gpu and attend_prefixes is not None and model.config._attn_implementation == _NAME


def without_planning() -> Any:
    """The context to generate in, and to train in."""
    return sdpa_kernel(list(_BACKENDS))


def _attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any
) -> tuple[Any, Any]:
    rows, heads, positions, size = query.shape
    shared = key.shape[1]
    lengths = options.pop("prefix_lengths", None)
    powers = size.bit_count() == 1 and value.shape[-1] == size  # the kernel's blocks are of such
    if lengths is not None and powers:
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
