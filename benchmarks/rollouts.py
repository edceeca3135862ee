"""The speed of rollouts against the plain loop, and a check of their recorded tokens.

    python benchmarks/rollouts.py MODEL [--rollouts 480] [--precision bf16]

MODEL is a folder or a GGUF file. Ours writes all conversations a token at a time, each at its own
place; the peer is the benchmark's loop over `generate`, turn by turn (`hf:`), both at temperature 1
on the same tasks. The log-probability of each token is compared with that which the model gives it
when it reads the finished conversation; they may differ by rounding, and no more.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import table
import torch

from bylaw.agents.driving import drive
from bylaw.agents.hf.model import HFModel
from bylaw.agents.hf.rollouts import Rollouts, TokenizedRun
from bylaw.agents.loop import Episode
from bylaw.training.data.corpus import corpus
from bylaw.training.run.episodes import start_episode
from bylaw.training.run.lora import learner

TURN, MOST = 96, 1024
CHECKED = 16
"""The number of rollouts that are checked."""


def runs(number: int) -> list[Episode]:
    """Sixteen rollouts of each of the first prompts."""
    examples = corpus()
    return [start_episode(examples[at // 16 % len(examples)], str(at)) for at in range(number)]


def difference(model: Any, written: Sequence[TokenizedRun[Any]]) -> float:
    """The largest difference of a log-probability from that of the finished conversation."""
    largest = 0.0
    device = next(model.parameters()).device
    for each in written:
        ids = torch.tensor([each.prompt_ids + each.completion.ids], device=device)
        with torch.no_grad():
            scores = torch.log_softmax(model(ids).logits[0].float(), dim=-1)
        start = len(each.prompt_ids)
        read = scores[start - 1 : -1].gather(1, ids[0, start:, None])[:, 0]
        own = torch.tensor(each.completion.mask, dtype=torch.bool, device=device)
        apart = (read - torch.tensor(each.completion.logprobs, device=device))[own]
        largest = max(largest, float(apart.abs().max()))
    return largest


def row(name: str, tokens: int, seconds: float, share: str) -> list[str]:
    """A row of the table."""
    return [name, f"{tokens:,}", f"{seconds:.1f}", f"{tokens / seconds:,.0f}", share]


def ours(options: argparse.Namespace) -> list[list[str]]:
    """Two rounds: the first also records what the second plays back."""
    tried = learner(options.model, precision=options.precision)
    rollouts = Rollouts(
        tried.model.eval(), tried.chat_tokenizer, width=options.width, turn_tokens=TURN
    )
    clock, rows = rollouts.clock, []
    for which in ("first", "second"):
        tokens, seconds, own = clock.tokens, clock.rollouts, clock.own
        written = rollouts.execute_runs(
            runs(options.rollouts),
            max_completion_tokens=MOST,
            sampler=rollouts.batch_sampler(1.0, 1),
        )
        took = clock.rollouts - seconds
        share = f"{(clock.own - own) / took:.2%}"
        rows.append(row(f"ours, {which} round", clock.tokens - tokens, took, share))
    apart = difference(tried.model, written[:: max(1, len(written) // CHECKED)])
    print(f"largest difference of a log-probability, {options.precision}: {apart:.6f}")
    return rows


def peer(options: argparse.Namespace) -> list[list[str]]:
    """The loop over `generate`."""
    model = HFModel(options.model, temperature=1.0, max_new_tokens=TURN, width=options.width)
    since = time.perf_counter()
    drive(model, runs(options.rollouts), lambda run: run, lambda over: None)
    seconds = time.perf_counter() - since
    return [row("generate, turn by turn", model.throughput.output_tokens, seconds, "")]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--rollouts", type=int, default=480)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    options = parser.parse_args()
    head = ["rollouts", "tokens", "seconds", "tokens/s", "own code"]
    table.show("Rollouts", head, [*ours(options), *peer(options)])


if __name__ == "__main__":
    main()
