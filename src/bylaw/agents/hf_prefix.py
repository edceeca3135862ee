"""Attention of one new token per row over that row's own past, of which rows have more or less.

Rows lie in one table, as long as the longest may get. Attention with a mask reads all of it; this
reads each row only as far as it is filled. It is a kernel for GPUs, in Triton.
"""

from __future__ import annotations

from typing import Any, Final

import torch
import triton
import triton.language as tl

_BLOCK: Final = 64
"""So many places are read at a time."""
_LEAST: Final = 16
"""Products of matrices on a GPU are of at least so many rows."""


def attend_prefixes(query: Any, keys: Any, values: Any, lengths: Any, scale: float) -> Any:
    """What each row's token attends to: query is [rows, heads, size], and so is what is returned.

    Keys and values are [rows, shared heads, places, size]; of each row only as many places as
    `lengths` says are read, at least one.
    """
    rows, heads, size = query.shape
    shared = keys.shape[1]
    asked = query.to(keys.dtype).contiguous()  # where precisions are mixed, the table's counts
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
        grouped=max(_LEAST, triton.next_power_of_2(heads // shared)),
        size=size,
        block=_BLOCK,
    )
    return attended.to(query.dtype)


@triton.jit  # type: ignore[untyped-decorator]  # Triton has no types
def _attend(  # type: ignore[no-untyped-def]  # of annotations, Triton takes its own alone
    query,
    keys,
    values,
    attended,
    lengths,
    scale,
    keys_row,
    keys_head,
    keys_place,
    values_row,
    values_head,
    values_place,
    shared,
    group: tl.constexpr,
    grouped: tl.constexpr,
    size: tl.constexpr,
    block: tl.constexpr,
):
    """One row, one shared head: the softmax is kept up block by block, as Flash Attention does."""
    row = tl.program_id(0).to(tl.int64)  # a table may have more elements than 32 bits can count
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
        place = start + tl.arange(0, block)
        filled = place < length
        at = keys + place[None, :] * keys_place + along[:, None]
        key = tl.load(at, mask=filled[None, :], other=0.0)
        score = tl.where(filled[None, :], tl.dot(asked, key) * scale, float("-inf"))
        peak = tl.maximum(largest, tl.max(score, 1))
        weight = tl.exp(score - peak[:, None])
        faded = tl.exp(largest - peak)
        at = values + place[:, None] * values_place + along[None, :]
        value = tl.load(at, mask=filled[:, None], other=0.0)
        mean = mean * faded[:, None] + tl.dot(weight.to(value.dtype), value)
        total = total * faded + tl.sum(weight, 1)
        largest = peak
    tl.store(attended + mine, (mean / total[:, None]).to(asked.dtype), mask=exists)
