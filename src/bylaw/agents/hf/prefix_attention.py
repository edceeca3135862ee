"""A Triton kernel: attention of one new token per row over that row's own prefix.

All rows share one key-value table, padded to the longest possible row. Attention with a mask reads
all of it; this kernel reads each row only as far as it is filled.
"""

from __future__ import annotations

from typing import Any, Final

import torch
import triton
import triton.language as tl

_BLOCK: Final = 64
"""Positions read at a time."""
_MIN_ROWS: Final = 16
"""The fewest rows of a matrix product on a GPU."""


def attend_prefixes(query: Any, keys: Any, values: Any, lengths: Any, scale: float) -> Any:
    """The attention output for each row's token, in the shape of `query`: [rows, heads, size].

    Keys and values are [rows, shared heads, positions, size]. The kernel reads the first
    `lengths[row]` positions of each row, at least one.
    """
    rows, heads, size = query.shape
    shared = keys.shape[1]
    asked = query.to(keys.dtype).contiguous()  # in mixed precision, the cache decides
    attended = torch.empty_like(asked)
    _attend[rows, shared](
        asked,
        keys,
        values,
        attended,
        lengths,
        scale,
        *keys.stride()[:3],
        *values.stride()[:3],
        shared,
        group=heads // shared,
        grouped=max(_MIN_ROWS, triton.next_power_of_2(heads // shared)),
        size=size,
        block=_BLOCK,
    )
    return attended.to(query.dtype)


@triton.jit  # type: ignore[untyped-decorator]  # Triton has no types
def _attend(  # type: ignore[no-untyped-def]  # Triton rejects any annotations but its own
    query,
    keys,
    values,
    attended,
    lengths,
    scale,
    keys_row,
    keys_head,
    keys_position,
    values_row,
    values_head,
    values_position,
    shared,
    group: tl.constexpr,
    grouped: tl.constexpr,
    size: tl.constexpr,
    block: tl.constexpr,
):
    """One row and one shared head, with an online softmax over blocks, as in Flash Attention."""
    row = tl.program_id(0).to(tl.int64)  # offsets can exceed 32 bits
    head = tl.program_id(1)
    length = tl.load(lengths + row).to(tl.int32)
    member, along = tl.arange(0, grouped), tl.arange(0, size)
    mine = ((row * shared + head) * group + member)[:, None] * size + along[None, :]
    exists = (member < group)[:, None]
    asked = tl.load(query + mine, mask=exists, other=0.0)
    keys += row * keys_row + head * keys_head
    values += row * values_row + head * values_head
    largest = tl.full([grouped], float("-inf"), tl.float32)
    total = tl.zeros([grouped], tl.float32)
    mean = tl.zeros([grouped, size], tl.float32)
    for start in range(0, length, block):
        position = start + tl.arange(0, block)
        filled = position < length
        at = keys + position[None, :] * keys_position + along[:, None]
        key = tl.load(at, mask=filled[None, :], other=0.0)
        score = tl.where(filled[None, :], tl.dot(asked, key) * scale, float("-inf"))
        peak = tl.maximum(largest, tl.max(score, 1))
        weight = tl.exp(score - peak[:, None])
        faded = tl.exp(largest - peak)
        at = values + position[:, None] * values_position + along[None, :]
        value = tl.load(at, mask=filled[:, None], other=0.0)
        mean = mean * faded[:, None] + tl.dot(weight.to(value.dtype), value)
        total = total * faded + tl.sum(weight, 1)
        largest = peak
    tl.store(attended + mine, (mean / total[:, None]).to(asked.dtype), mask=exists)
