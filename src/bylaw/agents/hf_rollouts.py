"""Rollouts, many at a time: runs whose turns one local model writes, as tokens that only grow.

What a run is, is its own affair: here a model writes its turns. Runs that are done leave, those
that wait take their rows, and when nobody waits any more the rest moves closer together. Nothing is
read twice, and what was written can be trained on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import torch
from jinja2 import TemplateError

from bylaw.agents.chat_tokens import ChatTokens, Tokens
from bylaw.agents.clock import Clock
from bylaw.agents.driving import Driven
from bylaw.agents.hf_attention import without_planning
from bylaw.agents.hf_choice import Choice, Draw
from bylaw.agents.hf_loading import longest_context
from bylaw.agents.hf_slots import Slots, Turn
from bylaw.agents.local import read_turn
from bylaw.agents.protocol import Reply

_ROUND: Final = 256
"""Lengths are rounded up to a multiple, so that what was recorded on a GPU serves again."""

_FEW: Final = 8
"""The part of the rows that must be free before others begin in them."""


D = TypeVar("D", bound=Driven)


@dataclass(frozen=True, slots=True)
class Written(Generic[D]):
    """A run and its tokens."""

    run: D
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
        context: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.model: Final = model
        self.chat: Final = chat
        self.width: Final = width
        self.turn_tokens: Final = turn_tokens
        self.context: Final = context or longest_context(model)
        """How long a conversation may get, in tokens."""
        self.clock: Final = clock or Clock()
        self._slots: Final[dict[tuple[int, int], Slots]] = {}
        """Made once for each shape: their memory and what was recorded are used again."""

    def drawing(self, temperature: float, seed: int) -> Callable[[int], Choice]:
        """Tokens drawn at a temperature, or the most likely ones if it is zero.

        Equal seeds give equal runs, on the same machine, if the same runs are carried out.
        """
        device = next(self.model.parameters()).device
        return lambda width: Draw(temperature, torch.Generator(device).manual_seed(seed))

    def carry_out(
        self,
        runs: Sequence[D],
        *,
        most_tokens: int,
        choice: Callable[[int], Choice],
        done: Callable[[Written[D]], None] = lambda _: None,
    ) -> list[Written[D]]:
        """Carries runs out to their ends, or until `most_tokens` tokens follow an opening.

        No run gets longer than the context. `choice` makes what chooses tokens, for
        so many rows. `done` hears of each run when it is over.
        """
        with self.clock.making_rollouts(), _evaluating(self.model):
            with self.clock.in_own_code():
                written = [self._opened(run) for run in runs]
                going_on = [each for each in written if not each.run.done]
                for each in written:
                    if each.run.done:
                        done(each)
            if going_on:
                self._write(going_on, most_tokens, choice, done)
        return written

    def _opened(self, run: D) -> Written[D]:
        talk = run.conversation
        try:
            opening = self.chat.opening(talk.messages, talk.tools)
        except TemplateError as error:
            run.take(Reply(failure=f"the chat template refuses the conversation: {error}"))
            return Written(run, [])
        if len(opening) + self.turn_tokens > self.context:
            run.take(Reply(full=True, input_tokens=len(opening)))
        return Written(run, opening)

    def _write(
        self,
        written: Sequence[Written[D]],
        most_tokens: int,
        choice: Callable[[int], Choice],
        done: Callable[[Written[D]], None],
    ) -> None:
        longest = max(len(each.opening) for each in written)
        most_tokens = min(most_tokens, self.context - longest)
        length = -(-(longest + most_tokens) // _ROUND) * _ROUND
        waiting = deque(written)
        slots = self._of_shape(self._fitting(min(self.width, _power(len(written))), length), length)
        choose = choice(slots.width)
        rows: list[Written[D] | None] = [None] * slots.width
        while waiting or any(rows):
            if waiting:
                self._fill(slots, rows, waiting, choose)
            turns = slots.step(choose)
            if not turns:
                continue
            with self.clock.in_own_code():
                heard = {turn.row: self._taken(rows[turn.row], turn, most_tokens) for turn in turns}
            going_on = {row: ids for row, ids in heard.items() if ids is not None}
            if going_on:
                slots.go_on(list(going_on), list(going_on.values()))
                _begin(choose, rows, going_on)
            for row in heard.keys() - going_on.keys():
                over, rows[row] = rows[row], None
                assert over is not None, "a row that has a turn has a run"
                with self.clock.in_own_code():
                    done(over)
            slots, rows = self._closer(slots, rows, waiting, choose)

    def _fill(
        self,
        slots: Slots,
        rows: list[Written[D] | None],
        waiting: deque[Written[D]],
        choose: Choice,
    ) -> None:
        """Gives free rows to those that wait; several at a time, as all stop while they begin."""
        free = [row for row, busy in enumerate(rows) if busy is None][: len(waiting)]
        if len(free) >= min(len(waiting), max(1, slots.width // _FEW)):
            begun = [waiting.popleft() for _ in free]
            for row, each in zip(free, begun, strict=True):
                rows[row] = each
            slots.begin(free, [each.opening for each in begun])
            _begin(choose, rows, free)

    def _taken(self, written: Written[D] | None, turn: Turn, most_tokens: int) -> list[int] | None:
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
        try:
            heard = cut_off + self.chat.between(talk.messages[before + 1 :])
        except TemplateError as error:
            run.take(Reply(failure=f"the chat template refuses the conversation: {error}"))
            return None
        if len(tokens.ids) + len(heard) + self.turn_tokens > most_tokens:
            run.take(Reply(full=True))
            return None
        tokens.hear(heard)
        return heard

    def _closer(
        self,
        slots: Slots,
        rows: list[Written[D] | None],
        waiting: deque[Written[D]],
        choose: Choice,
    ) -> tuple[Slots, list[Written[D] | None]]:
        """Half as many rows, or fewer, when so few are left; nothing else changes."""
        left = [row for row, busy in enumerate(rows) if busy is not None]
        if waiting or not left or len(left) > slots.width // 2:
            return slots, rows
        narrower = self._of_shape(_power(len(left)), slots.length)
        slots.moved_to(narrower, left)
        choose.moved(left + left[:1] * (narrower.width - len(left)))
        kept = [rows[row] for row in left]
        return narrower, kept + [None] * (narrower.width - len(kept))

    def _fitting(self, width: int, length: int) -> int:
        """A width for which a GPU has room, if need be a half or a quarter of what is wanted."""
        device = next(self.model.parameters()).device
        if device.type != "cuda" or (width, length) in self._slots:
            return width
        free, _ = torch.cuda.mem_get_info(device)
        free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        # Narrower ones come later and need as much again; a little is for what else there is.
        room = int(free / (2.25 * length * _bytes_per_token(self.model)))
        while width > max(room, 1):
            width //= 2
        return width

    def _of_shape(self, width: int, length: int) -> Slots:
        shape = width, length
        if shape not in self._slots:
            self._slots[shape] = Slots(self.model, width, length, self.turn_tokens, self.chat.ends)
        return self._slots[shape]


def _begin(choose: Choice, rows: Sequence[Written[D] | None], begun: Iterable[int]) -> None:
    """Tells what chooses tokens that turns begin."""
    for row in begun:
        written = rows[row]
        assert written is not None, "a row in which a turn begins has a run"
        choose.begin(row, written.run.conversation)


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
