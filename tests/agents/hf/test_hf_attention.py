"""Attention for one new token in each of many rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch_needed import torch_and

pytestmark = pytest.mark.models

SHAPES = {"seven share a head": (2, 7, 64), "one each": (4, 1, 32), "large heads": (2, 6, 128)}
"""Shared heads, how many share each, and their size."""


@pytest.fixture(autouse=True, scope="module")
def _needed() -> Iterator[None]:
    yield from torch_and("transformers", "peft")


def in_plain_torch(query: Any, keys: Any, values: Any, lengths: Any, scale: float) -> Any:
    """The result of the kernel, computed with a mask."""
    import torch

    rows, heads, size = query.shape
    shared, places = keys.shape[1:3]
    filled = torch.arange(places, device=keys.device) < lengths[:, None]
    attended = torch.nn.functional.scaled_dot_product_attention(
        query.reshape(rows, shared, heads // shared, size),
        keys,
        values,
        attn_mask=filled[:, None, None],
        scale=scale,
    )
    return attended.reshape(rows, heads, size)


def test_reading_prefixes_gives_the_same_turns_as_a_mask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tiny_model

    from bylaw.agents.hf import attention, batch_decoder
    from bylaw.agents.hf.rollouts import Rollouts
    from bylaw.training.data.corpus import corpus
    from bylaw.training.run.episodes import start_episode
    from bylaw.training.run.lora import learner

    asked = []

    def noted(*given: Any) -> Any:
        asked.append(given)
        return in_plain_torch(*given)

    folder = tiny_model.save(tmp_path, taught=False, template=tiny_model.WITH_TOOLS)
    tried = learner(folder)

    def written() -> list[tuple[list[int], list[float]]]:
        rollouts = Rollouts(tried.model, tried.chat_tokenizer, width=4, turn_tokens=8)
        runs = [start_episode(example) for example in corpus()[:6]]
        made = rollouts.execute_runs(
            runs, max_completion_tokens=64, sampler=rollouts.batch_sampler(1.0, 1)
        )
        return [(each.completion.ids, each.completion.logprobs) for each in made]

    masked = written()
    monkeypatch.setattr(attention, "attend_prefixes", noted)
    monkeypatch.setattr(batch_decoder, "supports_prefix_lengths", lambda model: True)
    by_length = written()
    assert len(asked) > 0
    assert [ids for ids, _ in by_length] == [ids for ids, _ in masked]
    for (_, logprobs), (_, expected) in zip(by_length, masked, strict=True):
        assert logprobs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("size", "by_length"), [(16, True), (24, False), (80, False)])
def test_heads_of_odd_sizes_are_left_to_the_mask(
    size: int, by_length: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from transformers import AttentionInterface, Qwen2Config, Qwen2ForCausalLM

    from bylaw.agents.hf import attention

    small = {"num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2}
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=8, hidden_size=64, **small))
    attention.share_keys(model)
    asked = []

    def noted(*given: Any) -> Any:
        asked.append(given)
        return in_plain_torch(*given)

    monkeypatch.setattr(attention, "attend_prefixes", noted)
    attend = AttentionInterface()[model.config._attn_implementation]
    torch.manual_seed(1)
    query, (keys, values) = torch.randn(3, 4, 1, size), torch.randn(2, 3, 2, 9, size)
    lengths = torch.tensor([1, 5, 9])
    mask = (torch.arange(9) < lengths[:, None])[:, None, None]
    attended, _ = attend(model, query, keys, values, mask, scaling=0.3, prefix_lengths=lengths)
    expected = in_plain_torch(query[:, :, 0], keys, values, lengths, 0.3)
    assert torch.allclose(attended[:, 0], expected, atol=1e-5)
    assert bool(asked) == by_length


@pytest.mark.parametrize("shape", SHAPES)
def test_the_kernel_compiles_for_a_gpu_that_is_not_there(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # it asks to be told
    triton = pytest.importorskip("triton", reason="the kernel needs Triton")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from bylaw.agents.hf.prefix_attention import _attend

    _, group, size = SHAPES[shape]
    fixed = {"group": group, "grouped": 16, "size": size, "block": 64}
    types = dict.fromkeys(_attend.arg_names, "i32")
    types |= dict.fromkeys(["query", "keys", "values", "attended"], "*bf16")
    types |= {"lengths": "*i64", "scale": "fp32"} | dict.fromkeys(fixed, "constexpr")
    source = ASTSource(_attend, types, fixed)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    assert "wgmma" in made.asm["ptx"] or "mma.sync" in made.asm["ptx"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("precision", ["float32", "float16", "bfloat16"])
def test_the_kernel_reads_each_row_as_far_as_it_is_filled(shape: str, precision: str) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("the kernel needs a GPU")
    from bylaw.agents.hf.prefix_attention import attend_prefixes

    shared, group, size = SHAPES[shape]
    rows, places = 5, 300
    torch.manual_seed(1)
    dtype = getattr(torch, precision)
    query = torch.randn(rows, shared * group, size, device="cuda", dtype=dtype)
    keys, values = torch.randn(2, rows, shared, places, size, device="cuda", dtype=dtype)
    lengths = torch.tensor([1, 64, 65, 299, 300], device="cuda")
    expected = in_plain_torch(query.float(), keys.float(), values.float(), lengths, 0.1)
    for row, length in enumerate(lengths.tolist()):
        keys[row, :, length:] = values[row, :, length:] = torch.nan  # must not be looked at
    attended = attend_prefixes(query, keys, values, lengths, 0.1)
    assert attended.dtype == dtype
    assert float((attended.float() - expected).abs().max()) < 0.02


def test_a_token_that_was_never_trained_is_not_known(tmp_path: Path) -> None:
    import tiny_model
    import torch

    from bylaw.agents.hf.loading import is_trained, load_model, untrained_tags

    folder = tiny_model.save(tmp_path, taught=False, template=tiny_model.WITH_TOOLS)
    model, tokenizer = load_model(folder, torch.bfloat16)
    tokenizer.add_tokens(["<tool_call>", "</tool_call>"])
    call, end = tokenizer.convert_tokens_to_ids(["<tool_call>", "</tool_call>"])
    assert untrained_tags(tokenizer, model) == []
    with torch.no_grad():  # as in models that were never shown a call
        model.get_input_embeddings().weight[call] = model.get_input_embeddings().weight[-1]
    assert not is_trained(model, call)
    assert is_trained(model, end)
    assert untrained_tags(tokenizer, model) == ["<tool_call>"]


def test_tags_that_were_never_trained_are_spelled(tmp_path: Path) -> None:
    """Read from a GGUF file they are single tokens or not, depending on transformers' version."""
    import tiny_model
    import torch

    from bylaw.agents.hf.loading import load_model

    folder = tiny_model.save(tmp_path / "model", taught=False, template=tiny_model.WITH_TOOLS)
    model, tokenizer = load_model(folder, torch.bfloat16)
    tokenizer.add_tokens(["<tool_call>", "</tool_call>"])
    call = tokenizer.convert_tokens_to_ids("<tool_call>")
    with torch.no_grad():
        model.get_input_embeddings().weight[call] = model.get_input_embeddings().weight[-1]
    for each in (model, tokenizer):
        each.save_pretrained(tmp_path / "untrained")
    _, loaded = load_model(tmp_path / "untrained", torch.bfloat16)
    assert "<tool_call>" not in loaded.tokenize("<tool_call>a</tool_call>")
    assert loaded.tokenize("<tool_call>a</tool_call>")[-1] == "</tool_call>"
    loaded.save_pretrained(tmp_path / "untrained")
    _, again = load_model(tmp_path / "untrained", torch.bfloat16)
    assert again.tokenize("<tool_call>") == loaded.tokenize("<tool_call>")
