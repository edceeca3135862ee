"""Many formulas followed at once: a call touches only those that can tell it from others.

A formula is touched by a call if it names the tool, if it could not pass over the call of a
tool that it does not name (`X`, a window of positions), or if it asks about calls in general.
The cost of a call is that of the few rules it concerns, not of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from bylaw.logic import formula as f
from bylaw.semantics.monitor import Engine, Follower, engine_for, opens_step
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Event, Message
from bylaw.trace.trace import Events
from bylaw.values import Json
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order


class Monitors:
    """Follows several formulas; `verdicts` are theirs, in the order given."""

    def __init__(
        self,
        formulas: Iterable[f.Formula],
        *,
        order: Order = "position",
        events: Events = "calls",
        vocabulary: Vocabulary = EMPTY,
        labels: Mapping[str, Json] | None = None,
    ) -> None:
        self.events: Final[Events] = events
        self.length = 0
        self._last_step: int | None = None
        self._previous: Event | None = None
        self._engines: list[Engine] = []
        for formula in formulas:
            engine, _ = engine_for(formula, order, events, vocabulary, {}, labels or {})
            self._engines.append(engine)
        self.verdicts: list[Verdict] = [engine.verdict() for engine in self._engines]
        self._open = {i for i, verdict in enumerate(self.verdicts) if not verdict.final}
        self._always = {i for i in self._open if self._hears_everything(i)}
        self._restless = self._open - self._always
        """Those that any call might move, at present; before the first call that is all."""
        self._concerned: dict[str, frozenset[int]] = {}

    def _hears_everything(self, index: int) -> bool:
        engine = self._engines[index]
        return not isinstance(engine, Follower) or engine.machine.alphabet.elsewhere is None

    def _concerned_by(self, tool: str) -> frozenset[int]:
        """Those that name the tool, or must hear of every call."""
        found = self._concerned.get(tool)
        if found is None:
            naming = {
                i
                for i, engine in enumerate(self._engines)
                if isinstance(engine, Follower) and tool in engine.machine.alphabet.named
            }
            found = self._concerned[tool] = frozenset(naming | self._always)
        return found

    def step(self, event: Event) -> list[int]:
        """Takes in the next event; which formulas does it doom?"""
        if isinstance(event, Message) and self.events == "calls":
            return []
        new_step = opens_step(self._previous, event, self._last_step)
        self._last_step, self._previous = event.step, event
        position, self.length = self.length, self.length + 1
        concerned = self._concerned_by(event.tool if isinstance(event, Call) else "")
        if self._restless:
            concerned = concerned | self._restless
        doomed = []
        for index in concerned:
            if index not in self._open:
                continue
            if self._moved(index, event, position, new_step) is Verdict.VIOLATED:
                doomed.append(index)
        return doomed

    def _moved(self, index: int, event: Event, position: int, new_step: bool) -> Verdict:
        engine = self._engines[index]
        engine.step(event, position, new_step)
        if isinstance(engine, Follower) and index not in self._always:
            if engine.idles():
                self._restless.discard(index)
            else:
                self._restless.add(index)
        verdict = self.verdicts[index] = engine.verdict()
        if verdict.final:
            self._open.discard(index)
            self._restless.discard(index)
        return verdict
