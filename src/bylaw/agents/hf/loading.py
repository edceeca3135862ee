"""Loads a transformers model, and finds out what its tokenizer and chat template support."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel
from transformers import AutoModelForCausalLM, AutoTokenizer

from bylaw.agents.tool_text import CHATML, PROBE

_TURN_ENDS: Final = ("<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "<|endoftext|>")
"""Tokens that end a turn wherever they exist. A GGUF file often names another one."""

_TAGS: Final = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
"""Tags that must be single tokens if the model knows them, and only then.

Depending on the version of transformers, a tokenizer read from a GGUF file has all or none of them
as single tokens."""

_SAME_EMBEDDING: Final = 0.999
"""The cosine similarity from which a model cannot tell two tokens apart."""

_LINE_BREAK: Final = "Ċ"
"""A line break in a byte-level vocabulary, which needs the byte-level decoder."""


def load_model(path: Path, dtype: Any) -> tuple[Any, Any]:
    """The model and its tokenizer, which spells tags that the model never learned as tokens."""
    gguf = {"gguf_file": path.name} if path.suffix == ".gguf" else {}
    folder = path.parent if gguf else path
    tokenizer = AutoTokenizer.from_pretrained(folder, **gguf)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **gguf)
    if gguf:
        _repair(tokenizer, model)
    # A tag can be learned letter by letter, but not as a token whose embedding was never trained.
    _split(tokenizer, untrained_tags(tokenizer, model))
    if tokenizer.chat_template is None:
        tokenizer.chat_template = CHATML
    return model, tokenizer


def _repair(tokenizer: Any, model: Any) -> None:
    """Restores what a tokenizer loses when it is read from a GGUF file."""
    vocabulary = tokenizer.get_vocab()
    tags = [tag for tag in _TAGS if tag in vocabulary]
    tokenizer.add_tokens([tag for tag in tags if is_trained(model, vocabulary[tag])])
    if _LINE_BREAK in vocabulary:
        tokenizer.backend_tokenizer.decoder = ByteLevel()


def _split(tokenizer: Any, tags: Collection[str]) -> None:
    """Makes a tokenizer write tags letter by letter that it has as single tokens."""
    if tags:
        backend = json.loads(tokenizer.backend_tokenizer.to_str())
        kept = [token for token in backend["added_tokens"] if token["content"] not in tags]
        tokenizer._tokenizer = Tokenizer.from_str(json.dumps(backend | {"added_tokens": kept}))


def is_trained(model: Any, token: int) -> bool:
    """Is a token's embedding unlike all others? Those of unused tokens are all alike."""
    rows = model.get_input_embeddings().weight.detach().float()
    alike = torch.cosine_similarity(rows, rows[token : token + 1]) >= _SAME_EMBEDDING
    return int(alike.sum()) == 1


def has_tag_tokens(tokenizer: Any) -> bool:
    """Is each of the tags around a call a single token?"""
    added = tokenizer.get_added_vocab()
    return all(tag in added for tag in _TAGS[:2])


def untrained_tags(tokenizer: Any, model: Any) -> list[str]:
    """Tags that are single tokens with untrained embeddings."""
    added = tokenizer.get_added_vocab()
    return [tag for tag in _TAGS if tag in added and not is_trained(model, added[tag])]


def with_adapter(model: Any, adapter: Path) -> Any:
    """The model with a peft adapter. Merging it would lose small changes in bfloat16."""
    try:
        from peft import PeftModel
    except ModuleNotFoundError as error:
        missing = "peft is not installed: pip install 'bylaw[hf]'"
        raise ModuleNotFoundError(missing, name=error.name) from error
    return PeftModel.from_pretrained(model, adapter)


def takes_tools(tokenizer: Any) -> bool:
    """Does the chat template include the tools it is given?"""
    messages = [{"role": "user", "content": "?"}]
    text = tokenizer.apply_chat_template(messages, tools=[PROBE.to_dict()], tokenize=False)
    return PROBE.name in text


def turn_ends(model: Any, tokenizer: Any) -> list[int]:
    """All tokens that end a turn, from the vocabulary and every configuration."""
    vocabulary = tokenizer.get_vocab()
    ends = {vocabulary[end] for end in _TURN_ENDS if end in vocabulary}
    for config in (tokenizer, model.config, model.generation_config):
        ids = getattr(config, "eos_token_id", None)
        ends.update(ids if isinstance(ids, list) else [] if ids is None else [ids])
    return sorted(ends)


def longest_context(model: Any) -> int:
    """The context length that the model was trained for, in tokens."""
    return int(model.config.get_text_config().max_position_embeddings)
