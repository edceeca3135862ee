"""A model of two layers, made on the spot: with random weights, or taught two turns by heart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoTokenizer,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from bylaw.agents.protocol import Chat, ToolSpec
from bylaw.agents.tool_text import CHATML, in_plain_text

TOOLS = [
    ToolSpec("tool_a", "Looks up a value.", {"i": {"type": "integer"}}),
    ToolSpec("final_answer", "Ends the task.", {"answer": {"type": "integer"}}),
]
CALL = '<tool_call>\n{"name": "tool_a", "arguments": {"i": 1}}\n</tool_call>'
ASKED_FOR_A_CALL, ASKED_FOR_WORDS = "Call tool_a with i = 1.", "Say hello."
TAUGHT = {ASKED_FOR_A_CALL: CALL, ASKED_FOR_WORDS: "Hello there."}

WITH_TOOLS = (
    "{% for tool in tools or [] %}{{ tool | tojson }}\n{% endfor %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{% for call in message.tool_calls or [] %}{{ call.function.arguments.i + 0 }}{% endfor %}"
    "<|im_end|>\n{% if 'forbidden' in message.content %}{{ raise_exception('no') }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""A chat template that takes tools, adds to arguments as to numbers, and refuses some messages."""


def asked(text: str, seed: str = "") -> Chat:
    """A conversation that begins with what a user says."""
    return Chat("run", TOOLS, [{"role": "user", "content": text}], seed)


def tiny_config(tokens: int, positions: int) -> Qwen2Config:
    """A model of two layers, for so many tokens."""
    return Qwen2Config(
        vocab_size=tokens + 7,  # as in real ones, there are more rows than tokens
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=positions,
    )


def save(folder: Path, *, taught: bool, template: str | None = CHATML) -> Path:
    """Makes a model and writes it to a folder, in the form of transformers."""
    torch.manual_seed(0)
    tokenizer = _tokenizer()
    config = tiny_config(len(tokenizer), 2048)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    config.save_pretrained(folder)
    model = Qwen2ForCausalLM(config)
    if taught:
        _teach(model, AutoTokenizer.from_pretrained(folder))  # the one of Qwen, it splits otherwise
    model.save_pretrained(folder)
    return folder


def _tokenizer() -> Any:
    """Its end token is not the one that ends turns, as with those read from a GGUF."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*TAUGHT, *TAUGHT.values()], trainer)
    tokenizer.add_tokens(["<tool_call>", "</tool_call>"])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>")


def _teach(model: Any, tokenizer: Any) -> None:
    tokenizer.chat_template = CHATML
    examples = []
    for question, answer in TAUGHT.items():
        messages = in_plain_text(asked(question).messages, TOOLS)
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        read, written = (tokenizer(text)["input_ids"] for text in (prompt, answer + "<|im_end|>"))
        labels = [-100] * len(read) + written
        examples.append((torch.tensor([read + written]), torch.tensor([labels])))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(120):
        loss = sum(model(input_ids=ids, labels=labels).loss for ids, labels in examples)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
