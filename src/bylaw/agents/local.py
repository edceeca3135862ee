"""What models on this machine have in common: seeds, how a turn is read, how fast they write."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bylaw.agents.parsing import read_calls
from bylaw.agents.protocol import Conversation, Reply

_WEIGHTS: Final = {".safetensors", ".bin", ".pt", ".gguf"}
_SAMPLES: Final = 16
_SAMPLE: Final = 65_536


@dataclass(slots=True)
class Throughput:
    """How much was read and written, and in what time. Threads may share one."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    """How long at least one turn was in the making."""
    _busy: int = field(default=0, init=False, repr=False)
    _since: float = field(default=0.0, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens written per second, over all conversations; None if there were none."""
        return self.output_tokens / self.seconds if self.seconds else None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Counts the time; that of several threads at once only once."""
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
    """What tells the weights of a model or an adapter from others, whatever they are called.

    Weights are large, so samples of them are read; training changes all of them.
    """
    files = [path] if path.is_file() else sorted(path.iterdir())
    whole = hashlib.sha256()
    for file in files:
        if file.suffix in _WEIGHTS:
            size = file.stat().st_size
            whole.update(f"{size}/".encode())
            with file.open("rb") as weights:
                for number in range(_SAMPLES):
                    weights.seek(number * size // _SAMPLES)
                    whole.update(weights.read(_SAMPLE))
    return whole.hexdigest()[:16]


def turn_seed(seed: int, conversation: Conversation) -> int:
    """Differs by conversation and by turn, and is the same whatever else is being talked about."""
    which = f"{seed}/{conversation.seed}/{len(conversation.messages)}"
    return int.from_bytes(hashlib.sha256(which.encode()).digest()[:4])


def read_turn(text: str, conversation: Conversation, read: int, written: int) -> Reply:
    """The turn that a model wrote, with the numbers of tokens it read and wrote for it.

    Ids of calls are unique in the conversation, as it is longer at every turn.
    """
    found = read_calls(text, conversation.tools, f"call_{len(conversation.messages)}_")
    return Reply(found.text, found.calls, found.malformed, read, written)


def found_file(path: Path) -> Path:
    """The path, if there is something there; otherwise a mistake is told at once, and plainly."""
    if not path.exists():
        raise FileNotFoundError(f"there is no model at {path}")
    return path
