"""The model that is trained: a frozen base with a LoRA adapter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError
from jinja2 import TemplateError
from peft import LoraConfig, PeftModel, get_peft_model

from bylaw.agents.hf.attention import share_keys
from bylaw.agents.hf.chat_tokenizer import ChatTokenizer
from bylaw.agents.hf.loading import load_model, takes_tools, turn_ends
from bylaw.agents.local import existing_path

Precision: TypeAlias = Literal["fp32", "bf16"]
PRECISIONS: Final[dict[Precision, Any]] = {"fp32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True, slots=True)
class Lora:
    """The settings of an adapter; the defaults are the paper's."""

    rank: int = 8
    alpha: int = 16
    dropout: float = 0.05
    targets: tuple[str, ...] = ("q_proj", "v_proj")

    @property
    def config(self) -> Any:
        """The settings as a peft configuration."""
        return LoraConfig(
            r=self.rank,
            lora_alpha=self.alpha,
            lora_dropout=self.dropout,
            target_modules=list(self.targets),
            task_type="CAUSAL_LM",
        )


@dataclass(frozen=True, slots=True)
class Learner:
    """A model with an adapter, and its tokenizer."""

    model: Any
    tokenizer: Any
    chat_tokenizer: ChatTokenizer


def learner(
    base: str | Path,
    adapter: str | Path | None = None,
    lora: Lora | None = None,
    *,
    precision: Precision = "fp32",
    seed: int = 42,
) -> Learner:
    """A base from a folder or a GGUF file, with the given adapter or a new one.

    A new adapter does not change the output yet. The tokenizer's end token is set to the one that
    ends turns.
    """
    path = _found(base)
    model, tokenizer = load_model(path, PRECISIONS[precision])
    chat = _chat(tokenizer, turn_ends(model, tokenizer))
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(chat.end)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    model.generation_config.eos_token_id = sorted(chat.ends)
    share_keys(model)
    model.name_or_path = str(path.resolve())  # recorded by peft as the base
    torch.manual_seed(seed)  # for the initial weights of a new adapter
    if adapter is None:
        model = get_peft_model(model, _fitting(lora or Lora(), model).config)
    else:
        folder = existing_path(Path(adapter))
        model = PeftModel.from_pretrained(model, str(folder), is_trainable=True)
    gpu = torch.cuda.is_available()
    if gpu:
        torch.set_float32_matmul_precision("high")  # TF32, the usual meaning of fp32 on a GPU
    return Learner(model.to("cuda" if gpu else "cpu"), tokenizer, chat)


def _chat(tokenizer: Any, ends: Sequence[int]) -> ChatTokenizer:
    """The tokenizer of conversations, if its chat template can be trained on."""
    try:
        chat = ChatTokenizer(tokenizer, ends, takes_tools=takes_tools(tokenizer))
        chat.prompt([{"role": "system", "content": "."}, {"role": "user", "content": "?"}], ())
    except TemplateError as error:
        raise ValueError(f"its chat template rejects a conversation: {error}") from None
    if not chat.is_append_only:
        raise ValueError("its chat template changes a turn when a message follows")
    return chat


def _fitting(lora: Lora, model: Any) -> Lora:
    """Checks that all target layers exist; peft requires only one of them."""
    layers = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    missing = [name for name in lora.targets if name.rpartition(".")[2] not in layers]
    if missing:
        raise ValueError(f"it has no layers named {', '.join(missing)}")
    return lora


def _found(base: str | Path) -> Path:
    """A path, or a model in the Hugging Face cache; nothing is downloaded."""
    path = Path(base)
    if path.exists() or str(base).count("/") != 1:
        return existing_path(path)
    try:
        return Path(snapshot_download(str(base), local_files_only=True))
    except LocalEntryNotFoundError:
        help = f"give a path, or download it: hf download {base}"
        raise FileNotFoundError(f"there is no model at {base}: {help}") from None


def unpack(base: Path, folder: Path) -> None:
    """Converts a GGUF file to a folder, which loads in seconds; weights become bfloat16."""
    model, tokenizer = load_model(existing_path(base), torch.bfloat16)
    model.hf_quantizer, model.is_quantized = None, False  # saving would fail otherwise
    model._weight_conversions = None
    del model.config.quantization_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def save_adapter(model: Any, folder: Path) -> None:
    """Saves the adapter in peft's format, without other adapters of the model."""
    model.save_pretrained(str(folder), selected_adapters=["default"])
