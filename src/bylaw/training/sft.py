"""The warm-up: a model that cannot hold the format yet imitates a few gold transcripts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from bylaw.agents.hf.attention import without_cudnn
from bylaw.agents.hf.chat_tokenizer import ChatTokenizer
from bylaw.training.lora import Learner
from bylaw.training.transcripts import Transcript

IGNORED = -100
"""The label of a token that is not to be learned."""


@dataclass(frozen=True, slots=True)
class WarmUp:
    """How to imitate."""

    epochs: int = 3
    batch: int = 8
    learning_rate: float = 3e-4
    """At the beginning; it falls to nothing, so that it matters little where a run ends."""
    seed: int = 42


@dataclass(frozen=True, slots=True)
class Lesson:
    """A transcript as tokens; only what the agent itself says is to be learned."""

    ids: list[int]
    labels: list[int]


def lesson(chat: ChatTokenizer, transcript: Transcript) -> Lesson:
    """The tokens of a transcript, exactly those that a rollout like it would have."""
    ids = chat.prompt(transcript.opening, transcript.tools)
    labels = [IGNORED] * len(ids)
    for message in transcript.rest:
        own = message["role"] == "assistant"
        added = chat.turn(message) if own else chat.between([message])
        ids = ids + added
        labels = labels + (added if own else [IGNORED] * len(added))
    return Lesson(ids, labels)


def warm_up(
    learner: Learner,
    lessons: Sequence[Lesson],
    settings: WarmUp,
    told: Callable[[int, float], None] = lambda step, loss: None,
) -> list[float]:
    """Trains the adapter on the lessons; the loss of each step, of which `told` hears."""
    model = learner.model
    device = next(model.parameters()).device
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=settings.learning_rate, weight_decay=0.0)
    torch.manual_seed(settings.seed)
    losses: list[float] = []
    model.train()
    batches = list(_batches(lessons, settings))
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 1 / len(batches), len(batches) - 1)
    for batch in batches:
        inputs = {name: tensor.to(device) for name, tensor in _padded(batch).items()}
        optimizer.zero_grad()
        with without_cudnn():
            loss = model(**inputs).loss
            loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        falling.step()
        losses.append(float(loss.detach()))
        told(len(losses), losses[-1])
    model.eval()
    return losses


def _batches(lessons: Sequence[Lesson], settings: WarmUp) -> Iterator[list[Lesson]]:
    rng = random.Random(settings.seed)
    for _ in range(settings.epochs):
        order = rng.sample(range(len(lessons)), len(lessons))
        for start in range(0, len(order), settings.batch):
            yield [lessons[at] for at in order[start : start + settings.batch]]


def _padded(batch: Sequence[Lesson]) -> dict[str, torch.Tensor]:
    """Padding is behind the lessons, where causal attention never looks: there need be no mask."""
    longest = max(len(each.ids) for each in batch)
    ids = torch.zeros(len(batch), longest, dtype=torch.long)
    labels = torch.full_like(ids, IGNORED)
    for row, each in enumerate(batch):
        ids[row, : len(each.ids)] = torch.tensor(each.ids)
        labels[row, : len(each.ids)] = torch.tensor(each.labels)
    return {"input_ids": ids, "labels": labels}
