"""The runner: many episodes at once, so that a batched model is kept busy; each on record once."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Final

from bylaw.agents.loop import Episode
from bylaw.agents.protocol import ChatModel
from bylaw.bench.episodes import Harness, conditions, episode, recorded
from bylaw.bench.jobs import Job
from bylaw.bench.results import Results
from bylaw.enforcement.hints import Hints
from bylaw.errors import Diagnostic, UsageError
from bylaw.values import Json


def _loop(episode: Episode, model: ChatModel) -> None:
    while not episode.done:
        (reply,) = model.reply([episode.conversation])
        episode.take(reply)


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

    def missing(self, jobs: Iterable[Job]) -> list[Job]:
        """The jobs that are still to be done."""
        return [job for job in jobs if not self.results.has(job.key, self.conditions)]

    def run(self, jobs: Iterable[Job]) -> Outcome:
        """Makes the runs, as many at a time as the model likes best."""
        missing = self.missing(jobs)
        gc.freeze()  # tasks and rules stay: the collector need not go through them again and again
        try:
            if self.model.batched and self._carry_out is None:
                self._run_batched(iter(missing))
            else:
                self._run_in_threads(missing)
        finally:
            gc.unfreeze()
        return self._outcome

    def _run_batched(self, jobs: Iterator[Job]) -> None:
        active: list[_Active] = []
        while active or (active := self._begin(jobs, self.model.width)):
            active += self._begin(jobs, self.model.width - len(active))
            replies = self.model.reply([each.episode.conversation for each in active])
            for each, reply in zip(active, replies, strict=True):
                each.episode.take(reply)
            self._end([each for each in active if each.episode.done])
            active = [each for each in active if not each.episode.done]

    def _run_in_threads(self, jobs: list[Job]) -> None:
        pool = ThreadPoolExecutor(self.model.width)
        try:
            for made in as_completed([pool.submit(self._run_alone, job) for job in jobs]):
                made.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _run_alone(self, job: Job) -> None:
        (active,) = self._begin(iter([job]), 1)
        (self._carry_out or _loop)(active.episode, self.model)
        self._end([active])

    def _begin(self, jobs: Iterator[Job], count: int) -> list[_Active]:
        return [self._begun(job) for job in islice(jobs, count)]

    def _begun(self, job: Job) -> _Active:
        return _Active(job, episode(job, self._hints), perf_counter())

    def _end(self, over: list[_Active]) -> None:
        """Puts finished runs on record, together."""
        finished = [each for each in over if each.episode.failure is None]
        self.results.append([self._recorded(each) for each in finished])
        for each in over:
            if each.episode.failure is not None:
                self._outcome.failed[each.job.key] = each.episode.failure
            self._step()
        self._outcome.made += len(finished)

    def _recorded(self, active: _Active) -> dict[str, Json]:
        report = active.episode.guard.finish()
        seconds = perf_counter() - active.begun
        return recorded(active.job, active.episode, report, self.conditions, seconds)


@dataclass(frozen=True, slots=True)
class _Active:
    """A run that is under way."""

    job: Job
    episode: Episode
    begun: float
