"""The runner: many episodes at once, so that a batched model is kept busy; each on record once."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from time import perf_counter
from typing import Final

from bylaw.agents.driving import close, drive, in_threads
from bylaw.agents.loop import Episode
from bylaw.agents.protocol import ChatModel, Conversation, Reply
from bylaw.bench.episodes import Harness, conditions, episode, recorded
from bylaw.bench.jobs import Job
from bylaw.bench.results import Results
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.hints import Hints
from bylaw.errors import Diagnostic, UsageError
from bylaw.values import Json


def _smolagents() -> Callable[[Episode, ChatModel], None]:
    try:
        from bylaw.bench.smolagents_harness import carry_out
    except ModuleNotFoundError as error:
        help = "pip install 'bylaw[smolagents]'"
        raise UsageError(Diagnostic("E420", str(error), help)) from error
    return carry_out


HARNESSES: Final[Mapping[Harness, Callable[[], Callable[[Episode, ChatModel], None] | None]]] = {
    "loop": lambda: None,
    "smolagents": _smolagents,
}
"""What carries a run out from beginning to end; our own loop is asked turn by turn instead."""


@dataclass(slots=True)
class Outcome:
    """What a runner did."""

    made: int = 0
    """How many runs it put on record."""
    failed: dict[str, str] = field(default_factory=dict)
    """The runs that could not be finished, and why. They are not on record."""


class Runner:
    """Makes the runs that are not on record yet."""

    def __init__(
        self,
        model: ChatModel,
        results: Results,
        *,
        hints: Hints = "rule",
        harness: Harness = "loop",
        step: Callable[[], None] = lambda: None,
    ) -> None:
        self.model: Final = model
        self.results: Final = results
        self.conditions: Final[dict[str, Json]] = conditions(model.about, hints, harness)
        self._hints: Final[Hints] = hints
        self._carry_out: Final = HARNESSES[harness]()
        self._step: Final = step
        """Called after every run."""
        self._outcome: Final = Outcome()
        self._lock: Final = Lock()

    def missing(self, jobs: Iterable[Job]) -> list[Job]:
        """The jobs that are still to be done, each once."""
        wanted = {job.key: job for job in jobs}
        return [job for key, job in wanted.items() if not self.results.has(key, self.conditions)]

    def run(self, jobs: Iterable[Job]) -> Outcome:
        """Makes the runs, as many at a time as the model likes best."""
        missing = self.missing(jobs)
        gc.freeze()  # tasks and rules stay: the collector need not go through them again and again
        try:
            if self._carry_out is None:
                drive(self.model, missing, self._begun, self._end)
            else:
                give_up = partial(close, self.model)
                in_threads(self.model.width, missing, self._run_whole, give_up)
        finally:
            gc.unfreeze()
        return self._outcome

    def _run_whole(self, job: Job) -> None:
        assert self._carry_out is not None, "our own loop goes turn by turn"
        active = self._begun(job)
        self._carry_out(active.episode, self.model)
        self._end([active])

    def _begun(self, job: Job) -> _Active:
        return _Active(job, episode(job, self._hints), perf_counter())

    def _end(self, over: Sequence[_Active]) -> None:
        """Puts finished runs on record, together."""
        finished = [each for each in over if each.episode.failure is None]
        self.results.append([self._recorded(each) for each in finished])
        with self._lock:
            self._outcome.made += len(finished)
            for each in over:
                if each.episode.failure is not None:
                    self._outcome.failed[each.job.key] = each.episode.failure
                self._step()

    def _recorded(self, active: _Active) -> dict[str, Json]:
        guard = active.episode.guard
        assert isinstance(guard, Guard), "runs of the benchmark are guarded, if only to count"
        report = guard.finish()
        seconds = perf_counter() - active.begun
        return recorded(active.job, active.episode, report, self.conditions, seconds)


@dataclass(frozen=True, slots=True)
class _Active:
    """A run that is under way."""

    job: Job
    episode: Episode
    begun: float

    @property
    def conversation(self) -> Conversation:
        """What the model reads."""
        return self.episode.conversation

    @property
    def done(self) -> bool:
        """Is there nothing more to do?"""
        return self.episode.done

    def take(self, reply: Reply) -> None:
        """Carries out one turn of the model."""
        self.episode.take(reply)
