"""The verdicts on the executed events, for formulas of which an event was excused.

For enforcement such a formula is followed as if the event had not been; its score is that of all
events. If they violate it for good, that is all there is to know. Otherwise a second engine follows
them from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from bylaw.errors import clipped
from bylaw.saved import listed, places, text, whole
from bylaw.semantics.engine import Engine, EngineMark
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Event
from bylaw.values import Json, copied
from bylaw.work import UNLIMITED, OverBudget, allot

MAX_REASON: Final = 300
"""The length of the reason why a formula could not be decided, in characters."""
ExecutedMark: TypeAlias = tuple[dict[int, Engine], dict[int, str], list[tuple[Engine, EngineMark]]]
"""The engines and the formulas without a verdict, and the state of each engine."""


class ExecutedVerdicts:
    """The verdicts on all executed events, also on those that the monitors excuse."""

    def __init__(self, new_engine: Callable[[int], Engine], max_work: float) -> None:
        self._new_engine: Final = new_engine
        self._max_work: Final = max_work
        self.engines: dict[int, Engine] = {}
        """The engines that follow all events."""
        self.unscored: dict[int, str] = {}
        """The formulas that cannot be decided on the executed events, with the reasons."""
        self._lost: set[int] = set()
        """The formulas that the executed events violate for good."""

    def follow(self, index: int, engine: Engine, verdict: Verdict, fault: str | None) -> None:
        """Begins with a formula; its own engine, which stands there now, will excuse an event."""
        if index in self._lost or index in self.engines or index in self.unscored:
            return
        if fault is not None:
            self.unscored[index] = fault
        elif verdict is Verdict.VIOLATED:
            self._lost.add(index)
        else:
            second = self.engines[index] = self._new_engine(index)
            second.restore(copied(engine.save()))

    @contextmanager
    def _scoring(self, index: int) -> Iterator[None]:
        """Gives up the verdict of a formula if it cannot be decided within the block."""
        allot(self._max_work)
        try:
            yield
        except Exception as error:  # a user's comparator, or too much work
            self.unscored[index] = reason_of(error)
            del self.engines[index]
        finally:
            allot(UNLIMITED)

    def take(self, index: int, event: Event, position: int, step: int, new_step: bool) -> None:
        """Takes in the next event for a formula."""
        with self._scoring(index):
            self.engines[index].take(event, position, step, new_step)

    def waiting(self) -> list[int]:
        """The formulas whose verdicts the results of earlier calls can change."""
        return [index for index, engine in self.engines.items() if engine.waits]

    def mark(self) -> ExecutedMark:
        """The current state, for `undo`."""
        marks = [(engine, engine.mark()) for engine in self.engines.values()]
        return dict(self.engines), dict(self.unscored), marks

    def undo(self, mark: ExecutedMark) -> None:
        """Goes back to a state that `mark` returned."""
        self.engines, self.unscored, marks = mark
        for engine, state in marks:
            engine.undo(state)

    def record(self, index: int, place: int, call: Call) -> None:
        """Takes in the result of a call."""
        with self._scoring(index):
            if self.engines[index].awaits(place):
                self.engines[index].record(place, call)

    def verdict(self, index: int, otherwise: Verdict | None) -> Verdict | None:
        """The verdict of a formula, or `otherwise` if no event was excused; None if undecided."""
        if index in self._lost:
            return Verdict.VIOLATED
        engine = self.engines.get(index)
        if engine is not None:
            found = engine.verdict()
            return None if engine.fault is not None else found
        return None if index in self.unscored else otherwise

    def save(self) -> dict[str, Json]:
        """The state as JSON."""
        return {
            "lost": sorted(self._lost),
            "executed": [[index, engine.save()] for index, engine in self.engines.items()],
            "unscored": [[index, reason] for index, reason in self.unscored.items()],
        }

    def restore(self, lost: Json, engines: Json, unscored: Json, size: int) -> None:
        """Goes back to a saved state of so many formulas."""
        self._lost = set(places(lost, size))
        self.unscored, self.engines = read_reasons(unscored, size), {}
        for each in listed(engines):
            index, state = listed(each, 2)
            self.engines[whole(index, 0, size - 1)] = self._new_engine(index)
            self.engines[index].restore(state)


def reason_of(error: Exception) -> str:
    """The reason why a formula could not be decided."""
    if isinstance(error, OverBudget):
        return str(error)
    return clipped(f"raised {type(error).__name__}: {error}", MAX_REASON)


def read_reasons(saved: Json, size: int) -> dict[int, str]:
    """The reasons that were saved, by the number of the formula."""
    pairs = [listed(each, 2) for each in listed(saved)]
    return {whole(index, 0, size - 1): text(reason) for index, reason in pairs}
