"""A model of two layers that can be trained in seconds, with a chat template that TRL knows.

python tests/support/tiny_learner.py DIR      writes one, to try the training commands with
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch
import trl
from tiny_model import tiny_config
from tokenizers import ByteLevelBPETokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast, Qwen2ForCausalLM

from bylaw.agents.hf.chat_tokenizer import ChatTokenizer
from bylaw.agents.hf.loading import turn_ends
from bylaw.training.data.corpus import corpus
from bylaw.training.data.example import Example
from bylaw.training.data.transcripts import transcript
from bylaw.training.run.sft import TokenizedTranscript, tokenize
from bylaw.values import write_json

TEMPLATE = Path(trl.__file__).parent / "chat_templates" / "qwen3_instruct_2507.jinja"
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
KNOWN = 0.01
"""The loss of a transcript at which it is half known: what is sampled is sometimes right."""
MARKS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]


def save(folder: Path, transcripts: int = 2) -> Path:
    """Makes a model that has seen the first gold transcripts so often that it nearly knows them."""
    torch.manual_seed(0)
    examples = corpus()[:transcripts]
    _tokenizer(examples).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = Qwen2ForCausalLM(tiny_config(len(tokenizer), 4096))
    chat = ChatTokenizer(tokenizer, turn_ends(model, tokenizer), takes_tools=True)
    _teach(model, [tokenize(chat, transcript(example)) for example in examples])
    model.save_pretrained(folder)
    return folder


def _teach(model: Any, transcripts: list[TokenizedTranscript]) -> None:
    """Until it knows them well enough, however long that takes on this machine."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = [1.0] * len(transcripts)
    for step in range(200 * len(transcripts)):
        each = transcripts[step % len(transcripts)]
        loss = model(torch.tensor([each.ids]), labels=torch.tensor([each.labels])).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses[step % len(transcripts)] = float(loss.detach())
        if max(losses) < KNOWN:
            break


@cache
def folder() -> Path:
    """The model that all tests share; it is made once."""
    made = Path(tempfile.mkdtemp(prefix="tiny-learner-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return save(made)


def _tokenizer(examples: list[Example]) -> Any:
    """Its end token is not the one that ends turns, as with those read from a GGUF."""
    made = ByteLevelBPETokenizer()
    texts = [
        write_json([each.opening, [tool.to_dict() for tool in each.specs], each.transcript])
        for each in examples
    ]
    texts.append(TEMPLATE.read_text(encoding="utf-8"))
    made.train_from_iterator(
        texts, vocab_size=1500, min_frequency=1, special_tokens=SPECIAL, show_progress=False
    )
    made.add_tokens(MARKS)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made._tokenizer, eos_token=SPECIAL[0])
    tokenizer.chat_template = TEMPLATE.read_text(encoding="utf-8")
    return tokenizer


if __name__ == "__main__":
    torch.set_num_threads(1)
    save(Path(sys.argv[1]), transcripts=15)
