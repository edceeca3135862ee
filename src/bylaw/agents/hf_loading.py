"""Reading a model of transformers from disk, and what must be known of it before it can talk."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import torch
from tokenizers.decoders import ByteLevel
from transformers import AutoModelForCausalLM, AutoTokenizer

from bylaw.agents.tool_text import CHATML, PROBE

_TURN_ENDS: Final = ("<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "<|endoftext|>")
"""Tokens that end a turn wherever they exist: what is read from a GGUF often names another one."""

_MARKS: Final = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
"""Tokens that must not be split, if the model knows them. A tokenizer read from a GGUF would."""

_ALIKE: Final = 0.999
"""The cosine from which on a model cannot tell two tokens apart."""

_LINE_BREAK: Final = "Ċ"
"""How a vocabulary of bytes writes one; the decoder is then the one for bytes, and no other."""


def loaded(path: Path, dtype: Any) -> tuple[Any, Any]:
    """The model and its tokenizer."""
    gguf = {"gguf_file": path.name} if path.suffix == ".gguf" else {}
    where = path.parent if gguf else path
    tokenizer = AutoTokenizer.from_pretrained(where, **gguf)
    model = AutoModelForCausalLM.from_pretrained(where, dtype=dtype, **gguf)
    if gguf:
        _mend(tokenizer, model)
    if tokenizer.chat_template is None:
        tokenizer.chat_template = CHATML
    return model, tokenizer


def _mend(tokenizer: Any, model: Any) -> None:
    """Gives a tokenizer that was read from a GGUF what is lost on the way."""
    vocabulary = tokenizer.get_vocab()
    marks = [mark for mark in _MARKS if mark in vocabulary]
    # As letters a mark can be read and learned; as a token that was never trained it cannot.
    tokenizer.add_tokens([mark for mark in marks if knows(model, vocabulary[mark])])
    if _LINE_BREAK in vocabulary:
        tokenizer.backend_tokenizer.decoder = ByteLevel()


def knows(model: Any, token: int) -> bool:
    """Can the model tell a token from all others? Those it never met in training are all alike."""
    rows = model.get_input_embeddings().weight.detach().float()
    alike = torch.cosine_similarity(rows, rows[token : token + 1]) >= _ALIKE
    return int(alike.sum()) == 1


def reads_marks(tokenizer: Any) -> bool:
    """Is each of the tags around a call one token to the tokenizer?"""
    added = tokenizer.get_added_vocab()
    return all(tag in added for tag in _MARKS[:2])


def unknown_marks(tokenizer: Any, model: Any) -> list[str]:
    """Marks that are tokens, and that the model does not know."""
    added = tokenizer.get_added_vocab()
    return [mark for mark in _MARKS if mark in added and not knows(model, added[mark])]


def adapted(model: Any, adapter: Path) -> Any:
    """The model with a peft adapter. It is not merged: in bfloat16 small changes would be lost."""
    try:
        from peft import PeftModel
    except ModuleNotFoundError as error:
        missing = "peft is not installed: pip install 'bylaw[hf]'"
        raise ModuleNotFoundError(missing, name=error.name) from error
    return PeftModel.from_pretrained(model, adapter)


def takes_tools(tokenizer: Any) -> bool:
    """Does the chat template write the tools it is given?"""
    messages = [{"role": "user", "content": "?"}]
    text = tokenizer.apply_chat_template(messages, tools=[PROBE.to_dict()], tokenize=False)
    return PROBE.name in text


def turn_ends(model: Any, tokenizer: Any) -> list[int]:
    """All tokens that end a turn, wherever they are named."""
    vocabulary = tokenizer.get_vocab()
    ends = {vocabulary[end] for end in _TURN_ENDS if end in vocabulary}
    for named in (tokenizer, model.config, model.generation_config):
        ids = getattr(named, "eos_token_id", None)
        ends.update(ids if isinstance(ids, list) else [] if ids is None else [ids])
    return sorted(ends)


def longest_context(model: Any) -> int:
    """How many tokens the model was made for."""
    return int(model.config.get_text_config().max_position_embeddings)
