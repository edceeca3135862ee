"""Rollouts, many at a time: the tool loop of the benchmark, on tokens that can be trained on.

An episode is the benchmark's own; here a model writes its turns. Those that are done leave, those
that wait take their rows, and when nobody waits any more the rest moves closer together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from bylaw.agents.hf_attention import without_planning
from bylaw.agents.hf_loading import longest_context
from bylaw.agents.local import read_turn
from bylaw.agents.loop import Episode
from bylaw.agents.protocol import Reply
from bylaw.training.chat_tokens import ChatTokens, Tokens
from bylaw.training.clock import Clock
from bylaw.training.slots import Draw, Slots, Turn

_ROUND: Final = 256
"""Lengths are rounded up to a multiple, so that what was recorded on a GPU serves again."""

_FEW: Final = 8
"""The part of the rows that must be free before others begin in them."""


@dataclass(frozen=True, slots=True)
class Written:
    """A run and its tokens."""

    run: Episode
    opening: list[int]
    tokens: Tokens = field(default_factory=Tokens)


class Rollouts:
    """Carries runs out with one model, `width` at a time, `turn_tokens` tokens a turn at most."""

    def __init__(
        self,
        model: Any,
        chat: ChatTokens,
        *,
        width: int = 512,
        turn_tokens: int = 96,
        clock: Clock | None = None,
    ) -> None:
        self.model: Final = model
        self.chat: Final = chat
        self.width: Final = width
        self.turn_tokens: Final = turn_tokens
        self.clock: Final = clock or Clock()
        self._slots: Final[dict[tuple[int, int], Slots]] = {}
        """Made once for each shape: their memory and what was recorded are used again."""

    def carry_out(
        self,
        runs: Sequence[Episode],
        *,
        most_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
        done: Callable[[Written], None] = lambda _: None,
    ) -> list[Written]:
        """Carries runs out to their ends, or until `most_tokens` tokens follow an opening.

        No run gets longer than what the model can take in. `done` hears of each run when it is
        over. With a temperature of zero, each token is the most likely one; otherwise equal seeds
        give equal runs, on the same machine.
        """
        device = next(self.model.parameters()).device
        draw = Draw(temperature, torch.Generator(device).manual_seed(seed))
        with self.clock.making_rollouts(), _evaluating(self.model):
            with self.clock.in_own_code():
                written = [self._opened(run) for run in runs]
            self._write(written, most_tokens, draw, done)
        return written

    def _opened(self, run: Episode) -> Written:
        talk = run.conversation
        return Written(run, self.chat.opening(talk.messages, talk.tools))

    def _write(
        self,
        written: Sequence[Written],
        most_tokens: int,
        draw: Draw,
        done: Callable[[Written], None],
    ) -> None:
        longest = max(len(each.opening) for each in written)
        most_tokens = min(most_tokens, longest_context(self.model) - longest)
        length = -(-(longest + most_tokens) // _ROUND) * _ROUND
        waiting = deque(written)
        slots = self._of_shape(self._fitting(min(self.width, _power(len(written))), length), length)
        rows: list[Written | None] = [None] * slots.width
        while waiting or any(rows):
            if waiting:
                self._fill(slots, rows, waiting)
            turns = slots.step(draw)
            if not turns:
                continue
            with self.clock.in_own_code():
                heard = {turn.row: self._taken(rows[turn.row], turn, most_tokens) for turn in turns}
            going_on = {row: ids for row, ids in heard.items() if ids is not None}
            if going_on:
                slots.go_on(list(going_on), list(going_on.values()))
            for row in heard.keys() - going_on.keys():
                over, rows[row] = rows[row], None
                assert over is not None, "a row that has a turn has a run"
                with self.clock.in_own_code():
                    done(over)
            slots, rows = self._closer(slots, rows, waiting)

    def _fill(self, slots: Slots, rows: list[Written | None], waiting: deque[Written]) -> None:
        """Gives free rows to those that wait; several at a time, as all stop while they begin."""
        free = [row for row, busy in enumerate(rows) if busy is None][: len(waiting)]
        if len(free) >= min(len(waiting), max(1, slots.width // _FEW)):
            begun = [waiting.popleft() for _ in free]
            for row, each in zip(free, begun, strict=True):
                rows[row] = each
            slots.begin(free, [each.opening for each in begun])

    def _taken(self, written: Written | None, turn: Turn, most_tokens: int) -> list[int] | None:
        """Carries a turn out; what the agent hears then, or None if the run is over."""
        assert written is not None, "a row that has a turn has a run"
        run, tokens = written.run, written.tokens
        read = len(written.opening) + len(tokens.ids)
        tokens.write(turn.ids, turn.chances)
        self.clock.tokens += len(turn.ids)
        talk = run.conversation
        before = len(talk.messages)
        run.take(read_turn(self.chat.read(turn.ids), talk, read, len(turn.ids)))
        if run.done:
            return None
        cut_off = [] if turn.ids[-1] in self.chat.ends else [self.chat.end]
        heard = cut_off + self.chat.between(talk.messages[before + 1 :])
        if len(tokens.ids) + len(heard) + self.turn_tokens > most_tokens:
            run.take(Reply(full=True))
            return None
        tokens.hear(heard)
        return heard

    def _closer(
        self, slots: Slots, rows: list[Written | None], waiting: deque[Written]
    ) -> tuple[Slots, list[Written | None]]:
        """Half as many rows, or fewer, when so few are left; nothing else changes."""
        left = [row for row, busy in enumerate(rows) if busy is not None]
        if waiting or not left or len(left) > slots.width // 2:
            return slots, rows
        narrower = self._of_shape(_power(len(left)), slots.length)
        slots.moved_to(narrower, left)
        kept = [rows[row] for row in left]
        return narrower, kept + [None] * (narrower.width - len(kept))

    def _fitting(self, width: int, length: int) -> int:
        """A width for which a GPU has room, if need be a half or a quarter of what is wanted."""
        device = next(self.model.parameters()).device
        if device.type != "cuda" or (width, length) in self._slots:
            return width
        free, _ = torch.cuda.mem_get_info(device)
        free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        # Narrower ones come later and need as much again; the rest is for what else there is.
        room = free // (3 * length * _bytes_per_token(self.model))
        while width > max(room, 1):
            width //= 2
        return width

    def _of_shape(self, width: int, length: int) -> Slots:
        shape = width, length
        if shape not in self._slots:
            self._slots[shape] = Slots(self.model, width, length, self.turn_tokens, self.chat.ends)
        return self._slots[shape]


def _bytes_per_token(model: Any) -> int:
    """What the cache keeps of a token."""
    config = model.config.get_text_config()
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    shared = getattr(config, "num_key_value_heads", None) or heads
    return int(2 * config.num_hidden_layers * shared * size * model.dtype.itemsize)


def _power(number: int) -> int:
    """The power of two that is not less: few shapes serve all numbers."""
    return 1 << (number - 1).bit_length()


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """The model as it is used, not as it is trained."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad(), without_planning():
            yield
    finally:
        model.train(training)
