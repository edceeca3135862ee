"""Shared parts of models that run on this machine: seeds, parsed turns, throughput."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bylaw.agents.parsing import parse_calls
from bylaw.agents.protocol import Chat, Reply

_WEIGHTS: Final = {".safetensors", ".bin", ".pt", ".gguf"}
_SAMPLES: Final = 16
_SAMPLE_BYTES: Final = 65_536


@dataclass(slots=True)
class Throughput:
    """Counts turns, tokens and the time they took. Thread-safe."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    """The time in which at least one turn was being generated."""
    _busy: int = field(default=0, init=False, repr=False)
    _since: float = field(default=0.0, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def tokens_per_second(self) -> float | None:
        """Generated tokens per second, over all conversations; None if there were none."""
        return self.output_tokens / self.seconds if self.seconds else None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measures the time; overlapping threads count once."""
        with self._lock:
            self._busy += 1
            if self._busy == 1:
                self._since = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1
                if not self._busy:
                    self.seconds += time.perf_counter() - self._since

    def add(self, reply: Reply) -> None:
        """Counts one turn."""
        with self._lock:
            self.turns += 1
            self.input_tokens += reply.input_tokens
            self.output_tokens += reply.output_tokens


def fingerprint(path: Path) -> str:
    """A digest of a model's or an adapter's weights, whatever their files are called.

    Weights are large, so it covers samples of them; training changes all of them.
    """
    files = [path] if path.is_file() else sorted(path.iterdir())
    digest = hashlib.sha256()
    for file in files:
        if file.suffix in _WEIGHTS:
            size = file.stat().st_size
            digest.update(f"{size}/".encode())
            with file.open("rb") as weights:
                for number in range(_SAMPLES):
                    weights.seek(number * size // _SAMPLES)
                    digest.update(weights.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:16]


def turn_seed(seed: int, conversation: Chat) -> int:
    """A seed for the next turn of a conversation, independent of other conversations."""
    which = f"{seed}/{conversation.seed}/{len(conversation.messages)}"
    return int.from_bytes(hashlib.sha256(which.encode()).digest()[:4])


def parse_turn(text: str, conversation: Chat, input_tokens: int, output_tokens: int) -> Reply:
    """A generated text as a turn of the conversation.

    The ids of calls contain the length of the conversation, so they are unique in it.
    """
    found = parse_calls(text, conversation.tools, f"call_{len(conversation.messages)}_")
    return Reply(found.text, found.calls, found.malformed, input_tokens, output_tokens)


def template_failure(error: Exception) -> Reply:
    """The reply to a conversation that the chat template rejects."""
    return Reply(failure=f"the chat template rejects the conversation: {error}")


def existing_path(path: Path) -> Path:
    """The path itself; raises a clear error if nothing is there."""
    if not path.exists():
        raise FileNotFoundError(f"there is no model at {path}")
    return path
