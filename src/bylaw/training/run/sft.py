"""The warm-up: supervised fine-tuning on a few transcripts, to teach the format."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bylaw.agents.hf.attention import without_cudnn
from bylaw.agents.hf.chat_tokenizer import ChatTokenizer
from bylaw.training.data.transcripts import Transcript
from bylaw.training.run.lora import Learner

IGNORED = -100
"""The label of a token without loss."""


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The hyperparameters of a warm-up."""

    epochs: int = 3
    batch: int = 8
    learning_rate: float = 3e-4
    """The initial value; it decays linearly, so the end of the run matters little."""
    seed: int = 42


@dataclass(frozen=True, slots=True)
class TokenizedTranscript:
    """A transcript as tokens, with labels for the agent's own turns."""

    ids: list[int]
    labels: list[int]


def tokenize(chat: ChatTokenizer, transcript: Transcript) -> TokenizedTranscript:
    """The tokens of a transcript, identical to those of the same rollout."""
    ids = chat.prompt(transcript.opening, transcript.tools)
    labels = [IGNORED] * len(ids)
    for message in transcript.rest:
        own = message["role"] == "assistant"
        added = chat.turn(message) if own else chat.between([message])
        ids = ids + added
        labels = labels + (added if own else [IGNORED] * len(added))
    return TokenizedTranscript(ids, labels)


def warm_up(
    learner: Learner,
    transcripts: Sequence[TokenizedTranscript],
    settings: WarmUp,
    report: Callable[[int, float], None] = lambda step, loss: None,
) -> list[float]:
    """Trains the adapter, and returns the loss of each step; `report` is called with each."""
    model = learner.model
    device = next(model.parameters()).device
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=settings.learning_rate, weight_decay=0.0)
    torch.manual_seed(settings.seed)
    losses: list[float] = []
    model.train()
    batches = list(_batches(transcripts, settings))
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 1 / len(batches), len(batches) - 1)
    for batch in batches:
        optimizer.zero_grad()
        learned_tokens = sum(len(_predicting(each)) for each in batch)
        total = 0.0
        for each in batch:
            with without_cudnn():
                loss = _summed_loss(model, each, device) / learned_tokens
                loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        schedule.step()
        losses.append(total)
        report(len(losses), total)
    model.eval()
    return losses


def _batches(
    transcripts: Sequence[TokenizedTranscript], settings: WarmUp
) -> Iterator[list[TokenizedTranscript]]:
    rng = random.Random(settings.seed)
    for _ in range(settings.epochs):
        order = rng.sample(range(len(transcripts)), len(transcripts))
        for start in range(0, len(order), settings.batch):
            yield [transcripts[at] for at in order[start : start + settings.batch]]


def _summed_loss(model: Any, transcript: TokenizedTranscript, device: Any) -> Any:
    """The loss over all labelled tokens of a transcript.

    Transcripts are read one at a time, without padding. Logits are computed only where a label
    follows: those of a long transcript would take more memory than everything else.
    """
    places = torch.tensor(_predicting(transcript), device=device)
    labels = torch.tensor(transcript.labels, device=device)
    ids = torch.tensor([transcript.ids], device=device)
    logits = model(input_ids=ids, logits_to_keep=places, use_cache=False).logits[0]
    return torch.nn.functional.cross_entropy(logits.float(), labels[places + 1], reduction="sum")


def _predicting(transcript: TokenizedTranscript) -> list[int]:
    """The places whose next token has a label."""
    return [at for at, label in enumerate(transcript.labels[1:]) if label != IGNORED]
