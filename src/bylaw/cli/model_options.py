"""The options of commands that talk to models."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from bylaw.agents.protocol import ChatModel
from bylaw.cli.inputs import at_least_one

_OPTIONS: Final = (
    ("--temperature", float, "N", "how freely to sample (default: the most likely turn)"),
    ("--top-p", float, "N", "sample among the most likely tokens of this weight (hf, gguf)"),
    ("--max-new-tokens", at_least_one, "N", "longest turn, in tokens"),
    ("--width", at_least_one, "N", "how many conversations at once"),
    ("--base-url", str, "URL", "the endpoint (openai; default: OPENAI_BASE_URL)"),
    ("--requests-per-minute", float, "N", "keep below a rate limit (openai)"),
    ("--adapter", str, "DIR", "a peft adapter for the model (hf)"),
    ("--line-tokens", int, "N", "with --constrained, longest line before a call; 0: none"),
    ("--max-context", at_least_one, "N", "longest conversation, in tokens (hf, gguf)"),
)


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Adds what a model may be told."""
    for flag, kind, metavar, help in _OPTIONS:
        parser.add_argument(flag, type=kind, metavar=metavar, help=help)
    parser.add_argument(
        "--constrained",
        action="store_true",
        default=None,
        help="let the model write nothing but well-formed calls (hf, gguf)",
    )


def model_options(options: argparse.Namespace) -> dict[str, Any]:
    """What was given of it."""
    names = [flag.removeprefix("--").replace("-", "_") for flag, *_ in _OPTIONS]
    return {name: getattr(options, name) for name in (*names, "constrained")}


@contextmanager
def in_use(model: ChatModel) -> Iterator[ChatModel]:
    """A model, which is closed afterwards if it is one that can be."""
    with model if isinstance(model, AbstractContextManager) else nullcontext():
        yield model
