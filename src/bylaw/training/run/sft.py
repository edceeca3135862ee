"""The warm-up: supervised fine-tuning on a few transcripts, to teach the format."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

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
        inputs = {name: tensor.to(device) for name, tensor in _padded(batch).items()}
        optimizer.zero_grad()
        with without_cudnn():
            loss = model(**inputs).loss
            loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
        report(len(losses), losses[-1])
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


def _padded(batch: Sequence[TokenizedTranscript]) -> dict[str, torch.Tensor]:
    """Pads on the right, where causal attention never looks, so no mask is needed."""
    longest = max(len(each.ids) for each in batch)
    ids = torch.zeros(len(batch), longest, dtype=torch.long)
    labels = torch.full_like(ids, IGNORED)
    for row, each in enumerate(batch):
        ids[row, : len(each.ids)] = torch.tensor(each.ids)
        labels[row, : len(each.ids)] = torch.tensor(each.labels)
    return {"input_ids": ids, "labels": labels}
